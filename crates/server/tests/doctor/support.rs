//! Runs the command against a server and reads what it says as data; and a server that is started in a way of its own. No test is in here.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Parser;
use serde_json::Value;
use tokio::time::Instant;
use tollgate_core::Micros;
use tollgate_server::cli::Cli;
use tollgate_server::commands;
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
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

/// A server that is started in a way of its own, in a folder of its own. Dropped, both are gone.
pub(crate) struct Own {
    child: Child,
    folder: PathBuf,
}

impl Own {
    /// `start` gets the command, with the folder as its current one.
    pub(crate) fn start(make: Make, start: impl FnOnce(&mut Command)) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tollgate-doctor-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
        let mut command = Command::new(make.program());
        command.current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        start(&mut command);
        Self { child: command.spawn().expect("the server's program is there"), folder }
    }

    /// Waits until somebody answers on its port, or says that it has ended.
    pub(crate) fn answers(&mut self, port: u16) {
        let begun = Instant::now();
        loop {
            let ended = self.child.try_wait().expect("it can be asked");
            assert!(ended.is_none() && begun.elapsed() < PATIENCE, "it never came up: {ended:?}");
            let connected = std::net::TcpStream::connect(("127.0.0.1", port));
            let answered = connected.and_then(|mut stream| {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.write_all(b"PING\r\n")?;
                stream.read(&mut [0; 16])
            });
            if answered.is_ok_and(|count| count > 0) {
                return;
            }
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // It may be gone already; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
