//! A real server in a temporary directory, started and stopped by its test. It knows nothing of links.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tollgate_redis::Address;

use crate::make::Make;
use crate::support::until;

/// A server. Dropped, it is killed and its directory removed.
pub(crate) struct Server {
    make: Make,
    directory: PathBuf,
    arguments: Vec<String>,
    /// A command that runs it, with what that needs before the program's name.
    within: Vec<String>,
    /// What its environment has besides.
    variables: Vec<(&'static str, String)>,
    child: Option<Child>,
}

static SERVERS: AtomicU32 = AtomicU32::new(0);

impl Server {
    /// A server that is not running yet. It keeps what it has acknowledged over a kill, but nothing is fsynced.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        Self::of(Make::Redis7, arguments)
    }

    /// The same, of this make.
    pub(crate) fn of(make: Make, arguments: &[&str]) -> Self {
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("tollgate-{}-{number}", std::process::id()));
        fs::create_dir_all(directory.join("data")).expect("a temporary directory");
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Self { make, directory, arguments, within: Vec::new(), variables: Vec::new(), child: None }
    }

    /// Runs it by another command, from the next start on.
    pub(crate) fn run_within(&mut self, command: impl IntoIterator<Item = String>) {
        self.within.extend(command);
    }

    /// A variable of its environment, from the next start on.
    pub(crate) fn variable(&mut self, name: &'static str, value: String) {
        self.variables.push((name, value));
    }

    /// Further arguments, for the next start.
    pub(crate) fn add(&mut self, arguments: impl IntoIterator<Item = String>) {
        self.arguments.extend(arguments);
    }

    /// A server that runs, on a unix socket.
    pub(crate) async fn started(arguments: &[&str]) -> Self {
        Self::started_as(Make::Redis7, arguments).await
    }

    /// The same, of this make.
    pub(crate) async fn started_as(make: Make, arguments: &[&str]) -> Self {
        let mut server = Self::of(make, arguments);
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
        let program = self.make.program();
        let mut command = match self.within.split_first() {
            None => Command::new(&program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(&program);
                command
            }
        };
        if self.make != Make::Redis6 {
            // There it needs no permission.
            command.args(["--enable-debug-command", "yes"]);
        }
        let child = command
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .args(["--port", "0", "--save", "", "--daemonize", "no"])
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
            .spawn();
        self.child = Some(child.unwrap_or_else(|error| {
            let (name, program) = (self.make.name(), program.display());
            panic!(
                "{name} is not there ({program}: {error}). `cargo xtask test` installs it in its first step"
            )
        }));
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

    /// What its clock says, in microseconds.
    pub(crate) fn time(&self) -> u64 {
        let [seconds, micros]: [u64; 2] = redis::from_redis_value(self.tell("TIME")).expect("a time");
        seconds * 1_000_000 + micros
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
