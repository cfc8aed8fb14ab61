//! Two limits and several costs on one key, many callers, and replies out of order: a simulation with its own clock and the
//! algorithms as the server. Whatever the cache refuses, the server must refuse as well.
//!
//! All charges go through this one process. As long as one has not been answered, who is refused may be refused by how the key stood
//! before it; but where answers tell all of a state, not by how it stood before any of them.

use std::time::Duration;

use tokio::time::Instant;
use tollgate_algorithms::algorithm::list::{Entry, List};
use tollgate_algorithms::{Change, Limit, Micros, State, Window, decide, peek};
use tollgate_testing::random::Random;

use super::{EPOCH, PATIENCE, hit, name};
use crate::Name;
use crate::encode::is_list;
use crate::refusal_cache::{CacheAction, ClockBounds, ObservedKey, RefusalCache, Turn};
use crate::reply::reported_state::ReportedState;

/// A call that is on its way. Instants are microseconds since the start.
struct Call<'a> {
    limit: &'a Limit,
    cost: u64,
    /// Nothing of its answer is learned but that it charged.
    is_apart: bool,
    asked: u64,
    decided: u64,
    answered: u64,
    /// What the server said, once it has, and the number of the state that it left.
    said: Option<(ObservedKey, usize)>,
    turn: Option<Turn<'a>>,
}

struct Play<'a> {
    random: Random,
    limits: &'a [Limit; 2],
    name: &'a Name,
    remembered: &'a RefusalCache,
    start: Instant,
    /// Answers tell all of a state, to all.
    tells_all: bool,
    /// All states that the server had, one after the other.
    states: Vec<Option<State>>,
    /// The number of the newest that was told in full.
    known: usize,
    calls: Vec<Call<'a>>,
    told: [u32; 2],
    granted: u32,
    asked: u32,
}

fn server(at: u64) -> Micros {
    Micros::new(EPOCH.saturating_add(at))
}

impl<'a> Play<'a> {
    fn instant(&self, at: u64) -> Instant {
        self.start + Duration::from_micros(at)
    }

    /// Somebody asks.
    fn ask(&mut self, now: u64, seed: u64) {
        let which = usize::try_from(self.random.below(2)).unwrap();
        let limit = &self.limits[which];
        let cost = [1, 1, 2, 3, 5, 8, 13][usize::try_from(self.random.below(7)).unwrap()];
        let asks = hit(limit, self.name, cost);
        if self.remembered.refused(&asks, self.instant(now)).is_some() {
            self.told[which] += 1;
            let refuses =
                |state: &Option<State>| !peek(limit, state.as_ref(), server(now), cost).is_granted();
            let newest = self.states.last().unwrap();
            assert!(
                self.states[self.heeded()..].iter().any(refuses),
                "seed {seed}: {limit}, cost {cost}, after {now} us: refused, but the server has {newest:?}"
            );
            return;
        }
        let turn = match self.remembered.next(&asks, self.instant(now)) {
            CacheAction::Wait(_) => return,
            CacheAction::AskAlone(turn) => Some(turn),
            CacheAction::Ask | CacheAction::Refuse => None,
        };
        self.asked += 1;
        // Several are decided at one instant, as charges are that go to the server as one call.
        let grid = 1 + self.random.below(2) * 400;
        let decided = (now + self.random.below(4_000)).next_multiple_of(grid);
        let answered = decided + self.random.below(4_000);
        let is_apart = self.random.below(8) == 0;
        self.calls.push(Call { limit, cost, is_apart, asked: now, decided, answered, said: None, turn });
    }

    /// The number of the first state by which somebody may be refused.
    fn heeded(&self) -> usize {
        let said = self.calls.iter().filter_map(|call| call.said.as_ref());
        let unheard = said.filter(|(learned, _)| learned.charged).map(|(_, state)| state - 1).min();
        unheard.unwrap_or(self.states.len() - 1).max(self.known)
    }

    /// The server decides what it is time for, and is heard of what it has answered.
    fn go_on(&mut self, now: u64) {
        // Those of one instant in any order.
        while let Some(at) = self.next_of(now, |call| call.said.is_none().then_some(call.decided)) {
            let call = &mut self.calls[at];
            let before = self.states.last().unwrap();
            let (change, decision) = decide(call.limit, before.as_ref(), server(call.decided), call.cost);
            let (charged, granted) = (decision.charged > 0, decision.is_granted());
            let room = granted && decision.remaining >= call.cost;
            let mut after = before.clone();
            let is_list = matches!(change, Change::EditLog(_) | Change::EditBuckets(_));
            change.apply(&mut after);
            let stands = match after.clone().filter(|state| is_of(state, call.limit)) {
                _ if is_list => ReportedState::Untold,
                Some(state) => ReportedState::State(in_short(call, state)),
                None => ReportedState::Absent,
            };
            if charged {
                self.states.push(after);
                self.granted += 1;
            }
            call.said = Some((ObservedKey { charged, room, stands }, self.states.len() - 1));
        }
        while let Some(at) = self.next_of(now, |call| call.said.is_some().then_some(call.answered)) {
            let call = self.calls.swap_remove(at);
            let (asked, answered) = (self.instant(call.asked), self.instant(call.answered));
            let when = ClockBounds { asked, answered, server: server(call.decided) };
            let asks = hit(call.limit, self.name, call.cost);
            let (learned, state) = call.said.unwrap();
            if !call.is_apart {
                self.remembered.learn(&asks, learned, &when);
                self.known = self.known.max(if self.tells_all { state } else { 0 });
            } else if learned.charged {
                self.remembered.charged(&asks, &when);
            }
            drop(call.turn);
        }
    }

