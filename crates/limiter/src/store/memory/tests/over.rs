//! Expiry of overflow states and overflow buckets, for threads that see different times.

use tollgate_algorithms::{Limit, Micros, Mode, Window};

use super::super::KeyRequest;
use super::super::batch::Charge;
use super::super::overflow::OverflowBucket;
use super::super::snapshot::SavedOverflow;
use super::common::Full;
use crate::clock::Clock;

/// Three keys that have a cell in common. The last stands so far into the table that a few looks for a free cell do not come there.
const J: u64 = 1 << 40;
const K: u64 = (1 << 40) + 16;
const FAR: u64 = 1 << 53;

fn hourly(limit: u64) -> Limit {
    Limit::fixed_window(limit, Window::Every(Micros::HOUR)).unwrap()
}

/// Its cell is over, and it has it still: what new keys have spent in common since is not its own.
#[test]
fn a_known_key_is_not_refused_for_what_new_ones_have_spent() {
    let mut full = Full::new();
    let window = full.limit(hourly(3), 1);
    full.store.budget = 1 << 30;
    assert!(full.charge(&window, FAR, 1));
    full.store.budget = 0;
    full.now = full.now.saturating_add(Micros::HOUR);
    assert!(
        full.charge(&window, J, 3) && !full.charge(&window, K, 1),
        "new keys have used up what they share"
    );
    assert_eq!(full.left(&window, FAR), 3);
    let given = full.store.act(&window, FAR, KeyRequest::Charge(3), (&full.clock, full.now)).unwrap();
    assert!(given.decision.is_granted() && !given.shared);
    assert!(!full.charge(&window, FAR, 1), "it has spent its own");
}

/// One thread sees that a window is over, and looks through the cells; another one read the clock before, and comes after.
#[test]
fn who_comes_late_finds_what_was_spent_in_common() {
    let mut full = Full::new();
    let (window, other) =
        (full.limit(hourly(10), 1), full.limit(Limit::token_bucket(3, 1, Micros::HOUR).unwrap(), 2));
    let end = full.now.saturating_add(Micros::HOUR);
    full.now = end.saturating_sub(Micros::new(1));
    assert!(full.charge(&window, J, 10));
    full.now = end.saturating_add(Micros::from_secs(2));
    // A key that is put in looks where new keys start, and forgets what is old.
    assert!(full.charge(&other, K + 1, 1));
    full.now = end.saturating_sub(Micros::new(1));
    assert!(!full.charge(&window, J, 1), "ten of ten were granted in this window");
    full.now = end.saturating_add(Micros::MINUTE);
    assert!(full.charge(&other, K + 2, 1) && full.charge(&window, J, 10));
}

/// What is charged under one window of a name ends with the day of the calendar under its others, too.
#[test]
fn days_in_common_follow_the_calendar() {
    let hands = Clock::manual(Micros::DAY);
    let mut full = Full::new();
    full.clock = hands.clock();
    let day = |limit| Limit::fixed_window(limit, Window::Day(tollgate_algorithms::UtcOffset::UTC)).unwrap();
    let (many, few) = (full.limit(day(100), 1), full.limit(day(10), 2));
    // At ten in the evening it turns out to be one o'clock in the morning of the next day.
    hands.correct_wall_clock(3 * 3_600_000_000);
    full.now = Micros::DAY.saturating_add(Micros::from_secs(22 * 3_600));
    // Of the few there are cells, but nothing is in that of the key which is charged under the many.
    assert!(full.charge(&few, J + 3, 1) && full.charge(&many, J, 10));
    full.now = Micros::DAY.saturating_add(Micros::from_secs(24 * 3_600));
    assert!(!full.charge(&few, J, 1), "it is the same day still, and ten were had");
    full.now = Micros::DAY.saturating_add(Micros::from_secs(45 * 3_600));
    assert!(full.charge(&few, J, 10), "and now the next");
}

