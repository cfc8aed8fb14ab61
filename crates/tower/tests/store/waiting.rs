//! While the store is asked: nobody else waits, who leaves has not paid, and the service that was ready is called.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::Empty;
use tokio::time::{Instant, timeout};
use tollgate::{Limiter, NamedLimit};
use tollgate_policy::key::{Kind, push};
use tollgate_tower::{KeyExtractor, Rule, Rules, TollgateLayer};
use tower::{Layer, Service, ServiceExt};

use crate::support::{LONG, app, ask, limiter, limits, many, run, server};

const POLICY: &str = "
tollgate: 1
rate_limit: { name: shared, algorithm: token_bucket, capacity: 3, refill_rate: 1 per day, consumer_key: ip }
routes: [{ path: '/reports/{id}' }]
";

/// As two processes do, each with a policy or with rules: a budget has one count, and every client is told the same of it.
#[test]
fn two_services_spend_one_budget_and_their_fields_tell_it() {
    let server = server();
    run(async {
        let of_policy = || limits(&limiter(&server, LONG), POLICY).into();
        let of_rules = || {
            let rule = Rule::new("rule", many(3));
            Rules::new(limiter(&server, LONG), [rule]).expect("rules").into()
        };
        let fronts: [[tollgate_tower::Enforcer; 2]; 2] =
            [[of_policy(), of_policy()], [of_rules(), of_rules()]];
        for apps in fronts.map(|fronts| fronts.map(app)) {
            let mut told = Vec::new();
            for turn in 0..5 {
                told.push(ask(apps[turn % 2].clone(), "/reports/7").await);
            }
            let statuses: Vec<_> = told.iter().map(|told| told.status).collect();
            assert_eq!(statuses, [200, 200, 200, 429, 429], "{told:?}");
            let left: Vec<_> = told.iter().filter_map(|told| told.field("x-ratelimit-remaining")).collect();
            assert_eq!(left, ["2", "1", "0", "0", "0"]);
            assert_eq!(told[0].body, "false [Own]");
            assert!(
                told[3].field("retry-after").is_some_and(|wait| wait.len() == 5),
                "most of a day: {told:?}"
            );
        }
    });
}

#[test]
fn others_go_on_while_the_store_stands_still() {
    let server = server();
    run(async {
        let app = app(limits(&limiter(&server, LONG), POLICY));
        assert_eq!(ask(app.clone(), "/reports/7").await.status, 200);
        server.signal("STOP").expect("it is frozen");
        let asked = tokio::spawn(ask(app.clone(), "/reports/7"));
        // This task and that one share a thread: it runs only if that one does not keep it.
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        assert!(!asked.is_finished(), "the store stands still");
        assert_eq!(ask(app, "/elsewhere").await.status, 404, "what needs no store is answered meanwhile");
        server.signal("CONT").expect("it goes on");
        let told = asked.await.expect("it does not panic");
        assert_eq!((told.status, told.body.as_str()), (200, "false [Own]"), "the store's own word");
    });
}

#[test]
fn who_leaves_while_the_store_is_asked_has_not_paid_here() {
    let server = server();
    run(async {
        let limiter = limiter(&server, LONG);
        let near = Rule::new("near", many(10)).keyed_by(KeyExtractor::everyone()).cost(4).local();
        let far = Rule::new("far", many(10)).keyed_by(KeyExtractor::everyone());
        let app = app(Rules::new(limiter.clone(), [near, far]).expect("rules"));
        let near = limiter.local_limit("near", many(10));
        assert_eq!(ask(app.clone(), "/").await.status, 200);
        assert_eq!(left(&limiter, &near).await, 6);
        server.signal("STOP").expect("it is frozen");
        let mut asked = Box::pin(ask(app, "/"));
        assert!(timeout(Duration::ZERO, &mut asked).await.is_err(), "the store stands still");
        assert_eq!(left(&limiter, &near).await, 2, "charged here first");
        drop(asked);
        assert_eq!(left(&limiter, &near).await, 6, "and given back");
        server.signal("CONT").expect("it goes on");
    });
}

/// Whoever settles does not wait for the store.
#[test]
fn a_handlers_word_on_the_cost_gets_to_the_store() {
    let server = server();
    run(async {
        let limiter = limiter(&server, LONG);
        let far = Rule::new("far", many(100)).keyed_by(KeyExtractor::everyone()).cost(10).estimated();
        let near =
            Rule::new("near", many(100)).keyed_by(KeyExtractor::everyone()).cost(10).estimated().local();
        let app = app(Rules::new(limiter.clone(), [far, near]).expect("rules"));
        let (far, near) = (limiter.limit("far", many(100)), limiter.local_limit("near", many(100)));
        let table = [("/settle", 97, 97), ("/only", 92, 87), ("/refund", 92, 87), ("/", 82, 77)];
        for (target, far_left, near_left) in table {
            let told = ask(app.clone(), target).await;
            assert_eq!(told.status, 200, "{target}: {told:?}");
            assert!(target == "/" || told.body == "true", "{target}: {told:?}");
            until(&limiter, &far, far_left).await;
            until(&limiter, &near, near_left).await;
        }
    });
}

/// A service that may be called only once it is ready; a copy of it is not.
#[derive(Default)]
struct Careful {
    is_ready: bool,
}

impl Clone for Careful {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Service<Request<()>> for Careful {
    type Response = Response<Empty<bytes::Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "it was not ready");
        ready(Ok(Response::new(Empty::new())))
    }
}

#[test]
fn the_service_that_was_ready_is_called() {
    let server = server();
    run(async {
        let rules =
            Rules::new(limiter(&server, LONG), [Rule::new("a", many(3)).keyed_by(KeyExtractor::everyone())]);
        let mut service = TollgateLayer::new(rules.expect("rules")).layer(Careful::default());
        let mut statuses = Vec::new();
        for _ in 0..5 {
            let called = service.ready().await.expect("it is ready").call(Request::new(()));
            assert_eq!(format!("{called:?}"), "ResponseFuture(checking)");
            statuses.push(called.await.expect("it cannot fail").status().as_u16());
        }
        assert_eq!(statuses, [200, 200, 200, 429, 429]);
    });
}

/// What is left of everybody's budget.
async fn left(limiter: &Limiter, limit: &NamedLimit) -> u64 {
    let mut key = Vec::new();
    push(&mut key, Kind::Everyone, b"");
    limiter.inspect(limit, &key).await.expect("it is known").decision.remaining
}

/// Looks until so much is left.
async fn until(limiter: &Limiter, limit: &NamedLimit, wanted: u64) {
    let deadline = Instant::now() + 2 * LONG;
    loop {
        let left = left(limiter, limit).await;
        if left == wanted {
            return;
        }
        assert!(Instant::now() < deadline, "{limit:?}: {left} are left, and not {wanted}");
        tokio::task::yield_now().await;
    }
}
