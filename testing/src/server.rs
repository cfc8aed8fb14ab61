//! A real Redis or Valkey in a temporary folder, gone when it is dropped. It knows neither scripts nor links.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::folder::Folder;
use crate::make::Make;
use crate::patience::PATIENCE;

/// How long a server may take for one answer to `PING`.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// A server, and the folder in which it runs.
#[derive(Debug)]
pub struct Server {
    make: Make,
    folder: Folder,
    settings: Vec<String>,
    /// A command that runs it, with what comes before the program's name.
    within: Vec<String>,
    variables: Vec<(String, String)>,
    child: Option<Child>,
    /// When it has to be ready.
    until: Instant,
}

impl Server {
    /// A server that does not run yet. It will listen on [its socket](Self::socket) and write nothing to disk, unless the settings
    /// say otherwise.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "patience has an end")]
    pub fn new(make: Make, settings: &[&str]) -> Self {
        let folder = Folder::new("server");
        // A whole path: `--dir` changes what a relative one means.
        let socket = folder.path("socket");
        let usual = ["--port", "0", "--unixsocket", &socket, "--save", "", "--appendonly", "no"];
        let settings = usual.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
        let (within, variables) = (Vec::new(), Vec::new());
        Self { make, folder, settings, within, variables, child: None, until: Instant::now() }
    }

    /// A server that runs, and takes connections.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn) and [`ready`](Self::ready).
    pub fn start(make: Make, settings: &[&str]) -> Result<Self, String> {
        let mut server = Self::new(make, settings);
        server.spawn()?;
        server.ready()?;
        Ok(server)
    }

    /// A program with no settings but those that `change` gives it. It has just been started.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub fn custom(make: Make, change: impl FnOnce(&mut Command)) -> Result<Self, String> {
        let mut server = Self::new(make, &[]);
        server.settings.clear();
        server.spawn_changed(change)?;
        Ok(server)
    }

    /// Runs it by another command, from the next start on.
    pub fn run_within(&mut self, command: impl IntoIterator<Item = String>) {
        self.within.extend(command);
    }

    /// A variable of its environment, from the next start on.
    pub fn variable(&mut self, name: &str, value: String) {
        self.variables.push((name.to_owned(), value));
    }

    /// Further settings, from the next start on.
    pub fn add(&mut self, settings: impl IntoIterator<Item = String>) {
        self.settings.extend(settings);
    }

    /// Starts it, and does not wait until it takes connections.
    ///
    /// # Errors
    /// If its program is not there.
    pub fn spawn(&mut self) -> Result<(), String> {
        self.spawn_changed(|_| ())
    }

    #[expect(clippy::disallowed_methods, reason = "patience has an end")]
    fn spawn_changed(&mut self, change: impl FnOnce(&mut Command)) -> Result<(), String> {
        let program = self.make.program();
        let mut command = match self.within.split_first() {
            None => Command::new(&program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(&program);
                command
            }
        };
        let log = File::create(self.log()).map_err(|error| format!("{}: {error}", self.log().display()))?;
        // Settings that it refuses are told there.
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        command.args(&self.settings).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.folder.at()).stdin(Stdio::null()).stdout(log).stderr(errors);
        change(&mut command);
        let child = command.spawn().map_err(|error| {
            let program = program.display();
            format!("{program} is not there: {error}. `cargo xtask test install` installs it")
        })?;
        self.child = Some(child);
        self.until = Instant::now() + PATIENCE;
        Ok(())
    }

    /// Waits until it answers on its socket.
    ///
    /// # Errors
    /// With its log, if it has ended, or does not answer in time.
    pub fn ready(&mut self) -> Result<(), String> {
        while !self.is_ready()? {
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Whether it answers on its socket by now. A server that loads its data is not ready; one that wants a password is.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub fn is_ready(&mut self) -> Result<bool, String> {
        let stream = UnixStream::connect(self.socket()).and_then(|stream| {
            stream.set_read_timeout(Some(ANSWER_MAX))?;
            Ok(stream)
        });
        if stream.is_ok_and(answers) { Ok(true) } else { self.not_yet() }
    }

    /// Waits until it answers on this port of the host.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub fn ready_on(&mut self, port: u16) -> Result<(), String> {
        loop {
            let stream = TcpStream::connect(("127.0.0.1", port)).and_then(|stream| {
                stream.set_read_timeout(Some(ANSWER_MAX))?;
                Ok(stream)
            });
            if stream.is_ok_and(answers) || self.not_yet()? {
                return Ok(());
            }
            std::thread::yield_now();
        }
    }

    /// False as long as it may still become ready.
    #[expect(clippy::disallowed_methods, reason = "patience has an end")]
    fn not_yet(&mut self) -> Result<bool, String> {
        let ended = self.child.as_mut().map(Child::try_wait);
        let may_come = matches!(ended, Some(Ok(None))) && Instant::now() < self.until;
        if may_come {
            return Ok(false);
        }
        let said = fs::read_to_string(self.log()).unwrap_or_default();
        Err(format!("{} did not come up within {PATIENCE:?} ({ended:?}):\n{said}", self.make.name()))
    }

    /// `kill -9`, if it runs.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended already; then there is nothing to do.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends its process a signal: `STOP` freezes it, `CONT` lets it go on, `KILL` ends it.
    ///
    /// # Errors
    /// If the signal cannot be sent.
    pub fn signal(&self, name: &str) -> Result<(), String> {
        let number = self.pid().ok_or("the server does not run")?;
        match Command::new("kill").args([format!("-{name}"), number.to_string()]).status() {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("the server cannot be sent {name}: {other:?}")),
        }
    }

    /// The number of its process, if it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        Some(self.child.as_ref()?.id())
    }

    /// The folder in which it runs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.at()
    }

    /// Its socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.at().join("socket")
    }

    /// What it has printed since its start.
    fn log(&self) -> PathBuf {
        self.folder.at().join("log")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether it answers a `PING`.
fn answers(mut stream: impl Read + Write) -> bool {
    let mut answer = [0; 64];
    let answered = stream.write_all(b"PING\r\n").and_then(|()| stream.read(&mut answer));
    answered
        .is_ok_and(|count| answer[..count].starts_with(b"+PONG") || answer[..count].starts_with(b"-NOAUTH"))
}

/// A port of this host that was free a moment ago.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn free_port(host: &str) -> u16 {
    TcpListener::bind((host, 0)).and_then(|listener| listener.local_addr()).expect("a free port").port()
}

#[cfg(test)]
mod tests {
    use super::Server;
    use crate::make::Make;

    #[test]
    fn every_make_starts_in_a_folder_of_its_own_and_is_gone_with_it() {
        for make in Make::ALL {
            let server = Server::start(make, &[]).unwrap();
            let folder = server.folder().to_owned();
            assert!(folder.exists() && server.pid().is_some());
            drop(server);
            assert!(!folder.exists());
        }
    }

    #[test]
    fn a_server_that_ends_by_itself_is_told_with_its_log() {
        let why = Server::start(Make::Redis7, &["--no-such-setting", "1"]).unwrap_err();
        assert!(why.contains("no-such-setting"), "{why}");
    }

    #[test]
    fn a_server_can_be_killed_and_started_anew() {
        let mut server = Server::start(Make::Redis7, &[]).unwrap();
        server.kill();
        assert_eq!(server.pid(), None);
        assert!(server.signal("CONT").is_err());
        server.spawn().unwrap();
        server.ready().unwrap();
    }
}
