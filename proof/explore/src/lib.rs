//! The table of the memory store, as it ships, in every order in which its threads can take turns. Not the store: what a
//! value means is left out, and a value here is a number of charges.

pub mod catalogue;
#[allow(warnings, clippy::all, reason = "a generated copy: the original is checked where it stands")]
mod memory;
pub mod scenarios;
mod store;
mod sync;

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
