//! `tollgate demo`: runs a gateway with a small API behind it, and sends four requests. Needs no other software.

mod upstream;

use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use crate::Exit;
use crate::cli::DemoArgs;
use crate::serve::{Running, StartError, Stopper, start};
use crate::settings::{IDLE_MAX, Protocol, Settings, Upstream, UpstreamLimit};

/// The API's OpenAPI document.
const DOCUMENT: &str = include_str!("demo/openapi.yaml");
/// Timeout of a demo request.
const PATIENCE: Duration = Duration::from_secs(10);
/// The headers shown; all others are common to any response.
const SHOWN: [&str; 3] = ["ratelimit-policy", "ratelimit", "retry-after"];
/// One more than the limit admits at once.
const REQUESTS: usize = 4;

/// Runs the demo, then keeps serving until it is stopped, or until standard input ends if that is not a terminal.
///
/// # Errors
/// If the output cannot be written.
pub fn run(args: &DemoArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let folder = Folder::new()?;
    let file = folder.0.join("openapi.yaml");
    std::fs::write(&file, DOCUMENT)?;
    let behind = upstream::start()?;
    let listen = free(args.listen)?;
    let upstream = Upstream {
        tls: false,
        host: behind.ip().to_string(),
        port: behind.port(),
        protocol: Protocol::Http1,
        ca: None,
        idle_max: IDLE_MAX,
        lookup: None,
        adaptive: UpstreamLimit::default(),
    };
    let mut settings = Settings::new(file.to_string_lossy(), upstream);
    settings.listen = vec![listen];
    settings.operations = None;
    settings.workers = Some(1);
    let running = match start(settings, io::sink()) {
        Ok(running) => running,
        Err(StartError::Documents(wrong)) => {
            wrong.tell(err)?;
            return Ok(Exit::Findings);
        }
        Err(StartError::Other(why)) => {
            writeln!(err, "error: {why}")?;
            return Ok(Exit::Usage);
        }
    };
    show(&running, out)?;
    if !io::stdin().is_terminal() {
        stop_at_the_end_of_input(running.stopper());
    }
    match running.run() {
        Ok(()) => Ok(Exit::Fine),
        Err(why) => {
            writeln!(err, "error: {why}")?;
            Ok(Exit::Findings)
        }
    }
}

/// The wanted address if its port is free, otherwise one with another port.
fn free(wanted: SocketAddr) -> io::Result<SocketAddr> {
    match TcpListener::bind(wanted) {
        Ok(_) => Ok(wanted),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            TcpListener::bind((wanted.ip(), 0)).and_then(|listener| listener.local_addr())
        }
        Err(error) => Err(error),
    }
}

fn show(running: &Running, out: &mut dyn Write) -> io::Result<()> {
    let address = running.addresses().first().copied().ok_or(ErrorKind::AddrNotAvailable)?;
    let live = running.live().load();
    let limits = live.limits.policy().limits();
    let numbers = limits.first().map(|limit| limit.numbers.to_string()).unwrap_or_default();
    writeln!(out, "The OpenAPI document limits GET /hello, per API key: {numbers}.")?;
    writeln!(out, "The gateway in front of the API listens on http://{address}. Four requests in a row:\n")?;
    let curl = format!("curl -i http://{address}/hello -H 'X-API-Key: ada'");
    writeln!(out, "    $ {curl}")?;
    for number in 1..=REQUESTS {
        let response = ask(address)?;
        let (head, body) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
        // The first and last responses are shown in full, the others only with the remaining quota.
        if number == 1 || number == REQUESTS {
            whole(head, body, out)?;
        } else {
            let left = head.lines().find(|line| line.starts_with("ratelimit:")).unwrap_or_default();
            writeln!(out, "    {}    {left}", head.lines().next().unwrap_or_default())?;
        }
        if number == 1 || number == REQUESTS - 1 {
            writeln!(out)?;
        }
    }
    writeln!(out, "\nTry it in another terminal. `bob` has his own quota, and /status has no limit.\n")?;
    writeln!(out, "    {curl}")?;
    writeln!(out, "    curl -i http://{address}/hello -H 'X-API-Key: bob'")?;
    writeln!(out, "    curl -i http://{address}/status\n")?;
    writeln!(out, "Press Ctrl-C to stop.")?;
    out.flush()
}

/// Prints a response like `curl -i`, without the common headers.
fn whole(head: &str, body: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = head.lines();
    writeln!(out, "    {}", lines.next().unwrap_or_default())?;
    for line in lines.filter(|line| is_shown(line)) {
        writeln!(out, "    {line}")?;
    }
    writeln!(out, "\n    {}", body.trim_end())
}

fn is_shown(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default();
    SHOWN.contains(&name.to_ascii_lowercase().as_str())
}

/// Sends a request over a new connection.
fn ask(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let head = "GET /hello HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ada\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

/// Stops the demo at the end of input: in a script, nobody presses Ctrl-C.
fn stop_at_the_end_of_input(stopper: Stopper) {
    std::thread::spawn(move || {
        // Only the end of input matters.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        stopper.stop();
    });
}

/// A temporary folder for the document, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("tollgate-demo-{}", std::process::id()));
        // Fails if the folder exists: it may belong to somebody else.
        std::fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
