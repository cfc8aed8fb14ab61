//! The bounds of adaptive limits in simulations small enough for every run of the tests. `cargo xtask sim` runs them all.

use tollgate_algorithms::adaptive::Method;
use tollgate_sim::measure::Subject;
use tollgate_sim::report::{over_seeds, summarize};
use tollgate_sim::scenario::{HOUR, SCENARIOS, Scenario};

const GRADIENT2: Subject = Subject::Ours(Method::Gradient2);

fn scenario(name: &str) -> Scenario {
    *SCENARIOS.iter().find(|scenario| scenario.name == name).expect("a scenario of this name")
}

/// The default method, under overload: goodput, 99th percentile, time to converge and the highest limit.
#[test]
fn gradient2_keeps_its_bounds_under_overload_and_change() {
    let seeds = [101, 102];
    for name in
        ["3×", "k 40→10", "k 10→40", "service 20→60 ms", "drift 20→60→20 ms", "noise, σ = 1", "0.3× then 3×"]
    {
        let figures = summarize(&over_seeds(GRADIENT2, &scenario(name), &seeds)).unwrap();
        assert!(figures.goodput >= 0.9, "{name}: {figures:?}");
        assert!(figures.p99.unwrap() <= 1.5, "{name}: {figures:?}");
        // Noise makes a single span of seconds fall below 90 % now and then.
        assert!(name.starts_with("noise") || figures.converged.unwrap() <= 12, "{name}: {figures:?}");
        // One request more or less is a tenth of a capacity of 10.
        let highest = if name == "k 40→10" { 1.8 } else { 1.5 };
        assert!(figures.highest <= highest, "{name}: {figures:?}");
    }
    let few = summarize(&over_seeds(GRADIENT2, &scenario("k = 4"), &seeds)).unwrap();
    assert!(few.goodput >= 0.85, "{few:?}");
}

#[test]
fn gradient2_refuses_next_to_nothing_below_capacity() {
    let figures = summarize(&over_seeds(GRADIENT2, &scenario("0.8×"), &[101, 102])).unwrap();
    assert!(figures.goodput >= 0.98 && figures.refused <= 0.01, "{figures:?}");
}

/// Issue #134 of Netflix/concurrency-limits: with an averaged baseline the limit grows without bound. Ours does not; and
/// the reimplementation of theirs does, so that the scenario is known to be one that shows it.
#[test]
fn an_hour_of_mild_overload_leaves_the_limit_near_the_capacity() {
    let ours = GRADIENT2.measure(&HOUR, 101);
    assert!(ours.highest <= 1.5 && ours.goodput >= 0.9, "{} {}", ours.highest, ours.goodput);
    let baseline = ours.baseline.unwrap();
    assert!((16_000..=25_000).contains(&baseline), "{baseline} µs");
    let shorter = Scenario { length: 1_200.0, ..HOUR };
    let theirs = Subject::Netflix.measure(&shorter, 101);
    assert!(theirs.highest > 3.0, "{}", theirs.highest);
}

/// Without a limit the server collapses, so there is something to protect.
#[test]
fn without_a_limit_the_server_collapses() {
    let figures = Subject::Unlimited.measure(&scenario("3×"), 101);
    assert!(figures.goodput < 0.05, "{}", figures.goodput);
}
