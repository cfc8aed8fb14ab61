//! Fills a database before anything is timed, so that every key is there and has been charged, and says what a key takes.
//!
//! Buckets are charged once each, by the script or client that is measured. A log has ten charges, of hours that have gone: two keys are
//! made so, one that is full and one with room, and copied by the server to all others.

use tollgate_core::{Limit, Micros, Mode};
use tollgate_redis::{Ask, Hit};

use crate::keys::{Keys, client, usual};
use crate::limits::{DAY, LOG_LIMIT, LOG_ROOMY};
use crate::ours::{NAMING, write_call};
use crate::plain::{Step, Way, is_granted, load};
use crate::server::Server;
use crate::subject::Subject;
use crate::wire::{Connection, Said, write_command};

/// Filling is not measured, and many calls at once are quickest.
const IN_FLIGHT: usize = 512;
/// What the two logs are called that all others are copies of: one full, one with room.
const MODELS: [&str; 2] = ["full", "roomy"];

/// How a subject's keys come to be there.
pub(crate) enum Filling {
    /// Each is charged once.
    Charged,
    /// Another subject has the same keys.
    Shared,
    /// By copies of two logs.
    Logs {
        /// Charges a log at an instant that has gone, in microseconds.
        charge: Box<dyn Fn(&mut Connection, &str, u64) -> Result<(), String>>,
        /// What a model is called in Redis.
        model: Box<dyn Fn(&str) -> Vec<u8>>,
        /// What a key is called in Redis.
        name: Box<dyn Fn(u32) -> Vec<u8>>,
    },
}

impl Filling {
    /// Logs of ours, charged by our script with an instant that is given.
    pub(crate) fn our_logs(limit: Limit, name: &'static str) -> Self {
        Self::Logs {
            charge: Box::new(move |connection, model, at| {
                let name = NAMING.name("model", model.as_bytes());
                let hits = [Hit { limit: &limit, name: &name, cost: 1, mode: Mode::Enforced }];
                let call = Ask::Charge(&hits).call_at(Micros::new(at));
                connection.tell(&[b"SCRIPT", b"LOAD", call.script.text.as_bytes()])?;
                let mut command = Vec::new();
                write_call(&mut command, &call);
                connection.send(&command)?;
                if is_granted(&connection.answer()?)? {
                    Ok(())
                } else {
                    Err(format!("`{model}` has no room"))
                }
            }),
            model: Box::new(|model| NAMING.name("model", model.as_bytes()).as_bytes().to_vec()),
            name: Box::new(move |key| NAMING.name(name, client(key).as_bytes()).as_bytes().to_vec()),
        }
    }

    /// Logs in sorted sets, as their script would have left them.
    pub(crate) fn usual_logs() -> Self {
        Self::Logs {
            charge: Box::new(|connection, model, at| {
                let (seconds, member) = ((at / 1_000_000).to_string(), at.to_string());
                connection.tell(&[b"ZADD", model.as_bytes(), seconds.as_bytes(), member.as_bytes()])?;
                connection.tell(&[b"EXPIRE", model.as_bytes(), DAY.to_string().as_bytes()]).map(|_| ())
            }),
            model: Box::new(|model| model.as_bytes().to_vec()),
            name: Box::new(|key| usual(key).into_bytes()),
        }
    }
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
        Filling::Logs { charge, model, name } => {
            let mut connection = server.connect(subject.database)?;
            for (at, log) in charges(seconds(&mut connection)?) {
                charge(&mut connection, log, at)?;
            }
            let models = MODELS.map(model);
            let names: Vec<Vec<u8>> = (0..keys).map(name).collect();
            let copied = models.clone();
            let encode = move |key, to: &mut Vec<u8>| {
                let index = usize::try_from(key).unwrap_or(0);
                write_command(to, &[&b"COPY"[..], &copied[index % copied.len()], &names[index]]);
            };
            let copy = [Step { encode: Box::new(encode), admits: is_granted }];
            let way = Way { server, database: subject.database, in_flight: IN_FLIGHT };
            load(way, &Keys::each(keys), &copy)?;
            connection.tell(&[b"DEL", &models[0], &models[1]])?;
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

/// The charges of both models: instants in microseconds, the earliest first.
fn charges(now: u64) -> Vec<(u64, &'static str)> {
    let at = |ago: u64| (now - ago) * 1_000_000;
    let hours = |count: u64| (0..count).map(move |hour| at(DAY / 2 - hour * 3_600));
    let [full, roomy] = MODELS;
    // One that does not count any more, as a log in use has.
    let gone = (at(DAY + 60), roomy);
    let roomy = hours(LOG_ROOMY).map(|at| (at, roomy));
    std::iter::once(gone).chain(roomy).chain(hours(LOG_LIMIT).map(|at| (at, full))).collect()
}

/// The server's time, in seconds.
fn seconds(connection: &mut Connection) -> Result<u64, String> {
    match connection.tell(&[b"TIME"])? {
        Said::Text(text) => {
            String::from_utf8_lossy(&text).parse().map_err(|error| format!("no time: {error}"))
        }
        Said::Number(_) => Err("the server does not say the time".into()),
    }
}

#[test]
fn a_full_log_is_full_and_one_with_room_has_a_charge_that_counts_no_more() {
    let now = 1_800_000_000;
    let found = charges(now);
    let of = |model: &str| found.iter().filter(|(_, log)| *log == model).map(|(at, _)| now - at / 1_000_000);
    assert_eq!(of("full").filter(|ago| *ago < DAY).count(), 10);
    assert_eq!((of("roomy").count(), of("roomy").filter(|ago| *ago < DAY).count()), (6, 5));
    assert!(of("roomy").is_sorted_by(|before, after| before > after), "the earliest comes first");
}
