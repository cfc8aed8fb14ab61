//! Keys with several limits or costs: entries do not evict each other, and do not live too long.

use std::time::Duration;

use tokio::time::Instant;
use tollgate_algorithms::{Limit, Micros, Retry, State, decide};

use super::{
    CacheAction, EPOCH, ObservedKey, PATIENCE, REMEMBERED_MAX, RefusalCache, ReportedState, UNTOLD, grant,
    hit, name, refusal, refused, spent, when,
};
use crate::Name;
use crate::refusal_cache::key::ENTRIES_MAX;
use crate::refusal_cache::{PASSING, WAYS};

const MS: Duration = Duration::from_millis(1);

/// The server's clock, so many milliseconds after the start.
fn server(ms: u64) -> Micros {
    Micros::new(EPOCH).saturating_add(Micros::from_millis(ms))
}

fn after(limit: &Limit, mut state: Option<State>, at: Micros, cost: u64) -> State {
    let (change, decision) = decide(limit, state.as_ref(), at, cost);
    assert!(decision.is_granted());
    change.apply(&mut state);
    state.expect("something was charged")
}

/// One that hardly drains, and one that drains quickly and is larger.
fn tiers() -> (Limit, Limit) {
    let slow = Limit::token_bucket(10, 1, Micros::HOUR).unwrap();
    (slow, Limit::token_bucket(20, 1_000, Micros::SECOND).unwrap())
}

#[test]
fn hits_under_all_numbers_are_judged_by_one_state() {
    let (start, name, remembered) = (Instant::now(), name("hot"), RefusalCache::new(PATIENCE));
    let free = Limit::token_bucket(5, 1, Micros::SECOND).unwrap();
    let paid = Limit::token_bucket(20, 1, Micros::SECOND).unwrap();
    let told = |limit, cost, at| refused(&remembered, &hit(limit, &name, cost), at);
    let state = after(&paid, None, server(0), 10);
    remembered.learn(&hit(&free, &name, 1), refusal(Some(state.clone())), &when(server(0), (start, start)));
    assert_eq!(told(&free, 1, start), Some(Retry::After(Micros::from_secs(6))));
    assert_eq!(told(&paid, 11, start), Some(Retry::After(Micros::SECOND)), "by its own numbers");
    assert_eq!(told(&paid, 10, start), None, "that is for the server to say");
    // Who has paid is granted, and goes on having room: who has not is refused by what that leaves.
    let (state, later) = (after(&paid, Some(state), server(2), 3), start + 2 * MS);
    remembered.learn(&hit(&paid, &name, 3), grant(state, true), &when(server(2), (later, later)));
    assert_eq!(told(&free, 1, later), Some(Retry::After(Micros::new(8_998_000))));
    assert_eq!(told(&paid, 7, later), None);
    // When nobody is refused any more, nothing is kept up to date.
    let later = later + REMEMBERED_MAX;
    let state = after(&paid, None, server(1_002), 1);
    remembered.learn(&hit(&paid, &name, 1), grant(state, true), &when(server(1_002), (later, later)));
    assert!(!remembered.knows(&name));
}

