//! The Redis that everybody is measured on: started in a folder of its own, on a core of its own, and what it has used. It knows
//! no scripts.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::make::Make;
use crate::stopwatch::{pause, wait_for};
use crate::wire::{Connection, Said};

/// A server that takes no connection after this time has failed. A busy machine takes long to start it.
const READY: Duration = Duration::from_secs(60);
/// Memory that is the same for so long is at rest: the server moves its tables ten times a second.
const REST: Duration = Duration::from_millis(400);
/// A server whose memory is not at rest after so long has failed.
const REST_MAX: Duration = Duration::from_secs(60);

/// A running server. It ends when this is dropped, and also when this program ends in another way.
pub(crate) struct Server {
    child: Child,
    folder: PathBuf,
}

impl Server {
    /// Starts one that writes nothing to disk, and waits until it takes connections.
    pub(crate) fn start(make: Make) -> Result<Self, String> {
        let me = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let folder = std::env::temp_dir().join(format!("redis-bench-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let log =
            File::create(folder.join("log")).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut command = Command::new(me);
        command.arg("serve").arg(make.program());
        command.args(["--port", "0", "--unixsocket", "socket"]);
        command.args(["--save", "", "--appendonly", "no", "--databases", "16"]);
        command.current_dir(&folder).stdin(Stdio::null()).stdout(log).stderr(Stdio::inherit());
        let child = command.spawn().map_err(|error| format!("cannot start {}: {error}", make.name()))?;
        let mut server = Self { child, folder };
        let ready = wait_for(READY, || match server.child.try_wait() {
            Ok(None) => server.connect(0).ok().map(|_| true),
            _ => Some(false),
        });
        if ready == Some(true) {
            return Ok(server);
        }
        let said = fs::read_to_string(server.folder.join("log")).unwrap_or_default();
        Err(format!("{} did not come up within {READY:?}. It said:\n{said}", make.name()))
    }

    /// Its socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// Its address with a database, as clients are told it.
    pub(crate) fn address(&self, database: u32) -> String {
        format!("unix://{}?db={database}", self.socket().display())
    }

    /// A connection to one of its databases.
    pub(crate) fn connect(&self, database: u32) -> Result<Connection, String> {
        let mut connection = Connection::open(&self.socket())?;
        connection.tell(&[b"SELECT", database.to_string().as_bytes()])?;
        Ok(connection)
    }

    /// Processor time of the thread that serves, by the kernel's count.
    pub(crate) fn cpu(&self) -> Result<Duration, String> {
        let path = format!("/proc/{}/schedstat", self.child.id());
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let nanos = text.split_whitespace().next().and_then(|word| word.parse().ok());
        nanos.map(Duration::from_nanos).ok_or_else(|| format!("{path} says no time: `{text}`"))
    }

    /// Bytes that it has allocated, once they are the same for a while.
    pub(crate) fn memory_at_rest(&self) -> Result<u64, String> {
        let mut connection = self.connect(0)?;
        let mut last = None;
        let found = wait_for(REST_MAX, || {
            let used = used_memory(&mut connection);
            if last.as_ref() == Some(&used) || used.is_err() {
                return Some(used);
            }
            last = Some(used);
            pause(REST);
            None
        });
        found.ok_or_else(|| format!("the server's memory was not at rest after {REST_MAX:?}"))?
    }

    /// How many keys a database has.
    pub(crate) fn keys(&self, database: u32) -> Result<u64, String> {
        match self.connect(database)?.tell(&[b"DBSIZE"])? {
            Said::Number(count) => u64::try_from(count).map_err(|error| error.to_string()),
            Said::Text(text) => Err(format!("the server has no number of keys, but `{text:?}`")),
        }
    }
}

fn used_memory(connection: &mut Connection) -> Result<u64, String> {
    let Said::Text(text) = connection.tell(&[b"INFO", b"memory"])? else {
        return Err("the server says nothing of its memory".into());
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok());
    line.ok_or_else(|| format!("the server does not say what it has allocated:\n{text}"))
}

impl Drop for Server {
    fn drop(&mut self) {
        // It keeps nothing, so that there is nothing to end in order.
        self.child.kill().ok();
        self.child.wait().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}
