//! Which core runs what: the server has one for itself, and all that asks it has another. It starts nothing that stays.

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};

/// The server's.
pub(crate) const SERVER: usize = 0;
/// Everybody else's.
pub(crate) const CLIENT: usize = 1;

/// Runs this thread, and those that it starts, on one core.
///
/// # Errors
/// When that core is not to be had.
pub(crate) fn run_on(core: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(|error| {
        format!(
            "cannot run on core {core}: {error}. The server and its load take cores {SERVER} and {CLIENT}"
        )
    })
}

/// Becomes another program on the server's core, that ends with its parent. Returns only if it could not be done.
pub(crate) fn become_server(program: &str, arguments: &[&str]) -> String {
    if let Err(why) = run_on(SERVER) {
        return why;
    }
    if let Err(error) = set_parent_process_death_signal(Some(Signal::TERM)) {
        return format!("cannot be tied to the parent: {error}");
    }
    format!("cannot start {program}: {}", Command::new(program).args(arguments).exec())
}
