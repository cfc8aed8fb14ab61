//! Logs of different lengths, each kind beside the others: what a decision takes when there is more in a log. Logs of one length are
//! measured on a server of their own, so that only they are in its memory.

use crate::limits::{LOG_LIMIT, LOG_LIMITS};
use crate::make::Make;
use crate::rounds::{self, Scale};
use crate::server::Server;
use crate::{fill, print, subjects};

/// Measures logs under each limit, and prints a line for each kind of log.
///
/// # Errors
/// When something cannot be run, or does not answer as it should.
pub(crate) fn measure(scale: Scale) -> Result<(), String> {
    LOG_LIMITS.into_iter().try_for_each(|limit| measure_one(limit, scale))
}

fn measure_one(limit: u64, scale: Scale) -> Result<(), String> {
    eprintln!("logs of {limit}");
    let server = Server::start(Make::Redis7)?;
    let subjects = subjects::logs_of(&server, limit)?;
    let scale = Scale { keys: keys(limit, scale.keys)?, ..scale };
    for subject in &subjects {
        if let Some(tenths) = fill::fill(&server, subject, scale.keys)? {
            print::length_bytes(subject.name, limit, tenths);
        }
    }
    let mut cells = rounds::at_one_number(&subjects);
    rounds::alternate(&server, &mut cells, scale)?;
    cells.iter().for_each(|cell| print::length(cell, limit, scale.keys));
    subjects.iter().try_for_each(|subject| fill::still_there(&server, subject, scale.keys))
}

/// How many keys: the longer, the fewer, so that there are as many charges in all. With a million keys, those of the longest take 1.5 GB.
fn keys(limit: u64, keys: u32) -> Result<u32, String> {
    let fewer = u64::from(keys / 2) * LOG_LIMIT / limit.max(1);
    u32::try_from(fewer).map_err(|error| error.to_string())
}

#[test]
fn ten_times_the_length_is_a_tenth_of_the_keys() {
    assert_eq!(LOG_LIMITS.map(|limit| keys(limit, 1_000_000)), [Ok(500_000), Ok(50_000), Ok(5_000)]);
}
