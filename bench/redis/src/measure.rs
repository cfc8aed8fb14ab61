//! The whole measurement, one step after the other. Each is in its file.

use crate::make::Make;
use crate::others::Ticks;
use crate::rounds::{self, Scale};
use crate::server::Server;
use crate::{cores, fill, lengths, print, subjects};

/// Starts a server, fills it, measures everybody, and prints a line for each figure.
///
/// # Errors
/// When something cannot be run, or does not answer as it should.
pub(crate) fn measure(scale: Scale) -> Result<(), String> {
    cores::run_on(cores::CLIENT)?;
    let begin = Ticks::now()?;
    let server = Server::start(Make::Redis7)?;
    let subjects = subjects::all(&server)?;
    for subject in &subjects {
        eprintln!("filling: {}", subject.name);
        print::note(subject);
        if let Some(tenths) = fill::fill(&server, subject, scale.keys)? {
            print::bytes(subject.name, tenths);
        }
    }
    let mut cells = rounds::cells(&subjects);
    rounds::alternate(&server, &mut cells, scale)?;
    cells.iter().for_each(print::rate);
    subjects.iter().try_for_each(|subject| fill::still_there(&server, subject, scale.keys))?;
    drop(server);
    lengths::measure(scale)?;
    elsewhere(scale)?;
    print::scale(scale, &begin.sentence(Ticks::now()?));
    Ok(())
}

/// The same for some subjects alone, with 64 in flight.
///
/// # Errors
/// As [`measure`]; and when nobody is called so.
pub(crate) fn some(names: &[&str], scale: Scale) -> Result<(), String> {
    cores::run_on(cores::CLIENT)?;
    let server = Server::start(Make::Redis7)?;
    let mut subjects = subjects::all(&server)?;
    let find = |name: &&str| {
        let found = subjects.iter().find(|subject| subject.name == *name);
        found.map(|subject| subject.database).ok_or_else(|| format!("nobody is called `{name}`"))
    };
    let databases: Vec<u32> = names.iter().map(find).collect::<Result<_, _>>()?;
    // Some have the keys of another.
    for subject in subjects.iter().filter(|subject| databases.contains(&subject.database)) {
        fill::fill(&server, subject, scale.keys)?;
    }
    subjects.retain(|subject| names.contains(&subject.name));
    let mut cells = rounds::cells(&subjects);
    rounds::alternate(&server, &mut cells, scale)?;
    cells.iter().for_each(print::rate);
    Ok(())
}

/// What a key takes on the other makes of server: each has another allocator and other tables.
fn elsewhere(scale: Scale) -> Result<(), String> {
    for make in Make::ALL.into_iter().filter(|make| *make != Make::Redis7) {
        eprintln!("filling: {}", make.name());
        let server = Server::start(make)?;
        for bucket in subjects::buckets(&server)? {
            if let Some(tenths) = fill::fill(&server, &bucket, scale.keys)? {
                print::bytes(&format!("{}, {}", bucket.name, make.name()), tenths);
            }
        }
    }
    Ok(())
}
