//! The table grows, is swept, or finds that it cannot: no charge is lost, and no key stands twice.

use super::{both, three};
use crate::view::View;

const A: u64 = 1;
const B: u64 = 2;
const C: u64 = 3;

/// One thread moves the table while another one charges a key.
pub(super) fn grow_and_charge() {
    let view = View::new(1, &[(A, 1), (B, 1)]);
    let view = View { homes_max: 2, ..view };
    let (charged, ()) = both(&view, |view| view.charge_at_once(B, 1), |view| view.move_all());
    assert_eq!(charged, Ok(()));
    assert_eq!(view.contents(), [(A, 1), (B, 2)]);
}

/// One thread moves the table while another one puts a key in.
pub(super) fn grow_and_add() {
    let view = View::new(1, &[(A, 1), (B, 1)]);
    let view = View { homes_max: 2, ..view };
    let (added, ()) = both(&view, |view| view.charge(C, 1), |view| view.move_all());
    assert_eq!(added, Ok(()));
    assert_eq!(view.contents(), [(A, 1), (B, 1), (C, 1)]);
}

/// One thread moves the table, one charges, one puts a key in.
pub(super) fn grow_charge_and_add() {
    let view = View::new(1, &[(A, 1), (B, 1)]);
    let view = View { homes_max: 2, ..view };
    let (charged, added, ()) =
        three(&view, |view| view.charge_at_once(A, 1), |view| view.charge(C, 1), |view| view.move_all());
    assert_eq!((charged, added), (Ok(()), Ok(())));
    assert_eq!(view.contents(), [(A, 2), (B, 1), (C, 1)]);
}

/// The key that is charged stands in the line after its home, and its tag says something else afterwards.
pub(super) fn away_from_home() {
    let view = View::new(2, &[(A, 1), (B, 1), (C, 1)]);
    let view = View { homes_max: 3, ..view };
    let other = View { kind: 2, ..view.clone() };
    let (charged, ()) = both(&view, move |_| other.charge(C, 1), |view| view.move_all());
    assert_eq!(charged, Ok(()));
    assert_eq!(view.contents(), [(A, 1), (B, 1), (C, 2)]);
}

/// The table is swept while a key is charged that is as good as none.
pub(super) fn sweep_and_charge() {
    let view = View::new(1, &[(A, 1), (B, 0)]);
    let (charged, ()) = both(&view, |view| view.charge(B, 1), |view| view.move_all());
    assert_eq!(charged, Ok(()));
    assert_eq!(view.contents(), [(A, 1), (B, 1)]);
}

/// The table has begun to move. One thread goes on with it, another one puts a key in.
pub(super) fn go_on_and_add() {
    let view = View::new(2, &[(A, 1), (B, 0)]);
    view.begin_to_sweep();
    let (added, ()) = both(&view, |view| view.charge(C, 1), |view| view.help());
    assert_eq!(added, Ok(()));
    view.help();
    assert_eq!(view.contents(), [(A, 1), (C, 1)]);
}

/// The table has begun to move. A key that stands in the line after its home is as good as none to one thread, which gives
/// its slot to another key, and alive to the one that moves it.
pub(super) fn reuse_away_from_home() {
    let high = u64::MAX >> 16;
    let view = View::new(2, &[(A, 5), (B, 0), (C, 1), (high, 0)]);
    view.begin_to_sweep();
    let other = View { none: &[1], ..view.clone() };
    let (added, ()) = both(&view, move |_| other.charge(high - 1, 7), |view| view.help());
    assert_eq!(added, Ok(()));
    view.help();
    let c = view.read(C);
    assert_eq!(c, if c.is_some() { Some(1) } else { None });
    let expected: Vec<_> = [(A, 5)].into_iter().chain(c.map(|c| (C, c))).chain([(high - 1, 7)]).collect();
    // What is as good as none may have been moved by the one to whom it is not.
    let alive: Vec<_> = view.contents().into_iter().filter(|(_, value)| *value > 0).collect();
    assert_eq!(alive, expected);
}
