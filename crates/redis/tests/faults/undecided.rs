//! What a store counts when it gives no decision although its server does well: bad answers, and waits for another's.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_algorithms::{Limit, Micros, Mode, Window};
use tollgate_redis::{
    BreakerState, Cause, ChargeResult, Command, Hit, LinkError, Name, Naming, Settings, StateKind, Store,
    StoreError,
};

use crate::proxy::Proxy;
use crate::server::Server;
use crate::support::{all, run, until};

fn name(key: &str) -> Name {
    Naming::new([5; 16]).name("undecided", key.as_bytes())
}

fn failed(store: &Store, cause: Cause) -> u64 {
    let counted = store.health().failed;
    counted.iter().find(|(known, _)| *known == cause).map_or(0, |(_, count)| *count)
}

#[test]
fn an_answer_that_is_no_decision_is_counted_by_its_cause_and_says_what_to_do() {
    run(async {
        let server = Server::started(&[]).await;
        let settings = Settings { budget: Duration::from_secs(10), ..Settings::default() };
        let store = Store::open(server.address(), settings).unwrap();
        let limit = Limit::token_bucket(5, 1, Micros::HOUR).unwrap();
        let hits = |name| [Hit { limit: &limit, name, cost: 1, mode: Mode::Enforced }];
        let (foreign, ours) = (name("foreign"), name("ours"));
        let key = foreign.of(StateKind::Debt);
        server.tell_words(&["SET", &key.to_string(), "somebody else's"]).unwrap();
        let hit = hits(&foreign);
        assert!(matches!(store.ask(&Command::Charge(&hit)).await, Err(StoreError::Foreign(_))));
        assert!(matches!(store.charge(&hit, &[true]).await, Err(StoreError::Foreign(_))));
        assert!(store.ask(&Command::Charge(&hits(&ours))).await.is_ok());
        let health = store.health();
        assert_eq!((failed(&store, Cause::Foreign), health.answered), (2, 1));
        let why = health.no_decision.expect("it says why");
        assert!(why.contains(&key.to_string()) && why.contains("delete it"), "{why}");
        assert_eq!(health.breaker, BreakerState::Closed);
    });
}

#[test]
fn a_state_of_a_foreign_kind_is_no_decision_and_is_counted_apart() {
    run(async {
        let server = Server::started(&[]).await;
        let settings = Settings { budget: Duration::from_secs(10), ..Settings::default() };
        let store = Store::open(server.address(), settings).unwrap();
        let bucket = Limit::token_bucket(5, 1, Micros::HOUR).unwrap();
        let window = Limit::fixed_window(5, Window::Every(Micros::HOUR)).unwrap();
        let name = name("renamed");
        let hit = |limit| [Hit { limit, name: &name, cost: 5, mode: Mode::Enforced }];
        assert!(store.ask(&Command::Charge(&hit(&bucket))).await.is_ok());
        // Nothing but somebody else brings it there.
        let [from, to] = [StateKind::Debt, StateKind::FixedWindow].map(|kind| name.of(kind).to_string());
        server.tell_words(&["RENAME", &from, &to]).unwrap();
        let asked = store.ask(&Command::Charge(&hit(&window))).await;
        let Err(StoreError::ForeignKind(why)) = asked else { panic!("{asked:?}") };
        assert!(why.contains(&to) && why.contains("Delete it"), "{why}");
        assert_eq!((failed(&store, Cause::ForeignKind), failed(&store, Cause::Foreign)), (1, 0));
        assert!(store.health().no_decision.is_some_and(|told| told.contains(&to)));
        // A reset forgets the budget, whatever its keys hold.
        assert!(store.ask(&Command::Reset(&name)).await.is_ok());
        assert!(store.ask(&Command::Charge(&hit(&window))).await.is_ok());
    });
}

/// A key that was full a moment ago, so that one caller asks whether it still is, and the others wait for that one.
async fn asked_by_one(server: &Server, settings: Settings) -> (Store, Limit) {
    let store = Store::open(server.address(), settings).unwrap();
    let limit = Limit::token_bucket(1, 1, Micros::from_millis(20)).unwrap();
    let name = name("hot");
    let hits = [Hit { limit: &limit, name: &name, cost: 1, mode: Mode::Enforced }];
    assert!(matches!(store.charge(&hits, &[true]).await, Ok(ChargeResult::Asked(_))));
    until("somebody has to ask again", || store.remembered(&hits, &[true]).is_none()).await;
    (store, limit)
}

