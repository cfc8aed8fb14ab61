//! Runs a command without a process, and compares what it prints with a file. It tests nothing itself.

use std::fs;
use std::path::{Path, PathBuf};

use anstream::StripStream;
use clap::Parser;
use tollgate_core::Micros;
use tollgate_server::cli::Cli;
use tollgate_server::{Exit, commands};

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
    let all = std::iter::once("tollgate").chain(args.iter().copied());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = match Cli::try_parse_from(all) {
        Ok(cli) => commands::run(&cli.command, NOW, &[], &mut out, &mut err),
        Err(error) => {
            let (to, exit) =
                if error.use_stderr() { (&mut err, Exit::Usage) } else { (&mut out, Exit::Fine) };
            to.extend(error.render().ansi().to_string().into_bytes());
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

/// Runs a command, and compares all of it with `tests/expected/NAME.txt`.
///
/// To renew a file, delete it: the test writes it anew, and fails once. Then look at it.
#[track_caller]
pub(crate) fn check(name: &str, args: &[&str]) {
    let Ran { exit, out, err } = run(args);
    let shown: Vec<_> = args.iter().map(|arg| quoted(arg)).collect();
    let mut got = format!("$ tollgate {}\n{out}", shown.join(" "));
    if !err.is_empty() {
        got.push_str(&format!("--- standard error\n{err}"));
    }
    got.push_str(&format!("--- exit code {}\n", exit.code()));
    let at = Path::new("tests/expected").join(format!("{name}.txt"));
    let expected = fs::read_to_string(&at).unwrap_or_else(|_| {
        fs::write(&at, &got).expect("it can be written");
        String::new()
    });
    assert!(!expected.is_empty(), "{} is written anew; look at it:\n{got}", at.display());
    assert!(expected == got, "{} differs:\n{}", at.display(), difference(&expected, &got));
}

fn quoted(arg: &str) -> String {
    if arg.contains(' ') { format!("'{arg}'") } else { arg.into() }
}

/// The lines that differ, those between the first and the last of them included.
fn difference(expected: &str, got: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), got.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let left = old.len().min(new.len()) - same;
    let end = old.iter().rev().zip(new.iter().rev()).take(left).take_while(|(old, new)| old == new).count();
    let marked = |lines: &[&str], mark: char| -> String {
        lines[same..lines.len() - end].iter().map(|line| format!("{mark} {line}\n")).collect()
    };
    format!("from line {}:\n{}{}", same + 1, marked(&old, '-'), marked(&new, '+'))
}

#[test]
fn a_difference_shows_the_lines_that_differ() {
    assert_eq!(difference("a\nb\nc\n", "a\nx\ny\nc\n"), "from line 2:\n- b\n+ x\n+ y\n");
    assert_eq!(difference("a\n", "a\na\n"), "from line 2:\n+ a\n");
}

/// A folder of a test's own, empty, gone after it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// The name tells tests apart, the number of the process runs.
    pub(crate) fn new(name: &str) -> Self {
        let at = std::env::temp_dir().join(format!("tollgate-{name}-{}", std::process::id()));
        fs::create_dir_all(&at).expect("a folder can be made");
        Self(at)
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("it is UTF-8").into()
    }

    /// Puts a file there, and says where.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.0.join(name), bytes).expect("it can be written");
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that is left behind fails no test.
        let _ = fs::remove_dir_all(&self.0);
    }
}
