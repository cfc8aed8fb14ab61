//! A program that was started for a measurement: what it has used, and that it ends. What it is for is not known here.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Pid, Signal, kill_process};

use crate::stopwatch::wait_for;

/// A program that does not listen after this time has failed.
const READY: Duration = Duration::from_secs(20);
/// A program that has not ended this long after SIGTERM is killed.
const ENDING: Duration = Duration::from_secs(5);

/// How a program is started.
#[derive(Clone)]
pub(crate) struct Start {
    /// What it is called in messages and in the name of its log.
    pub(crate) name: String,
    /// The cores it may use, with commas.
    pub(crate) cores: &'static str,
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    /// What is in its environment besides.
    pub(crate) environment: Vec<(&'static str, String)>,
}

/// A running program. It ends when this is dropped, and also when the measuring program ends in another way.
pub(crate) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts it, with its output in a file of the folder.
    pub(crate) fn start(start: &Start, folder: &Path) -> Result<Self, String> {
        let log = folder.join(format!("{}.log", start.name.replace([' ', ','], "-")));
        let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let errors = file.try_clone().map_err(|error| format!("{}: {error}", log.display()))?;
        let mut command = leashed(start.cores, &start.words)?;
        command.envs(start.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(file).stderr(errors);
        let child = command.spawn().map_err(|error| format!("cannot start {}: {error}", start.name))?;
        Ok(Self { name: start.name.clone(), child, log })
    }

    /// Waits until it accepts connections.
    pub(crate) fn listening(mut self, port: u16) -> Result<Self, String> {
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listening = wait_for(READY, || match self.child.try_wait() {
            Ok(None) => TcpStream::connect(to).is_ok().then_some(true),
            _ => Some(false),
        });
        match listening {
            Some(true) => Ok(self),
            Some(false) => Err(self.failed("ended instead of serving")),
            None => Err(self.failed(&format!("did not accept connections on {to} within {READY:?}"))),
        }
    }

    /// A sentence about what went wrong, with the last that it said.
    pub(crate) fn failed(&self, what: &str) -> String {
        let said = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(20)..].join("\n");
        format!("{} {what}. It said:\n{last}", self.name)
    }

    /// Processor time that it and its children have used.
    pub(crate) fn cpu(&self) -> Result<Duration, String> {
        let ticks = self.sum([11, 12])?;
        Ok(Duration::from_millis(ticks * 1_000 / clock_ticks_per_second().max(1)))
    }

    /// Bytes of its memory, and of its children's, that are resident.
    pub(crate) fn resident_bytes(&self) -> Result<u64, String> {
        Ok(self.sum([21])? * u64::try_from(page_size()).unwrap_or(4096))
    }

    fn sum<const N: usize>(&self, fields: [usize; N]) -> Result<u64, String> {
        let pid = self.child.id().to_string();
        let (mut sum, mut found) = (0, false);
        for entry in fs::read_dir("/proc").map_err(|error| format!("/proc: {error}"))?.flatten() {
            // A process may end between being listed and being read.
            let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
            let Some(of) = stat_fields(&stat) else { continue };
            if entry.file_name() == pid.as_str() || of.get(1) == Some(&pid.as_str()) {
                found |= entry.file_name() == pid.as_str();
                sum += fields.iter().filter_map(|at| of.get(*at)?.parse::<u64>().ok()).sum::<u64>();
            }
        }
        if found { Ok(sum) } else { Err(self.failed("is gone")) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).ok();
        let ended = wait_for(ENDING, || self.child.try_wait().map_or(Some(()), |status| status.map(|_| ())));
        if ended.is_none() {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

/// The fields of a line of `/proc/PID/stat` from the state on. The name before them may have anything in it.
pub(crate) fn stat_fields(stat: &str) -> Option<Vec<&str>> {
    Some(stat.rsplit_once(')')?.1.split_whitespace().collect())
}

/// A command that becomes these words on these cores.
pub(crate) fn leashed(cores: &str, words: &[String]) -> Result<Command, String> {
    let me = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut command = Command::new(me);
    command.args(["leash", cores]).args(words);
    Ok(command)
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| format!("no free port: {error}"))
}

#[test]
fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
    let stat = "12 (a (b) c) S 7 12 12 0 -1 4194304 95 0 0 0 31 8 0 0 20 0 1 0 100 200 300";
    let fields = stat_fields(stat).unwrap();
    assert_eq!((fields[1], fields[11], fields[12], fields[21]), ("7", "31", "8", "300"));
}
