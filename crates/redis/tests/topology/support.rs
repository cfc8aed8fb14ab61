//! What every test needs: a runtime, names, limits and a store.

use std::time::{Duration, Instant};

use tollgate_algorithms::{Limit, Micros, Mode};
use tollgate_redis::{Command, Hit, Name, Naming, Reply, Settings, Store, StoreError};

/// How long anything is waited for before it has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Runs something in a runtime of its own.
pub(crate) fn run<R>(what: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(what)
}

/// A store at this address, which knows where its servers are.
pub(crate) async fn store(address: &str) -> Store {
    let settings = Settings { budget: Duration::from_millis(500), ..Settings::default() };
    let store = Store::open(address.parse().expect("an address"), settings).expect("settings");
    store.expect(&limit(1));
    store.ready().await;
    store
}

/// A bucket that practically does not refill.
pub(crate) fn limit(capacity: u64) -> Limit {
    Limit::token_bucket(capacity, 1, Micros::from_secs(1_000_000)).expect("a limit")
}

pub(crate) fn name(limit: &str, key: &str) -> Name {
    Naming::new([7; 16]).name(limit, key.as_bytes())
}

pub(crate) const fn hit<'a>(limit: &'a Limit, name: &'a Name) -> Hit<'a> {
    Hit { limit, name, cost: 1, mode: Mode::Enforced }
}

/// Charges one key once, and says whether it was granted.
pub(crate) async fn charge(store: &Store, limit: &Limit, name: &Name) -> Result<bool, StoreError> {
    match store.ask(&Command::Charge(&[hit(limit, name)])).await? {
        Reply::Decided { granted, .. } => Ok(granted),
        Reply::Reset { .. } => panic!("it was no reset"),
    }
}

/// How many cells a key has left.
pub(crate) async fn remaining(store: &Store, limit: &Limit, name: &Name) -> u64 {
    match store.ask(&Command::Peek(&[hit(limit, name)])).await {
        Ok(Reply::Decided { decisions, .. }) => decisions[0].remaining,
        other => panic!("a peek gives a decision: {other:?}"),
    }
}

/// Waits until something is so, and fails if it never is.
#[expect(clippy::disallowed_methods, reason = "patience has an end")]
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut so: impl FnMut() -> F) {
    let end = Instant::now() + PATIENCE;
    while !so().await {
        assert!(Instant::now() < end, "never: {what}");
        tokio::task::yield_now().await;
    }
}
