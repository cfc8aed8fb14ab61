//! What a fault did to a running load, in numbers: one row of a table. Which fault it was is not known here.

use std::fmt;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_redis::{Address, Settings, StateKind, Store};

use crate::hot::{charged, charged_in, charging, name};
use crate::load::{Load, Sample, wrong};
use crate::make::Make;
use crate::server::Server;
use crate::support::run;

/// How a fault is played.
#[derive(Clone, Debug)]
pub(crate) struct Play {
    pub(crate) settings: Settings,
    /// How long it lasts, at least.
    pub(crate) hold: Duration,
    pub(crate) callers: usize,
    pub(crate) make: Make,
}

impl Play {
    /// As short as it can be seen, with a budget that no busy machine exceeds.
    pub(crate) fn quick() -> Self {
        let (budget, stall_timeout) = (Duration::from_secs(5), Duration::from_secs(10));
        let settings = Settings { budget, stall_timeout, ..Settings::default() };
        Self { settings, hold: Duration::ZERO, callers: 16, make: Make::Redis7 }
    }

    /// At full load, with the settings that everybody has.
    pub(crate) fn full(hold: Duration) -> Self {
        Self { settings: Settings::default(), hold, callers: 64, make: Make::Redis7 }
    }
}

/// A server, a store on it, and callers: where faults are played.
pub(crate) struct Stage {
    pub(crate) server: Server,
    pub(crate) store: Store,
    pub(crate) load: Load,
    /// How much was charged, each time that the budget was deleted.
    deleted: Vec<u64>,
    watch: Watch,
}

/// What is measured besides the calls, from the beginning.
pub(crate) struct Watch {
    noise: Noise,
    resident_before: u64,
}

/// The figures of one fault.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) name: &'static str,
    /// Calls that were made during the fault, and how many of them were answered.
    pub(crate) calls: usize,
    pub(crate) answered: usize,
    /// Their latencies.
    pub(crate) p99: Duration,
    pub(crate) worst: Duration,
    /// Of the whole run.
    pub(crate) wrong: u64,
    /// From the beginning of the fault to the first call that failed; then, to the first that failed at once.
    pub(crate) first_failure: Option<Duration>,
    pub(crate) detected: Option<Duration>,
    /// From the end of the fault to the first answer.
    pub(crate) recovered: Option<Duration>,
    /// Resident memory of this process, in KiB.
    pub(crate) resident_before: u64,
    pub(crate) resident_after: u64,
    /// How long this process was kept from running, at worst: no latency can be judged closer than that.
    pub(crate) noise: Duration,
    pub(crate) samples: Vec<Sample>,
}

/// A call that takes less ended at once.
const AT_ONCE: Duration = Duration::from_millis(2);

impl Stage {
    /// A stage on which everything goes well.
    pub(crate) async fn set(server: Server, play: &Play) -> Self {
        let address = server.address();
        Self::set_at(address, server, play).await
    }

    /// The same, by way of this address.
    pub(crate) async fn set_at(address: Address, server: Server, play: &Play) -> Self {
        let store = Store::open(address, play.settings.clone()).expect("a store");
        let load = charging(&store, play.callers);
        load.answered(500).await;
        Self { server, store, load, deleted: Vec::new(), watch: Watch::start() }
    }

    /// `FLUSHALL`, together with a last look at the budget that the load charges.
    pub(crate) fn empty(&mut self) {
        let mut both = redis::pipe();
        both.atomic().cmd("GET").arg(name().of(StateKind::Debt).as_bytes()).cmd("FLUSHALL").ignore();
        let (held,): (Option<Vec<u8>>,) = both.query(&mut self.server.operator()).expect("it is emptied");
        self.deleted.push(charged(held));
    }

