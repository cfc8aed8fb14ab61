//! Several keys at once: all of them are charged, or none, and nobody waits for ever.

use super::both;
use crate::store::View;

const A: u64 = 1;
const B: u64 = 2;

/// Two threads charge two keys, in opposite order.
pub(super) fn opposite_order() {
    let view = View::new(1, &[(A, 5), (B, 5)]);
    let (one, other) = both(&view, |view| view.charge_all([A, B]), |view| view.charge_all([B, A]));
    assert!([[5, 5], [6, 6]].contains(&one), "half of the other batch: {one:?}");
    assert!([[5, 5], [6, 6]].contains(&other), "half of the other batch: {other:?}");
    assert_eq!(view.contents(), [(A, 7), (B, 7)]);
}

/// A thread charges two keys while the table moves from under them.
pub(super) fn while_moving() {
    let view = View::new(1, &[(A, 5), (B, 5)]);
    let view = View { homes_max: 2, ..view };
    let (had, ()) = both(&view, |view| view.charge_all([B, A]), |view| view.move_all());
    assert_eq!(had, [5, 5]);
    assert_eq!(view.contents(), [(A, 6), (B, 6)]);
}
