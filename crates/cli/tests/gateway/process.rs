//! The real program in a process of its own: for signals, exit codes, and what the system counts of it. No test is in here.
#![expect(clippy::panic, reason = "a test that cannot go on says why")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use crate::support::{PATIENCE, folder, read_to_end, status};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");

/// A program that runs, until it is dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) operations: SocketAddr,
    pub(crate) folder: PathBuf,
    /// The log is in a folder of its own: that of the policy is watched.
    log: PathBuf,
}

impl Process {
    /// `tollgate serve` with this policy in front of this upstream, with settings in its environment: `TIMEOUTS_DRAIN`.
    pub(crate) fn new(policy: &str, upstream: SocketAddr, settings: &[(&str, &str)]) -> Self {
        let folder = folder();
        std::fs::write(folder.join("openapi.yaml"), policy).expect("a temporary folder can be written");
        Self::of(folder, "openapi.yaml", upstream, settings)
    }

    /// The same with a policy that stands in a folder already. The folder is gone afterwards.
    pub(crate) fn of(folder: PathBuf, policy: &str, upstream: SocketAddr, settings: &[(&str, &str)]) -> Self {
        Self::start(Command::new(PROGRAM), folder, policy, (upstream, settings))
    }

    /// The same after a shell has run this.
    pub(crate) fn within(shell: &str, policy: &str, upstream: SocketAddr) -> Self {
        let folder = folder();
        std::fs::write(folder.join("openapi.yaml"), policy).expect("a temporary folder can be written");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{shell}; exec \"$0\" \"$@\""), PROGRAM]);
        Self::start(command, folder, "openapi.yaml", (upstream, &[]))
    }

    /// `tollgate serve` with all its settings in a file of this folder, which is gone afterwards.
    pub(crate) fn configured(folder: PathBuf, config: &str) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--config"]).arg(folder.join(config)).env_clear();
        Self::run(command, folder)
    }

    /// How the program ends and what it says, after a shell has run this, if it cannot start.
    pub(crate) fn unstarted(shell: &str, policy: &str, upstream: SocketAddr) -> (ExitStatus, String) {
        let folder = folder();
        std::fs::write(folder.join("openapi.yaml"), policy).expect("a temporary folder can be written");
        let mut command = Command::new("timeout");
        let patience = PATIENCE.as_secs().to_string();
        command.args([&patience, "sh", "-c", &format!("{shell}; exec \"$0\" \"$@\""), PROGRAM]);
        command.args(["serve", "--config", "none", "--listen", "127.0.0.1:0"]);
        command.arg("--policy").arg(folder.join("openapi.yaml"));
        command.arg("--upstream").arg(format!("http://{upstream}"));
        command.env("TOLLGATE_OPERATIONS_LISTEN", "127.0.0.1:0").stdin(Stdio::null());
        let output = command.output().expect("it runs");
        std::fs::remove_dir_all(folder).expect("it is there");
        (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn start(
        mut command: Command,
        folder: PathBuf,
        policy: &str,
        (upstream, settings): (SocketAddr, &[(&str, &str)]),
    ) -> Self {
        command.args(["serve", "--config", "none", "--listen", "127.0.0.1:0"]);
        command.arg("--policy").arg(folder.join(policy));
        command.arg("--upstream").arg(format!("http://{upstream}"));
        command.env_clear().env("TOLLGATE_OPERATIONS_LISTEN", "127.0.0.1:0").env("TOLLGATE_WORKERS", "1");
        for (name, value) in settings {
            command.env(format!("TOLLGATE_{name}"), value);
        }
        Self::run(command, folder)
    }

    fn run(mut command: Command, folder: PathBuf) -> Self {
        let log = crate::support::folder().join("log");
        let file = std::fs::File::create(&log).expect("a temporary folder can be written");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().expect("it runs");
        let out = child.stdout.take().expect("it has an output");
        let (mut address, mut operations) = (None, None);
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            address =
                address.or_else(|| after(&line, " on http://")).or_else(|| after(&line, " on https://"));
            operations = operations.or_else(|| after(&line, " metrics      http://"));
            if operations.is_some() {
                break;
            }
        }
        let (Some(address), Some(operations)) = (address, operations) else {
            let _ = child.kill();
            panic!("it did not start: {}", std::fs::read_to_string(log).unwrap_or_default());
        };
        let process = Self { child, address, operations, folder, log };
        // It answers there when signals are caught, and not before.
        assert_eq!(status(&process.operator("/readyz")), 200);
        process
    }

    /// What an operator sees.
    pub(crate) fn operator(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.operations).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it takes bytes");
        read_to_end(&mut stream)
    }

    /// The number in the metrics.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let page = self.operator("/metrics");
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {page}"))
    }

    /// Looks at a number until it is as it should be.
    pub(crate) fn wait(&self, name: &str, done: impl Fn(u64) -> bool) {
        #[expect(clippy::disallowed_methods, reason = "patience has an end")]
        let until = std::time::Instant::now() + PATIENCE;
        #[expect(clippy::disallowed_methods, reason = "patience has an end")]
        while !done(self.metric(name)) {
            assert!(std::time::Instant::now() < until, "{name} stays {}", self.metric(name));
        }
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket has timeouts");
        stream
    }

    /// A request and its response.
    pub(crate) fn get(&self, target: &str) -> String {
        let mut stream = self.connect();
        let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it takes bytes");
        read_to_end(&mut stream)
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Gives it so many more descriptors than it has now, and no more.
    pub(crate) fn allow_descriptors(&self, more: u64) {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it runs").count();
        let current = Some(u64::try_from(open).expect("a count") + more);
        let pid = Some(Pid::from_child(&self.child));
        let Rlimit { maximum, .. } = rustix::process::getrlimit(Resource::Nofile);
        prlimit(pid, Resource::Nofile, Rlimit { current, maximum }).expect("a limit can be lowered");
    }

    /// A number of kilobytes from what the system says of it: `VmRSS`, `VmHWM`.
    pub(crate) fn kilobytes(&self, name: &str) -> u64 {
        let said = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
        number.and_then(|number| number.trim().parse().ok()).expect("the system says it")
    }

    /// How it is, for a test that has failed.
    pub(crate) fn told(&self) -> String {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        format!("{stat:?}\n{}", self.log())
    }

    /// What it has written to its log.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).expect("it has a log")
    }

    /// Looks at its log until this is there. Lines are written in the background, and may come after what they tell of.
    pub(crate) fn wait_log(&self, text: &str) {
        #[expect(clippy::disallowed_methods, reason = "patience has an end")]
        let until = std::time::Instant::now() + PATIENCE;
        #[expect(clippy::disallowed_methods, reason = "patience has an end")]
        while !self.log().contains(text) {
            assert!(std::time::Instant::now() < until, "no `{text}` in {}", self.log());
        }
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let pid = Pid::from_child(&self.child);
        let (end, ended) = mpsc::channel::<()>();
        // Kills it if it takes too long: to wait for it has no patience.
        let watcher = std::thread::spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        let status = self.child.wait().expect("it is a child");
        drop(end);
        watcher.join().expect("it does not panic");
        status
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for folder in [Some(&*self.folder), self.log.parent()].into_iter().flatten() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// The address after some words, on a line of the start-up output.
fn after(line: &str, words: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once(words)?;
    rest.split(['/', ' ', ',']).next()?.parse().ok()
}

/// Reads a response with a `Content-Length` from a connection that stays open.
pub(crate) fn read_one(stream: &mut TcpStream) -> String {
    let (mut all, mut byte) = (Vec::new(), [0]);
    while !all.ends_with(b"\r\n\r\n") {
        assert_eq!(stream.read(&mut byte).expect("it answers"), 1, "{:?}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&byte);
    }
    let head = String::from_utf8_lossy(&all).into_owned();
    let length = crate::support::field(&head, "content-length")
        .map_or(0, |length| length.parse().expect("it is a number"));
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("the body comes whole");
    head + &String::from_utf8_lossy(&body)
}
