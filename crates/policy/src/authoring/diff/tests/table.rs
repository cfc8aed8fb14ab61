//! Every kind of change as it is drawn for people, by small documents before and after. Compared to the letter.

use super::{between, limit, route};

const BUCKET: &str = "algorithm: token_bucket, capacity: 5, refill_rate: 1";
const LOG: &str = "algorithm: sliding_window_log, limit: 5, window: 1m";

fn one(text: &str) -> String {
    route(&limit("x", text))
}

fn two(first: &str, second: &str) -> String {
    route(&format!("{}{}", limit("y", first), limit("x", second)))
}

fn rooted(unmatched: &str, capacity: u64) -> String {
    format!(
        "tollgate: 1\nunmatched: {unmatched}\nrate_limit: {{ algorithm: gcra, capacity: {capacity}, refill_rate: 1 }}\n"
    )
}

fn check(old: &str, new: &str, expected: &str) {
    assert_eq!(between(old, new).human(), expected, "{old}\n{new}");
}

#[test]
fn a_lowered_limit_says_how_long_old_debts_lock_out() {
    let bucket = |capacity: u64, more: &str| {
        one(&format!("algorithm: token_bucket, capacity: {capacity}, refill_rate: 1, consumer_key: {more}"))
    };
    let lockout = |old: &str, new: &str| {
        let text = between(old, new).human();
        text.lines().find(|line| line.starts_with("What a key owes")).map(str::to_owned)
    };
    let said = |wait: &str| {
        Some(format!(
            "What a key owes stays owed under lower numbers. A key that has used up the old limit waits up to (x: {wait}); to reset it ends that."
        ))
    };
    assert_eq!(lockout(&bucket(981, "ip"), &bucket(10, "ip")), said("972 s"));
    // A 401 may overdraw the address of a claimed key.
    assert_eq!(lockout(&bucket(981, "api_key"), &bucket(10, "api_key")), said("1953 s"));
    assert_eq!(lockout(&bucket(981, "ip"), &bucket(10, "ip, address_ceiling: 3")), said("972 s"));
    assert_eq!(lockout(&bucket(10, "ip"), &bucket(981, "ip")), None);
    assert_eq!(lockout(&bucket(981, "ip"), &bucket(10, "everyone")), None, "its keys start afresh");
    assert_eq!(lockout(&bucket(981, "ip"), &bucket(10, "ip, mode: shadow")), None);
    let markdown = between(&bucket(981, "ip"), &bucket(10, "ip")).markdown();
    assert!(markdown.contains("waits up to (x: 972 s)"), "{markdown}");
}

#[test]
fn numbers_that_let_more_or_less_through() {
    let expected = "\
Nothing changes.
";
    check(&one(BUCKET), &one(BUCKET), expected);
    let expected = "\
1 operation changes (1 looser); 1 limit changes.

OPERATION  TIER       CHANGE  SUSTAINED     AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  looser  1 per second  5 → 10   65 → 70       x: looser

LIMIT  TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second  5 → 10   65 → 70       looser
";
    check(&one(BUCKET), &one("algorithm: token_bucket, capacity: 10, refill_rate: 1"), expected);
    let expected = "\
1 operation changes (1 tighter); 1 limit changes.

OPERATION  TIER       CHANGE   SUSTAINED                 AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  tighter  1 per second → 1 per 2 s  5        65 → 35       x: tighter

LIMIT  TIER       SUSTAINED                 AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second → 1 per 2 s  5        65 → 35       tighter
";
    check(&one(BUCKET), &one("algorithm: token_bucket, capacity: 5, refill_rate: 0.5"), expected);
    let expected = "\
1 operation changes (1 mixed); 1 limit changes.

OPERATION  TIER       CHANGE  SUSTAINED                  AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  mixed   1 per second → 1 per 10 s  5 → 10   65 → 16       x: mixed

LIMIT  TIER       SUSTAINED                  AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second → 1 per 10 s  5 → 10   65 → 16       mixed
";
    check(&one(BUCKET), &one("algorithm: token_bucket, capacity: 10, refill_rate: 0.1"), expected);
    let expected = "\
1 operation changes (1 looser); 1 limit changes.

OPERATION  TIER       CHANGE  SUSTAINED  AT ONCE    WORST MINUTE  LIMITS
GET /a     (default)  looser  unlimited  unlimited  unlimited     x: looser

LIMIT  TIER       SUSTAINED  AT ONCE                                  WORST MINUTE  WHAT
x      (default)  -          5 at the same time → 6 at the same time  -             looser
";
    check(&one("algorithm: concurrency, limit: 5"), &one("algorithm: concurrency, limit: 6"), expected);
}

