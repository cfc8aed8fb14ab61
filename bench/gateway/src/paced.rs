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

/// So long is a slice of the load, of which the latencies are told by themselves. A machine that stands still a few times a second
/// shows in the p99 of every second, and not in that of most slices.
const SLICE: Duration = Duration::from_millis(100);

/// Sends so many requests a second for so many seconds, at random intervals (as independent clients would), and prints
/// the number of answers and their p50, p90, p99, p99.9 and longest latency in nanoseconds; and the p99 of each slice.
pub(crate) fn run(port: u16, rate: u32, seconds: u32) -> Result<(), String> {
    if rate == 0 || seconds == 0 {
        return Err("a load has a rate and a length, and neither is 0".into());
    }
    // By default the kernel may wake us 50 microseconds late.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).map_err(|error| error.to_string())?;
    let mut load = Load::open(port).map_err(|error| format!("cannot connect to port {port}: {error}"))?;
    let length = Duration::from_secs(seconds.into());
    let (start, answers) = load.run(rate, length)?;
    let mut latencies: Vec<Duration> = answers.iter().map(|answer| answer.latency).collect();
    latencies.sort_unstable();
    let at = |per_mille| quantile(&latencies, per_mille).as_nanos();
    println!("{} {} {} {} {} {}", latencies.len(), at(500), at(900), at(990), at(999), at(1_000));
    let slices = slices(start, length, &answers);
    let p99s: Vec<String> = slices.iter().map(|slice| quantile(slice, 990).as_nanos().to_string()).collect();
    println!("{}", p99s.join(" "));
    Ok(())
}

/// Of latencies in order, the one below which so many of a thousand are; nothing of none.
fn quantile(latencies: &[Duration], per_mille: usize) -> Duration {
    latencies.get(latencies.len().saturating_sub(1) * per_mille / 1_000).copied().unwrap_or_default()
}

/// The latencies of each slice, in order: of the requests that were to be sent in it.
fn slices(start: Instant, length: Duration, answers: &[Answer]) -> Vec<Vec<Duration>> {
    let place = |instant: Instant| (instant - start).as_nanos() / SLICE.as_nanos();
    let mut slices = vec![Vec::new(); usize::try_from(length.as_nanos() / SLICE.as_nanos()).unwrap_or(0)];
    for answer in answers {
        if let Some(slice) = slices.get_mut(usize::try_from(place(answer.due)).unwrap_or(usize::MAX)) {
            slice.push(answer.latency);
        }
    }
    slices.iter_mut().for_each(|slice| slice.sort_unstable());
    slices
}

/// How long one answer took.
#[derive(Clone, Copy)]
struct Answer {
    /// When its request was to be sent.
    due: Instant,
    latency: Duration,
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
    answers: Vec<Answer>,
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
        Ok(Self { poll, connections, free: (0..CONNECTIONS).collect(), answers: Vec::new() })
    }

    /// Loads for so long. When that began, and all answers.
    fn run(&mut self, rate: u32, length: Duration) -> Result<(Instant, Vec<Answer>), String> {
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
                return Ok((start, std::mem::take(&mut self.answers)));
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
                let answer = |due| Answer { due, latency: now() - due };
                self.answers.extend(connection.since.take().map(answer));
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

#[test]
fn each_slice_has_the_answers_to_what_was_to_be_sent_in_it() {
    let start = now();
    let answer = |at, latency| Answer { due: start + at, latency };
    let long = Duration::from_secs(9);
    let answers = [answer(SLICE / 2, SLICE), answer(Duration::ZERO, long), answer(SLICE, SLICE / 3)];
    assert_eq!(slices(start, SLICE * 2, &answers), [vec![SLICE, long], vec![SLICE / 3]]);
    assert_eq!(quantile(&[SLICE, long], 990), SLICE);
    assert_eq!(quantile(&[], 990), Duration::ZERO);
}