    /// The earliest call of some, if its time has come.
    fn next_of(&mut self, now: u64, due: impl Fn(&Call<'_>) -> Option<u64>) -> Option<usize> {
        let salt = self.random.below(64);
        let due = |call: &Call<'_>| due(call).filter(|at| *at <= now);
        let calls = self.calls.iter().enumerate();
        let calls = calls.filter_map(|(at, call)| Some((due(call)?, (call.asked ^ salt) % 64, at)));
        calls.min().map(|(_, _, at)| at)
    }
}

fn is_of(state: &State, limit: &Limit) -> bool {
    matches!(
        (state, limit),
        (State::TokenBucket(_), Limit::TokenBucket(_))
            | (State::LeakyBucket(_), Limit::LeakyBucket(_))
            | (State::Gcra(_), Limit::Gcra(_))
            | (State::FixedWindow(_), Limit::FixedWindow(_))
            | (State::SlidingWindow(_), Limit::SlidingWindow(_))
            | (State::SlidingWindowBuckets(_), Limit::SlidingWindowBuckets(_))
            | (State::SlidingWindowLog(_), Limit::SlidingWindowLog(_))
    )
}

/// A list as the server tells of it: the entry with which enough expires for this cost, and the newest, each with all before it.
fn in_short(call: &Call<'_>, state: State) -> State {
    let window = if let Limit::SlidingWindowBuckets(rule) = call.limit {
        rule.window()
    } else if let Limit::SlidingWindowLog(rule) = call.limit {
        rule.window()
    } else {
        return state;
    };
    let (State::SlidingWindowBuckets(list) | State::SlidingWindowLog(list)) = &state else { return state };
    let now = server(call.decided);
    let counting: Vec<_> = list.entries().filter(|entry| entry.at.saturating_add(window) > now).collect();
    let used: u64 = counting.iter().map(|entry| entry.cost).sum();
    let excess = (used + call.cost).saturating_sub(call.limit.capacity());
    let (mut sum, mut told) = (0, Vec::new());
    for entry in &counting {
        sum += entry.cost;
        if sum >= excess && told.is_empty() && call.cost <= call.limit.capacity() {
            told.push(Entry { at: entry.at, cost: sum });
        }
    }
    let rest = used - told.first().map_or(0, |entry| entry.cost);
    told.extend(counting.last().filter(|_| rest > 0).map(|newest| Entry { at: newest.at, cost: rest }));
    let list = List::from_entries(told);
    if matches!(state, State::SlidingWindowLog(_)) {
        return State::SlidingWindowLog(list);
    }
    State::SlidingWindowBuckets(list)
}

fn pairs() -> Vec<[Limit; 2]> {
    let ms = Micros::from_millis;
    vec![
        [Limit::token_bucket(5, 1, ms(9)).unwrap(), Limit::token_bucket(12, 1, ms(2)).unwrap()],
        [Limit::token_bucket(12, 1, ms(30)).unwrap(), Limit::token_bucket(5, 1, ms(2)).unwrap()],
        [Limit::leaky_bucket(5, 7, ms(61)).unwrap(), Limit::leaky_bucket(9, 2, ms(3)).unwrap()],
        [Limit::gcra(0, 1, ms(5)).unwrap(), Limit::gcra(9, 1, ms(5)).unwrap()],
        [
            Limit::fixed_window(5, Window::Every(ms(40))).unwrap(),
            Limit::fixed_window(9, Window::Every(ms(15))).unwrap(),
        ],
        [Limit::sliding_window(5, ms(40)).unwrap(), Limit::sliding_window(9, ms(15)).unwrap()],
        [
            Limit::sliding_window_buckets(5, ms(40), 5).unwrap(),
            Limit::sliding_window_buckets(9, ms(15), 3).unwrap(),
        ],
        [Limit::sliding_window_log(6, ms(40)).unwrap(), Limit::sliding_window_log(9, ms(15)).unwrap()],
        [Limit::token_bucket(5, 1, ms(9)).unwrap(), Limit::sliding_window_log(9, ms(15)).unwrap()],
        [Limit::sliding_window(5, ms(20)).unwrap(), Limit::gcra(12, 1, ms(2)).unwrap()],
    ]
}

const SEEDS: u64 = 40;
const STEPS: u32 = 3_000;

#[test]
fn who_is_refused_from_memory_is_refused_by_the_server_whoever_else_is_charged() {
    for limits in pairs() {
        let (mut told, mut granted, mut asked) = ([0, 0], 0, 0);
        let [one, other] = limits;
        let tells_all = one.algorithm() == other.algorithm() && !is_list(&one);
        for seed in 0..SEEDS {
            let (name, remembered, start) = (name("hot"), RefusalCache::new(PATIENCE), Instant::now());
            remembered.begin();
            let mut play = Play {
                random: Random::new(seed),
                limits: &limits,
                name: &name,
                remembered: &remembered,
                start,
                tells_all,
                states: vec![None],
                known: 0,
                calls: Vec::new(),
                told: [0, 0],
                granted: 0,
                asked: 0,
            };
            let mut now = 0;
            for _ in 0..STEPS {
                now += play.random.below(300);
                play.go_on(now);
                play.ask(now, seed);
            }
            told = [told[0] + play.told[0], told[1] + play.told[1]];
            (granted, asked) = (granted + play.granted, asked + play.asked);
        }
        println!("seeds 0 to {SEEDS}, {one} and {other}: {told:?} told, {asked} calls, {granted} grants");
        assert!(told.iter().all(|told| *told > STEPS), "{one} and {other}: {told:?}");
    }
}