#[test]
fn keys_that_start_afresh() {
    let expected = "\
1 limit changes.

OPERATION  TIER       CHANGE  SUSTAINED     AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  same    1 per second  5        65            x: another algorithm, its keys start afresh unless a shared store has them

LIMIT  TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second  5        65            another algorithm, its keys start afresh unless a shared store has them
";
    check(&one(BUCKET), &one("algorithm: gcra, capacity: 5, refill_rate: 1"), expected);
    let expected = "\
1 operation changes (1 tighter); 1 limit changes.

OPERATION  TIER       CHANGE   SUSTAINED                    AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  tighter  1 per second → 5 per minute  5        65 → 5        x: another algorithm, its keys start afresh, tighter

LIMIT  TIER       SUSTAINED                    AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second → 5 per minute  5        65 → 5        another algorithm, its keys start afresh, tighter

During a rollout, processes with the old policy and with the new one count x apart, also in a shared store: each enforces its own limit, and a client may use up to both together.
";
    check(&one(BUCKET), &one(LOG), expected);
    let expected = "\
1 operation changes (1 tighter); 1 limit changes.

OPERATION  TIER       CHANGE   SUSTAINED     AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  tighter  5 per minute  5        10 → 5        x: another algorithm, its keys start afresh, tighter

LIMIT  TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
x      (default)  5 per minute  5        10 → 5        another algorithm, its keys start afresh, tighter

During a rollout, processes with the old policy and with the new one count x apart, also in a shared store: each enforces its own limit, and a client may use up to both together.
";
    check(
        &one("algorithm: sliding_window, limit: 5, window: 1m"),
        &one("algorithm: sliding_window, limit: 5, window: 1m, buckets: 6"),
        expected,
    );
    let expected = "\
1 operation changes (1 mixed); 1 limit changes.

OPERATION  TIER       CHANGE  SUSTAINED     AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  mixed   1 per second  5        65            x: another consumer key, its keys start afresh

LIMIT  TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second  5        65            another consumer key, its keys start afresh
";
    check(&one(BUCKET), &one(&format!("{BUCKET}, consumer_key: ip")), expected);
    let expected = "\
1 limit changes.

OPERATION  TIER       CHANGE  SUSTAINED     AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  same    1 per second  5        65            y: renamed from x, its keys start afresh

LIMIT  TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
y      (default)  1 per second  5        65            renamed from x, its keys start afresh
";
    check(&one(BUCKET), &route(&limit("y", BUCKET)), expected);
}