#[test]
fn a_charge_under_other_numbers_may_give_room_and_who_is_given_it_is_not_refused() {
    let (start, name, (slow, quick)) = (Instant::now(), name("hot"), tiers());
    let later = start + 5 * MS;
    let full = || {
        let remembered = RefusalCache::new(PATIENCE);
        remembered.begin();
        // 20 are owed: both are full. In five milliseconds the quick one has room for five.
        let state = spent(&quick, server(0), 1);
        remembered.learn(&hit(&slow, &name, 1), refusal(Some(state)), &when(server(0), (start, start)));
        remembered
    };
    let is_refused = |remembered: &RefusalCache, limit, cost| {
        refused(remembered, &hit(limit, &name, cost), later).is_some()
    };
    let remembered = full();
    assert!(is_refused(&remembered, &slow, 1) && is_refused(&remembered, &quick, 9));
    let charged = when(server(5), (later, later));
    // Nobody knows what it leaves: to its own kind the old state still says no.
    remembered.charged(&hit(&quick, &name, 1), &charged);
    assert!(!is_refused(&remembered, &slow, 1) && is_refused(&remembered, &quick, 9));
    remembered.charged(&hit(&slow, &name, 1), &charged);
    assert!(!is_refused(&remembered, &slow, 1) && !is_refused(&remembered, &quick, 9));
    let remembered = full();
    remembered.may_have_charged(&hit(&quick, &name, 1));
    assert!(!is_refused(&remembered, &slow, 1) && is_refused(&remembered, &quick, 9));
    // And one asks, as ever.
    let CacheAction::AskAlone(turn) = remembered.next(&hit(&slow, &name, 1), later) else {
        panic!("one asks")
    };
    assert!(matches!(remembered.next(&hit(&slow, &name, 1), later), CacheAction::Wait(_)));
    drop(turn);
    let remembered = full();
    remembered.learn(&hit(&quick, &name, 1), UNTOLD, &charged);
    assert!(!is_refused(&remembered, &slow, 1));
    // It is known what it leaves.
    let remembered = full();
    let left = after(&quick, Some(spent(&quick, server(0), 1)), server(15), 1);
    let at = start + 15 * MS;
    remembered.learn(&hit(&quick, &name, 1), grant(left, true), &when(server(15), (at, at)));
    assert!(refused(&remembered, &hit(&slow, &name, 1), at).is_none(), "6 of 10 are owed");
    assert!(refused(&remembered, &hit(&slow, &name, 5), at).is_some());
}

/// Names that are kept in one set with this one.
fn neighbours(remembered: &RefusalCache, name: &Name) -> Vec<Name> {
    let set = |name: &Name| std::ptr::from_ref(&*remembered.set(name));
    let (its, names) = (set(name), (0..).map(|key: u32| super::name(&format!("neighbour {key}"))));
    names.filter(|other| std::ptr::eq(its, set(other))).take(WAYS + PASSING).collect()
}

/// A refusal under slow numbers at 1 ms, and a grant under quick ones at 2 ms; the second answer comes first.
#[test]
fn an_older_answer_never_replaces_a_newer_one_whatever_its_numbers() {
    let (start, name, (slow, quick)) = (Instant::now(), name("hot"), tiers());
    let (asked, answered) = (start, start + 5 * MS);
    let state = spent(&slow, server(1), 1);
    let learn_older = |remembered: &RefusalCache, at: u64| {
        let when = when(server(at), (asked, answered + MS));
        remembered.learn(&hit(&slow, &name, 1), refusal(Some(state.clone())), &when);
    };
    let newer = || when(server(2), (start + MS, answered));
    let is_refused =
        |remembered: &RefusalCache| refused(remembered, &hit(&slow, &name, 1), answered + MS).is_some();
    let room = || grant(after(&quick, None, server(2), 1), true);
    // Of a key of which nothing is known, and whether or not it is told what is left.
    let remembered = RefusalCache::new(PATIENCE);
    remembered.begin();
    remembered.learn(&hit(&quick, &name, 1), room(), &newer());
    learn_older(&remembered, 1);
    assert!(!is_refused(&remembered));
    learn_older(&remembered, 2);
    assert!(!is_refused(&remembered), "nobody knows which was first");
    learn_older(&remembered, 3);
    assert!(is_refused(&remembered), "it is the newer one");
    let remembered = RefusalCache::new(PATIENCE);
    remembered.begin();
    remembered.charged(&hit(&quick, &name, 1), &newer());
    learn_older(&remembered, 1);
    assert!(!is_refused(&remembered));
    // Of one that is known.
    let remembered = RefusalCache::new(PATIENCE);
    learn_older(&remembered, 0);
    remembered.learn(&hit(&quick, &name, 1), room(), &newer());
    learn_older(&remembered, 1);
    assert!(!is_refused(&remembered) && remembered.knows(&name));
    // Of one that others have pushed out.
    let others = neighbours(&remembered, &name);
    for other in others.iter().take(WAYS) {
        let now = when(server(3), (answered, answered + MS));
        remembered.learn(&hit(&slow, other, 1), refusal(Some(state.clone())), &now);
    }
    assert!(!remembered.knows(&name));
    learn_older(&remembered, 1);
    assert!(!is_refused(&remembered));
    for other in others.iter().skip(WAYS) {
        remembered.charged(&hit(&quick, other, 1), &when(server(3), (answered, answered + MS)));
    }
    for other in others.iter().skip(WAYS) {
        remembered.learn(&hit(&quick, other, 1), room(), &when(server(3), (answered, answered + MS)));
    }
    learn_older(&remembered, 1);
    assert!(!is_refused(&remembered), "nothing is known of it, but that it may be so");
}

