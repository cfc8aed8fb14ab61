//! Runs the command against a server and reads what it says as data; and a server that is started in a way of its own. No test is in here.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use clap::Parser;
use serde_json::Value;
use tokio::time::Instant;
use tollgate_algorithms::Micros;
use tollgate_cli::cli::Cli;
use tollgate_cli::commands;
use tollgate_twins::server::{Make, Server};

/// Nothing here takes long; what does is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What the command printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the command, with a budget that no busy machine exceeds, unless the variables say another.
pub(crate) fn run(args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let all = ["tollgate", "doctor"].into_iter().chain(args.iter().copied());
    let cli = Cli::try_parse_from(all).expect("the arguments are right");
    let mut environment: Vec<(OsString, OsString)> = vec![("TOLLGATE_STORE_BUDGET".into(), "2s".into())];
    for (name, value) in variables {
        environment.retain(|(known, _)| known != name);
        environment.push((name.into(), value.into()));
    }
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    let exit = commands::run(&cli.command, Micros::ZERO, &environment, &mut out, &mut err);
    let took = begun.elapsed();
    assert!(took < PATIENCE, "it took {took:?}");
    let text =
        |bytes: Vec<u8>| anstream::adapter::strip_str(str::from_utf8(&bytes).expect("UTF-8")).to_string();
    Ran { code: exit.code(), out: text(out), err: text(err) }
}

/// What was found at an address.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) code: u8,
    data: Value,
}

/// Examines the store at an address.
pub(crate) fn examine(url: &str) -> Report {
    let ran = run(&["--store", url, "--format", "json"], &[]);
    assert_eq!(ran.err, "");
    Report {
        code: ran.code,
        data: serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out)),
    }
}

impl Report {
    /// The grade of a check; nothing if it was not made.
    pub(crate) fn grade(&self, check: &str) -> &str {
        self.part(check, "grade")
    }

    /// What a check found, and what to do.
    pub(crate) fn told(&self, check: &str) -> String {
        format!("{}; {}", self.part(check, "found"), self.part(check, "cure"))
    }

    /// The checks of this grade.
    pub(crate) fn of(&self, grade: &str) -> Vec<&str> {
        let all = self.data["findings"].as_array().expect("a list").iter();
        all.filter(|finding| finding["grade"] == grade)
            .filter_map(|finding| finding["check"].as_str())
            .collect()
    }

    fn part(&self, check: &str, part: &str) -> &str {
        let all = self.data["findings"].as_array().expect("a list");
        let finding = all.iter().find(|finding| finding["check"] == check);
        finding.and_then(|finding| finding[part].as_str()).unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn assert_fault(&self, check: &str, words: &[&str]) {
        self.assert(check, "fault", words);
        assert_eq!(self.code, 1, "{self:?}");
    }

    #[track_caller]
    pub(crate) fn assert(&self, check: &str, grade: &str, words: &[&str]) {
        assert_eq!(self.grade(check), grade, "{check}: {self:?}");
        for word in words {
            assert!(self.told(check).contains(word), "`{word}` is not in {}", self.told(check));
        }
    }
}

/// A Redis 7 with these settings.
pub(crate) fn redis(settings: &[&str]) -> Server {
    Server::start(Make::Redis7, settings).unwrap_or_else(|why| panic!("{why}"))
}

pub(crate) fn url(server: &Server) -> String {
    format!("unix://{}", server.socket().display())
}

/// Says a line to a server, and gives the first piece of its answer.
pub(crate) fn tell(server: &Server, line: &str) -> String {
    let mut stream = UnixStream::connect(server.socket()).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    stream.write_all(format!("{line}\r\n").as_bytes()).expect("it takes a line");
    let mut piece = [0; 65_536];
    let count = stream.read(&mut piece).expect("it answers");
    String::from_utf8_lossy(&piece[..count]).into_owned()
}

/// Asks until the answer has these words.
pub(crate) fn until(server: &Server, line: &str, words: &str) {
    let begun = Instant::now();
    while !tell(server, line).contains(words) {
        assert!(begun.elapsed() < PATIENCE, "`{line}` never had `{words}`");
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    tollgate_testing::server::free_port("127.0.0.1")
}

/// A server that is started in a way of its own, and answers on this port.
pub(crate) fn own(make: Make, port: u16, start: impl FnOnce(&mut Command)) -> Server {
    let mut server = Server::custom(make, start).unwrap_or_else(|why| panic!("{why}"));
    server.ready_on(port).unwrap_or_else(|why| panic!("{why}"));
    server
}
