//! A copy of the core in which one operator at a time can be broken, to show that the laws would notice. Not the core.
#![allow(warnings, clippy::all, reason = "a generated copy: the original is checked where it stands")]

pub mod catalogue;
pub mod machines;

use std::cell::Cell;

thread_local! {
    static BROKEN: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Breaks one operator of the catalogue on this thread, or none.
pub fn break_only(mutant: Option<usize>) {
    BROKEN.set(mutant);
}

/// The number of a machine's mutant for [`break_only`]: they follow those of the catalogue.
#[must_use]
pub const fn machine_number(index: usize) -> usize {
    catalogue::MUTANTS.len() + index
}

fn is_broken(mutant: usize) -> bool {
    BROKEN.get() == Some(mutant)
}

include!(concat!(env!("OUT_DIR"), "/core.rs"));
