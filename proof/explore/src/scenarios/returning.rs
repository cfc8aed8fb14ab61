//! A region is used again, and a thread comes late that was sent there the time before.

use super::both;
use crate::view::View;

const A: u64 = 1;
const B: u64 = 2;
const Z: u64 = 3;

/// Moves the table away and back. What makes it worth while is that a key as good as none is dropped each time.
fn away_and_back(view: View) {
    view.move_all();
    assert_eq!(view.charge(Z, 0), Ok(()));
    view.move_all();
    assert_eq!(view.dropped(), 2, "it was moved twice");
}

pub(super) fn late_charge() {
    let view = View::new(1, &[(B, 0), (A, 1)]);
    let (charged, ()) = both(&view, |view| view.charge_at_once(A, 1), away_and_back);
    assert_eq!(charged, Ok(()));
    assert_eq!(view.contents(), [(A, 2)]);
}

pub(super) fn late_new_key() {
    let view = View::new(1, &[(B, 0), (A, 1)]);
    let (charged, ()) = both(&view, |view| view.charge(Z + 1, 1), away_and_back);
    assert_eq!(charged, Ok(()));
    assert_eq!(view.contents(), [(A, 1), (Z + 1, 1)]);
}

pub(super) fn late_refusal() {
    let view = View::new(1, &[(B, 0), (A, 1)]);
    let (read, ()) = both(&view, |view| view.read(A), away_and_back);
    assert_eq!(read, Some(1));
}