#[test]
fn limits_that_come_and_go() {
    let expected = "\
1 operation changes (1 tighter); 1 limit changes.

OPERATION  TIER       CHANGE   SUSTAINED                    AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  tighter  1 per second → 5 per minute  5        65 → 5        y: added

LIMIT  TIER       SUSTAINED         AT ONCE  WORST MINUTE  WHAT
y      (default)  - → 5 per minute  - → 5    - → 5         added
";
    check(&one(BUCKET), &two(LOG, BUCKET), expected);
    let expected = "\
1 operation changes (1 looser); 1 limit changes.

OPERATION  TIER       CHANGE  SUSTAINED                    AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  looser  5 per minute → 1 per second  5        5 → 65        y: removed

LIMIT  TIER       SUSTAINED         AT ONCE  WORST MINUTE  WHAT
y      (default)  5 per minute → -  5 → -    5 → -         removed
";
    check(&two(LOG, BUCKET), &one(BUCKET), expected);
    let expected = "\
1 limit changes.

OPERATION  TIER       CHANGE  SUSTAINED     AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  same    1 per second  5        65            y: added

LIMIT  TIER       SUSTAINED         AT ONCE  WORST MINUTE  WHAT
y      (default)  - → 5 per minute  - → 5    - → 5         added
";
    check(&one(BUCKET), &two(&format!("{LOG}, mode: shadow"), BUCKET), expected);
    let expected = "\
1 operation changes (1 looser); 1 limit changes.

OPERATION  TIER       CHANGE  SUSTAINED                 AT ONCE        WORST MINUTE    LIMITS
GET /a     (default)  looser  1 per second → unlimited  5 → unlimited  65 → unlimited  x: a shadow, was enforced

LIMIT  TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second  5        65            a shadow, was enforced
";
    check(&one(BUCKET), &one(&format!("{BUCKET}, mode: shadow")), expected);
    let expected = "\
1 operation changes (1 tighter); 1 limit changes.

OPERATION  TIER       CHANGE   SUSTAINED                 AT ONCE        WORST MINUTE    LIMITS
GET /a     (default)  tighter  unlimited → 1 per second  unlimited → 5  unlimited → 65  x: enforced, was a shadow

LIMIT  TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second  5        65            enforced, was a shadow
";
    check(&one(&format!("{BUCKET}, mode: shadow")), &one(BUCKET), expected);
}

#[test]
fn operations_that_come_and_go() {
    let expected = "\
2 operations and tiers change (1 added, 1 removed).

OPERATION  TIER       CHANGE   SUSTAINED         AT ONCE  WORST MINUTE  LIMITS
GET /b     (default)  added    - → 1 per second  - → 5    - → 65        x: added
GET /a     (default)  removed  1 per second → -  5 → -    65 → -        x: removed
";
    check(&one(BUCKET), &one(BUCKET).replace("/a", "/b"), expected);
    let expected = "\
3 operations and tiers change (2 added, 1 removed).

OPERATION                    TIER       CHANGE   SUSTAINED         AT ONCE  WORST MINUTE  LIMITS
GET /a/{id} and PUT /a/{id}  (default)  added    - → 1 per second  - → 5    - → 65        x: added
GET /a                       (default)  removed  1 per second → -  5 → -    65 → -        x: removed
";
    check(&one(BUCKET), &one(BUCKET).replace("/a", "/a/{id}").replace("GET", "[GET, PUT]"), expected);
    let expected = "\
1 operation changes (1 added).

OPERATION  TIER       CHANGE  SUSTAINED      AT ONCE        WORST MINUTE   LIMITS
* /z       (default)  added   - → unlimited  - → unlimited  - → unlimited
";
    check(&one(BUCKET), &format!("{}  - {{ path: /z }}\n", one(BUCKET)), expected);
    let expected = "\
1 operation changes (1 looser); 1 limit changes.

OPERATION  TIER       CHANGE  SUSTAINED                 AT ONCE        WORST MINUTE    LIMITS
GET /a     (default)  looser  1 per second → unlimited  5 → unlimited  65 → unlimited  x: removed

LIMIT  TIER       SUSTAINED         AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second → -  5 → -    65 → -        removed
";
    check(&one(BUCKET), &route(" none\n").replace("rate_limit:\n", "rate_limit:"), expected);
    let expected = "\
1 operation changes (1 looser); 1 limit changes.

OPERATION                TIER       CHANGE  SUSTAINED     AT ONCE  WORST MINUTE  LIMITS
what no operation names  (default)  looser  1 per second  5 → 6    65 → 66       default: looser

LIMIT    TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
default  (default)  1 per second  5 → 6    65 → 66       looser
";
    check(&rooted("forward", 5), &rooted("forward", 6), expected);
}

