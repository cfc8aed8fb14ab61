//! A sample of keys shows whether they return.

use super::super::reuse::ReturningKeys;
use tollgate_algorithms::Micros;

const NOW: Micros = Micros::SECOND;
const UNTIL: Micros = Micros::MINUTE;
const KEYS: u64 = 100_000;

/// Drops every key, and then puts in some: the same ones or others.
fn turn_over(returns: &ReturningKeys, put_in: std::ops::Range<u64>) {
    (0..KEYS).for_each(|id| returns.note_drop(id));
    put_in.for_each(|id| returns.note_new(id, UNTIL));
}

#[test]
fn keys_that_come_back_are_noticed_until_the_evidence_is_old() {
    let returns = ReturningKeys::new();
    turn_over(&returns, 0..KEYS);
    assert!(returns.are_frequent(NOW));
    assert!(!returns.are_frequent(UNTIL));
}

#[test]
fn keys_that_are_met_once_are_no_evidence() {
    let returns = ReturningKeys::new();
    turn_over(&returns, KEYS..4 * KEYS);
    assert!(!returns.are_frequent(NOW));
}
