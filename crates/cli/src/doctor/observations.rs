//! Everything observed about a store, as plain data.

use std::collections::BTreeMap;
use std::time::Duration;

use tollgate_redis::StoreError;

/// What was asked, or in a few words why it is not known.
pub(super) type Observed<T> = Result<T, String>;

/// What was found out about a store.
#[derive(Clone, Debug)]
pub(super) struct Observations {
    /// Its address, without a password.
    pub(super) at: String,
    /// As whom we came; `None` without a password.
    pub(super) user: Option<String>,
    /// Whether keys' names are made with a secret of the operator's.
    pub(super) has_secret: bool,
    /// How long a decision may take.
    pub(super) budget: Duration,
    /// What `INFO` says.
    pub(super) info: Observed<Fields>,
    /// What `CONFIG GET` says.
    pub(super) config: Observed<Fields>,
    /// How its clock stands to ours.
    pub(super) clock: Observed<Clock>,
    /// What we may do there.
    pub(super) rights: Observed<MissingPermissions>,
    /// Whether we may do what no gateway needs: `FLUSHALL`.
    pub(super) may_flush: Observed<bool>,
    /// Which commands held the server.
    pub(super) slow: Observed<Vec<SlowEvent>>,
    /// What else did, if it watches for that.
    pub(super) events: Observed<Vec<SlowEvent>>,
    /// Whether every kind of limit was decided as it should be.
    pub(super) decided: Result<(), StoreError>,
    /// Duration of decisions.
    pub(super) latency: Observed<Latency>,
}

/// Names and values.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Fields(BTreeMap<String, String>);

/// The server's clock against ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Clock {
    /// Microseconds by which it is ahead of the local clock; behind, if negative.
    pub(super) ahead: i64,
    /// The possible error in microseconds: half of the shortest round trip.
    pub(super) error: i64,
}

/// What we may not do of all that is needed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct MissingPermissions {
    /// Rules that give what is missing, such as `+setrange` or `~tg3:*`.
    pub(super) missing: Vec<&'static str>,
    /// Commands that the server does not have: renamed or disabled for everybody.
    pub(super) gone: Vec<&'static str>,
    /// Commands of which it cannot be told, because the server refused them for another reason.
    pub(super) untold: Vec<&'static str>,
}

/// Something that held the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SlowEvent {
    /// A command's name, or an event's. It comes from the server.
    pub(super) what: String,
    /// For how long.
    pub(super) took: Duration,
    /// How long ago.
    pub(super) ago: Duration,
}

/// How long decisions took, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Latency {
    /// How many there were.
    pub(super) count: usize,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    pub(super) worst: Duration,
}

impl Fields {
    pub(super) fn put(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// All names that begin like this, and their values.
    pub(super) fn beginning<'f>(&'f self, with: &'f str) -> impl Iterator<Item = (&'f str, &'f str)> {
        self.0
            .iter()
            .filter(move |(name, _)| name.starts_with(with))
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Fields {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(pairs: I) -> Self {
        let mut fields = Self::default();
        pairs.into_iter().for_each(|(name, value)| fields.put(name, value));
        fields
    }
}

impl Latency {
    /// Of a list of times, which it puts in order; `None` of an empty one.
    pub(super) fn of(times: &mut [Duration]) -> Option<Self> {
        times.sort_unstable();
        let count = times.len();
        let worst = *times.last()?;
        // The smallest time that so many of a hundred did not exceed.
        let at = |percent: usize| times.get((count * percent).div_ceil(100).saturating_sub(1)).copied();
        Some(Self { count, p50: at(50)?, p99: at(99)?, worst })
    }
}

#[test]
fn percentiles_are_times_that_were_measured() {
    let ms = Duration::from_millis;
    let mut times: Vec<_> = (1..=200).rev().map(ms).collect();
    let latency = Latency::of(&mut times).expect("there are times");
    assert_eq!((latency.count, latency.p50, latency.p99, latency.worst), (200, ms(100), ms(198), ms(200)));
    let one = Latency::of(&mut [ms(7)]).expect("there is one");
    assert_eq!((one.p50, one.p99, one.worst), (ms(7), ms(7), ms(7)));
    assert_eq!(Latency::of(&mut []), None);
}
