//! Becomes another program: on given cores, with all the files it may open, ending when its parent ends. It starts no
//! process itself, so what was started is the program under its own number.

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Resource, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};

/// Returns only if it could not be done, with the reason.
pub(crate) fn become_it(cores: &str, program: &str, arguments: &[&str]) -> String {
    if let Err(why) = prepare(cores) {
        return why;
    }
    format!("cannot start {program}: {}", Command::new(program).args(arguments).exec())
}

fn prepare(cores: &str) -> Result<(), String> {
    let mut set = CpuSet::new();
    for core in cores.split(',') {
        let core: usize = core.parse().map_err(|_| format!("`{core}` is not the number of a core"))?;
        if core >= CpuSet::MAX_CPU {
            return Err(format!("there is no core {core}"));
        }
        set.set(core);
    }
    sched_setaffinity(None, &set).map_err(|error| format!("cannot run on cores {cores}: {error}"))?;
    // SIGTERM and not SIGKILL: nginx's master has to end its workers.
    set_parent_process_death_signal(Some(Signal::TERM))
        .map_err(|error| format!("cannot be tied to the parent: {error}"))?;
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files)
        .map_err(|error| format!("cannot raise the limit of open files: {error}"))
}