#[test]
fn costs_and_tiers() {
    let expected = "\
1 operation changes (1 tighter); 1 limit changes.

OPERATION  TIER       CHANGE   SUSTAINED                 AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  tighter  1 per second → 1 per 2 s  5 → 2    65 → 32       x: another cost

LIMIT  TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second  5        65            another cost
";
    check(&one(BUCKET), &one(&format!("{BUCKET}, cost: 2")), expected);
    let expected = "\
2 operations and tiers change (2 looser); 1 limit changes.

OPERATION  TIER  CHANGE  SUSTAINED                 AT ONCE        WORST MINUTE    LIMITS
GET /a     big   looser  1 per second              5 → 50         65 → 110        x: looser
GET /a     all   looser  1 per second → unlimited  5 → unlimited  65 → unlimited  x: looser

LIMIT  TIER       SUSTAINED                 AT ONCE        WORST MINUTE    WHAT
x      (default)  1 per second              5              65              same
       big        1 per second              5 → 50         65 → 110        looser
       all        1 per second → unlimited  5 → unlimited  65 → unlimited  looser
";
    check(
        &one(BUCKET),
        &one(&format!("{BUCKET}, tier_overrides: {{ big: {{ capacity: 50 }}, all: none }}")),
        expected,
    );
}

#[test]
fn words_and_numbers_that_mean_the_same() {
    let expected = "\
1 limit changes; 2 approvals are needed.

LIMIT  TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second  5        65            owner: nothing → @me, reviewers: nobody → you

APPROVAL  BECAUSE OF
@me       x
you       x
";
    check(&one(BUCKET), &one(&format!("{BUCKET}, owner: '@me', reviewers: [you]")), expected);
    let expected = "\
1 limit changes.

LIMIT  TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second  5        65            counted: together → per_operation, when_store_fails: local → allow
";
    check(
        &one(BUCKET),
        &one(&format!("{BUCKET}, when_store_fails: allow, counted: per_operation")),
        expected,
    );
    let expected = "\
1 limit changes.

LIMIT  TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
x      (default)  5 per minute  5        5             numbers: 5 in any 1 min, never more (3 buckets) → 5 in any 1 min, never more (6 buckets)
";
    check(
        &one("algorithm: sliding_window, limit: 5, window: 1m, buckets: 3"),
        &one("algorithm: sliding_window, limit: 5, window: 1m, buckets: 6"),
        expected,
    );
    let expected = "\
1 limit changes.

LIMIT  TIER       SUSTAINED  AT ONCE             WORST MINUTE  WHAT
x      (default)  -          5 at the same time  -             numbers: 5 at the same time, held for 1 min at most → 5 at the same time, held for 2 min at most
";
    check(
        &one("algorithm: concurrency, limit: 5, max_hold: 1m"),
        &one("algorithm: concurrency, limit: 5, max_hold: 2m"),
        expected,
    );
}

#[test]
fn adaptive_limits_compare_by_their_range() {
    let changed = |old: &str, new: &str| {
        let text =
            between(&one(&format!("algorithm: adaptive{old}")), &one(&format!("algorithm: adaptive{new}")))
                .human();
        text.lines().find(|line| line.starts_with("x ")).map(str::to_owned)
    };
    let said = |what: &str| Some(format!("x      (default)  -          {what}"));
    let default = "1 to 1000 at the same time, found by gradient2";
    assert_eq!(
        changed("", ", max: 2000"),
        said(&format!("{default} → 1 to 2000 at the same time, found by gradient2  -             looser"))
    );
    assert_eq!(
        changed("", ", max: 500"),
        said(&format!("{default} → 1 to 500 at the same time, found by gradient2  -             tighter"))
    );
    assert_eq!(
        changed("", ", method: vegas"),
        said(&format!("{default} → 1 to 1000 at the same time, found by vegas  -             mixed"))
    );
    let hold = changed("", ", max_hold: 1m").expect("it is told");
    assert!(
        hold.contains("by gradient2, starting at 8 → 1 to 1000 by gradient2, starting at 8, held"),
        "{hold}"
    );
    assert_eq!(changed("", ", max: 1000, initial: 8"), None);
}
