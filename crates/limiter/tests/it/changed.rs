//! A known key is met under numbers that its place is too small for, while the store is full: what it owes goes with it, whoever
//! it has to share a cell with then. What a flood does to new keys is `flood.rs`.

use std::time::Duration;

use tollgate::{Clock, Limit, Limiter, ManualClock, Micros, NamedLimit};

/// One an hour, in a word; and one an hour, nearly, in a cell: its count, reduced, is too large for a word.
fn in_a_word(burst: u64) -> Limit {
    Limit::token_bucket(burst, 1, Micros::HOUR).unwrap()
}

fn in_a_cell(burst: u64) -> Limit {
    Limit::token_bucket(burst, 65_537, Micros::new(65_537 * 3_600_000_000 + 1)).unwrap()
}

/// A store of which every slot and every cell is in use for ten hours, and keys that have been put in before that.
fn full(first: impl FnOnce(&Limiter)) -> (Limiter, ManualClock) {
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let limiter = Limiter::builder().clock(clock.clock()).max_memory(4 << 20).build().unwrap();
    first(&limiter);
    // As many words as there is room for; and then they are met under numbers that take a cell each.
    for limit in [in_a_word(10), in_a_cell(10)] {
        let flood = limiter.limit("flood", limit);
        let is_shared =
            |key: u32| limiter.try_charge(&[flood.hit(&key.to_le_bytes()).cost(5)]).unwrap().is_overflow();
        let shared = (0..400_000).filter(|key| is_shared(*key)).take(1_000).count();
        assert_eq!(shared, 1_000, "it is a flood: {:?}", limiter.stats());
    }
    (limiter, clock)
}

fn left(limiter: &Limiter, limit: &NamedLimit, key: &str) -> u64 {
    limiter.try_peek(&[limit.hit(key)]).unwrap().remaining().unwrap()
}

/// How often a key is granted, by single charges or beside another key that has all it wants.
fn granted(limiter: &Limiter, limit: &NamedLimit, key: &str, beside: Option<&NamedLimit>) -> u64 {
    let mut count = 0;
    loop {
        let hits = [limit.hit(key), beside.unwrap_or(limit).hit("beside")];
        let verdict = limiter.try_charge(&hits[..1 + usize::from(beside.is_some())]).unwrap();
        if !verdict.is_granted() {
            return count;
        }
        assert!(verdict.results()[0].is_overflow(), "there is no cell for it");
        count += 1;
    }
}

#[test]
fn a_refused_key_stays_refused_when_its_new_numbers_do_not_fit_in_its_place() {
    for batches in [false, true] {
        let (limiter, clock) = full(|limiter| {
            let plain = limiter.limit("plan", in_a_word(3));
            let all = limiter.limit("all", Limit::token_bucket(1_000_000, 1, Micros::HOUR).unwrap());
            for key in ["refused", "used"] {
                assert!(
                    limiter
                        .try_charge(&[plain.hit(key).cost(if key == "used" { 1 } else { 3 })])
                        .unwrap()
                        .is_granted()
                );
            }
            assert!(limiter.try_charge(&[all.hit("beside")]).unwrap().is_granted());
        });
        let beside = limiter.limit("all", Limit::token_bucket(1_000_000, 1, Micros::HOUR).unwrap());
        let beside = batches.then_some(&beside);
        let (old, new) = (limiter.limit("plan", in_a_word(3)), limiter.limit("plan", in_a_cell(3)));
        assert_eq!((left(&limiter, &new, "refused"), left(&limiter, &new, "used")), (0, 2));
        // In this order: they may have the same cell in common, which owes the more of the two from then on.
        assert_eq!(granted(&limiter, &new, "used", beside), 2);
        assert_eq!(granted(&limiter, &new, "refused", beside), 0, "it owes what it owed");
        // What it was granted under the new numbers, it has spent under the old ones too.
        assert_eq!((left(&limiter, &old, "refused"), left(&limiter, &old, "used")), (0, 0));
        assert_eq!(granted(&limiter, &new, "used", beside), 0);
        // An hour and a bit later each has one again, and not one of each kind.
        clock.advance(Duration::from_secs(3_601));
        assert_eq!(granted(&limiter, &new, "used", beside), 1);
        assert!(!limiter.try_charge(&[old.hit("used")]).unwrap().is_granted());
        assert_eq!(granted(&limiter, &new, "used", beside), 0);
    }
}

/// Numbers go to and fro: a key is never granted more than the larger of the two allows.
#[test]
fn who_is_met_under_one_and_the_other_gets_no_more_than_under_one() {
    let (limiter, clock) = full(|limiter| {
        let plain = limiter.limit("plan", in_a_word(5));
        assert!(limiter.try_charge(&[plain.hit("ada")]).unwrap().is_granted());
    });
    let (old, new) = (limiter.limit("plan", in_a_word(5)), limiter.limit("plan", in_a_cell(5)));
    let mut total = 1;
    for half_hours in 0..40_u64 {
        for limit in [&new, &old, &new] {
            total += u64::from(limiter.try_charge(&[limit.hit("ada")]).unwrap().is_granted());
        }
        assert!(total <= 5 + half_hours / 2, "{total} after {half_hours} half hours");
        clock.advance(Duration::from_secs(1_800));
    }
    assert!(total >= 20, "it is granted something: {total}");
}

/// Under another algorithm it starts afresh, as any key does, and where others are; and not anew when there is a cell for it.
#[test]
fn a_key_of_another_algorithm_starts_once() {
    let (limiter, clock) = full(|limiter| {
        let plain = limiter.limit("plan", in_a_word(3));
        assert!(limiter.try_charge(&[plain.hit("ada").cost(3)]).unwrap().is_granted());
    });

    let log = limiter.limit("plan", Limit::sliding_window_log(3, Micros::DAY).unwrap());
    assert_eq!(granted(&limiter, &log, "ada", None), 3);
    // The flood is over in ten hours, and what was granted in a day.
    clock.advance(Duration::from_secs(12 * 3_600));
    let more = limiter.limit("more", in_a_word(3));
    for key in 0..100_u32 {
        let _ = limiter.try_charge(&[more.hit(&key.to_le_bytes())]).unwrap();
    }
    let verdict = limiter.try_charge(&[log.hit("ada")]).unwrap();
    assert!(!verdict.is_granted() && left(&limiter, &log, "ada") == 0, "{verdict:?}");
}
