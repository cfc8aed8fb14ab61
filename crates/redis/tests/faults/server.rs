//! A real `redis-server` in a temporary directory, started and stopped by its test. It knows nothing of links.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tollgate_redis::Address;

use crate::support::until;

/// A server. Dropped, it is killed and its directory removed.
pub(crate) struct Server {
    directory: PathBuf,
    arguments: Vec<String>,
    child: Option<Child>,
}

static SERVERS: AtomicU32 = AtomicU32::new(0);

impl Server {
    /// A server that is not running yet. It keeps what it has acknowledged over a kill, but nothing is fsynced.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("tollgate-{}-{number}", std::process::id()));
        fs::create_dir_all(directory.join("data")).expect("a temporary directory");
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Self { directory, arguments, child: None }
    }

    /// Further arguments, for the next start.
    pub(crate) fn add(&mut self, arguments: impl IntoIterator<Item = String>) {
        self.arguments.extend(arguments);
    }

    /// A server that runs, on a unix socket.
    pub(crate) async fn started(arguments: &[&str]) -> Self {
        let mut server = Self::new(arguments);
        server.start().await;
        server
    }

    /// Starts it and waits until it answers.
    pub(crate) async fn start(&mut self) {
        self.spawn();
        let client = self.client();
        until("the server answers", || {
            client.get_connection().is_ok_and(|mut connection| {
                let said: Result<String, _> = redis::cmd("PING").query(&mut connection);
                said.is_ok() || said.is_err_and(|error| error.code() == Some("NOAUTH"))
            })
        })
        .await;
    }

    /// Starts it and does not wait.
    pub(crate) fn spawn(&mut self) {
        let child = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--daemonize", "no", "--enable-debug-command", "yes"])
            .args(["--appendonly", "yes", "--appendfsync", "no"])
            .arg("--dir")
            .arg(self.data())
            .arg("--unixsocket")
            .arg(self.socket())
            .arg("--logfile")
            .arg(self.directory.join("log"))
            .args(&self.arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("`redis-server` is installed");
        self.child = Some(child);
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        }
    }

    /// `SIGSTOP`: it keeps its connections and does nothing.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    /// `SIGCONT`.
    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.pid()]).status();
        assert!(status.expect("`kill` runs").success());
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> String {
        self.child.as_ref().expect("it runs").id().to_string()
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where it saves.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.join("socket")
    }

    pub(crate) fn address(&self) -> Address {
        format!("unix://{}", self.socket().display()).parse().expect("an address")
    }

    fn client(&self) -> redis::Client {
        redis::Client::open(format!("unix://{}", self.socket().display())).expect("an address")
    }

    /// An operator's connection, which outlives a change of password.
    pub(crate) fn operator(&self) -> redis::Connection {
        self.client().get_connection().expect("a connection")
    }

    /// Says something to it on a connection of its own, as an operator would.
    pub(crate) fn tell(&self, words: &str) -> redis::Value {
        self.tell_words(&words.split(' ').collect::<Vec<_>>())
            .unwrap_or_else(|error| panic!("{words}: {error}"))
    }

    /// The same, with words that hold spaces, and errors that are expected.
    pub(crate) fn tell_words(&self, words: &[&str]) -> redis::RedisResult<redis::Value> {
        let mut connection = self.client().get_connection_with_timeout(Duration::from_secs(5))?;
        connection.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut command = redis::cmd(words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(word);
        });
        command.query(&mut connection)
    }

    /// A number out of `INFO`.
    pub(crate) fn info(&self, name: &str) -> String {
        let text: String = redis::from_redis_value(self.tell("INFO all")).expect("text");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {name} in INFO")).to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        // What is left behind in a temporary directory harms nobody.
        drop(fs::remove_dir_all(&self.directory));
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port(host: &str) -> u16 {
    TcpListener::bind((host, 0)).and_then(|listener| listener.local_addr()).expect("a free port").port()
}