#[test]
fn what_is_decided_at_one_instant_is_believed_by_who_has_the_same_numbers() {
    let (start, name, (slow, quick)) = (Instant::now(), name("hot"), tiers());
    let together = when(server(1), (start, start + 5 * MS));
    let (now, state) = (start + 5 * MS, spent(&slow, server(0), 1));
    let is_refused =
        |remembered: &RefusalCache, limit, cost| refused(remembered, &hit(limit, &name, cost), now).is_some();
    let remembered = RefusalCache::new(PATIENCE);
    remembered.learn(&hit(&slow, &name, 1), refusal(Some(state.clone())), &together);
    // The same again, to others: so nothing was charged between them.
    remembered.learn(&hit(&quick, &name, 19), refusal(Some(state.clone())), &together);
    assert!(is_refused(&remembered, &slow, 1) && is_refused(&remembered, &quick, 19));
    // Under the same numbers, before or after.
    let less = after(&slow, None, server(1), 8);
    remembered.learn(&hit(&slow, &name, 4), grant(less.clone(), true), &together);
    assert!(is_refused(&remembered, &slow, 1) && !is_refused(&remembered, &quick, 19));
    // Under others.
    remembered.learn(&hit(&quick, &name, 1), grant(after(&quick, Some(less), server(1), 1), true), &together);
    assert!(!is_refused(&remembered, &slow, 1) && !is_refused(&remembered, &quick, 19));
    assert!(matches!(remembered.next(&hit(&slow, &name, 1), now), CacheAction::AskAlone(_)));
    // A grant under others alone: that may have been after who was refused.
    let remembered = RefusalCache::new(PATIENCE);
    remembered.learn(&hit(&slow, &name, 1), refusal(Some(state.clone())), &together);
    let left = after(&quick, Some(state), server(1), 1);
    remembered.learn(&hit(&quick, &name, 1), grant(left, true), &together);
    assert!(!is_refused(&remembered, &slow, 1));
    assert!(matches!(remembered.next(&hit(&slow, &name, 1), now), CacheAction::AskAlone(_)));
}

#[test]
fn of_a_list_each_cost_and_each_limit_is_known_until_a_charge_under_another() {
    let (start, name) = (Instant::now(), name("hot"));
    let (short, long) = (Micros::SECOND, Micros::MINUTE);
    let [short, long] = [short, long].map(|window| Limit::sliding_window_log(4, window).unwrap());
    let remembered = RefusalCache::new(PATIENCE);
    let is_refused = |limit, cost| refused(&remembered, &hit(limit, &name, cost), start + 9 * MS).is_some();
    let state = spent(&long, server(0), 1);
    for (limit, cost) in [(&short, 1), (&short, 3), (&long, 1), (&long, 2)] {
        let learned = refusal(Some(state.clone()));
        remembered.learn(&hit(limit, &name, cost), learned, &when(server(0), (start, start)));
    }
    assert!(is_refused(&short, 1) && is_refused(&short, 3) && is_refused(&long, 1) && is_refused(&long, 2));
    assert!(!is_refused(&short, 2) && !is_refused(&long, 3), "of these nothing was told");
    let charged = when(server(5), (start + 5 * MS, start + 6 * MS));
    remembered.learn(&hit(&short, &name, 1), ObservedKey { room: true, ..UNTOLD }, &charged);
    assert!(!is_refused(&short, 1), "there is room");
    assert!(is_refused(&short, 3), "others under the same numbers can only take");
    assert!(!is_refused(&long, 1) && !is_refused(&long, 2), "what has left the short window is gone");
    assert!(matches!(remembered.next(&hit(&long, &name, 2), start + 9 * MS), CacheAction::AskAlone(_)));
}

#[test]
fn no_more_than_so_much_is_kept_of_one_list() {
    let (start, name) = (Instant::now(), name("hot"));
    let limit = Limit::sliding_window_log(4, Micros::SECOND).unwrap();
    let remembered = RefusalCache::new(PATIENCE);
    let costs = 1..=u64::try_from(ENTRIES_MAX).unwrap() + 3;
    for cost in costs.clone() {
        let at = start + Duration::from_micros(cost);
        let learned = refusal(Some(spent(&limit, server(0), 1)));
        remembered.learn(&hit(&limit, &name, cost), learned, &when(server(0), (at, at)));
    }
    let known = costs.map(|cost| refused(&remembered, &hit(&limit, &name, cost), start + MS).is_some());
    assert_eq!(known.collect::<Vec<_>>(), [vec![false; 3], vec![true; ENTRIES_MAX]].concat());
}

