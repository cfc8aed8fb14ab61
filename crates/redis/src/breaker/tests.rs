//! The circuit breaker, step by step and over seeds: never two probes, never open forever.

use super::*;

const MS: Duration = Duration::from_millis(1);

fn settings() -> Settings {
    Settings {
        breaker_failures: 3,
        breaker_span: 100 * MS,
        backoff_min: 10 * MS,
        backoff_max: 80 * MS,
        ..Settings::default()
    }
}

fn opened(now: Duration) -> Breaker {
    let mut breaker = Breaker::new(&settings(), 7);
    (0..3).for_each(|_| breaker.failed(now));
    assert_eq!(breaker.standing(), BreakerState::Open);
    breaker
}

#[test]
fn it_opens_after_failures_in_a_row_and_not_before() {
    let mut breaker = Breaker::new(&settings(), 1);
    breaker.failed(MS);
    breaker.failed(2 * MS);
    breaker.succeeded();
    breaker.failed(3 * MS);
    breaker.failed(4 * MS);
    assert_eq!(breaker.admit(4 * MS, CallerKind::Writer), BreakerAdmission::Pass);
    breaker.failed(5 * MS);
    assert_eq!(breaker.admit(5 * MS, CallerKind::Writer), BreakerAdmission::Refuse);
}

#[test]
fn failures_that_are_far_apart_do_not_open_it() {
    let mut breaker = Breaker::new(&settings(), 1);
    for at in 0..100 {
        breaker.failed(at * 60 * MS);
    }
    assert_eq!(breaker.standing(), BreakerState::Closed);
}

#[test]
fn one_probe_goes_when_it_is_due_and_only_one() {
    let mut breaker = opened(MS);
    let due = breaker.due().unwrap();
    assert!(due >= 6 * MS && due <= 11 * MS, "{due:?}");
    assert_eq!(breaker.admit(due - Duration::from_micros(1), CallerKind::Writer), BreakerAdmission::Refuse);
    assert_eq!(
        breaker.admit(due, CallerKind::Reader),
        BreakerAdmission::Refuse,
        "a call that reads does not probe"
    );
    let BreakerAdmission::Probe(probe) = breaker.admit(due, CallerKind::Writer) else { panic!("a probe") };
    assert_eq!(breaker.admit(due + 2 * settings().budget - MS, CallerKind::Writer), BreakerAdmission::Refuse);
    breaker.probed(probe, true, due + MS);
    assert_eq!(breaker.admit(due + MS, CallerKind::Reader), BreakerAdmission::Pass);
}

#[test]
fn a_probe_that_fails_waits_longer_and_a_new_connection_makes_it_due() {
    let mut breaker = opened(MS);
    let mut now = MS;
    for _ in 0..10 {
        now = breaker.due().unwrap();
        let BreakerAdmission::Probe(probe) = breaker.admit(now, CallerKind::Writer) else {
            panic!("a probe")
        };
        breaker.probed(probe, false, now);
    }
    let wait = breaker.due().unwrap() - now;
    assert!(wait >= 40 * MS && wait <= 80 * MS, "{wait:?}");
    breaker.reachable(now + MS);
    assert!(matches!(breaker.admit(now + MS, CallerKind::Writer), BreakerAdmission::Probe(_)));
}

/// Its future is kept, and nobody polls it: neither its end nor that it was given up is ever told.
#[test]
fn a_probe_that_says_nothing_is_not_waited_for() {
    let mut breaker = opened(MS);
    let due = breaker.due().unwrap();
    let BreakerAdmission::Probe(silent) = breaker.admit(due, CallerKind::Writer) else { panic!("a probe") };
    let later = breaker.due().unwrap();
    assert_eq!(later, due + 2 * settings().budget, "the link's own probe comes then");
    assert_eq!(breaker.admit(later - MS, CallerKind::Writer), BreakerAdmission::Refuse);
    assert_eq!(
        breaker.admit(later, CallerKind::Reader),
        BreakerAdmission::Refuse,
        "a call that reads does not probe"
    );
    let BreakerAdmission::Probe(next) = breaker.admit(later, CallerKind::Writer) else {
        panic!("another probe")
    };
    breaker.probed(silent, false, later);
    breaker.given_up(silent, later);
    assert_eq!(breaker.standing(), BreakerState::Probing, "that was another probe");
    breaker.probed(next, true, later + MS);
    assert_eq!(breaker.admit(later + MS, CallerKind::Reader), BreakerAdmission::Pass);
}

#[test]
fn a_probe_whose_caller_left_says_nothing_and_lengthens_no_wait() {
    let mut breaker = opened(MS);
    let now = breaker.due().unwrap();
    for _ in 0..10 {
        let BreakerAdmission::Probe(probe) = breaker.admit(now, CallerKind::Writer) else {
            panic!("a probe")
        };
        breaker.given_up(probe - 1, now);
        assert_eq!(breaker.standing(), BreakerState::Probing, "that was another probe");
        breaker.given_up(probe, now);
        assert_eq!((breaker.standing(), breaker.due()), (BreakerState::Open, Some(now)));
    }
    let BreakerAdmission::Probe(probe) = breaker.admit(now, CallerKind::Writer) else { panic!("a probe") };
    breaker.probed(probe, false, now);
    breaker.given_up(probe, now);
    let wait = breaker.due().unwrap() - now;
    assert!(wait >= 10 * MS && wait <= 20 * MS, "the second wait of the row, not the twelfth: {wait:?}");
}

