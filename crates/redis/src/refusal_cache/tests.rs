//! The refusal cache against a simulated server: it never refuses what the server would grant.

mod played;
mod several;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_algorithms::{Limit, Micros, Mode, Retry, State, Window, decide, peek};

use super::{CacheAction, ClockBounds, ObservedKey, REMEMBERED_MAX, RefusalCache, SETS, WAYS};
use crate::reply::reported_state::ReportedState;
use crate::{Hit, LinkError, Name, Naming};

fn name(key: &str) -> Name {
    Naming::new([7; 16]).name("per key", key.as_bytes())
}

fn hit<'a>(limit: &'a Limit, name: &'a Name, cost: u64) -> Hit<'a> {
    Hit { limit, name, cost, mode: Mode::Enforced }
}

/// Decided at the server's instant, by our clock between two.
fn when(server: Micros, (asked, answered): (Instant, Instant)) -> ClockBounds {
    ClockBounds { asked, answered, server }
}

/// A refusal, and how the key stands.
fn refusal(state: Option<State>) -> ObservedKey {
    ObservedKey {
        charged: false,
        room: false,
        stands: state.map_or(ReportedState::Absent, ReportedState::State),
    }
}

/// A grant, and how the key stands then; whether the same would be granted again.
fn grant(state: State, room: bool) -> ObservedKey {
    ObservedKey { charged: true, room, stands: ReportedState::State(state) }
}

/// A grant after which nobody knows how the key stands.
const UNTOLD: ObservedKey = ObservedKey { charged: true, room: false, stands: ReportedState::Untold };

/// How long others wait.
const PATIENCE: Duration = Duration::from_millis(500);

/// The server's clock at the start: not ours.
const EPOCH: u64 = 1_763_222_400_000_000;

/// Where a limit has no room for `cost`, at an instant.
fn spent(limit: &Limit, at: Micros, cost: u64) -> State {
    let mut state = None;
    loop {
        let (change, decision) = decide(limit, state.as_ref(), at, cost);
        if !decision.is_granted() {
            return state.expect("a limit that is not used up grants");
        }
        change.apply(&mut state);
    }
}

fn limits() -> Vec<Limit> {
    vec![
        Limit::token_bucket(5, 7, Micros::from_millis(300)).unwrap(),
        Limit::leaky_bucket(3, 1, Micros::from_millis(50)).unwrap(),
        Limit::gcra(10, 3, Micros::from_millis(100)).unwrap(),
        Limit::fixed_window(4, Window::Every(Micros::from_millis(250))).unwrap(),
        Limit::sliding_window(4, Micros::from_millis(250)).unwrap(),
        Limit::sliding_window_buckets(4, Micros::from_millis(250), 5).unwrap(),
        Limit::sliding_window_log(4, Micros::from_millis(250)).unwrap(),
    ]
}

fn refused(remembered: &RefusalCache, hit: &Hit<'_>, now: Instant) -> Option<Retry> {
    remembered.refused(hit, now)?.retry()
}

/// Asked at 0, decided after 2 ms, answered after 5 ms. At every step it is refused here only if it is there, whenever within
/// those 5 ms the server decided; and it is never told to come back before there is room.
#[test]
fn what_is_refused_from_memory_would_be_refused_by_the_server() {
    let (start, decided) = (Instant::now(), Micros::new(EPOCH));
    let (asked, answered) = (start, start + Duration::from_millis(5));
    for limit in limits() {
        for cost in 1..=3 {
            let (name, remembered) = (name("hot"), RefusalCache::new(PATIENCE));
            let state = spent(&limit, decided, cost);
            let learned = refusal(Some(state.clone()));
            remembered.learn(&hit(&limit, &name, cost), learned, &when(decided, (asked, answered)));
            let mut times = 0;
            for step in 0..3_000_u64 {
                let elapsed = step * 137;
                let now = answered + Duration::from_micros(elapsed);
                let Some(Retry::After(retry)) = refused(&remembered, &hit(&limit, &name, cost), now) else {
                    continue;
                };
                times += 1;
                let at = |elapsed| peek(&limit, Some(&state), Micros::new(EPOCH + elapsed), cost);
                // If it was decided just when it was asked, the server is 5 ms ahead of what we know.
                assert!(!at(elapsed + 5_000).is_granted(), "{limit}, cost {cost}, after {elapsed} us");
                // If it was decided just when the answer came, it is not.
                assert!(
                    at(elapsed + retry.get()).is_granted(),
                    "{limit}, cost {cost}: told {retry} too early"
                );
            }
            assert!(times > 100, "{limit}, cost {cost}: {times} times");
        }
    }
}

