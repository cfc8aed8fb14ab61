//! What the table needs from the store to move and evict keys: it does not know what values mean.

use super::slot::Tag;

/// What a key in a slot is worth to the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KeyWorth {
    /// It owes something: its slot is its own.
    Live,
    /// It is as good as never seen, but may come back soon: another key gets its slot only if empty slots are scarce.
    Idle,
    /// It is as good as never seen, and has been for long: its slot goes to the next key that could use it.
    Stale,
}

/// What the store knows about values and the table does not.
pub(crate) trait SlotOwner {
    /// What a key with this value is worth.
    fn worth(&self, tag: Tag, value: u64) -> KeyWorth;
    /// Whether a key with this value is as good as never seen: its slot may be given to another one.
    fn is_as_good_as_none(&self, tag: Tag, value: u64) -> bool {
        self.worth(tag, value) != KeyWorth::Live
    }
    /// Called, under the slot's lock, when such a key is dropped.
    fn dropped(&self, tag: Tag, value: u64);
    /// To how many lines the table may grow, as things stand.
    fn homes_max(&self) -> usize;
    /// Whether it is time to look once more whether a full table would be less full without the keys that are as good as
    /// none. Asked whenever a new key comes to a full table.
    fn is_time_to_look(&self) -> bool;
}
