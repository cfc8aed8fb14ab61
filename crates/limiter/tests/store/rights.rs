//! The least rights that the documentation names: they are enough for every verb and algorithm, and no more than that.

use std::time::Duration;

use tollgate::{Limit, Micros, Source, Window};

use crate::support::{World, many};

#[test]
fn the_rights_in_the_documentation_are_enough_and_not_more() {
    let world = World::new();
    let text = include_str!("../../../../docs/REDIS.md");
    let rule = text.split('`').find(|part| part.starts_with("ACL SETUSER ")).expect("the rule is documented");
    let mut operator = world.connect();
    let command = redis_command(rule);
    command.exec(&mut operator).expect("the rule is one");
    let limiter = world.limiter_as("?user=tollgate&pass=password", Duration::from_secs(10));
    let long = Limit::WINDOW_MAX;
    let limits = [
        many(900),
        Limit::leaky_bucket(900, 1, Micros::DAY).unwrap(),
        Limit::gcra(900, 1, Micros::DAY).unwrap(),
        Limit::fixed_window(900, Window::Every(long)).unwrap(),
        Limit::sliding_window(900, long).unwrap(),
        Limit::sliding_window_buckets(900, long, 512).unwrap(),
        Limit::sliding_window_log(900, long).unwrap(),
    ];
    for (number, limit) in limits.into_iter().enumerate() {
        let limit = limiter.limit(&format!("limit {number}"), limit);
        let other = limiter.limit(&format!("other {number}"), many(900));
        // Long enough for lists that are changed in place.
        for _ in 0..400 {
            let verdict = limiter.try_charge(&[limit.hit("k")]).unwrap();
            assert!(verdict.is_granted() && verdict.results()[0].source() == Source::Own, "{limit:?}");
        }
        let (verdict, receipt) = limiter.try_charge_for_receipt(&[limit.hit("k"), other.hit("k")]).unwrap();
        assert_eq!(verdict.results()[0].source(), Source::Own);
        limiter.try_refund(receipt.expect("a receipt")).unwrap();
        assert_eq!(
            limiter.try_charge_up_to(&limit.hit("k").cost(2)).unwrap().results()[0].source(),
            Source::Own
        );
        // Met by other numbers, it is kept for longer, and a cost after the fact joins it.
        let (_, receipt) = limiter.try_charge_for_receipt(&[limit.hit("k")]).unwrap();
        let lower = limiter.limit(limit.name(), lowered(&limit.limit()));
        let verdict = limiter.try_charge(&[lower.hit("k").cost(900)]).unwrap();
        assert!(!verdict.is_granted() && verdict.results()[0].source() == Source::Own, "{limit:?}");
        assert_eq!(limiter.try_charge(&[lower.hit("k")]).unwrap().results()[0].source(), Source::Own);
        limiter.try_settle(receipt.expect("a receipt"), 5).unwrap();
        assert!(limiter.try_inspect(&limit, "k").unwrap().known && limiter.try_reset(&limit, "k").unwrap());
    }
    let refused = redis_command("ACL DRYRUN tollgate FLUSHALL").query::<String>(&mut operator).unwrap();
    assert!(refused.contains("has no permissions"), "{refused}");
    let refused = redis_command("ACL DRYRUN tollgate GET elsewhere").query::<String>(&mut operator).unwrap();
    assert!(refused.contains("no permissions"), "{refused}");
}

/// The same, with room for one less.
fn lowered(limit: &Limit) -> Limit {
    let (most, long) = (limit.capacity() - 1, Limit::WINDOW_MAX);
    let lower = match limit {
        Limit::Unlimited => Ok(Limit::Unlimited),
        Limit::TokenBucket(_) => Limit::token_bucket(most, 1, Micros::from_secs(86_401)),
        Limit::LeakyBucket(_) => Limit::leaky_bucket(most, 1, Micros::from_secs(86_401)),
        Limit::Gcra(_) => Limit::gcra(most, 1, Micros::from_secs(86_401)),
        Limit::FixedWindow(_) => Limit::fixed_window(most, Window::Every(long)),
        Limit::SlidingWindow(_) => Limit::sliding_window(most, long),
        Limit::SlidingWindowBuckets(_) => Limit::sliding_window_buckets(most, long, 512),
        Limit::SlidingWindowLog(_) => Limit::sliding_window_log(most, long),
    };
    lower.expect("a limit")
}

fn redis_command(words: &str) -> redis::Cmd {
    let mut words = words.split(' ');
    let mut command = redis::cmd(words.next().unwrap_or_default());
    words.for_each(|word| {
        command.arg(word);
    });
    command
}
