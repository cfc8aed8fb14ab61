//! Measures limiters in one Redis side by side: decisions, the server's processor time, memory. It prints one measurement a line;
//! the tables are made by `cargo xtask bench redis`.

mod cores;
mod figures;
mod fill;
mod keys;
mod limits;
mod others;
mod ours;
mod peers;
mod plain;
mod print;
mod rounds;
mod server;
mod stopwatch;
mod store;
mod subject;
mod wire;

use others::Ticks;
use rounds::Scale;
use server::Server;

const USAGE: &str = "\
usage: redis-bench [quick]                      measure, and print a line for each figure
       redis-bench serve PROGRAM [ARGUMENT]     become a server, on its core, that ends with its parent";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => measure(Scale::FULL),
        ["quick"] => measure(Scale::QUICK),
        ["serve", program, rest @ ..] => Err(cores::become_server(program, rest)),
        _ => Err(USAGE.into()),
    }
}

fn measure(scale: Scale) -> Result<(), String> {
    cores::run_on(cores::CLIENT)?;
    let begin = Ticks::now()?;
    let server = Server::start()?;
    let subjects = subject::all(&server)?;
    for subject in &subjects {
        print::note(subject);
        eprintln!("filling: {}", subject.name);
        if let Some(tenths) = fill::fill(&server, subject, scale.keys)? {
            print::bytes(subject, tenths);
        }
    }
    let mut cells = rounds::cells(&subjects);
    rounds::alternate(&server, &mut cells, scale)?;
    cells.iter().for_each(print::rate);
    subjects.iter().try_for_each(|subject| fill::still_there(&server, subject, scale.keys))?;
    drop(server);
    print::scale(scale, &begin.sentence(Ticks::now()?));
    Ok(())
}
