//! A key that is as good as none gives its slot to another one, and is charged at the same time. The table does not move.

use super::both;
use crate::view::View;

const F: u64 = 1;
const A: u64 = 2;
const B: u64 = 3;

/// The slot is not the first one of its home. There is room in the line after it.
pub(super) fn a_charge() {
    let view = View::new(2, &[(F, 5), (A, 0)]);
    let (one, other) = both(&view, |view| view.charge(A, 1), |view| view.charge(B, 1));
    assert_eq!((one, other), (Ok(()), Ok(())));
    assert_eq!(view.contents(), [(F, 5), (A, 1), (B, 1)]);
}

/// The slot is the lock of its home too.
pub(super) fn the_first_slot() {
    let view = View::new(2, &[(A, 0), (F, 5)]);
    let (one, other) = both(&view, |view| view.charge(A, 1), |view| view.charge(B, 1));
    assert_eq!((one, other), (Ok(()), Ok(())));
    assert_eq!(view.contents(), [(F, 5), (A, 1), (B, 1)]);
}

/// Both keys have the same value, so that only the tag tells them apart. The one who charges does not look for a lock.
pub(super) fn the_same_value() {
    let view = View::new(2, &[(F, 5), (A, 1)]);
    let late = View { none: &[1], ..view.clone() };
    let (one, other) = both(&view, |view| view.charge_at_once(A, 1), move |_| late.charge(B, 1));
    assert_eq!((one, other), (Ok(()), Ok(())));
    let a = if view.dropped() == 1 { 1 } else { 2 };
    assert_eq!(view.contents(), [(F, 5), (A, a), (B, 1)]);
}

/// There is no room for both: who gets none is told so, and nothing is charged to the other one.
pub(super) fn no_room() {
    let view = View::new(1, &[(F, 5), (A, 0)]);
    let (one, other) = both(&view, |view| view.charge(A, 1), |view| view.charge(B, 1));
    let charged = [(F, Ok(())), (A, one), (B, other)].map(|(id, charged)| charged.is_ok().then_some(id));
    let stand: Vec<_> = view.contents().into_iter().map(|(id, _)| id).collect();
    assert_eq!(stand, charged.into_iter().flatten().collect::<Vec<_>>());
    assert_eq!(view.contents().iter().map(|(_, value)| value).sum::<u64>(), 6);
}

/// A key is forgotten while one is charged that stands behind it, in the line after their home.
pub(super) fn forget_and_charge_away() {
    let view = View::new(2, &[(F, 5), (A, 1), (B, 1)]);
    let (forgotten, charged) = both(&view, |view| view.forget(A), |view| view.charge(B, 1));
    assert_eq!((forgotten, charged), ((), Ok(())));
    assert_eq!(view.charge(B, 1), Ok(()));
    assert_eq!(view.contents(), [(F, 5), (B, 3)]);
}
