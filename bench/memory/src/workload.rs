//! What is asked of the limiters: how many keys, in which order, under which limit, by how many threads.

use std::ops::RangeInclusive;

use crate::keys::Order;
use crate::scale::Scale;
use crate::subject::Limit;

/// A kind of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// One hot key, exhausted.
    Refused,
    /// One hot key with all that it could want.
    Granted,
    /// Many keys, each as often as any other.
    Uniform,
    /// Many keys, few of them often.
    Zipf,
    /// As `Uniform`, but that the callers' names come from all over the memory too.
    Scattered,
    /// As `Uniform`, with a clock that somebody else ticks.
    Ticked,
    /// As `Uniform`, in batches of 32.
    Batches,
    /// As `Uniform`, with three limits charged all or none, against one.
    Together,
    /// The same with keys that owe nothing any more when they are asked for: those of whoever has been idle for a while.
    Idle,
    /// As `Uniform`, with a millisecond for a hit to drain: hardly any key owes something when it is asked for again. With a
    /// tenth of the keys, and with all of them.
    Drained,
    /// As `Uniform`, over numbers of keys.
    Curve,
    /// Resident memory per live key.
    Rss,
    /// How long single decisions take at worst.
    Latency,
}

impl Workload {
    pub(crate) const ALL: [Self; 13] = [
        Self::Refused,
        Self::Granted,
        Self::Uniform,
        Self::Zipf,
        Self::Scattered,
        Self::Ticked,
        Self::Batches,
        Self::Together,
        Self::Idle,
        Self::Drained,
        Self::Curve,
        Self::Rss,
        Self::Latency,
    ];

    /// As it stands in the lines.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Granted => "granted",
            Self::Uniform => "uniform",
            Self::Zipf => "zipf",
            Self::Scattered => "scattered",
            Self::Ticked => "ticked",
            Self::Batches => "batches",
            Self::Together => "together",
            Self::Idle => "idle",
            Self::Drained => "drained",
            Self::Curve => "curve",
            Self::Rss => "rss",
            Self::Latency => "latency",
        }
    }

    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|workload| workload.name() == name);
        found.ok_or_else(|| format!("`{name}` is no workload: it is one of {}", names()))
    }
}

/// A timed measurement in full.
pub(crate) struct Plan {
    pub(crate) workload: Workload,
    /// As it stands in the lines.
    pub(crate) name: String,
    pub(crate) limit: Limit,
    pub(crate) keys: u32,
    pub(crate) order: Order,
    /// Whether the callers' names come from all over the memory. If not, each is at hand when it is asked for, as it is for a
    /// caller that has just read it from a request.
    pub(crate) scattered: bool,
    pub(crate) threads: &'static [usize],
    /// How many of a hundred may be granted. Anything else, and the wrong thing was measured.
    pub(crate) granted: RangeInclusive<f64>,
}

/// What is to be timed for a workload: one measurement, or a curve of them.
pub(crate) fn plans(workload: Workload, scale: &Scale) -> Vec<Plan> {
    let name = workload.name().to_string();
    let mostly = 99.0..=100.0;
    let hot = |limit, granted| {
        let name = workload.name().to_string();
        Plan {
            workload,
            name,
            limit,
            keys: 1,
            order: Order::Uniform,
            scattered: false,
            threads: &[1, 2],
            granted,
        }
    };
    let many = |order, granted| Plan {
        workload,
        name: name.clone(),
        // Keys stay in use between two decisions, as they do in everybody's table.
        limit: if workload == Workload::Idle { Limit::Granting } else { Limit::Lasting },
        keys: scale.keys,
        order,
        scattered: workload == Workload::Scattered,
        threads: &[1, 2],
        granted,
    };
    let point = |&keys: &u32| Plan {
        workload,
        name: format!("{}-{keys}", workload.name()),
        limit: Limit::Lasting,
        keys,
        order: Order::Uniform,
        scattered: false,
        threads: &[1],
        granted: 99.0..=100.0,
    };
    let drained = |name: &str, keys| Plan {
        name: name.into(),
        limit: Limit::Draining,
        keys,
        ..many(Order::Uniform, 99.0..=100.0)
    };
    match workload {
        Workload::Drained => vec![drained("drained-tenth", scale.keys / 10), drained("drained", scale.keys)],
        Workload::Refused => vec![hot(Limit::Refusing, 0.0..=1.0)],
        Workload::Granted => vec![hot(Limit::Granting, mostly)],
        Workload::Uniform
        | Workload::Scattered
        | Workload::Ticked
        | Workload::Batches
        | Workload::Together
        | Workload::Idle => vec![many(Order::Uniform, mostly)],
        // The hottest keys are exhausted: how many are granted depends on how fast the limiter is.
        Workload::Zipf => vec![many(Order::Zipf, 10.0..=100.0)],
        Workload::Curve => scale.curve.iter().map(point).collect(),
        Workload::Rss | Workload::Latency => Vec::new(),
    }
}
