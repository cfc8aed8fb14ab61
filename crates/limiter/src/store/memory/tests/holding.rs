//! A key that had no slot when it was looked up, and has one when its home is locked, is not charged elsewhere.

use super::super::slot::Tag;
use super::super::slot_guard::KeyPosition;
use super::super::table::{Contended, KeyWorth, SlotOwner, Table};

/// Every key is worth keeping, and the table is as large as it may be.
struct Keeps;

impl SlotOwner for Keeps {
    fn worth(&self, _tag: Tag, _value: u64) -> KeyWorth {
        KeyWorth::Live
    }

    fn dropped(&self, _tag: Tag, _value: u64) {}

    fn homes_max(&self) -> usize {
        256
    }

    fn is_time_to_look(&self) -> bool {
        false
    }
}

#[test]
fn a_home_is_held_only_if_the_key_stands_as_it_was_seen() {
    let table = Table::new(256).unwrap();
    let id = 0x0123_4567_89ab_cdef >> 10;
    let hold = |seen| match table.try_hold((id, seen), &[], &[]) {
        Ok(held) => {
            held.0.into_iter().for_each(super::super::slot_guard::HomeGuard::leave);
            true
        }
        Err(Contended) => false,
    };
    let (word, other) = (Tag::new(id, 1), Tag::new(id, 2));
    assert!(hold(None) && !hold(Some(word)));
    match table.try_lock(id, true, &Keeps) {
        Ok(KeyPosition::Slot(locked)) => locked.write(word, 7),
        place => panic!("there is room, and nobody else: {place:?}"),
    }
    assert!(!hold(None), "it has a slot now: it is charged there");
    assert!(hold(Some(word)), "it has one that its state does not fit in, as was seen");
    assert!(!hold(Some(other)), "it was met under other numbers meanwhile");
}
