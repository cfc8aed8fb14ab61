//! The faults that servers answer differently, on the other makes of them: old Redis and Valkey. Redis 7 has files of its own.

use std::time::Duration;

use crate::announced::{cannot_save, no_password, no_replicas, out_of_memory, read_only};
use crate::figures::{Figures, Play};
use crate::make::Make;
use crate::silent::{emptied, forgotten, frozen, killed};
use crate::support::run;

/// Plays what CI has time for.
fn subset(make: Make) {
    let quick = Play { make, ..Play::quick() };
    let full = Play { make, ..Play::full(Duration::from_millis(300)) };
    let assert_right = |figures: Figures| {
        println!("{}: {figures}", make.name());
        assert_eq!(figures.wrong, 0, "{}: {figures}", make.name());
        assert!(figures.recovered.is_some(), "{}: {figures}", make.name());
    };
    assert_right(run(killed(&full)));
    assert_right(run(frozen(&full)));
    assert_right(run(forgotten(&quick)));
    assert_right(run(emptied(&quick)));
    assert_right(run(out_of_memory(&quick)));
    assert_right(run(read_only(&quick)));
    assert_right(run(no_replicas(&quick)));
    assert_right(run(cannot_save(&quick)));
    assert_right(run(no_password(&quick)));
}

#[test]
fn redis_6_2_fails_and_recovers_as_redis_7_does() {
    subset(Make::Redis6);
}

#[test]
fn valkey_9_fails_and_recovers_as_redis_7_does() {
    subset(Make::Valkey9);
}