#[test]
fn a_limit_of_nothing_and_a_cost_that_never_fits_are_refused_on_a_key_that_is_not_there() {
    let (start, name) = (Instant::now(), name("hot"));
    for few in [
        Limit::token_bucket(4, 1, Micros::SECOND).unwrap(),
        Limit::sliding_window_log(4, Micros::SECOND).unwrap(),
    ] {
        let remembered = RefusalCache::new(PATIENCE);
        let told = |limit, cost| refused(&remembered, &hit(limit, &name, cost), start);
        remembered.learn(&hit(&few, &name, 5), refusal(None), &when(server(0), (start, start)));
        assert_eq!(told(&few, 5), Some(Retry::Never));
        assert_eq!(told(&few, 4), None);
        assert!(matches!(remembered.next(&hit(&few, &name, 4), start), CacheAction::Ask));
        let later = start + REMEMBERED_MAX;
        let CacheAction::AskAlone(_turn) = remembered.next(&hit(&few, &name, 5), later) else {
            panic!("one asks")
        };
        assert!(matches!(remembered.next(&hit(&few, &name, 5), later), CacheAction::Wait(_)));
    }
    let nothing = Limit::gcra(0, 1, Micros::SECOND).unwrap();
    let remembered = RefusalCache::new(PATIENCE);
    remembered.learn(&hit(&nothing, &name, 1), refusal(None), &when(server(0), (start, start)));
    assert_eq!(refused(&remembered, &hit(&nothing, &name, 1), start), Some(Retry::Never));
    // To another algorithm it may be there.
    let other = Limit::token_bucket(0, 1, Micros::SECOND).unwrap();
    assert_eq!(refused(&remembered, &hit(&other, &name, 1), start), None);
}

#[test]
fn one_asks_for_all_numbers_and_of_a_list_one_for_each_cost() {
    let (start, name) = (Instant::now(), name("hot"));
    let later = start + REMEMBERED_MAX;
    let free = Limit::token_bucket(5, 1, Micros::HOUR).unwrap();
    let paid = Limit::token_bucket(9, 1, Micros::HOUR).unwrap();
    let remembered = RefusalCache::new(PATIENCE);
    let state = after(&paid, None, server(0), 7);
    remembered.learn(&hit(&free, &name, 1), refusal(Some(state)), &when(server(0), (start, start)));
    let next = |limit, cost| remembered.next(&hit(limit, &name, cost), later);
    let CacheAction::AskAlone(turn) = next(&paid, 3) else { panic!("one asks") };
    assert!(matches!(next(&free, 1), CacheAction::Wait(_)), "the answer tells of this one too");
    assert!(matches!(next(&paid, 2), CacheAction::Ask), "it had room");
    drop(turn);
    assert!(matches!(next(&free, 1), CacheAction::AskAlone(_)));

    let log = Limit::sliding_window_log(9, Micros::HOUR).unwrap();
    let remembered = RefusalCache::new(PATIENCE);
    let next = |cost| remembered.next(&hit(&log, &name, cost), later);
    for cost in [2, 4] {
        let learned = refusal(Some(spent(&log, server(0), 1)));
        remembered.learn(&hit(&log, &name, cost), learned, &when(server(0), (start, start)));
    }
    let turns = [2, 4, 3].map(next);
    assert!(turns.iter().all(|turn| matches!(turn, CacheAction::AskAlone(_))));
    assert!([2, 3, 4].into_iter().all(|cost| matches!(next(cost), CacheAction::Wait(_))));
    assert!(matches!(next(1), CacheAction::Ask), "nothing so small was refused");
    drop(turns);
    let told = ObservedKey { stands: ReportedState::State(spent(&log, server(1_000), 1)), ..refusal(None) };
    remembered.learn(&hit(&log, &name, 3), told, &when(server(1_000), (later, later)));
    assert!(matches!(next(3), CacheAction::Refuse) && matches!(next(2), CacheAction::AskAlone(_)));
}