    /// Waits until a fault has lasted long enough. No more is in flight than may be, all the while.
    pub(crate) async fn hold(&self, began: Instant, play: &Play) {
        while began.elapsed() < play.hold {
            assert!(self.store.health().in_flight <= play.settings.in_flight_max);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Stops the load, given when the fault began and ended, and works the figures out.
    pub(crate) async fn figures(self, name: &'static str, began: Instant, ended: Instant) -> Figures {
        self.load.answered(500).await;
        let samples = self.load.stop().await;
        let counts = [self.deleted, vec![charged_in(&self.server)]].concat();
        let wrong = wrong(&samples, &counts);
        self.watch.figures(name, (began, ended), samples, wrong)
    }
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self { noise: Noise::start(), resident_before: resident() }
    }

    /// The figures of a fault, given when it began and ended, what became of all calls, and how many decisions were wrong.
    pub(crate) fn figures(
        self,
        name: &'static str,
        (began, ended): (Instant, Instant),
        samples: Vec<Sample>,
        wrong: u64,
    ) -> Figures {
        let during: Vec<_> =
            samples.iter().filter(|sample| sample.at >= began && sample.at < ended).collect();
        let mut took: Vec<_> = during.iter().map(|sample| sample.took).collect();
        took.sort_unstable();
        let since = |sample: &&Sample| (sample.at + sample.took).saturating_duration_since(began);
        let failures =
            || samples.iter().filter(|sample| sample.at + sample.took >= began && sample.end.is_err());
        let after = |sample: &&&Sample| sample.at + sample.took >= ended && sample.end.is_ok();
        Figures {
            name,
            calls: during.len(),
            answered: during.iter().filter(|sample| sample.end.is_ok()).count(),
            p99: took.get(took.len() * 99 / 100).copied().unwrap_or_default(),
            worst: took.last().copied().unwrap_or_default(),
            wrong,
            first_failure: failures().map(|sample| since(&sample)).min(),
            detected: failures().filter(|sample| sample.took < AT_ONCE).map(|sample| since(&sample)).min(),
            recovered: samples
                .iter()
                .filter(|sample| after(&sample))
                .map(|sample| sample.at + sample.took)
                .min()
                .map(|at| at - ended),
            resident_before: self.resident_before,
            resident_after: resident(),
            noise: self.noise.stop(),
            samples,
        }
    }
}

impl Figures {
    /// A row of a table, whose head is in the example.
    pub(crate) fn row(&self) -> String {
        let time =
            |time: Option<Duration>| time.map_or_else(|| "never".to_owned(), |time| format!("{time:.1?}"));
        let Self { name, calls, answered, wrong, resident_before, resident_after, .. } = self;
        let [p99, worst] = [self.p99, self.worst].map(|took| time(Some(took)));
        let [first, at_once, recovered] = [self.first_failure, self.detected, self.recovered].map(time);
        format!(
            "| {name} | {calls} | {answered} | {p99} | {worst} | {wrong} | {first} | {at_once} | {recovered} | \
             {resident_before} | {resident_after} |"
        )
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.1?} |", self.row(), self.noise)
    }
}

/// Resident memory of this process, in KiB.
pub(crate) fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a process has a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("resident memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// A thread of its own that wants to run every millisecond, and notes how late it was at worst.
pub(crate) struct Noise {
    stop: Arc<AtomicBool>,
    worst: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Noise {
    pub(crate) fn start() -> Self {
        let (stop, worst) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, late) = (Arc::clone(&stop), Arc::clone(&worst));
        let thread = std::thread::spawn(move || {
            run(async {
                let mut last = Instant::now();
                while !stopped.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    let gap = u64::try_from(last.elapsed().as_micros()).unwrap_or(u64::MAX);
                    late.fetch_max(gap, Ordering::Relaxed);
                    last = Instant::now();
                }
            });
        });
        Self { stop, worst, thread }
    }

    /// How long it was kept from running, at worst.
    pub(crate) fn stop(self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("it ends");
        Duration::from_micros(self.worst.load(Ordering::Relaxed))
    }
}
