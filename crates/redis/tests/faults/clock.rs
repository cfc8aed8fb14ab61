//! A step of the server's clock, over callers that charge real limits: a real server under libfaketime, nothing is mocked.
//!
//! Redis' own expiry goes by the same clock. Debian's Redis 7 brings an allocator that libfaketime cannot start under; Redis 6.2
//! and Valkey 9 do not.

use std::fs;
use std::path::PathBuf;

use tokio::time::Instant;
use tollgate_algorithms::{Limit, Micros, Mode, Retry};
use tollgate_redis::{Command, Hit, Reply, StateKind, Store};

use crate::decisions::{Budget, Charges, Grant, Law, beyond, budget};
use crate::figures::{Figures, Play, Watch};
use crate::server::Server;
use crate::support::until;

/// A step forward, or back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Forward,
    Back,
}

/// How far the clock is stepped, in microseconds: far more than a short budget takes to drain, and less than a long one.
const HOUR: u64 = 3_600_000_000;

/// What every short budget grants at once, and in which time.
const BURST: u64 = 20;
const WINDOW: Micros = Micros::from_millis(500);

/// What every long budget grants at once, and how much drains in an hour: the next after half an hour, which no test lasts. It is
/// empty again after two hours.
const LONG_BURST: u64 = 4;
const LONG_COUNT: u64 = 2;
const LONG_DRAIN: Micros = Micros::from_secs(2 * 3600);

/// A server whose clock can be set.
struct Clocked {
    server: Server,
    offset: PathBuf,
}

impl Clocked {
    async fn start(play: &Play) -> Self {
        let mut server = Server::of(play.make, &[]);
        let offset = server.directory().join("offset");
        server.variable("LD_PRELOAD", library().display().to_string());
        server.variable("FAKETIME_TIMESTAMP_FILE", offset.display().to_string());
        server.variable("FAKETIME_NO_CACHE", "1".into());
        // What counts how long something took is no clock, and is never stepped.
        server.variable("FAKETIME_DONT_FAKE_MONOTONIC", "1".into());
        let mut clocked = Self { server, offset };
        clocked.set("+0");
        clocked.server.start().await;
        clocked
    }

    /// Sets by how many seconds the clock is off. The file is replaced whole, since it is read at any time.
    fn set(&self, seconds: &str) {
        let next = self.offset.with_extension("next");
        fs::write(&next, seconds).expect("a file");
        fs::rename(next, &self.offset).expect("it is replaced");
    }
}

/// Where the library is: a directory of its own for each architecture.
fn library() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let found =
        folders.map(|folder| folder.path().join("faketime/libfaketime.so.1")).find(|path| path.exists());
    found.expect(
        "a clock that can be stepped needs libfaketime: install Debian's `faketime`, as `cargo xtask test` does in its first \
         step",
    )
}

/// A short budget for each algorithm, three that are charged together, and two long ones.
fn groups() -> Vec<Vec<Budget>> {
    let drains = Law::Drains { burst: BURST, count: 2 * BURST, period: Micros::SECOND };
    let weighted = Law::Weighted { limit: BURST, window: WINDOW };
    let any = Law::Any { limit: BURST, window: WINDOW };
    let other = |limit: Result<Limit, tollgate_algorithms::LimitError>| Some(limit.expect("a limit"));
    let long = Law::Drains { burst: LONG_BURST, count: LONG_COUNT, period: Micros::HOUR };
    vec![
        vec![budget("token bucket", drains, None)],
        vec![budget("leaky bucket", drains, other(Limit::leaky_bucket(BURST, 2 * BURST, Micros::SECOND)))],
        vec![budget("GCRA", drains, other(Limit::gcra(BURST, 2 * BURST, Micros::SECOND)))],
        vec![budget("fixed window", Law::Aligned { limit: BURST, window: WINDOW }, None)],
        vec![budget("sliding window", weighted, None)],
        vec![budget("buckets", any, other(Limit::sliding_window_buckets(BURST, WINDOW, 7)))],
        vec![budget("log", any, None)],
        vec![budget("first", drains, None), budget("second", weighted, None), budget("third", any, None)],
        vec![budget("long bucket", long, None)],
        vec![budget("long log", Law::Any { limit: LONG_BURST, window: LONG_DRAIN }, None)],
    ]
}

/// How many budgets are short: the others come after them.
const SHORT: usize = 10;

