//! Who is measured, and how each is told the same: the commands and the configuration of nginx and of our gateway. What
//! is asked of them is elsewhere.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::document::{Limits, REQUEST, openapi};
use super::nginx;
use crate::process::{Process, Start, free_port};
use crate::response::{Come, field, look};

/// A gateway that does not answer its first request in this time has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where and with what everything runs.
pub(crate) struct Place {
    /// Files of this run: configurations, documents, logs.
    pub(crate) folder: PathBuf,
    /// Where the upstream listens.
    pub(crate) upstream: u16,
    /// Our command; none if nginx stands in for it.
    pub(crate) tollgate: Option<String>,
}

/// Whose gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whose {
    Tollgate,
    Nginx,
}

/// How a gateway is set up.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) limits: Limits,
    pub(crate) workers: u16,
    pub(crate) cores: &'static str,
}

/// Someone who is measured, running.
pub(crate) struct Contestant {
    pub(crate) name: String,
    pub(crate) port: u16,
    pub(crate) process: Process,
}

impl Contestant {
    /// Starts a gateway, waits until it listens, and makes sure that it does what is to be measured.
    pub(crate) fn gateway(place: &Place, whose: Whose, setup: Setup) -> Result<Self, String> {
        let port = free_port()?;
        let limits = match setup.limits {
            Limits::Generous => "",
            Limits::None => " without limits",
            Limits::Exhausted => " refusing",
        };
        let ours = place.tollgate.as_deref().filter(|_| whose == Whose::Tollgate);
        let name = match (whose, ours) {
            (Whose::Nginx, _) => format!("nginx{limits}"),
            (Whose::Tollgate, Some(_)) => format!("tollgate{limits}"),
            (Whose::Tollgate, None) => format!("nginx again{limits}"),
        };
        let start = match ours {
            Some(command) => tollgate(place, command, setup, port, &name)?,
            None => nginx::start(place, setup, port, &name)?,
        };
        let process = Process::start(&start, &place.folder)?.listening(port)?;
        let contestant = Self { name, port, process };
        contestant.first_answers(setup.limits, ours.is_some())?;
        Ok(contestant)
    }

    /// The first request is granted. Where all are to be refused, one more is not; where fields are on, they are there.
    fn first_answers(&self, limits: Limits, fields: bool) -> Result<(), String> {
        let failed = |what: String| self.process.failed(&what);
        let (status, head) = ask(self.port).map_err(|error| failed(format!("gave no answer: {error}")))?;
        if status != 200 {
            return Err(failed(format!("answered the first request with {status}, not 200")));
        }
        if fields && limits != Limits::None && field(&head, "ratelimit-policy").is_none() {
            return Err(failed(format!("sends no RateLimit-Policy, so its fields are off:\n{head}\n")));
        }
        if limits == Limits::Exhausted {
            let second = ask(self.port).map_err(|error| failed(format!("gave no second answer: {error}")))?.0;
            if second != 429 {
                return Err(failed(format!("answered a request beyond its limit with {second}, not 429")));
            }
        }
        Ok(())
    }
}

/// How our gateway is started: its flags and its variables stand here and nowhere else in the measurements.
fn tollgate(place: &Place, command: &str, setup: Setup, port: u16, name: &str) -> Result<Start, String> {
    let policy = write(&place.folder, &format!("{:?}.yaml", setup.limits), &openapi(setup.limits))?;
    let upstream = format!("http://127.0.0.1:{}", place.upstream);
    let listen = format!("127.0.0.1:{port}");
    let words = [command, "serve", "--policy", &policy, "--upstream", &upstream, "--listen", &listen];
    let environment = vec![
        ("TOLLGATE_WORKERS", setup.workers.to_string()),
        // Several gateways run at once, and nobody looks at their metrics.
        ("TOLLGATE_OPERATIONS_LISTEN", "none".into()),
        // nginx's refusals are not logged either.
        ("TOLLGATE_LOG_REFUSALS_PER_SECOND", "0".into()),
    ];
    Ok(Start { name: name.into(), cores: setup.cores, words: words.map(String::from).into(), environment })
}

/// Writes a file of this run, and returns its path.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> Result<String, String> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.display().to_string())
}

/// One request on a connection of its own: the status and the head of the answer.
fn ask(port: u16) -> Result<(u16, String), String> {
    let said = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(said)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(said)?;
    stream.write_all(REQUEST.as_bytes()).map_err(said)?;
    let (mut come, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let bytes = stream.read(&mut buffer).map_err(said)?;
        come.extend_from_slice(&buffer[..bytes]);
        let text = || String::from_utf8_lossy(&come).split("\r\n\r\n").next().unwrap_or_default().to_string();
        match look(&come) {
            Come::Whole(status) => return Ok((status, text())),
            Come::Part if bytes > 0 => {}
            Come::Part | Come::Odd => return Err(format!("not a response that can be read:\n{}", text())),
        }
    }
}
