//! Several keys at once: all of them are charged, or none, and nobody waits for ever.

use super::both;
use crate::whole::Whole;

const A: u64 = 1;
const B: u64 = 2;

/// A table of one line that may have two, and room for cells.
const SMALL: (usize, usize, usize) = (1, 2, 2);

/// Three, of which both keys have used one.
fn used(size: (usize, usize, usize)) -> Whole {
    let whole = Whole::new(size, 3);
    assert!(whole.charge((&whole.word, A), 1) && whole.charge((&whole.word, B), 1));
    whole
}

/// Two threads charge two keys, in opposite order: twice each.
pub(super) fn words() {
    let whole = used(SMALL);
    let twice = |whole: Whole, first: u64, second: u64| {
        (0..2).filter(|_| whole.charge_both([(&whole.word, first), (&whole.word, second)])).count()
    };
    let (one, other) = both(&whole, move |whole| twice(whole, A, B), |whole| twice(whole, B, A));
    assert_eq!(one + other, 2, "two are left of both");
    assert_eq!([A, B].map(|id| whole.left((&whole.word, id))), [0, 0]);
}

/// The same, once each: so that fewer orders reach every place at which one of them can be stopped.
pub(super) fn words_once() {
    let whole = used(SMALL);
    let charge =
        |whole: Whole, first, second| whole.charge_both([(&whole.word, first), (&whole.word, second)]);
    let (one, other) = both(&whole, move |whole| charge(whole, A, B), |whole| charge(whole, B, A));
    assert!(one && other, "two are left of both");
    assert_eq!([A, B].map(|id| whole.left((&whole.word, id))), [0, 0]);
}

/// The keys are new, and there is one of each.
pub(super) fn new_keys() {
    let whole = Whole::new(SMALL, 1);
    let (one, other) = both(
        &whole,
        |whole| whole.charge_both([(&whole.word, A), (&whole.word, B)]),
        |whole| whole.charge_both([(&whole.word, B), (&whole.word, A)]),
    );
    assert!(one != other, "one of the two is granted");
    assert_eq!([A, B].map(|id| whole.left((&whole.word, id))), [0, 0]);
}

/// The keys take a cell each, and are new.
pub(super) fn cells() {
    let whole = Whole::new(SMALL, 1);
    let (one, other) = both(
        &whole,
        |whole| whole.charge_both([(&whole.cell, A), (&whole.cell, B)]),
        |whole| whole.charge_both([(&whole.cell, B), (&whole.cell, A)]),
    );
    assert!(one != other, "one of the two is granted");
    assert_eq!([A, B].map(|id| whole.left((&whole.cell, id))), [0, 0]);
}

/// One thread charges both keys, the other one of them: of that one there are two left.
pub(super) fn and_a_charge() {
    let whole = used(SMALL);
    let (one, other) = both(
        &whole,
        |whole| (0..2).filter(|_| whole.charge((&whole.word, B), 1)).count(),
        |whole| (0..2).filter(|_| whole.charge_both([(&whole.word, A), (&whole.word, B)])).count(),
    );
    assert_eq!(one + other, 2);
    assert_eq!([A, B].map(|id| whole.left((&whole.word, id))), [2 - other as u64, 0]);
}

/// The same two keys, by words and by the core.
pub(super) fn two_ways() {
    let whole = used(SMALL);
    let (one, other) = both(
        &whole,
        |whole| (0..2).filter(|_| whole.charge_by_core([(&whole.word, A), (&whole.word, B)])).count(),
        |whole| (0..2).filter(|_| whole.charge_both([(&whole.word, B), (&whole.word, A)])).count(),
    );
    assert_eq!(one + other, 2);
    assert_eq!([A, B].map(|id| whole.left((&whole.word, id))), [0, 0]);
}

/// A batch that does not fit is refused without a lock, and leaves no trace in the key that would.
pub(super) fn refused() {
    let whole = used(SMALL);
    assert!(whole.charge((&whole.word, B), 2), "nothing is left of it");
    let (one, other) = both(
        &whole,
        |whole| (0..2).filter(|_| whole.charge((&whole.word, A), 1)).count(),
        |whole| whole.charge_both([(&whole.word, A), (&whole.word, B)]),
    );
    assert_eq!((one, other), (2, false));
    assert_eq!([A, B].map(|id| whole.left((&whole.word, id))), [0, 0]);
}

/// A thread charges two keys while the table moves from under them.
pub(super) fn while_moving() {
    let whole = used(SMALL);
    let (granted, ()) = both(
        &whole,
        |whole| whole.charge_both([(&whole.word, B), (&whole.word, A)]),
        |whole| whole.store.move_all(whole.now),
    );
    assert!(granted);
    assert_eq!([A, B].map(|id| whole.left((&whole.word, id))), [1, 1]);
}

/// A key of the batch has drained, and its slot is wanted by another one: the batch gives it another, or charges it where
/// it stands.
pub(super) fn while_reused() {
    const C: u64 = 3;
    let whole = used((1, 1, 1));
    let late = Whole { now: tollgate_algorithms::Micros::DAY, ..whole.clone() };
    let again = late.clone();
    let (one, other) = both(
        &whole,
        move |_| late.charge((&late.word, C), 3),
        move |_| again.charge_both([(&again.word, A), (&again.word, B)]),
    );
    assert!(one && other, "all have their own, or start where nobody has been charged");
    let late = Whole { now: tollgate_algorithms::Micros::DAY, ..whole };
    assert!([A, B].into_iter().all(|id| late.left((&late.word, id)) <= 2));
    assert_eq!(late.left((&late.word, C)), 0);
}
