//! Every law on every algorithm, as many random cases as the tests of the tests use, and more.
#![cfg(test)]

use tollgate_algorithms::Algorithm;
use tollgate_proof::engine::Core;
use tollgate_proof::laws::Law;

const SEED: u64 = 20_261_115;
const CASES: u64 = 20_000;

fn holds(law: Law) {
    for algorithm in Algorithm::ALL {
        law.check::<Core>(algorithm, SEED, CASES).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn law_1_no_interval_admits_more_than_the_bound() {
    holds(Law::Bound);
}

#[test]
fn law_2_refused_only_if_it_does_not_fit() {
    holds(Law::Completeness);
}

#[test]
fn law_3_granted_at_retry_and_not_a_tick_before() {
    holds(Law::HonestRetry);
}

#[test]
fn law_4_exactly_remaining_more_are_granted() {
    holds(Law::HonestRemaining);
}

#[test]
fn law_5_a_refusal_and_a_peek_change_nothing() {
    holds(Law::FreeRefusal);
}

#[test]
fn law_6_after_reset_the_state_is_as_good_as_none() {
    holds(Law::Forgetting);
}

#[test]
fn law_7_time_does_not_run_back() {
    holds(Law::Time);
}

#[test]
fn law_8_n_hits_of_one_are_one_hit_of_n() {
    holds(Law::Splitting);
}

#[test]
fn law_10_a_raise_never_punishes_and_lowering_mints_nothing() {
    holds(Law::Change);
}

#[test]
fn law_11_a_refund_never_mints() {
    holds(Law::Refund);
}

#[test]
fn a_batch_is_charged_whole_or_not_at_all() {
    holds(Law::AllOrNone);
}

#[test]
fn a_batch_over_several_algorithms_is_charged_whole_or_not_at_all() {
    holds(Law::AllOrNoneMixed);
}
