//! Memory for lines, made of atomics one by one: zeroed, and given back line by line. Not memory of the system's.

use super::slot::{Line, Slot};
use crate::sync::{AtomicU64, Ordering};

/// Lines are given back one at a time, and not only when there are enough for a page: whoever comes too late finds zeros
/// as early as can be.
pub(crate) const PIECE_BYTES: usize = size_of::<Line>();

/// A region has so many lines at the least: then each of them can be used again for any size of table.
const LINES_MIN: usize = 4;

/// Memory for some number of lines.
#[derive(Debug)]
pub(crate) struct Region(Box<[Line]>);

impl Region {
    pub(crate) fn new(lines: usize) -> Option<Self> {
        let slot = |_| Slot { tag: AtomicU64::new(0), word: AtomicU64::new(0) };
        Some(Self((0..lines.max(LINES_MIN)).map(|_| Line(std::array::from_fn(slot))).collect()))
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.0
    }

    /// The lines turn to zeros. The system puts that in order with everything before it.
    pub(crate) fn give_back(&self, from: usize, to: usize) {
        for slot in self.0.get(from..to).unwrap_or(&[]).iter().flat_map(|line| &line.0) {
            slot.tag.store(0, Ordering::Release);
            slot.word.store(0, Ordering::Release);
        }
    }
}
