//! There is no room: keys are charged to a cell that they have in common, and never to two places, or to none.

use tollgate_algorithms::Micros;

use super::both;
use crate::whole::Whole;

const A: u64 = 1;
const B: u64 = 2;
const X: u64 = 3;
const Y: u64 = 4;
/// Of another line: it finds an empty slot there, and none that it could have in place of another key.
const FAR: u64 = u64::MAX >> 16;

/// A table of two slots that cannot grow and is full, without cells. Of each key three may be had; one of A and B is used.
fn full() -> Whole {
    let whole = Whole::new((1, 1, 0), 3);
    assert!(whole.charge((&whole.word, A), 1) && whole.charge((&whole.word, B), 1));
    whole
}

/// One thread charges a key without room by itself, the other one together with a key that has room.
pub(super) fn a_batch() {
    let whole = full();
    let (one, other) = both(
        &whole,
        |whole| (0..2).filter(|_| whole.charge((&whole.word, X), 1)).count(),
        |whole| (0..2).filter(|_| whole.charge_both([(&whole.word, A), (&whole.word, X)])).count(),
    );
    assert_eq!(one + other, 3);
    assert_eq!(whole.left((&whole.word, A)), 2 - other as u64);
    assert!(!whole.charge((&whole.word, X), 1));
}

/// Two keys without room, which have their cell in common: three of both together.
pub(super) fn batches() {
    let whole = full();
    let (one, other) = both(
        &whole,
        |whole| whole.charge_both([(&whole.word, X), (&whole.word, Y)]),
        |whole| whole.charge_both([(&whole.word, Y), (&whole.word, X)]),
    );
    assert!(one != other, "two of three, and one is left");
    assert!(whole.charge((&whole.word, X), 1) && !whole.charge((&whole.word, Y), 1));
}

/// A known key goes, so that there is room. A key is charged by itself and in a batch meanwhile: all of it is had once.
pub(super) fn room_comes() {
    let whole = full();
    let (one, other) = both(
        &whole,
        |whole| {
            whole.reset((&whole.word, B));
            whole.charge((&whole.word, X), 3)
        },
        |whole| whole.charge_both([(&whole.word, A), (&whole.word, X)]),
    );
    assert!(one != other, "one of the two is granted, wherever it is charged");
    assert_eq!(whole.left((&whole.word, A)), 2 - u64::from(other));
    assert_eq!(whole.charge((&whole.word, X), 1), other);
}

/// The same in smaller parts.
pub(super) fn room_comes_for_parts() {
    let whole = full();
    let (one, other) = both(
        &whole,
        |whole| {
            whole.reset((&whole.word, B));
            (0..2).filter(|_| whole.charge((&whole.word, X), 1)).count()
        },
        |whole| (0..2).filter(|_| whole.charge_both([(&whole.word, A), (&whole.word, X)])).count(),
    );
    assert_eq!(one + other, 3, "it is granted three, here and there together");
    assert_eq!(whole.left((&whole.word, A)), 2 - other as u64);
    assert!(!whole.charge((&whole.word, X), 1));
}

/// A known key is met under numbers for which there is no cell, and under its own, by two threads.
pub(super) fn changed() {
    let whole = full();
    let (one, other) = both(
        &whole,
        |whole| (0..2).filter(|_| whole.charge((&whole.word, A), 1)).count(),
        |whole| (0..2).filter(|_| whole.charge((&whole.cell, A), 1)).count(),
    );
    assert_eq!(one + other, 2, "two are left of it, whichever way it is asked");
    assert_eq!(whole.left((&whole.word, A)), 0);
    assert!(!whole.charge((&whole.cell, A), 1));
}

/// A key goes, so that there is a cell for another one, which is charged by itself and in a batch meanwhile.
pub(super) fn cell_comes() {
    let whole = Whole::new((2, 2, 1), 3);
    assert!(whole.charge((&whole.cell, A), 1) && whole.charge((&whole.cell, B), 1));
    let (one, other) = both(
        &whole,
        |whole| {
            whole.reset((&whole.cell, B));
            (0..2).filter(|_| whole.charge((&whole.cell, X), 1)).count()
        },
        |whole| (0..2).filter(|_| whole.charge_both([(&whole.cell, A), (&whole.cell, X)])).count(),
    );
    assert_eq!(one + other, 3, "it is granted three, here and there together");
    assert_eq!(whole.left((&whole.cell, A)), 2 - other as u64);
    assert!(!whole.charge((&whole.cell, X), 1));
}

/// A key of a batch loses its cell to another one while the batch looks for its keys.
pub(super) fn cell_goes() {
    // Four slots and two cells, which are in use.
    let whole = Whole::new((2, 2, 1), 3);
    assert!(whole.charge((&whole.cell, A), 1) && whole.charge((&whole.cell, X), 1));
    assert!(whole.charge((&whole.word, B), 1));
    let (one, other) = both(
        &whole,
        |whole| whole.charge((&whole.word, A), 1) && whole.charge((&whole.cell, Y), 1),
        |whole| whole.charge_both([(&whole.cell, A), (&whole.word, B)]),
    );
    assert!(one && other, "there is enough for both");
    assert_eq!([A, B].map(|id| whole.left((&whole.word, id))), [0, 1]);
}

/// There is no cell for a new key, but two keys are as good as none, and theirs are looked for; one of them is charged meanwhile.
pub(super) fn cell_is_looked_for() {
    let whole = Whole::new((2, 2, 1), 3);
    assert!(whole.charge((&whole.cell, A), 1) && whole.charge((&whole.cell, X), 1));
    let whole = Whole { now: Micros::DAY, ..whole };
    let (one, other) =
        both(&whole, |whole| whole.charge((&whole.cell, A), 1), |whole| whole.charge((&whole.cell, FAR), 1));
    assert!(one && other);
    assert_eq!([A, FAR].map(|id| whole.left((&whole.cell, id))), [2, 2], "what was charged is not dropped");
}

/// The same, together with a key that has room.
pub(super) fn changed_in_a_batch() {
    let whole = full();
    let (one, other) = both(
        &whole,
        |whole| (0..2).filter(|_| whole.charge((&whole.word, A), 1)).count(),
        |whole| (0..2).filter(|_| whole.charge_both([(&whole.word, B), (&whole.cell, A)])).count(),
    );
    assert_eq!(one + other, 2, "two are left of it, whichever way it is asked");
    assert_eq!(whole.left((&whole.word, A)), 0);
    assert_eq!(whole.left((&whole.word, B)), 2 - other as u64);
}