#[test]
fn late_ends_change_nothing() {
    let mut breaker = opened(MS);
    breaker.succeeded();
    breaker.probed(0, true, 2 * MS);
    assert_eq!(breaker.standing(), BreakerState::Open);
    let now = breaker.due().unwrap();
    let BreakerAdmission::Probe(probe) = breaker.admit(now, CallerKind::Writer) else { panic!("a probe") };
    breaker.probed(probe - 1, true, now);
    breaker.failed(now);
    breaker.succeeded();
    assert_eq!(breaker.standing(), BreakerState::Probing);
    breaker.probed(probe, true, now);
    breaker.probed(probe, false, now);
    assert_eq!(breaker.standing(), BreakerState::Closed);
}

#[test]
fn an_answer_that_shows_no_write_neither_closes_it_nor_lengthens_the_wait_and_the_links_own_probe_is_next() {
    let mut breaker = opened(MS);
    let (due, patience) = (breaker.due().unwrap(), 10 * MS);
    assert_eq!(breaker.link_due(patience), Some(due + patience), "a caller may go first");
    let BreakerAdmission::Probe(refused) = breaker.admit(due, CallerKind::Writer) else { panic!("a probe") };
    breaker.unproved(refused, due + MS);
    assert_eq!((breaker.standing(), breaker.link_due(patience)), (BreakerState::Open, Some(due + MS)));
    assert_eq!(
        breaker.admit(due + MS, CallerKind::Writer),
        BreakerAdmission::Refuse,
        "it would be refused again"
    );
    let BreakerAdmission::Probe(own) = breaker.admit(due + MS, CallerKind::Link) else { panic!("a probe") };
    breaker.unproved(refused, due + MS);
    assert_eq!(breaker.standing(), BreakerState::Probing, "that was another probe");
    breaker.probed(own, false, due + MS);
    let wait = breaker.due().unwrap() - (due + MS);
    assert!(wait >= 10 * MS && wait <= 20 * MS, "the second wait of the row: {wait:?}");
    let BreakerAdmission::Probe(granted) = breaker.admit(breaker.due().unwrap(), CallerKind::Writer) else {
        panic!("a probe")
    };
    breaker.probed(granted, true, due + 30 * MS);
    assert_eq!(breaker.standing(), BreakerState::Closed);
}

/// A draw from a seed, for the walks below.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// One in six reads, and one is the link's own.
const fn asker(draw: u64) -> CallerKind {
    match draw {
        0 => CallerKind::Reader,
        1 => CallerKind::Link,
        _ => CallerKind::Writer,
    }
}

/// A thousand random steps: calls come and end in any order, some probes are given up or tell nothing, connections come.
fn walk(seed: u64) {
    let mut draw = Draw(seed);
    let mut breaker = Breaker::new(&settings(), seed);
    let (mut now, mut passing, mut probe) = (Duration::ZERO, 0_u32, None);
    for _ in 0..1000 {
        now += Duration::from_micros(draw.below(5000));
        match draw.below(6) {
            0 | 1 => match breaker.admit(now, asker(draw.below(6))) {
                BreakerAdmission::Pass => passing += 1,
                BreakerAdmission::Probe(number) => {
                    let before = probe.replace((number, now));
                    let is_over = |(_, since): (u64, Duration)| now - since >= 2 * settings().budget;
                    assert!(before.is_none_or(is_over), "two probes at once, seed {seed}");
                }
                BreakerAdmission::Refuse => {
                    assert_ne!(breaker.standing(), BreakerState::Closed, "seed {seed}")
                }
            },
            2 if passing > 0 => {
                passing -= 1;
                breaker.succeeded();
            }
            3 if passing > 0 => {
                passing -= 1;
                breaker.failed(now);
            }
            4 => {
                if let Some((number, _)) = probe.take() {
                    match draw.below(4) {
                        0 => breaker.given_up(number, now),
                        3 => breaker.unproved(number, now),
                        end => breaker.probed(number, end == 1, now),
                    }
                }
            }
            _ => breaker.reachable(now),
        }
        assert_eq!(probe.is_some(), breaker.standing() == BreakerState::Probing, "seed {seed}");
        if let Some(due) = breaker.due() {
            assert!(
                due <= now + settings().backoff_max,
                "a probe is due within the longest wait, seed {seed}"
            );
        }
    }
    recovers(breaker, now);
}

/// Whatever has happened, also if the last probe never says anything: once the server serves again, the breaker closes within one
/// longest wait.
fn recovers(mut breaker: Breaker, now: Duration) {
    let later = now + settings().backoff_max;
    if let BreakerAdmission::Probe(number) = breaker.admit(later, CallerKind::Link) {
        breaker.probed(number, true, later);
    }
    assert_eq!(breaker.admit(later, CallerKind::Writer), BreakerAdmission::Pass);
}

#[test]
fn over_ten_thousand_seeds_there_are_never_two_probes_and_it_always_recovers() {
    (0..10_000).for_each(walk);
}

/// Every order in which two threads can take their steps, each step being one visit under the lock.
#[test]
fn in_every_interleaving_of_two_callers_one_probes_and_the_other_is_refused() {
    let due = opened(MS).due().unwrap();
    for order in 0..16_u32 {
        let mut breaker = opened(MS);
        let mut out = [None, None];
        let mut probes = 0;
        for step in 0..4 {
            let who = usize::from(order & (1 << step) != 0);
            match out[who] {
                None => out[who] = Some(breaker.admit(due, CallerKind::Writer)),
                Some(BreakerAdmission::Probe(number)) => breaker.probed(number, false, due),
                Some(BreakerAdmission::Pass | BreakerAdmission::Refuse) => {}
            }
            probes = probes
                .max(out.iter().flatten().filter(|one| matches!(one, BreakerAdmission::Probe(_))).count());
        }
        assert!(probes <= 1, "order {order:04b}");
    }
}
