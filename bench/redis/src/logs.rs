//! Logs in use, to be measured with: charges of hours that have gone. Two are made, one that is full and one with room, and the
//! server copies them to all other keys: charging each key so often would take longer than all measurements.

use tollgate_algorithms::{Micros, Mode};
use tollgate_redis::{Command, Hit, StateKind};

use crate::keys::{Keys, client, usual};
use crate::limits::DAY;
use crate::ours::{self, NAMING, write_call};
use crate::plain::{Step, Way, is_granted, load};
use crate::wire::{Connection, Said, write_command};

/// What the two are called: one full, for even keys, and one with room, for odd keys.
const MODELS: [&str; 2] = ["full", "roomy"];

/// Charges a model, under a limit, at an instant that has gone, in microseconds.
type Charge = fn(&mut Connection, (&str, u64), u64) -> Result<(), String>;

/// How logs are made.
#[derive(Clone, Copy)]
pub(crate) struct Logs {
    charge: Charge,
    /// What a model is called in Redis.
    model: fn(&str) -> Vec<u8>,
    /// What a key is called in Redis.
    name: fn(u32) -> Vec<u8>,
}

impl Logs {
    /// Ours, charged by our script with an instant that is given.
    pub(crate) const OURS: Self = Self {
        charge: charge_ours,
        model: |model| NAMING.name("model", model.as_bytes()).of(StateKind::Log).as_bytes().to_vec(),
        name: |key| NAMING.name(ours::NAME, client(key).as_bytes()).of(StateKind::Log).as_bytes().to_vec(),
    };

    /// Sorted sets, as their script would have left them.
    pub(crate) const USUAL: Self = Self {
        charge: charge_usual,
        model: |model| model.as_bytes().to_vec(),
        name: |key| usual(key).into_bytes(),
    };

    /// The same, with scores in microseconds.
    pub(crate) const EXACT: Self = Self { charge: charge_exact, ..Self::USUAL };

    /// The same, with a name for each charge.
    pub(crate) const TELLING: Self = Self { charge: charge_telling, ..Self::USUAL };

    /// Makes two logs under a limit, and copies one or the other to each key.
    pub(crate) fn copy(&self, way: Way<'_>, limit: u64, keys: u32) -> Result<(), String> {
        let mut connection = way.server.connect(way.database)?;
        for (at, log) in charges(seconds(&mut connection)?, limit) {
            (self.charge)(&mut connection, (log, limit), at)?;
        }
        let models = MODELS.map(self.model);
        let (copied, name) = (models.clone(), self.name);
        let encode = move |key: u32, to: &mut Vec<u8>| {
            let [full, roomy] = &copied;
            let model = if key.is_multiple_of(2) { full } else { roomy };
            write_command(to, &[&b"COPY"[..], model, &name(key)]);
        };
        let copying = [Step { encode: Box::new(encode), admits: is_granted }];
        load(way, &Keys::each(keys), &copying)?;
        connection.tell(&[b"DEL", &models[0], &models[1]]).map(|_| ())
    }
}

fn charge_ours(connection: &mut Connection, (model, limit): (&str, u64), at: u64) -> Result<(), String> {
    let (limit, name) = (ours::log(limit)?, NAMING.name("model", model.as_bytes()));
    let hits = [Hit { limit: &limit, name: &name, cost: 1, mode: Mode::Enforced }];
    let call = Command::Charge(&hits).call_at(Micros::new(at));
    connection.tell(&[b"SCRIPT", b"LOAD", call.script.text.as_bytes()])?;
    let mut command = Vec::new();
    write_call(&mut command, &call);
    connection.send(&command)?;
    if is_granted(&connection.answer()?)? { Ok(()) } else { Err(format!("the log `{model}` has no room")) }
}

fn charge_usual(connection: &mut Connection, (model, _): (&str, u64), at: u64) -> Result<(), String> {
    charge_set(connection, model, (at / 1_000_000, at.to_string()))
}

fn charge_exact(connection: &mut Connection, (model, _): (&str, u64), at: u64) -> Result<(), String> {
    charge_set(connection, model, (at, at.to_string()))
}

fn charge_telling(connection: &mut Connection, (model, _): (&str, u64), at: u64) -> Result<(), String> {
    let Said::Number(count) = connection.tell(&[b"ZCARD", model.as_bytes()])? else {
        return Err(format!("the server does not say how long the log `{model}` is"));
    };
    charge_set(connection, model, (at, format!("{at}:{count}")))
}

fn charge_set(
    connection: &mut Connection,
    model: &str,
    (score, member): (u64, String),
) -> Result<(), String> {
    connection.tell(&[b"ZADD", model.as_bytes(), score.to_string().as_bytes(), member.as_bytes()])?;
    connection.tell(&[b"EXPIRE", model.as_bytes(), DAY.to_string().as_bytes()]).map(|_| ())
}

/// The charges of both models: instants in microseconds, the earliest first. A log with room has half of its limit, and one charge before
/// that counts no more, as a log in use has.
fn charges(now: u64, limit: u64) -> Vec<(u64, &'static str)> {
    let [full, roomy] = MODELS;
    let at = |ago: u64| (now - ago) * 1_000_000;
    // From twelve hours ago to two, whatever their number.
    let apart = 36_000 / limit.max(1);
    let some = |count: u64| (0..count).map(move |charge| at(DAY / 2 - charge * apart));
    let gone = (at(DAY + 60), roomy);
    let roomy = some(limit / 2).map(|at| (at, roomy));
    std::iter::once(gone).chain(roomy).chain(some(limit).map(|at| (at, full))).collect()
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
    for (limit, roomy) in [(10, 5), (100, 50), (1_000, 500)] {
        let found = charges(now, limit);
        let of = |model: &str| -> Vec<u64> {
            found.iter().filter(|(_, log)| *log == model).map(|(at, _)| now - at / 1_000_000).collect()
        };
        let counting = |model: &str| of(model).into_iter().filter(|ago| *ago < DAY).count();
        assert_eq!((of("full").len(), counting("full")), (usize::try_from(limit).unwrap(), of("full").len()));
        assert_eq!((of("roomy").len(), counting("roomy")), (roomy + 1, roomy), "a limit of {limit}");
        for model in MODELS {
            let ago = of(model);
            assert!(ago.is_sorted_by(|before, after| before > after), "the earliest comes first");
            assert!(ago.last().is_some_and(|ago| *ago > 3_600), "none is of the last hour");
        }
    }
}
