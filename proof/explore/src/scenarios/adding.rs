//! New keys: nobody puts one in twice, and no charge is lost. The table does not move.

use super::both;
use crate::view::View;

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

/// Two new keys with two homes, and one free slot that both look at first: in the home of the one, in reach of the other.
pub(super) fn one_free_slot() {
    let high = u64::MAX >> 16;
    let view = View::new(2, &[(F, 5), (K, 5), (high, 5)]);
    let (one, other) = both(&view, |view| view.charge(K + 1, 1), move |view| view.charge(high - 1, 1));
    let added = [(K + 1, one), (high - 1, other)].map(|(id, added)| added.is_ok().then_some((id, 1)));
    let stand: Vec<_> = view.contents().into_iter().filter(|(_, value)| *value == 1).collect();
    assert_eq!(stand, added.into_iter().flatten().collect::<Vec<_>>());
    assert!(!stand.is_empty(), "there is room for one at least");
    assert_eq!(view.contents().len(), 3 + stand.len());
}
