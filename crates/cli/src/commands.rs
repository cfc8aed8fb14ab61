//! The commands, and the one `match` that selects among them.

pub mod annotate;
pub mod completions;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod help;
pub mod import;
pub mod lint;
pub mod man;
pub mod schema;
pub mod serve;
pub mod test;

use std::ffi::OsString;
use std::io::{self, BufWriter, ErrorKind, Write};

use tollgate_algorithms::Micros;

use crate::Exit;
use crate::cli::Command;

/// Runs a command. `now` is what the wall clock says, `environment` what the variables of the process are.
///
/// Whoever reads the output may stop at any line (`| head`): that is no failure.
pub fn run(
    command: &Command,
    now: Micros,
    environment: &[(OsString, OsString)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Exit {
    let mut out = BufWriter::new(out);
    let ended = match command {
        Command::Serve(args) => serve::run(args, environment, &mut out, err),
        Command::Demo(args) => demo::run(args, &mut out, err),
        Command::Lint(args) => lint::run(args, &mut out, err),
        Command::Explain(args) => explain::run(args, now, &mut out, err),
        Command::Diff(args) => diff::run(args, &mut out, err),
        Command::Doctor(args) => doctor::run(args, environment, &mut out, err),
        Command::Annotate(args) => annotate::run(args, &mut out, err),
        Command::Import(args) => import::run(args, &mut out, err),
        Command::Test(args) => test::run(args, &mut out, err),
        Command::Schema(args) => schema::run(args, &mut out, err),
        Command::Completions(args) => completions::run(args, &mut out),
        Command::Man(args) => man::run(args, &mut out, err),
        Command::Help(args) => help::run(args, &mut out, err),
    };
    match ended.and_then(|exit| out.flush().map(|()| exit)) {
        Ok(exit) => exit,
        Err(error) => {
            let exit = unwritten(&error);
            if exit != Exit::Fine {
                // Where this cannot be written either, the exit code says it.
                let _ = writeln!(err, "tollgate: cannot write the output: {error}");
            }
            exit
        }
    }
}

/// What it means that output could not be written.
#[must_use]
pub fn unwritten(error: &io::Error) -> Exit {
    if error.kind() == ErrorKind::BrokenPipe { Exit::Fine } else { Exit::Usage }
}
