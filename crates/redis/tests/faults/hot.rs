//! Callers that charge one real budget through a store, as fast as they can: shipped scripts, and charges that go together.
//!
//! The budget is so large, and refills so slowly, that it only counts: each grant is told how many there were, as no other is.

use tollgate_algorithms::{Algorithm, Limit, Micros, Mode, State};
use tollgate_redis::state::stored;
use tollgate_redis::{Command, Hit, LinkError, Name, Naming, Reply, StateKind, Store, StoreError};

use crate::load::Load;
use crate::server::Server;

/// More than any load charges. One comes back in an hour, which no fault lasts.
const BURST: u64 = 1_000_000;

fn limit() -> Limit {
    Limit::token_bucket(BURST, 1, Micros::HOUR).expect("a limit")
}

/// What the budget is called.
pub(crate) fn name() -> Name {
    Naming::new([9; 16]).name("hot", b"load")
}

/// Callers of whom every charge is written down.
pub(crate) fn charging(store: &Store, callers: usize) -> Load {
    let store = store.clone();
    Load::with(callers, true, move || once(store.clone()))
}

/// One charge: how many were charged with it. An answer that is none of ours fails the test.
async fn once(store: Store) -> Result<i64, LinkError> {
    let (limit, name) = (limit(), name());
    let hit = Hit { limit: &limit, name: &name, cost: 1, mode: Mode::Enforced };
    match store.ask(&Command::Charge(&[hit])).await {
        Ok(Reply::Decided { granted: true, decisions }) => {
            Ok(i64::try_from(BURST - decisions[0].remaining).expect("it is small"))
        }
        Ok(reply) => panic!("the budget is never used up, and nobody resets it: {reply:?}"),
        Err(StoreError::Link(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

/// How many were charged, by what the server holds; none if it holds nothing.
pub(crate) fn charged(bytes: Option<Vec<u8>>) -> u64 {
    let Some(bytes) = bytes else { return 0 };
    let Some(State::TokenBucket(debt)) = stored(Algorithm::TokenBucket, &bytes) else {
        panic!("no bucket: {bytes:?}")
    };
    // What has drained since the first one is less than one.
    debt.debt.div_ceil(Micros::HOUR.get())
}

/// The same, of a server.
pub(crate) fn charged_in(server: &Server) -> u64 {
    let value = server.tell_words(&["GET", &name().of(StateKind::Debt).to_string()]).expect("it answers");
    charged(redis::from_redis_value(value).expect("bytes"))
}
