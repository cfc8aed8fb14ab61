//! `tollgate doctor` against real servers: one that is set up well, and one for each thing that operators get wrong.

#![expect(clippy::panic, reason = "what helps tests fails them")]

mod clock;
mod document;
mod good;
mod reaching;
mod refusing;
mod rights;
mod setup;
mod support;
