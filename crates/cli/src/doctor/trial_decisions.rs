//! Makes real decisions on keys of its own: whether every kind of limit works, and how long it takes. Leaves nothing behind.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use tollgate_algorithms::{Limit, LimitError, Micros, Mode, Window};
use tollgate_redis::{Cause, Command, Hit, LinkError, Name, Naming, Reply, Settings, Store, StoreError};

use super::ExaminedStore;
use super::observations::{Latency, Observed};
use crate::files;

/// How long one decision is waited for, whatever the budget: what it really takes is to be seen.
const DECISION_TIME_MAX: Duration = Duration::from_secs(1);

/// How long all of them may take that are not timed. Then the server is too slow to decide anything.
const DECIDING_TIME_MAX: Duration = Duration::from_secs(4);

/// Number of decisions timed in sequence.
const TIMED: usize = 200;

/// Timing ends after so long, with as many decisions as there were.
const TIMING_TIME_MAX: Duration = Duration::from_secs(2);

/// A state that is left behind all the same, because we were killed, is gone after so long.
const PERIOD: Micros = Micros::from_secs(10);

/// Names that nobody uses: of a key of this process, at this moment.
pub(super) fn names(naming: &Naming) -> [Name; 2] {
    let unique = format!("{} {}", std::process::id(), files::wall_clock().get());
    // Of one key, so that in a cluster they would be in one slot.
    ["one", "other"].map(|limit| naming.name(&format!("tollgate doctor: {limit}"), unique.as_bytes()))
}

/// So many keys are looked at that lie anywhere among the slots of a cluster. A node that has half of the slots has all of them once in
/// 65,536 times.
const SPREAD: usize = 16;

/// Names of as many keys, that nobody uses.
fn spread(naming: &Naming) -> [Name; SPREAD] {
    let unique = format!("{} {}", std::process::id(), files::wall_clock().get());
    std::array::from_fn(|number| {
        naming.name("tollgate doctor: spread", format!("{unique} {number}").as_bytes())
    })
}

/// Whether decisions are made, and how long they take. The second is not tried without the first.
pub(super) async fn try_out(patient: &ExaminedStore) -> (Result<(), StoreError>, Observed<Latency>) {
    let store = match open(patient) {
        Ok(store) => store,
        Err(error) => {
            let why = error.to_string();
            return (Err(error), Err(why));
        }
    };
    let [one, other] = names(&patient.naming);
    let late = LinkError::Timeout { sent: true };
    let deciding = async {
        decide(&store, &one, &other).await?;
        look_around(&store, &spread(&patient.naming)).await
    };
    let decided = timeout(DECIDING_TIME_MAX, deciding).await;
    let decided = decided.unwrap_or(Err(StoreError::Link(late)));
    let latency = match &decided {
        Ok(()) => time(&store, &one).await,
        Err(_) => Err("no decision was made".into()),
    };
    for name in [&one, &other] {
        if store.ask(&Command::Reset(name)).await.is_err() {
            // Without a server there is nothing to forget, and else it is gone by itself soon.
            break;
        }
    }
    (decided, latency)
}

fn open(patient: &ExaminedStore) -> Result<Store, StoreError> {
    let settings = Settings {
        budget: DECISION_TIME_MAX,
        connections: 1,
        // A decision that is late is measured, and not given up.
        stall_timeout: DECISION_TIME_MAX * 2,
        ..patient.settings.clone()
    };
    Store::open(patient.address.clone(), settings).map_err(|error| {
        let message = error.to_string().into_boxed_str();
        StoreError::Link(LinkError::Unreachable { cause: Cause::Io, message })
    })
}

/// One limit of each algorithm.
fn limits() -> Result<[Limit; 7], LimitError> {
    Ok([
        Limit::token_bucket(100, 100, PERIOD)?,
        Limit::leaky_bucket(100, 100, PERIOD)?,
        Limit::gcra(100, 100, PERIOD)?,
        Limit::fixed_window(100, Window::Every(PERIOD))?,
        Limit::sliding_window(100, PERIOD)?,
        Limit::sliding_window_buckets(100, PERIOD, 10)?,
        Limit::sliding_window_log(100, PERIOD)?,
    ])
}

/// Charges, asks and forgets a key of each algorithm; and charges two keys at once, and as much as fits.
async fn decide(store: &Store, one: &Name, other: &Name) -> Result<(), StoreError> {
    let limits = limits().map_err(|error| StoreError::Disagrees(error.to_string()))?;
    for limit in &limits {
        let hit = Hit { limit, name: one, cost: 1, mode: Mode::Enforced };
        granted(store, &Command::Charge(&[hit])).await?;
        granted(store, &Command::Peek(&[hit])).await?;
        store.ask(&Command::Reset(one)).await?;
    }
    let [limit, ..] = &limits;
    let hit = |name| Hit { limit, name, cost: 1, mode: Mode::Enforced };
    granted(store, &Command::Charge(&[hit(one), hit(other)])).await?;
    granted(store, &Command::UpTo(hit(other))).await
}

/// Asks about keys of other slots, which another node of a cluster may have (MOVED). Nothing is charged.
async fn look_around(store: &Store, names: &[Name]) -> Result<(), StoreError> {
    let limits = limits().map_err(|error| StoreError::Disagrees(error.to_string()))?;
    let [limit, ..] = &limits;
    for name in names {
        granted(store, &Command::Peek(&[Hit { limit, name, cost: 1, mode: Mode::Enforced }])).await?;
    }
    Ok(())
}

async fn granted(store: &Store, ask: &Command<'_>) -> Result<(), StoreError> {
    match store.ask(ask).await? {
        Reply::Decided { granted: true, .. } => Ok(()),
        other @ (Reply::Decided { granted: false, .. } | Reply::Reset { .. }) => {
            Err(StoreError::Disagrees(format!("a new key was refused: {other:?}")))
        }
    }
}

/// Times decisions, one after the other.
async fn time(store: &Store, name: &Name) -> Observed<Latency> {
    // It never refuses: a charge writes, and a refusal does not.
    let limit = Limit::token_bucket(1_000_000, 1000, Micros::SECOND).map_err(|error| error.to_string())?;
    let hit = Hit { limit: &limit, name, cost: 1, mode: Mode::Enforced };
    let begun = Instant::now();
    let mut times = Vec::with_capacity(TIMED);
    while times.len() < TIMED && begun.elapsed() < TIMING_TIME_MAX {
        let asked = Instant::now();
        granted(store, &Command::Charge(&[hit])).await.map_err(|error| error.to_string())?;
        times.push(asked.elapsed());
    }
    Latency::of(&mut times).ok_or_else(|| "no decision was timed".into())
}

#[test]
fn every_algorithm_is_tried() {
    let limits = limits().expect("they are in range");
    let mut names: Vec<_> =
        limits.iter().filter_map(Limit::algorithm).map(tollgate_algorithms::Algorithm::name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), limits.len());
}