#[test]
fn another_cost_is_refused_by_its_own_numbers() {
    let (now, server, name) = (Instant::now(), Micros::new(EPOCH), name("hot"));
    let limit = Limit::token_bucket(5, 1, Micros::SECOND).unwrap();
    let remembered = RefusalCache::new(PATIENCE);
    // 2 of 5 are left: 3 wait for a second, 4 for two, 6 for ever, and 2 fit.
    let (change, _) = decide(&limit, None, server, 3);
    let mut state = None;
    change.apply(&mut state);
    remembered.learn(&hit(&limit, &name, 3), refusal(state), &when(server, (now, now)));
    let told = |cost| refused(&remembered, &hit(&limit, &name, cost), now);
    assert_eq!(told(2), None, "that is for the server to say");
    assert_eq!(told(3), Some(Retry::After(Micros::SECOND)));
    assert_eq!(told(4), Some(Retry::After(Micros::from_secs(2))));
    assert_eq!(told(6), Some(Retry::Never));
}

#[test]
fn of_a_list_only_the_cost_that_was_asked_is_known() {
    let (now, server, name) = (Instant::now(), Micros::new(EPOCH), name("hot"));
    let limit = Limit::sliding_window_log(4, Micros::SECOND).unwrap();
    let remembered = RefusalCache::new(PATIENCE);
    let learned = refusal(Some(spent(&limit, server, 1)));
    remembered.learn(&hit(&limit, &name, 2), learned, &when(server, (now, now)));
    assert!(refused(&remembered, &hit(&limit, &name, 2), now).is_some());
    assert!(refused(&remembered, &hit(&limit, &name, 3), now).is_none());
    assert!(refused(&remembered, &hit(&limit, &name, 1), now).is_none());
}

#[test]
fn a_refusal_is_forgotten_in_time_and_under_other_numbers_and_when_there_is_room() {
    let (now, server, name) = (Instant::now(), Micros::new(EPOCH), name("hot"));
    let limit = Limit::token_bucket(1, 1, Micros::HOUR).unwrap();
    let other = Limit::token_bucket(2, 1, Micros::HOUR).unwrap();
    let remembered = RefusalCache::new(PATIENCE);
    let learn = |asked: Instant, room: bool| {
        let learned = ObservedKey { room, stands: ReportedState::Untold, ..refusal(None) };
        let learned = if room { learned } else { refusal(Some(spent(&limit, server, 1))) };
        remembered.learn(&hit(&limit, &name, 1), learned, &when(server, (asked, asked)));
    };
    let is_refused = |limit: &Limit, now| refused(&remembered, &hit(limit, &name, 1), now).is_some();
    learn(now, false);
    assert!(is_refused(&limit, now) && !is_refused(&other, now));
    assert!(is_refused(&limit, now + REMEMBERED_MAX - Duration::from_micros(1)));
    assert!(!is_refused(&limit, now + REMEMBERED_MAX));
    // An older answer that comes late does not count.
    learn(now - Duration::from_millis(1), true);
    assert!(is_refused(&limit, now));
    learn(now, true);
    assert!(!is_refused(&limit, now));
    learn(now, false);
    remembered.forget(&name);
    assert!(!is_refused(&limit, now));
    // What was asked before that is of before.
    learn(now, false);
    assert!(!is_refused(&limit, now));
    let later = Instant::now() + Duration::from_micros(1);
    learn(later, false);
    assert!(is_refused(&limit, later));
}

#[test]
fn a_smaller_cost_does_not_wait_for_a_larger_one() {
    let (now, server, name) = (Instant::now(), Micros::new(EPOCH), name("hot"));
    let limit = Limit::token_bucket(9, 1, Micros::HOUR).unwrap();
    let remembered = RefusalCache::new(PATIENCE);
    let (change, _) = decide(&limit, None, server, 5);
    let mut state = None;
    change.apply(&mut state);
    remembered.learn(&hit(&limit, &name, 5), refusal(state), &when(server, (now, now)));
    let later = now + REMEMBERED_MAX;
    assert!(matches!(remembered.next(&hit(&limit, &name, 4), later), CacheAction::Ask));
    assert!(matches!(remembered.next(&hit(&limit, &name, 5), later), CacheAction::AskAlone(_)));
}

