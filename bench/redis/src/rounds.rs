//! Takes turns: everybody is loaded in every round, and another begins each time, so that a change of the machine's mood meets
//! all alike. How a figure is shown is elsewhere.

use std::time::Duration;

use crate::figures::Figures;
use crate::keys::Keys;
use crate::server::Server;
use crate::subject::Subject;

/// How many keys, how long and how often.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) keys: u32,
    /// Rounds; the figure is their median.
    pub(crate) rounds: usize,
    /// How long one load takes.
    pub(crate) time: Duration,
}

impl Scale {
    /// For the record. Often and shortly, because what disturbs a shared machine lasts for seconds.
    pub(crate) const FULL: Self = Self { keys: 1_000_000, rounds: 26, time: Duration::from_millis(250) };
    /// To see what a change does.
    pub(crate) const SOME: Self = Self { keys: 200_000, rounds: 12, time: Duration::from_millis(250) };
    /// To see whether it runs.
    pub(crate) const QUICK: Self = Self { keys: 50_000, rounds: 1, time: Duration::from_millis(250) };
}

/// Everybody is measured with so many in flight.
pub(crate) const IN_FLIGHT: usize = 64;
/// The curve's other points.
const CURVE: [usize; 3] = [1, 8, 512];

/// One load of each round: who, and with how many in flight.
pub(crate) struct Cell<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) in_flight: usize,
    pub(crate) figures: Vec<Figures>,
}

/// Everybody at 64, and those of the curve with fewer and more.
pub(crate) fn cells(subjects: &[Subject]) -> Vec<Cell<'_>> {
    let mut all = at_one_number(subjects);
    let drawn = subjects.iter().filter(|subject| subject.is_drawn);
    all.extend(drawn.flat_map(|subject| CURVE.map(|in_flight| cell(subject, in_flight))));
    all
}

/// Everybody at 64.
pub(crate) fn at_one_number(subjects: &[Subject]) -> Vec<Cell<'_>> {
    subjects.iter().map(|subject| cell(subject, IN_FLIGHT)).collect()
}

const fn cell(subject: &Subject, in_flight: usize) -> Cell<'_> {
    Cell { subject, in_flight, figures: Vec::new() }
}

/// Loads all of them in turns.
///
/// # Errors
/// When somebody does not answer as it should.
pub(crate) fn alternate(server: &Server, cells: &mut [Cell<'_>], scale: Scale) -> Result<(), String> {
    let count = cells.len();
    for round in 0..scale.rounds {
        eprintln!("measuring: round {} of {}", round + 1, scale.rounds);
        for turn in 0..count {
            // Neighbours change too: the step has no factor in common with the number of cells.
            let at = (round * 5 + turn) % count;
            let Some(cell) = cells.get_mut(at) else { continue };
            let seed = u64::try_from(round * count + at).unwrap_or(0) << 32;
            let keys = Keys::any(scale.keys, seed, scale.time).only(cell.subject.which);
            let figures = cell.subject.load(server, cell.in_flight, keys)?;
            if !cell.subject.granted.contains(&figures.granted) {
                let (name, granted) = (cell.subject.name, figures.granted);
                return Err(format!("{name} granted {granted} %: not what was to be measured"));
            }
            cell.figures.push(figures);
        }
    }
    Ok(())
}
