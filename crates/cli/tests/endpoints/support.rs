//! A process with endpoints, and a client that sends bytes. No test is in here.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tollgate_testing::folder::Folder;

/// Nothing here takes long; what does is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A process that serves, until it is dropped.
pub(crate) struct Served {
    pub(crate) folder: Folder,
    pub(crate) api: SocketAddr,
    pub(crate) child: Child,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("it is JSON: {self:?}"))
    }

    /// The value of a header, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let head = self.head.to_ascii_lowercase();
        let line =
            head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned));
        line.map(|value| value.trim().to_owned())
    }
}

/// The program with a file of settings, which names what it needs in its folder as `{folder}`.
pub(crate) fn command(folder: &Folder, settings: &str) -> Command {
    let settings = settings.replace("{folder}", &folder.path(""));
    let file = folder.put("tollgate.yaml", settings.as_bytes());
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(["serve", "--config", &file]).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Served {
    pub(crate) fn new(settings: &str) -> Self {
        Self::within(Folder::new("endpoints"), settings)
    }

    pub(crate) fn within(folder: Folder, settings: &str) -> Self {
        let mut command = command(&folder, settings);
        let mut child = command.stderr(Stdio::null()).spawn().expect("it runs");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let (mut api, mut all) = (None, String::new());
        loop {
            let mut line = String::new();
            let read = out.read_line(&mut line).expect("it writes lines");
            all.push_str(&line);
            if let Some((_, rest)) = line.split_once("for HTTP").filter(|_| api.is_none()) {
                let address = rest.split_once("://").expect("a URL").1;
                let end = address.find([',', '\n']).expect("it ends");
                api = address.get(..end).and_then(|address| address.parse().ok());
            }
            if line.starts_with("  stop") || read == 0 {
                break;
            }
        }
        let api = api.unwrap_or_else(|| panic!("it says where it listens:\n{all}"));
        Self { folder, api, child }
    }

    /// A connection to the endpoint.
    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.api)
    }

    /// Sends a request with these header lines and this body.
    pub(crate) fn ask(&self, method: &str, target: &str, fields: &str, body: &str) -> Response {
        ask(self.api, method, target, fields, body)
    }

    /// Posts JSON.
    pub(crate) fn post(&self, target: &str, body: &str) -> Response {
        self.ask("POST", target, "Content-Type: application/json\r\n", body)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    stream.set_write_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    stream
}

pub(crate) fn ask(address: SocketAddr, method: &str, target: &str, fields: &str, body: &str) -> Response {
    let length = if body.is_empty() && method == "GET" {
        String::new()
    } else {
        format!("Content-Length: {}\r\n", body.len())
    };
    let request = format!(
        "{method} {target} HTTP/1.1\r\nHost: api.example.org\r\nConnection: close\r\n{length}{fields}\r\n{body}"
    );
    let mut stream = connect(address);
    // It may answer, and close, before it has read everything.
    let _ = stream.write_all(request.as_bytes());
    read(&mut stream)
}

/// Reads everything until the end; what cannot be read is the end.
pub(crate) fn read(stream: &mut TcpStream) -> Response {
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let all = String::from_utf8_lossy(&all).into_owned();
    let (head, body) = all.split_once("\r\n\r\n").unwrap_or((&all, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Response { status, head: head.to_owned(), body: body.to_owned() }
}
