//! Callers that count on one key through a link without pause, and what became of every call. Faults are not known here.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use smallvec::{SmallVec, smallvec};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tollgate_redis::{Call, Cause, Link, LinkError, Naming, Script};

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
    let name = Naming::new([9; 16]).name("count", key.as_bytes());
    Call { script: &COUNT, names: smallvec![name], arguments: smallvec![one], writes: true }
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
        Self::with(link, callers, key, true)
    }

    /// Callers of whom nothing is written down but how many were answered: they take no memory.
    pub(crate) fn unrecorded(link: &Link, callers: usize, key: &str) -> Self {
        Self::with(link, callers, key, false)
    }

    fn with(link: &Link, callers: usize, key: &str, recorded: bool) -> Self {
        let load = Self {
            stop: Arc::default(),
            samples: Arc::default(),
            answered: Arc::default(),
            callers: Vec::new(),
        };
        let caller = |_| {
            let (link, call) = (link.clone(), count(key));
            let (stop, samples, answered) =
                (Arc::clone(&load.stop), Arc::clone(&load.samples), Arc::clone(&load.answered));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let at = Instant::now();
                    let end =
                        link.call(&call).await.map(|value| redis::from_redis_value(value).expect("a number"));
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

/// How many decisions were wrong, given how far the server has counted: heard twice, heard and not counted, or counted
/// although nobody's call can have run.
pub(crate) fn wrong(samples: &[Sample], counted: u64) -> u64 {
    let heard: Vec<i64> = samples.iter().filter_map(|sample| sample.end.as_ref().ok().copied()).collect();
    let distinct = heard.iter().collect::<HashSet<_>>().len();
    let maybe =
        samples.iter().filter_map(|sample| sample.end.as_ref().err()).filter(|error| error.may_have_run());
    let (heard, maybe) = (heard.len() as u64, maybe.count() as u64);
    (heard - distinct as u64) + heard.saturating_sub(counted) + counted.saturating_sub(heard + maybe)
}
