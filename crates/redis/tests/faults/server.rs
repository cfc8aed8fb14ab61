//! A real server and its operator, for the faults of a link. It is started by `testing`, and knows nothing of links.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tollgate_redis::Address;

use crate::make::Make;

/// A server. Dropped, it is killed and its directory removed.
pub(crate) struct Server(tollgate_testing::server::Server);

impl Server {
    /// A server that is not running yet. It keeps what it has acknowledged over a kill, but nothing is fsynced.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        Self::of(Make::Redis7, arguments)
    }

    /// The same, of this make.
    pub(crate) fn of(make: Make, arguments: &[&str]) -> Self {
        let mut server = tollgate_testing::server::Server::new(make, &["--appendonly", "yes"]);
        let data = server.folder().join("data");
        std::fs::create_dir_all(&data).expect("a temporary directory");
        let data = data.display().to_string();
        server.add(["--appendfsync", "no", "--dir", &data].map(ToOwned::to_owned));
        if make.major() >= 7 {
            // Older ones have no such permission.
            server.add(["--enable-debug-command", "yes"].map(ToOwned::to_owned));
        }
        server.add(arguments.iter().map(|argument| (*argument).to_owned()));
        Self(server)
    }

    /// Runs it by another command, from the next start on.
    pub(crate) fn run_within(&mut self, command: impl IntoIterator<Item = String>) {
        self.0.run_within(command);
    }

    /// A variable of its environment, from the next start on.
    pub(crate) fn variable(&mut self, name: &'static str, value: String) {
        self.0.variable(name, value);
    }

    /// Further arguments, for the next start.
    pub(crate) fn add(&mut self, arguments: impl IntoIterator<Item = String>) {
        self.0.add(arguments);
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

    /// Starts it and waits until it answers. Others in the same runtime go on meanwhile.
    pub(crate) async fn start(&mut self) {
        self.spawn();
        while !self.0.is_ready().unwrap_or_else(|why| panic!("{why}")) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Starts it and does not wait.
    pub(crate) fn spawn(&mut self) {
        self.0.spawn().unwrap_or_else(|why| panic!("{why}"));
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.0.kill();
    }

    /// `SIGSTOP`: it keeps its connections and does nothing.
    pub(crate) fn freeze(&self) {
        self.0.signal("STOP").expect("it runs");
    }

    /// `SIGCONT`.
    pub(crate) fn thaw(&self) {
        self.0.signal("CONT").expect("it runs");
    }

    /// The number of its process.
    #[allow(dead_code, reason = "the long run needs it, the tests do not")]
    pub(crate) fn pid(&self) -> String {
        self.0.pid().expect("it runs").to_string()
    }

    pub(crate) fn directory(&self) -> &Path {
        self.0.folder()
    }

    /// Where it saves.
    pub(crate) fn data(&self) -> PathBuf {
        self.0.folder().join("data")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.socket()
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
