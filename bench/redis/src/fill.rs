//! Fills a database before anything is timed, so that every key is there and has been charged, and says what a key takes.

use crate::keys::Keys;
use crate::logs::Logs;
use crate::plain::Way;
use crate::server::Server;
use crate::subject::Subject;

/// Filling is not measured, and many calls at once are quickest.
pub(crate) const IN_FLIGHT: usize = 512;

/// How a subject's keys come to be there.
pub(crate) enum Filling {
    /// Each is charged once, by what is measured.
    Charged,
    /// Another subject has the same keys.
    Shared,
    /// By copies of two logs, that grant so many.
    Logs(Logs, u64),
}

/// Fills a subject's database. Says how many bytes a key takes, times ten; nothing if it has no keys of its own.
pub(crate) fn fill(server: &Server, subject: &Subject, keys: u32) -> Result<Option<u64>, String> {
    let before = server.memory_at_rest()?;
    match &subject.filling {
        Filling::Shared => return Ok(None),
        Filling::Charged => {
            let figures = subject.load(server, IN_FLIGHT, Keys::each(keys))?;
            if figures.granted < 100 {
                return Err(format!("{}: a first charge was refused", subject.name));
            }
        }
        Filling::Logs(logs, limit) => {
            let way = Way { server, database: subject.database, in_flight: IN_FLIGHT };
            logs.copy(way, *limit, keys)?;
        }
    }
    still_there(server, subject, keys)?;
    let taken = server.memory_at_rest()?.saturating_sub(before);
    Ok(Some(taken * 10 / u64::from(keys)))
}

/// Makes sure that every key is there: one that is not costs less than one that is.
///
/// # Errors
/// With how many there are.
pub(crate) fn still_there(server: &Server, subject: &Subject, keys: u32) -> Result<(), String> {
    let expected = u64::from(keys) * subject.keys_each + subject.keys_more;
    let found = server.keys(subject.database)?;
    if found == expected {
        return Ok(());
    }
    Err(format!("{}: {found} keys are there, and not {expected}", subject.name))
}