#[test]
fn one_asks_and_the_others_wait_for_how_it_ends() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (now, server, name) = (Instant::now(), Micros::new(EPOCH), name("hot"));
        let limit = Limit::token_bucket(1, 1, Micros::SECOND).unwrap();
        let hit = hit(&limit, &name, 1);
        let remembered = RefusalCache::new(PATIENCE);
        let alone = |at| match remembered.next(&hit, at) {
            CacheAction::AskAlone(turn) => Some(turn),
            CacheAction::Refuse | CacheAction::Wait(_) | CacheAction::Ask => None,
        };
        let waiting = |at| match remembered.next(&hit, at) {
            CacheAction::Wait(asking) => Some(asking),
            CacheAction::Refuse | CacheAction::AskAlone(_) | CacheAction::Ask => None,
        };
        assert!(
            matches!(remembered.next(&hit, now), CacheAction::Ask),
            "a key that was never refused is asked by all"
        );
        remembered.learn(&hit, refusal(Some(spent(&limit, server, 1))), &when(server, (now, now)));
        let later = now + Duration::from_secs(1);
        assert!(
            matches!(remembered.next(&hit, now), CacheAction::Refuse),
            "as long as it holds, nobody asks"
        );
        let turn = alone(later).unwrap();
        let asking = waiting(later).unwrap();
        // What is learned meanwhile does not end the turn.
        remembered.learn(&hit, refusal(Some(spent(&limit, server, 1))), &when(server, (now, now)));
        let waiter = Arc::clone(&asking);
        let waiter = tokio::spawn(async move { waiter.ended(later).await });
        tokio::task::yield_now().await;
        turn.end(Some(&LinkError::Open));
        let ended = waiter.await.unwrap();
        assert_eq!(ended, Err(LinkError::Open));
        assert_eq!(asking.ended(later).await, ended, "also for those who come too late to be woken");
        // Who leaves without an answer leaves the turn to the next.
        drop(alone(later).unwrap());
        let turn = alone(later).unwrap();
        let asking = waiting(later).unwrap();
        // Who has the turn may never be heard of again.
        assert_eq!(asking.ended(Instant::now() + Duration::from_millis(1)).await, Ok(()));
        drop(turn);
        // A key of which only is known that it has no room is asked about by one at a time too.
        remembered.learn(&hit, UNTOLD, &when(server, (later, later)));
        let turn = alone(later).unwrap();
        assert!(waiting(later).is_some());
        remembered.learn(&hit, ObservedKey { room: true, ..UNTOLD }, &when(server, (later, later)));
        assert!(matches!(remembered.next(&hit, later), CacheAction::Ask), "there is room");
        drop(turn);
    });
}

#[test]
fn nobody_waits_for_who_has_asked_for_too_long_nor_for_a_server_that_took_too_long() {
    let (now, server, name) = (Instant::now(), Micros::new(EPOCH), name("hot"));
    let limit = Limit::token_bucket(1, 1, Micros::SECOND).unwrap();
    let hit = hit(&limit, &name, 1);
    let remembered = RefusalCache::new(PATIENCE);
    let told_within = |took: Duration| {
        // Each is decided a little later.
        let server = server.saturating_add(Micros::new(u64::try_from(took.as_micros()).unwrap()));
        remembered.learn(&hit, refusal(Some(spent(&limit, server, 1))), &when(server, (now, now + took)));
    };
    told_within(PATIENCE);
    let later = now + PATIENCE + REMEMBERED_MAX;
    let CacheAction::AskAlone(turn) = remembered.next(&hit, later) else { panic!("one asks") };
    let next = |at| remembered.next(&hit, at);
    assert!(matches!(next(later + PATIENCE - Duration::from_micros(1)), CacheAction::Wait(_)));
    assert!(matches!(next(later + PATIENCE), CacheAction::Ask), "who has the turn may sleep");
    told_within(PATIENCE + Duration::from_micros(1));
    assert!(matches!(next(later), CacheAction::Ask));
    drop(turn);
    assert!(matches!(next(later), CacheAction::Ask), "there is no turn that others would wait for");
}

#[test]
fn a_flood_of_refused_keys_takes_no_more_room_and_the_last_are_known() {
    let (now, server) = (Instant::now(), Micros::new(EPOCH));
    let limit = Limit::token_bucket(1, 1, Micros::HOUR).unwrap();
    let remembered = RefusalCache::new(PATIENCE);
    let state = spent(&limit, server, 1);
    for key in 0..50_000_u32 {
        let at = now + Duration::from_nanos(key.into());
        let name = name(&key.to_string());
        remembered.learn(&hit(&limit, &name, 1), refusal(Some(state.clone())), &when(server, (at, at)));
        assert!(refused(&remembered, &hit(&limit, &name, 1), at).is_some());
    }
    let full = remembered.sets.iter().filter(|set| set.lock().unwrap().keys.len() == WAYS).count();
    assert_eq!(full, SETS, "names are spread over all sets");
}