/// The server's clock is stepped by an hour, under callers that exhaust every budget, and stays so.
pub(crate) async fn stepped(play: &Play, step: Step) -> Figures {
    let clocked = Clocked::start(play).await;
    let server = &clocked.server;
    let store = Store::open(server.address(), play.settings.clone()).expect("a store");
    let charges = Charges::start(&store, play.callers, groups());
    let watch = Watch::start();
    let of =
        |grants: &[Grant], place: usize| grants.iter().filter(|grant| grant.budget == place).count() as u64;
    until("every budget is used up", || {
        let grants = charges.grants();
        (0..SHORT).all(|place| of(&grants, place) >= BURST)
    })
    .await;
    // Each group has been asked a hundred times by then.
    charges.load.answered(1000).await;
    let (began, before) = (Instant::now(), server.time());
    clocked.set(if step == Step::Forward { "+3600" } else { "-3600" });
    until("the server's clock has moved", || server.time().abs_diff(before) > HOUR / 2).await;
    // A key is not frozen until the clock has caught up: each is granted all that a fresh one is.
    let since = |grant: &Grant| grant.at.abs_diff(before) > HOUR / 2;
    until("every short budget is fresh again", || {
        let grants: Vec<_> = charges.grants().into_iter().filter(since).collect();
        (0..SHORT).all(|place| of(&grants, place) >= BURST)
    })
    .await;
    while began.elapsed() < play.hold {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let ended = Instant::now();
    charges.load.answered(500).await;
    let Charges { load, grants } = charges;
    let samples = load.stop().await;
    let grants = std::mem::take(&mut *grants.lock().unwrap());
    let unheard = samples.iter().filter(|sample| sample.end.is_err()).count() as u64;
    let wrong = unlawful(&grants, before) + immortal(server);
    long_ones(&store, step, (SHORT..SHORT + 2).map(|place| of(&grants, place)).collect(), unheard).await;
    let name = match step {
        Step::Forward => "clock an hour forward",
        Step::Back => "clock an hour back",
    };
    watch.figures(name, (began, ended), samples, wrong)
}

/// How many grants are beyond the laws, by the server's clock. A state that lies more than one drain ahead counts as none, so
/// for a short budget the time before a step back and the time after it are two lives; for a long one it is all one.
fn unlawful(grants: &[Grant], stepped: u64) -> u64 {
    let budgets: Vec<Budget> = groups().into_iter().flatten().collect();
    let mut unlawful = 0;
    for (place, budget) in budgets.iter().enumerate() {
        let granted = grants.iter().filter(|grant| grant.budget == place).map(|grant| grant.at);
        let (first, second): (Vec<u64>, Vec<u64>) = granted.partition(|at| at + HOUR / 2 > stepped);
        assert!(place < SHORT || second.is_empty(), "{budget:?}: time ran back");
        unlawful += beyond(budget, first) + beyond(budget, second);
    }
    unlawful
}

/// How many keys would never go, or live longer than what is in them.
fn immortal(server: &Server) -> u64 {
    let names: Vec<String> = redis::from_redis_value(server.tell("KEYS tg3:*")).expect("names");
    assert!(names.len() >= 2, "the long ones are there: {names:?}");
    let key = |budget: Budget| Some(budget.name.of(StateKind::of_limit(&budget.limit)?).to_string());
    let short: Vec<_> = groups().into_iter().flatten().take(SHORT).filter_map(key).collect();
    let too_long = |name: &&String| {
        let left: i64 = redis::from_redis_value(server.tell(&format!("PTTL {name}"))).expect("a time");
        // What a short one owes, and its slack; a long one's state may lie an hour ahead.
        let most = if short.contains(name) { 1_200 } else { 3 * 3_600_000 + 1_000 };
        // -2 is a key that has gone meanwhile.
        left == -1 || left > most
    };
    names.iter().filter(too_long).count() as u64
}

/// A long budget gains what drains in a step forward, and nothing by a step back: it waits until the clock has caught up, and
/// no longer than one drain and the ordinary wait.
async fn long_ones(store: &Store, step: Step, granted: Vec<u64>, unheard: u64) {
    let budgets: Vec<Budget> = groups().into_iter().flatten().skip(SHORT).collect();
    let drained = if step == Step::Forward { LONG_COUNT } else { 0 };
    // A bucket waits for a cell, a log that was filled at once for its window.
    let ordinary = [(drained, Micros::HOUR.get() / LONG_COUNT), (0, LONG_DRAIN.get())];
    for ((budget, granted), (drained, ordinary)) in budgets.iter().zip(granted).zip(ordinary) {
        let most = LONG_BURST + drained;
        assert!(granted <= most, "{budget:?}: {granted} of {most}");
        assert!(granted + unheard >= most, "{budget:?}: {granted} of {most}, {unheard} not heard");
        let hit = Hit { limit: &budget.limit, name: &budget.name, cost: 1, mode: Mode::Enforced };
        let Ok(Reply::Decided { granted: false, decisions }) = store.ask(&Command::Peek(&[hit])).await else {
            panic!("{budget:?} is not used up")
        };
        let Some(Retry::After(wait)) = decisions[0].retry() else { panic!("{budget:?} never waits") };
        let (least, most) = match step {
            Step::Forward => (0, ordinary),
            Step::Back => (HOUR / 2, LONG_DRAIN.get() + ordinary),
        };
        assert!((least..=most).contains(&wait.get()), "{budget:?} waits for {wait:?}");
    }
}
