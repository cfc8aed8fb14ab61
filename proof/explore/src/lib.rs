//! The memory store, as it ships, in every order in which its threads can take turns: its table alone, where a value is a number
//! of charges, and the whole of it, with limits. Not its clock, its hash and its memory.

pub mod catalogue;
mod clock;
mod hash;
#[allow(warnings, clippy::all, reason = "a generated copy: the original is checked where it stands")]
mod limit;
mod limiter;
pub mod scenarios;
#[allow(warnings, clippy::all, reason = "a generated copy: the original is checked where it stands")]
mod store;
mod sync;
mod view;
mod voided;
mod whole;

use std::cell::Cell;

thread_local! {
    static BROKEN: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Breaks one text of the catalogue in what this thread explores, or none.
pub fn break_only(mutant: Option<usize>) {
    BROKEN.set(mutant);
}

fn is_broken(mutant: usize) -> bool {
    BROKEN.get() == Some(mutant)
}
