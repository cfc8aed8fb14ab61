//! Callers without pause, most of which count on one key, and what became of every call. Faults are not known here.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use smallvec::{SmallVec, smallvec};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tollgate_redis::{Call, Cause, Link, LinkError, Naming, Script, StateKind, Writes};

use crate::server::Server;
use crate::support::until;

/// Counts, and says how far it has counted: no two calls that ran hear the same.
pub(crate) static COUNT: LazyLock<Script> = LazyLock::new(|| Script {
    text: "return redis.call('INCRBY', KEYS[1], ARGV[1])".into(),
    digest: "8cd00688c05c46bde4a2e60658ef20a2e5c0b248".into(),
});

/// A call that counts by one on the key of this name.
pub(crate) fn count(key: &str) -> Call {
    let one: tollgate_redis::Argument = SmallVec::from_slice(b"1");
    let name = Naming::new([9; 16]).name("count", key.as_bytes()).of(StateKind::Debt);
    Call { script: &COUNT, names: smallvec![name], arguments: smallvec![one], writes: Writes::Always }
}

/// How far a key has counted, as the server says.
pub(crate) fn counted(server: &Server, key: &str) -> u64 {
    let name = count(key).names[0].to_string();
    redis::from_redis_value(server.tell(&format!("GET {name}"))).unwrap_or(0)
}

/// What became of one call.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// When it was made, and how long it took.
    pub(crate) at: Instant,
    pub(crate) took: Duration,
    /// What it heard.
    pub(crate) end: Result<i64, LinkError>,
}

impl Sample {
    pub(crate) fn cause(&self) -> Option<Cause> {
        self.end.as_ref().err().map(LinkError::cause)
    }
}

/// Many callers, each with one call at a time.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    samples: Arc<Mutex<Vec<Sample>>>,
    answered: Arc<AtomicUsize>,
    callers: Vec<JoinHandle<()>>,
}

impl Load {
    pub(crate) fn start(link: &Link, callers: usize, key: &str) -> Self {
        Self::counting(link, callers, key, true)
    }

    /// Callers of whom nothing is written down but how many were answered: they take no memory.
    pub(crate) fn unrecorded(link: &Link, callers: usize, key: &str) -> Self {
        Self::counting(link, callers, key, false)
    }

    fn counting(link: &Link, callers: usize, key: &str, recorded: bool) -> Self {
        let (link, call) = (link.clone(), count(key));
        Self::with(callers, recorded, move || once(link.clone(), call.clone()))
    }

    /// Callers of anything.
    pub(crate) fn with<C, F>(callers: usize, recorded: bool, call: C) -> Self
    where
        C: Fn() -> F + Clone + Send + 'static,
        F: Future<Output = Result<i64, LinkError>> + Send,
    {
        let load = Self {
            stop: Arc::default(),
            samples: Arc::default(),
            answered: Arc::default(),
            callers: Vec::new(),
        };
        let caller = |_| {
            let call = call.clone();
            let (stop, samples, answered) =
                (Arc::clone(&load.stop), Arc::clone(&load.samples), Arc::clone(&load.answered));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let at = Instant::now();
                    let end = call().await;
                    let failed = end.is_err();
                    answered.fetch_add(usize::from(!failed), Ordering::Relaxed);
                    if recorded {
                        samples.lock().unwrap().push(Sample { at, took: at.elapsed(), end });
                    }
                    if failed {
                        // The next request comes a moment later: nobody hammers without end.
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                }
            })
        };
        let callers = (0..callers).map(caller).collect();
        Self { callers, ..load }
    }

    /// Waits until so many more calls were answered.
    pub(crate) async fn answered(&self, more: usize) {
        let goal = self.answered.load(Ordering::Relaxed) + more;
        until("calls are answered", || self.answered.load(Ordering::Relaxed) >= goal).await;
    }

    /// Waits until so many calls that were made after an instant have ended for this cause.
    pub(crate) async fn failed(&self, after: Instant, causes: &[Cause], goal: usize) {
        let so = |sample: &&Sample| {
            sample.at >= after && sample.cause().is_some_and(|cause| causes.contains(&cause))
        };
        until(&format!("calls end in {causes:?}"), || {
            self.samples.lock().unwrap().iter().rev().filter(so).take(goal).count() >= goal
        })
        .await;
    }

    /// Stops, and waits for the calls that are under way.
    pub(crate) async fn stop(self) -> Vec<Sample> {
        self.stop.store(true, Ordering::Relaxed);
        for caller in self.callers {
            caller.await.expect("a caller ends");
        }
        std::mem::take(&mut self.samples.lock().unwrap())
    }
}

/// One count.
async fn once(link: Link, call: Call) -> Result<i64, LinkError> {
    link.call(&call).await.map(|value| value.as_int().expect("a number"))
}

/// How many decisions were wrong, given how far the server has counted, each time that it began anew: heard more often than
/// counted, or counted although nobody's call can have run.
pub(crate) fn wrong(samples: &[Sample], counted: &[u64]) -> u64 {
    let (mut heard, mut maybe) = (HashMap::<u64, u64>::new(), 0);
    for sample in samples {
        match &sample.end {
            Ok(value) => *heard.entry(u64::try_from(*value).unwrap_or(0)).or_default() += 1,
            Err(error) => maybe += u64::from(error.may_have_run()),
        }
    }
    let times = |value: u64| counted.iter().filter(|count| (1..=**count).contains(&value)).count() as u64;
    let too_often: u64 = heard.iter().map(|(value, heard)| heard.saturating_sub(times(*value))).sum();
    let all: u64 = heard.values().sum();
    too_often + counted.iter().sum::<u64>().saturating_sub(all + maybe)
}

#[test]
fn what_is_heard_twice_or_not_counted_or_counted_for_nobody_is_wrong() {
    let at = Instant::now();
    let said = |value| Sample { at, took: Duration::ZERO, end: Ok(value) };
    let lost = || {
        let end = Err(LinkError::Timeout { sent: true });
        Sample { at, took: Duration::ZERO, end }
    };
    let table: [(&[i64], usize, &[u64], u64); 7] = [
        (&[1, 2, 3], 0, &[3], 0),
        (&[1, 2, 2], 0, &[3], 1),
        (&[1, 2, 3], 0, &[2], 1),
        (&[1, 2], 0, &[3], 1),
        (&[1, 2], 1, &[3], 0),
        (&[1, 2, 1], 0, &[2, 1], 0),
        (&[1, 2, 2], 0, &[2, 1], 1),
    ];
    for (heard, maybe, counted, expected) in table {
        let samples: Vec<_> =
            heard.iter().map(|value| said(*value)).chain((0..maybe).map(|_| lost())).collect();
        assert_eq!(wrong(&samples, counted), expected, "{heard:?}, {maybe} lost, {counted:?}");
    }
}
