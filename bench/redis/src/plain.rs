//! The plain client: script calls written out and pipelined, the same for everybody's scripts. It knows no limiter.

use std::collections::VecDeque;

use crate::figures::{Counted, Figures, Meter};
use crate::keys::Keys;
use crate::server::Server;
use crate::wire::{Connection, Said};

/// While the answers of one connection are read, the server works for the other: so it never waits for the client.
pub(crate) const LANES: usize = 2;

/// Writes the call for a key.
pub(crate) type Encode = Box<dyn Fn(u32, &mut Vec<u8>)>;

/// One call of a decision. Most have one; where there are more, each is sent when the one before has admitted the key.
pub(crate) struct Step {
    pub(crate) encode: Encode,
    /// What its answer means.
    pub(crate) admits: fn(&Said) -> Result<bool, String>,
}

/// Where a load goes, and how much of it is on the way.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) server: &'a Server,
    pub(crate) database: u32,
    pub(crate) in_flight: usize,
}

/// One connection with calls on the way.
struct Lane {
    connection: Connection,
    /// Whose calls are on the way, and which step of each.
    sent: VecDeque<(u32, usize)>,
    /// Calls that are written out but not sent.
    commands: Vec<u8>,
}

/// Asks for all keys, with so many decisions in flight at any time.
pub(crate) fn load(way: Way<'_>, keys: &Keys, steps: &[Step]) -> Result<Figures, String> {
    let lanes = LANES.min(way.in_flight).max(1);
    let mut all = Vec::new();
    for _ in 0..lanes {
        let connection = way.server.connect(way.database)?;
        all.push(Lane { connection, sent: VecDeque::new(), commands: Vec::new() });
    }
    let meter = Meter::begin(way.server)?;
    let mut counted = Counted::default();
    for (number, lane) in all.iter_mut().enumerate() {
        // What does not divide goes to the first.
        let share = way.in_flight / lanes + usize::from(number < way.in_flight % lanes);
        (0..share).for_each(|_| lane.begin(keys, steps));
        lane.send()?;
    }
    while all.iter().any(|lane| !lane.sent.is_empty()) {
        for lane in all.iter_mut().filter(|lane| !lane.sent.is_empty()) {
            lane.connection.wait()?;
            while let Some(said) = lane.connection.next()? {
                if let Some(granted) = lane.answered(&said, steps)? {
                    counted.add(granted);
                    lane.begin(keys, steps);
                }
            }
            lane.send()?;
        }
    }
    meter.end(counted)
}

impl Lane {
    /// Writes the first call for the next key, if there is one.
    fn begin(&mut self, keys: &Keys, steps: &[Step]) {
        if let Some(key) = keys.next() {
            self.write(key, 0, steps);
        }
    }

    fn write(&mut self, key: u32, number: usize, steps: &[Step]) {
        if let Some(step) = steps.get(number) {
            (step.encode)(key, &mut self.commands);
            self.sent.push_back((key, number));
        }
    }

    fn send(&mut self) -> Result<(), String> {
        if !self.commands.is_empty() {
            self.connection.send(&self.commands)?;
            self.commands.clear();
        }
        Ok(())
    }

    /// Whether an answer decides, and how; if not, the next call is written.
    fn answered(&mut self, said: &Said, steps: &[Step]) -> Result<Option<bool>, String> {
        let (key, number) = self.sent.pop_front().ok_or("more answers than calls")?;
        let step = steps.get(number).ok_or("an answer to no call")?;
        let admitted = (step.admits)(said)?;
        if admitted && number + 1 < steps.len() {
            self.write(key, number + 1, steps);
            return Ok(None);
        }
        Ok(Some(admitted))
    }
}

/// Whether an answer is a grant. The usual scripts say 1 (or the cost) or 0, first of all; ours say twice the time, in seven
/// bytes, and 1 more for a grant.
pub(crate) fn is_granted(said: &Said) -> Result<bool, String> {
    match said {
        Said::Number(number) if *number >= 0 => Ok(*number > 0),
        Said::Text(text) if text.len() >= 7 => Ok(text[6] & 1 == 1),
        Said::Number(_) | Said::Text(_) => Err(format!("neither a grant nor a refusal: {said:?}")),
    }
}

#[test]
fn grants_refusals_and_what_is_neither_are_told_apart() {
    let cases = [
        (Said::Number(1), Some(true)),
        (Said::Number(0), Some(false)),
        (Said::Number(-1), None),
        (Said::Text(vec![0, 0, 0, 0, 0x1e, 0x84, 0x81]), Some(true)),
        (Said::Text(vec![0, 0, 0, 0, 0x1e, 0x84, 0x80, 9]), Some(false)),
        (Said::Text(b"OK".to_vec()), None),
    ];
    for (said, granted) in cases {
        assert_eq!(is_granted(&said).ok(), granted, "{said:?}");
    }
}
