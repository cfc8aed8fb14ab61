//! Load at a rate, whatever the answers do, and how long they took. Latency counts from the instant at which a request
//! was to be sent, also if no connection was free: a stall is charged to every request that fell into it.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use crate::measure::document::REQUEST;
use crate::response::{Come, look};
use crate::stopwatch::now;

/// As many as the other loads use.
const CONNECTIONS: usize = 64;
/// Answers that have not come this long after the last request was to be sent fail the run.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends so many requests a second for so many seconds, at random intervals (as independent clients would), and prints
/// the number of answers and their p50, p90, p99, p99.9 and longest latency in nanoseconds.
pub(crate) fn run(port: u16, rate: u32, seconds: u32) -> Result<(), String> {
    if rate == 0 || seconds == 0 {
        return Err("a load has a rate and a length, and neither is 0".into());
    }
    // By default the kernel may wake us 50 microseconds late.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).map_err(|error| error.to_string())?;
    let mut load = Load::open(port).map_err(|error| format!("cannot connect to port {port}: {error}"))?;
    let mut latencies = load.run(rate, Duration::from_secs(seconds.into()))?;
    latencies.sort_unstable();
    let at = |per_mille: usize| latencies[(latencies.len() - 1) * per_mille / 1_000].as_nanos();
    println!("{} {} {} {} {} {}", latencies.len(), at(500), at(900), at(990), at(999), at(1_000));
    Ok(())
}

/// When requests are to be sent: intervals of a Poisson process, the same in every run.
struct Schedule {
    next: Instant,
    end: Instant,
    rate: f64,
    random: u64,
}

impl Schedule {
    /// The next instant that has come, if one has.
    fn due(&mut self, now: Instant) -> Option<Instant> {
        let due = self.next;
        if due > now || due >= self.end {
            return None;
        }
        // An xorshift generator: any will do.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        // 32 of its bits, as a number above 0 and up to 1.
        let uniform = (f64::from(u32::try_from(self.random >> 32).unwrap_or(0)) + 1.0) / 4_294_967_296.0;
        self.next += Duration::from_secs_f64(-uniform.ln() / self.rate);
        Some(due)
    }

    fn over(&self) -> bool {
        self.next >= self.end
    }
}

struct Connection {
    stream: TcpStream,
    come: Vec<u8>,
    /// When the request that it carries was to be sent.
    since: Option<Instant>,
}

struct Load {
    poll: rustix::fd::OwnedFd,
    connections: Vec<Connection>,
    free: Vec<usize>,
    latencies: Vec<Duration>,
}

impl Load {
    fn open(port: u16) -> std::io::Result<Self> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut connections = Vec::new();
        for number in 0..CONNECTIONS {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let data = epoll::EventData::new_u64(u64::try_from(number).unwrap_or(0));
            epoll::add(&poll, &stream, data, epoll::EventFlags::IN)?;
            connections.push(Connection { stream, come: Vec::with_capacity(4096), since: None });
        }
        Ok(Self { poll, connections, free: (0..CONNECTIONS).collect(), latencies: Vec::new() })
    }

    fn run(&mut self, rate: u32, length: Duration) -> Result<Vec<Duration>, String> {
        let start = now();
        let end = start + length;
        let mut schedule = Schedule { next: start, end, rate: rate.into(), random: 0x9e37_79b9_7f4a_7c15 };
        let mut waiting = VecDeque::new();
        let mut events = Vec::with_capacity(CONNECTIONS);
        loop {
            let at = now();
            while let Some(due) = schedule.due(at) {
                waiting.push_back(due);
            }
            while !waiting.is_empty()
                && let Some(number) = self.free.pop()
            {
                self.send(number, waiting.pop_front())?;
            }
            if schedule.over() && waiting.is_empty() && self.free.len() == CONNECTIONS {
                return Ok(std::mem::take(&mut self.latencies));
            }
            let until = if schedule.over() { end + PATIENCE } else { schedule.next };
            let Some(pause) = until.checked_duration_since(now()) else {
                if schedule.over() {
                    return Err(format!("answers were still missing {PATIENCE:?} after the last request"));
                }
                // The next request is due already.
                self.take(&mut events, Duration::ZERO)?;
                continue;
            };
            self.take(&mut events, pause)?;
        }
    }

    fn send(&mut self, number: usize, since: Option<Instant>) -> Result<(), String> {
        let connection = &mut self.connections[number];
        connection.since = since;
        connection.stream.write_all(REQUEST.as_bytes()).map_err(|error| format!("cannot send: {error}"))
    }

    /// Waits for answers for so long, and takes those that have come.
    fn take(&mut self, events: &mut Vec<epoll::Event>, pause: Duration) -> Result<(), String> {
        let timeout = Timespec::try_from(pause).map_err(|error| error.to_string())?;
        events.clear();
        epoll::wait(&self.poll, spare_capacity(events), Some(&timeout)).map_err(|error| error.to_string())?;
        for event in events {
            let number = usize::try_from(event.data.u64()).unwrap_or(0);
            let connection = &mut self.connections[number];
            if connection.answered()? {
                self.latencies.extend(connection.since.take().map(|since| now() - since));
                self.free.push(number);
            }
        }
        Ok(())
    }
}

impl Connection {
    /// Reads what is there. True if that is the end of the answer.
    fn answered(&mut self) -> Result<bool, String> {
        let mut buffer = [0; 4096];
        let bytes = match self.stream.read(&mut buffer) {
            Ok(0) => return Err("a connection was closed".into()),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(format!("cannot read: {error}")),
        };
        self.come.extend_from_slice(&buffer[..bytes]);
        match look(&self.come) {
            Come::Part => return Ok(false),
            Come::Whole(200) => self.come.clear(),
            Come::Whole(status) => return Err(format!("an answer has the status {status}")),
            Come::Odd => return Err("an answer cannot be read".into()),
        }
        Ok(true)
    }
}

#[test]
fn a_schedule_has_its_rate_and_does_not_wait_for_answers() {
    let start = now();
    let end = start + Duration::from_secs(10);
    let mut schedule = Schedule { next: start, end, rate: 1_000.0, random: 1 };
    assert_eq!(schedule.due(start), Some(start));
    assert_eq!(schedule.due(start), None, "the second is not due yet");
    let all = std::iter::from_fn(|| schedule.due(end)).count();
    assert!((9_700..=10_300).contains(&all), "{all} in ten seconds at a thousand a second");
    assert!(schedule.over());
}