/// A late cost is charged where there is room for it, also if none can be had in common.
#[test]
fn a_late_cost_is_charged_in_the_keys_own_slot_if_nowhere_else() {
    let full = Full::new();
    let word = full.limit(Limit::token_bucket(10, 1, Micros::HOUR).unwrap(), 1);
    let cell =
        full.limit(Limit::token_bucket(10, 65_537, Micros::new(65_537 * 3_600_000_000 + 1)).unwrap(), 2);
    assert!(full.charge(&word, FAR, 1));
    // Limits of other names take all that keys may have in common.
    let mut name = 0;
    loop {
        name += 1;
        let other = crate::limit::LimitInner { space: name, ..full.limit(hourly(3), 3) };
        if full.store.act(&other, J + name, KeyRequest::Charge(1), (&full.clock, full.now)).is_err() {
            break;
        }
    }
    assert!(full.store.act(&cell, FAR, KeyRequest::Charge(1), (&full.clock, full.now)).is_err());
    assert_eq!(full.left(&word, FAR), 9, "that was not granted, and nothing is charged");
    assert!(full.store.act(&cell, FAR, KeyRequest::Settle(4), (&full.clock, full.now)).is_err());
    assert_eq!(full.left(&word, FAR), 5, "this work was done");
}

/// What keys have in common is put back as it was saved, as far as there is room for that, and not beyond.
#[test]
fn what_is_put_back_in_common_is_bounded_and_as_it_was() {
    let full = Full::new();
    let limits = |name: u64| [3, 4].map(|limit| (name, hourly(limit)));
    let common = |limit: &Limit| {
        let mut state = None;
        tollgate_algorithms::decide(limit, None, full.now, 2).0.apply(&mut state);
        let over = full.now.saturating_add(Micros::HOUR);
        SavedOverflow {
            family: (0, *limit),
            share: 1,
            common: OverflowBucket { state: state.unwrap(), at: full.now, over },
        }
    };
    let mut left_out = 0;
    for family in (0..300).flat_map(limits) {
        let saved = SavedOverflow { family, ..common(&family.1) };
        left_out += usize::from(!full.store.put_back_in_common(saved, full.now, full.now));
    }
    assert!(left_out > 0 && left_out < 600, "{left_out}");
    assert!(full.store.shared.bytes() <= full.store.shared.bytes_max());
    // The second one of a name has what was saved of it, and not what the first one has in other cells.
    let first = SavedOverflow { family: (0, hourly(3)), share: 2, ..common(&hourly(3)) };
    assert!(full.store.put_back_in_common(first, full.now, full.now), "its limit has cells");
    let of_first = full.store.saved_in_common(full.now).into_iter().filter(|saved| saved.family.0 == 0);
    let mut shares: Vec<_> = of_first.map(|saved| (saved.family.1.capacity(), saved.share)).collect();
    shares.sort_unstable();
    assert_eq!(shares, [(3, 1), (3, 2), (4, 1)]);
}

/// A key was dropped at an instant that lies ahead of that of a thread which comes late, and brings it back together with another one: it
/// may have owed something until then.
#[test]
fn who_comes_late_brings_keys_back_as_they_were_when_they_were_dropped() {
    let half = Micros::from_secs(1_800);
    let left = |charge_both: fn(&Full, [&Charge<'_>; 2]) -> bool| {
        let mut full = Full::new();
        full.store.budget = 1 << 30;
        let hourly = full.limit(Limit::token_bucket(1, 1, Micros::HOUR).unwrap(), 1);
        let dropped = full.now.saturating_add(half);
        full.store.note_drop(dropped);
        let charge = |id| Charge { limit: &hourly, id, cost: 1, mode: Mode::Enforced };
        assert!(charge_both(&full, [&charge(J), &charge(FAR)]));
        // From the one instant it would have come back by now, from the other one it has not.
        full.now = full.now.saturating_add(Micros::HOUR);
        let before = [J, FAR].map(|id| full.left(&hourly, id));
        full.now = full.now.saturating_add(half);
        (before, [J, FAR].map(|id| full.left(&hourly, id)))
    };
    let as_words =
        left(|full, [one, other]| full.store.charge_any(&[*one, *other], (&full.clock, full.now)).granted);
    let by_the_core = left(|full, [one, other]| {
        full.store.charge_all::<2>(&[*one, *other], (&full.clock, full.now)).unwrap().granted
    });
    assert_eq!(as_words, ([0, 0], [1, 1]));
    assert_eq!(as_words, by_the_core);
}
