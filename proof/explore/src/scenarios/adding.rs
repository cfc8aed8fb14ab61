//! New keys: nobody puts one in twice, and no charge is lost. The table does not move.

use super::both;
use crate::store::View;

const F: u64 = 1;
const K: u64 = 2;

/// Two threads charge one new key. The first slot of its home belongs to another one.
pub(super) fn one_key_twice() {
    let view = View::new(1, &[(F, 5)]);
    let (one, other) = both(&view, |view| view.charge(K, 1), |view| view.charge(K, 1));
    assert_eq!((one, other), (Ok(()), Ok(())));
    assert_eq!(view.contents(), [(F, 5), (K, 2)]);
}

/// Two threads charge two new keys with the same home.
pub(super) fn two_keys() {
    let view = View::new(1, &[]);
    let (one, other) = both(&view, |view| view.charge(F, 1), |view| view.charge(K, 1));
    assert_eq!((one, other), (Ok(()), Ok(())));
    assert_eq!(view.contents(), [(F, 1), (K, 1)]);
    assert_eq!(view.store.table.used(), 2);
}

/// One thread charges a new key, the other one the key whose slot is the lock of their home.
pub(super) fn beside_a_charge() {
    let view = View::new(1, &[(F, 5)]);
    let (one, other) = both(&view, |view| view.charge(K, 1), |view| view.charge_at_once(F, 1));
    assert_eq!((one, other), (Ok(()), Ok(())));
    assert_eq!(view.contents(), [(F, 6), (K, 1)]);
}
