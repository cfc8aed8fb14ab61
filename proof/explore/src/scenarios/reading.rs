//! A refusal takes no lock: it reads a tag and a value that belonged together at one moment.

use super::both;
use crate::view::View;

const F: u64 = 1;
const A: u64 = 2;
const B: u64 = 3;

/// The key is charged meanwhile.
pub(super) fn during_a_charge() {
    let view = View::new(1, &[(F, 5), (A, 1)]);
    let read = |view: View| (view.read(A), view.read(A));
    let (charged, read) = both(&view, |view| (view.charge_at_once(A, 1), view.charge(A, 1)), read);
    assert_eq!(charged, (Ok(()), Ok(())));
    let allowed = |value| matches!(value, Some(1..=3));
    assert!(allowed(read.0) && allowed(read.1) && read.0 <= read.1, "{read:?}");
}

/// The slot is given to another key meanwhile; a single look.
pub(super) fn once_during_a_reuse() {
    let view = View::new(1, &[(F, 5), (A, 0)]);
    let (charged, read) = both(&view, |view| view.charge(B, 7), |view| view.read(A));
    assert_eq!(charged, Ok(()));
    assert!([None, Some(0)].contains(&read), "{read:?}");
}

/// The slot is given to another key meanwhile.
pub(super) fn during_a_reuse() {
    let view = View::new(1, &[(F, 5), (A, 0)]);
    let read = |view: View| (view.read(A), view.read(B), view.read(A));
    let (charged, read) = both(&view, |view| view.charge(B, 7), read);
    assert_eq!(charged, Ok(()));
    assert!([None, Some(0)].contains(&read.0) && [None, Some(7)].contains(&read.1), "{read:?}");
    assert!(read.2.is_none() || (read.0, read.1) == (Some(0), None), "it has come back: {read:?}");
}

/// The slot is given to another key and back meanwhile.
pub(super) fn there_and_back() {
    let view = View::new(1, &[(F, 5), (A, 1)]);
    let write = |view: View| {
        let there = View { none: &[1], ..view.clone() }.charge(B, 7);
        (there, View { none: &[7], ..view }.charge(A, 2))
    };
    let (charged, read) = both(&view, write, |view| view.read(A));
    assert_eq!(charged, (Ok(()), Ok(())));
    assert!([None, Some(1), Some(2)].contains(&read), "{read:?}");
}

/// The table moves meanwhile. The key is there all the time.
pub(super) fn during_a_move() {
    let view = View::new(1, &[(F, 5), (A, 1)]);
    let view = View { homes_max: 2, ..view };
    let (read, ()) = both(&view, |view| view.read(A), |view| view.move_all());
    assert_eq!(read, Some(1));
}
