//! What a store counts when it gives no decision although its server does well: answers that are none.

use std::time::Duration;

use tollgate_core::{Limit, Micros, Mode};
use tollgate_redis::{Ask, Cause, Hit, Name, Naming, Settings, Standing, Store, StoreError};

use crate::server::Server;
use crate::support::run;

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
        server.tell_words(&["SET", &foreign.to_string(), "somebody else's"]).unwrap();
        let hit = hits(&foreign);
        assert!(matches!(store.ask(&Ask::Charge(&hit)).await, Err(StoreError::Foreign(_))));
        assert!(matches!(store.charge(&hit, &[true]).await, Err(StoreError::Foreign(_))));
        assert!(store.ask(&Ask::Charge(&hits(&ours))).await.is_ok());
        let health = store.health();
        assert_eq!((failed(&store, Cause::Foreign), health.answered), (2, 1));
        let why = health.no_decision.expect("it says why");
        assert!(why.contains(&foreign.to_string()) && why.contains("delete it"), "{why}");
        assert_eq!(health.breaker, Standing::Closed);
    });
}
