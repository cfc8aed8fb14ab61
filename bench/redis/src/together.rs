//! Our single charges, several in a call of a script, as our own client sends those that wait together. By a plain connection, as all
//! scripts are called; calls of one decision each are in `plain.rs`.

use std::collections::VecDeque;

use tollgate_algorithms::{Limit, Mode};
use tollgate_redis::{Call, Command, Hit, TOGETHER_MAX};

use crate::figures::{Counted, Figures, Meter};
use crate::keys::{Keys, client};
use crate::ours::{NAME, NAMING, write_call};
use crate::plain::{LANES, Way, is_granted};
use crate::wire::Connection;

/// One connection with calls on the way.
struct Lane<'a> {
    limit: &'a Limit,
    connection: Connection,
    /// How many decisions each call on the way is for.
    sent: VecDeque<usize>,
}

/// Asks for all keys, with so many decisions in flight, as many in a call as may be.
pub(crate) fn load(way: Way<'_>, keys: &Keys, limit: &Limit) -> Result<Figures, String> {
    let calls = (way.in_flight / TOGETHER_MAX).max(1);
    let lanes = LANES.min(calls);
    let mut all = Vec::new();
    for _ in 0..lanes {
        let connection = way.server.connect(way.database)?;
        all.push(Lane { limit, connection, sent: VecDeque::new() });
    }
    let meter = Meter::begin(way.server)?;
    let mut counted = Counted::default();
    for (number, lane) in all.iter_mut().enumerate() {
        // What does not divide goes to the first.
        let share = calls / lanes + usize::from(number < calls % lanes);
        lane.send(keys, share)?;
    }
    while all.iter().any(|lane| !lane.sent.is_empty()) {
        for lane in all.iter_mut().filter(|lane| !lane.sent.is_empty()) {
            lane.connection.wait()?;
            let answered = lane.take(&mut counted)?;
            lane.send(keys, answered)?;
        }
    }
    meter.end(counted)
}

impl Lane<'_> {
    /// Sends so many calls, as long as there are keys.
    fn send(&mut self, keys: &Keys, calls: usize) -> Result<(), String> {
        let mut commands = Vec::new();
        for _ in 0..calls {
            let singles: Vec<Call> =
                (0..TOGETHER_MAX).map_while(|_| keys.next()).map(|key| single(self.limit, key)).collect();
            if let Some(call) = Call::together(&singles) {
                write_call(&mut commands, &call);
                self.sent.push_back(singles.len());
            } else {
                // The last key may be left alone.
                for call in &singles {
                    write_call(&mut commands, call);
                    self.sent.push_back(1);
                }
            }
        }
        if commands.is_empty() { Ok(()) } else { self.connection.send(&commands) }
    }

    /// Counts what has come. Says how many calls have been answered.
    fn take(&mut self, counted: &mut Counted) -> Result<usize, String> {
        let mut answered = 0;
        while let Some(parts) = self.connection.next_parts()? {
            let expected = self.sent.pop_front().ok_or("more answers than calls")?;
            if parts.len() != expected {
                return Err(format!("{} answers to {expected} charges in a call", parts.len()));
            }
            for part in &parts {
                counted.add(is_granted(part)?);
            }
            answered += 1;
        }
        Ok(answered)
    }
}

fn single(limit: &Limit, key: u32) -> Call {
    let name = NAMING.name(NAME, client(key).as_bytes());
    Command::Charge(&[Hit { limit, name: &name, cost: 1, mode: Mode::Enforced }]).call()
}

/// The script that such a call runs.
pub(crate) fn script(limit: &Limit) -> Result<&'static str, String> {
    let call = Call::together(&[single(limit, 0), single(limit, 1)]);
    call.map(|call| call.script.text.as_str()).ok_or_else(|| "two charges do not go together".into())
}
