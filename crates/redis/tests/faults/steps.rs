//! The server's clock jumps by an hour, forward and back, under callers of real limits: the laws hold, and nothing is frozen.

use std::time::Duration;

use crate::clock::{Step, stepped};
use crate::figures::Play;
use crate::make::Make;
use crate::support::run;

/// Nobody heard an error, nothing was granted beyond the laws, and no key would stay for ever.
fn assert_lawful(make: Make, step: Step) {
    // Long enough for every window to pass, by the clock as it is now.
    let play = Play { make, callers: 64, hold: Duration::from_millis(700), ..Play::quick() };
    let figures = run(stepped(&play, step));
    println!("{}: {figures}", make.name());
    let failed: Vec<_> = figures.samples.iter().filter_map(|sample| sample.end.as_ref().err()).collect();
    assert!(failed.is_empty(), "{}: {failed:?}", make.name());
    assert_eq!(figures.wrong, 0, "{}: {figures}", make.name());
}

#[test]
fn a_clock_that_goes_an_hour_forward_refills_what_drains_and_nothing_more() {
    assert_lawful(Make::Redis6, Step::Forward);
    assert_lawful(Make::Valkey9, Step::Forward);
}

#[test]
fn a_clock_that_goes_an_hour_back_freezes_no_key_and_refills_none_twice() {
    assert_lawful(Make::Redis6, Step::Back);
    assert_lawful(Make::Valkey9, Step::Back);
}
