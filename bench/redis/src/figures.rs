//! What a load was, and what the server used for it. How a load is made is elsewhere.

use std::time::{Duration, Instant};

use crate::server::Server;
use crate::stopwatch::now;

/// Decisions that were answered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Counted {
    pub(crate) decisions: u64,
    pub(crate) granted: u64,
}

impl Counted {
    pub(crate) const fn add(&mut self, granted: bool) {
        self.decisions += 1;
        self.granted += granted as u64;
    }
}

/// One load, measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Figures {
    pub(crate) per_second: u64,
    /// Nanoseconds of the server's processor time a decision.
    pub(crate) cpu: u64,
    /// Per cent of its core that the server kept busy.
    pub(crate) busy: u64,
    /// Per cent that were granted.
    pub(crate) granted: u64,
}

/// A stretch of time that has begun.
pub(crate) struct Meter<'a> {
    server: &'a Server,
    start: Instant,
    cpu: Duration,
}

impl<'a> Meter<'a> {
    /// Begins.
    pub(crate) fn begin(server: &'a Server) -> Result<Self, String> {
        Ok(Self { server, cpu: server.cpu()?, start: now() })
    }

    /// Ends.
    pub(crate) fn end(&self, counted: Counted) -> Result<Figures, String> {
        let (took, used) = (self.start.elapsed(), self.server.cpu()?.saturating_sub(self.cpu));
        if counted.decisions == 0 {
            return Err("nothing was decided".into());
        }
        Ok(figures(counted, took, used))
    }
}

fn figures(counted: Counted, took: Duration, used: Duration) -> Figures {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1);
    let decisions = counted.decisions.max(1);
    Figures {
        per_second: decisions * 1_000_000 / (nanos(took) / 1_000).max(1),
        cpu: nanos(used) / decisions,
        busy: nanos(used) * 100 / nanos(took),
        granted: (counted.granted * 100 + decisions / 2) / decisions,
    }
}

#[test]
fn figures_are_per_decision_and_per_second() {
    let counted = Counted { decisions: 30_000, granted: 15_100 };
    let found = figures(counted, Duration::from_millis(500), Duration::from_millis(450));
    assert_eq!(found, Figures { per_second: 60_000, cpu: 15_000, busy: 90, granted: 50 });
}
