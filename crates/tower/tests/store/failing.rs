//! Without the server: each limit's own rule, what the handler and the client are told of it, and back to the store by itself.

use std::time::Duration;

use axum::Router;
use tokio::time::Instant;
use tollgate::{FailureRule, Limiter};
use tollgate_tower::{ResponseConfig, Rule, Rules};

use crate::support::{LONG, Told, app, app_with, ask, limiter, limits, many, run, server};

const POLICY: &str = "
tollgate: 1
routes:
  - path: /shared
    rate_limit: { name: shared, algorithm: token_bucket, capacity: 4, refill_rate: 1 per day, consumer_key: ip, when_store_fails: local 1/2 }
  - path: /denied
    rate_limit: { name: denied, algorithm: token_bucket, capacity: 40, refill_rate: 1 per day, consumer_key: ip, when_store_fails: deny }
  - path: /allowed
    rate_limit: { name: allowed, algorithm: token_bucket, capacity: 1, refill_rate: 1 per day, consumer_key: ip, when_store_fails: allow }
  - path: /counted
    rate_limit: { name: counted, algorithm: token_bucket, capacity: 1, refill_rate: 1 per day, consumer_key: ip, when_store_fails: deny, mode: shadow }
  - path: /free
";
const TELLING: ResponseConfig = {
    let generations = tollgate_tower::HeaderFormats { draft: true, x_ratelimit: true, triple: false };
    let (reset, retry_jitter) = (tollgate_tower::ResetFormat::Delta, tollgate::Micros::ZERO);
    ResponseConfig { generations, reset, retry_jitter, partition_key: false, degraded: true }
};
/// Short, because every call waits for it until the breaker opens.
const SHORT: Duration = Duration::from_millis(100);

/// What of an answer is about being degraded: its status, the field, how much remains, and what the handler saw.
fn seen(told: &Told) -> (u16, Option<&str>, Option<&str>, &str) {
    let handler = if told.status == 200 { told.body.as_str() } else { "" };
    (told.status, told.field("tollgate-degraded"), told.field("x-ratelimit-remaining"), handler)
}

#[test]
fn each_limit_does_what_it_says_and_the_answer_tells_if_it_may() {
    let server = server();
    run(async {
        let apps =
            |limiter: Limiter| (app_with(limits(&limiter, POLICY), TELLING), app(limits(&limiter, POLICY)));
        let (telling, silent) = apps(limiter(&server, LONG));
        // Not degraded: the upstream's word goes if the field is ours, and is none of our business otherwise.
        let table = [
            (&telling, "/shared", (200, None, Some("3"), "false [Own]")),
            (&silent, "/shared", (200, Some("theirs"), Some("2"), "false [Own]")),
            (&telling, "/free", (200, None, None, "false []")),
        ];
        for (app, target, wanted) in table {
            assert_eq!(seen(&ask(app.clone(), target).await), wanted, "{target}");
        }
        server.signal("STOP").expect("it is frozen");
        let (telling, silent) = apps(limiter(&server, SHORT));
        let table = [
            (&telling, "/shared", (200, Some("local"), Some("1"), "true [Share]")),
            (&telling, "/shared", (200, Some("local"), Some("0"), "true [Share]")),
            (&telling, "/shared", (429, Some("local"), Some("0"), "")),
            (&silent, "/shared", (429, None, Some("0"), "")),
            (&telling, "/denied", (503, Some("unknown"), None, "")),
            (&silent, "/denied", (503, None, None, "")),
            (&telling, "/allowed", (200, Some("uncounted"), None, "true [Nothing]")),
            (&silent, "/allowed", (200, Some("theirs"), None, "true [Nothing]")),
            // What refuses nobody is told to nobody.
            (&telling, "/counted", (200, None, None, "true [Nothing]")),
            (&telling, "/free", (200, None, None, "false []")),
        ];
        for (place, (app, target, wanted)) in table.into_iter().enumerate() {
            assert_eq!(seen(&ask(app.clone(), target).await), wanted, "{place}: {target}");
        }
        server.signal("CONT").expect("it goes on");
        until_own(&telling).await;
    });
}

/// No wait makes the share larger: it is no 422, and no 429 either.
#[test]
fn a_share_that_is_smaller_than_the_cost_is_a_503_with_retry_after() {
    let policy = "
tollgate: 1
rate_limit: { name: l, algorithm: token_bucket, capacity: 3, refill_rate: 1 per day, consumer_key: ip, when_store_fails: local 1/4 }
routes: [{ path: / }]
";
    let server = server();
    run(async {
        server.signal("STOP").expect("it is frozen");
        let quarter = FailureRule::Local { share: 1, of: 4 };
        let rules = |cost| {
            let rule = Rule::new("l", many(3)).cost(cost).when_store_fails(quarter);
            app_with(Rules::new(limiter(&server, SHORT), [rule]).expect("rules"), TELLING)
        };
        for app in [app_with(limits(&limiter(&server, SHORT), policy), TELLING), rules(1)] {
            let told = ask(app, "/").await;
            assert_eq!(seen(&told), (503, Some("unknown"), None, ""), "{told:?}");
            assert_eq!(told.field("retry-after"), Some("1"));
            assert!(told.body.contains(r#""violated-policies":[],"retry_after":1"#), "{told:?}");
        }
        let told = ask(rules(4), "/").await;
        assert_eq!((told.status, told.field("retry-after")), (422, None), "more than the whole limit");
        server.signal("CONT").expect("it goes on");
    });
}

#[test]
fn rules_written_in_rust_have_the_same_three_answers() {
    let server = server();
    run(async {
        server.signal("STOP").expect("it is frozen");
        let rules = [
            (FailureRule::Allow, (200, Some("uncounted"), None, "true [Nothing]")),
            (FailureRule::Deny, (503, Some("unknown"), None, "")),
            (FailureRule::Local { share: 1, of: 2 }, (200, Some("local"), Some("1"), "true [Share]")),
        ];
        for (fails, wanted) in rules {
            let rule = Rule::new("rule", many(4)).when_store_fails(fails);
            let rules = Rules::new(limiter(&server, SHORT), [rule]).expect("rules");
            assert_eq!(seen(&ask(app_with(rules, TELLING), "/").await), wanted, "{fails:?}");
        }
        let usually = Rules::new(limiter(&server, SHORT), [Rule::new("rule", many(4))]).expect("rules");
        let wanted = (200, Some("local"), Some("3"), "true [Share]");
        assert_eq!(seen(&ask(app_with(usually, TELLING), "/").await), wanted, "all of it, for this process");
        let none = Rules::new(limiter(&server, SHORT), []).expect("rules");
        assert_eq!(seen(&ask(app_with(none, TELLING), "/").await), (200, None, None, "false []"));
        server.signal("CONT").expect("it goes on");
    });
}

/// Asks until the store itself decides.
async fn until_own(app: &Router) {
    let deadline = Instant::now() + 2 * LONG;
    loop {
        let told = ask(app.clone(), "/denied").await;
        if told.status == 200 {
            return;
        }
        assert!(Instant::now() < deadline, "the store has not come back: {told:?}");
        tokio::task::yield_now().await;
    }
}