/// Begins with something, and says whether it has to wait.
async fn begin<T>(mut what: Pin<&mut impl Future<Output = T>>) -> bool {
    poll_fn(|context| Poll::Ready(what.as_mut().poll(context).is_pending())).await
}

#[test]
fn who_waits_in_vain_for_anothers_answer_asks_as_well() {
    run(async {
        let server = Server::started(&[]).await;
        let settings = Settings { budget: Duration::from_millis(500), ..Settings::default() };
        let (store, limit) = asked_by_one(&server, settings).await;
        let name = name("hot");
        let hits = [Hit { limit: &limit, name: &name, cost: 1, mode: Mode::Enforced }];
        // It has the turn, and sleeps.
        let mut sleeper = pin!(store.charge(&hits, &[true]));
        assert!(begin(sleeper.as_mut()).await);
        let asked = store.charge(&hits, &[true]).await;
        assert!(matches!(asked, Ok(ChargeResult::Asked(_))), "{asked:?}");
        assert_eq!(failed(&store, Cause::TimeoutUnsent), 0);
    });
}

/// A key that refills faster than the server answers: when one caller has been told, the next has to ask.
#[test]
fn a_server_that_is_slow_but_within_the_budget_decides_for_all_callers_of_a_hot_key() {
    run(async {
        let server = Server::started(&[]).await;
        let proxy = Proxy::start(&server.socket());
        let settings = Settings { budget: Duration::from_secs(1), ..Settings::default() };
        let store = Store::open(proxy.address(), settings).unwrap();
        let limit = Limit::token_bucket(1, 1, Micros::from_millis(20)).unwrap();
        let name = name("hot");
        let hits = [Hit { limit: &limit, name: &name, cost: 1, mode: Mode::Enforced }];
        until("there is a connection", || store.health().up).await;
        // So fast that it is worth waiting for another's answer, and then not.
        for late in [200, 550].map(Duration::from_millis) {
            proxy.delay(late);
            let caller = || async {
                for _ in 0..4 {
                    let charged = store.charge(&hits, &[true]).await;
                    assert!(charged.is_ok(), "{late:?} late: {charged:?}");
                }
            };
            all((0..8).map(|_| Box::pin(caller())).collect()).await;
        }
    });
}

#[test]
fn no_more_wait_for_anothers_answer_than_may_be_in_flight() {
    run(async {
        let server = Server::started(&[]).await;
        let settings = Settings { budget: Duration::from_secs(10), in_flight_max: 2, ..Settings::default() };
        let (store, limit) = asked_by_one(&server, settings).await;
        let name = name("hot");
        let hits = [Hit { limit: &limit, name: &name, cost: 1, mode: Mode::Enforced }];
        let [mut sleeper, mut first, mut second] = [(); 3].map(|()| Box::pin(store.charge(&hits, &[true])));
        for waits in [&mut sleeper, &mut first, &mut second] {
            assert!(begin(waits.as_mut()).await);
        }
        let start = Instant::now();
        let too_many = Some(StoreError::Link(LinkError::TooManyInFlight));
        assert_eq!(store.charge(&hits, &[true]).await.err(), too_many);
        assert!(start.elapsed() < Duration::from_secs(5), "at once");
        assert_eq!(failed(&store, Cause::TooManyInFlight), 1);
        // A key that nobody asks about is asked about all the same.
        let other = Hit { name: &crate::undecided::name("other"), ..hits[0] };
        assert!(store.charge(&[other], &[true]).await.is_ok());
        // Who has waited goes on, and leaves room for the next.
        let (asked, one, two) = (sleeper.await, first.await, second.await);
        assert!(asked.is_ok() && one.is_ok() && two.is_ok(), "{asked:?}, {one:?}, {two:?}");
        assert!(store.charge(&hits, &[true]).await.is_ok());
    });
}
