//! Clocks go forward only, and a wall clock that is set right opens no window twice.

use std::time::Duration;

use tollgate::{Clock, Limit, Limiter, Micros, Window};
use tollgate_testing::patience::until;

use crate::with_clock;

#[test]
fn no_clock_runs_back() {
    let clocks = [Clock::fastest(), Clock::monotonic(), Clock::coarse(), Clock::ticked(Duration::ZERO)];
    for clock in clocks {
        let start = clock.now();
        assert!(start > Micros::from_secs(1_700_000_000), "it counts from the epoch");
        let mut last = start;
        for _ in 0..200_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        // Every one of them goes, if only in steps.
        until("the clock goes on", || clock.now() != start);
    }
}

#[test]
fn a_manual_clock_moves_when_it_is_told_and_only_forward() {
    let hands = Clock::manual(Micros::from_secs(10));
    let clock = hands.clock();
    hands.advance(Duration::from_secs(5));
    hands.set(Micros::from_secs(3));
    assert_eq!((clock.now(), hands.now()), (Micros::from_secs(15), Micros::from_secs(15)));
    hands.set(Micros::new(u64::MAX));
    assert_eq!(clock.now(), Micros::INSTANT_MAX, "where time stands still");
}

/// A minute's window, spent at its 20th second; then the wall clock is set right.
fn spent(correct_by: i64, then: &[(u64, bool)]) {
    let (limiter, clock) = with_clock();
    let limit = limiter.limit("minute", Limit::fixed_window(1, Window::Every(Micros::MINUTE)).unwrap());
    clock.advance(Duration::from_secs(20));
    assert!(limiter.try_charge(&[limit.hit("ada")]).unwrap().is_granted());
    clock.correct_wall_clock(correct_by * 1_000_000);
    let mut second = 20;
    for (at, granted) in then {
        clock.advance(Duration::from_secs(at - second));
        second = *at;
        let verdict = limiter.try_charge(&[limit.hit("ada")]).unwrap();
        assert_eq!(verdict.is_granted(), *granted, "{correct_by} s, at {at} s");
    }
}

#[test]
fn a_correction_of_the_wall_clock_moves_boundaries_to_come_only() {
    // Not set right: the next minute begins at 60.
    spent(0, &[(59, false), (60, true), (119, false), (120, true)]);
    // Ahead by 30 s: the window in progress keeps its end, the next ends when the wall clock says so, at 90.
    spent(30, &[(31, false), (59, false), (60, true), (89, false), (90, true), (149, false), (150, true)]);
    // Back by an hour and ten seconds: nothing is opened again; the next ends at 70.
    spent(
        -3_610,
        &[(21, false), (59, false), (60, true), (69, false), (70, true), (129, false), (130, true)],
    );
}

#[test]
fn small_differences_are_not_corrections() {
    let (limiter, clock) = with_clock();
    let limit = limiter.limit("minute", Limit::fixed_window(1, Window::Every(Micros::MINUTE)).unwrap());
    for step in 0..5 {
        clock.correct_wall_clock(if step % 2 == 0 { 100_000 } else { -100_000 });
        clock.advance(Duration::from_secs(2));
        let verdict = limiter.try_charge(&[limit.hit(&format!("{step}"))]).unwrap();
        let end = verdict.results()[0].decision().reset_after.get() + clock.now().get();
        assert_eq!(end % 60_000_000, 0, "a window of the wall clock");
    }
}

#[test]
fn limiters_may_share_a_clock() {
    let clock = Clock::manual(Micros::from_secs(1));
    let build = || Limiter::builder().clock(clock.clock()).build().unwrap();
    let (one, two) = (build(), build());
    let limit = Limit::gcra(1, 1, Micros::SECOND).unwrap();
    let (a, b) = (one.limit("a", limit), two.limit("a", limit));
    assert!(
        one.try_charge(&[a.hit("k")]).unwrap().is_granted()
            && two.try_charge(&[b.hit("k")]).unwrap().is_granted()
    );
    clock.advance(Duration::from_secs(1));
    assert!(
        one.try_charge(&[a.hit("k")]).unwrap().is_granted()
            && two.try_charge(&[b.hit("k")]).unwrap().is_granted()
    );
}

/// The counter's ticks become microseconds at the system's rate: between two readings of the one there is as much time as
/// between two of the other, taken just inside and just outside.
#[test]
#[expect(clippy::disallowed_methods, reason = "one clock is compared with another")]
fn the_counter_goes_as_fast_as_the_system_says() {
    use std::time::Instant;
    let clock = Clock::fastest();
    let outside = Instant::now();
    let start = clock.now();
    let inside = Instant::now();
    while inside.elapsed() < Duration::from_millis(50) {
        std::hint::spin_loop();
    }
    let inside = inside.elapsed().as_micros();
    let passed = u128::from(clock.now().saturating_sub(start).get());
    let outside = outside.elapsed().as_micros();
    assert!(passed * 1_000 >= inside * 995, "{passed} µs, and {inside} at the least");
    assert!(passed * 1_000 <= outside * 1_005, "{passed} µs, and {outside} at the most");
}
