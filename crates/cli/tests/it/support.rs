//! Runs a command without a process, and compares what it prints with a file. It tests nothing itself.

use std::ffi::OsString;
use std::path::Path;

use anstream::StripStream;
use clap::Parser;
use tollgate_algorithms::Micros;
use tollgate_cli::cli::{Cli, rendered};
use tollgate_cli::{Exit, commands};
pub(crate) use tollgate_testing::folder::Folder;
use tollgate_testing::snapshot;

/// The clock of all tests: 2025-11-15 12:00:30 UTC.
const NOW: Micros = Micros::from_secs(1_763_208_030);

/// What a command printed, and how it ended.
pub(crate) struct Ran {
    pub(crate) exit: Exit,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command, with its colours.
pub(crate) fn run_coloured(args: &[&str]) -> Ran {
    run_with(args, &[])
}

/// The same with variables of the environment.
pub(crate) fn run_with(args: &[&str], environment: &[(OsString, OsString)]) -> Ran {
    let all = std::iter::once("tollgate").chain(args.iter().copied());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = match Cli::try_parse_from(all) {
        Ok(cli) => commands::run(&cli.command, NOW, environment, &mut out, &mut err),
        Err(error) => {
            let (to, exit) =
                if error.use_stderr() { (&mut err, Exit::Usage) } else { (&mut out, Exit::Fine) };
            to.extend(
                rendered(&error, std::iter::once("tollgate").chain(args.iter().copied()).map(Into::into))
                    .into_bytes(),
            );
            exit
        }
    };
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Ran { exit, out: text(out), err: text(err) }
}

/// Runs a command, without colours.
pub(crate) fn run(args: &[&str]) -> Ran {
    let Ran { exit, out, err } = run_coloured(args);
    Ran { exit, out: plain(&out), err: plain(&err) }
}

/// A text as a stream without colours shows it.
pub(crate) fn plain(text: &str) -> String {
    let mut stream = StripStream::new(Vec::new());
    std::io::Write::write_all(&mut stream, text.as_bytes()).expect("memory takes all");
    String::from_utf8(stream.into_inner()).expect("it was text before")
}

/// Runs a command, and compares all of it with `tests/expected/NAME.txt`, or writes it there: see [`snapshot`].
#[track_caller]
#[expect(clippy::panic, reason = "a test that fails says why")]
pub(crate) fn check(name: &str, args: &[&str]) {
    let Ran { exit, out, err } = run(args);
    let shown: Vec<_> = args.iter().map(|arg| quoted(arg)).collect();
    let mut got = format!("$ tollgate {}\n{out}", shown.join(" "));
    if !err.is_empty() {
        got.push_str(&format!("--- standard error\n{err}"));
    }
    got.push_str(&format!("--- exit code {}\n", exit.code()));
    let at = Path::new("tests/expected").join(format!("{name}.txt"));
    snapshot::check(&at, &got).unwrap_or_else(|why| panic!("{why}"));
}

fn quoted(arg: &str) -> String {
    if arg.contains(' ') { format!("'{arg}'") } else { arg.into() }
}
