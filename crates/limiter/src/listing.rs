//! Short lists that come and go with every decision: what answers, and what was charged. The memory of a longer one that is given back
//! ([`Listing::keep_room`]) is its thread's, for the next one. Nothing is given back by itself; not for what stays.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

use smallvec::{Array, SmallVec};

use crate::limiter::HITS_MAX;

/// So much memory is kept by a thread, in lists; what comes back beyond that is given up. Requests that wait for a shared store, or for
/// their responses, have theirs at the same time.
const KEPT_MAX: usize = 16;

/// Memory that a thread keeps: empty lists with room for [`HITS_MAX`] each.
pub(crate) type Kept<T> = RefCell<Vec<Vec<T>>>;

/// What is listed: one for each hit, at most.
pub(crate) trait Listed: Sized + 'static {
    /// So many stand where the list stands, and need no memory.
    type Few: Array<Item = Self>;

    /// Where a thread keeps the memory of lists that had more.
    fn kept() -> &'static LocalKey<Kept<Self>>;
}

/// A list of at most [`HITS_MAX`].
pub(crate) struct Listing<T: Listed>(SmallVec<T::Few>);

impl<T: Listed> Listing<T> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self(SmallVec::new())
    }

    /// An empty one that has room for so many.
    #[inline]
    pub(crate) fn for_as_many(many: usize) -> Self {
        if many <= T::Few::size() { Self::new() } else { Self(SmallVec::from_vec(Self::room())) }
    }

    /// The list alone.
    pub(crate) fn into_list(self) -> SmallVec<T::Few> {
        self.0
    }

    #[inline(never)]
    fn room() -> Vec<T> {
        let kept = T::kept().try_with(|kept| kept.try_borrow_mut().ok()?.pop());
        kept.ok().flatten().unwrap_or_else(|| Vec::with_capacity(HITS_MAX))
    }

    /// Empties it; its memory, if it has any, is its thread's from now on.
    #[inline]
    pub(crate) fn keep_room(&mut self) {
        if self.0.spilled() {
            self.keep_long();
        }
    }

    #[inline(never)]
    fn keep_long(&mut self) {
        let mut room = std::mem::take(&mut self.0).into_vec();
        room.clear();
        // A thread that is about to end keeps nothing.
        let _ = T::kept().try_with(|kept| {
            if let Ok(mut kept) = kept.try_borrow_mut()
                && kept.len() < KEPT_MAX
                && room.capacity() >= HITS_MAX
            {
                kept.push(room);
            }
        });
    }
}

impl<T: Listed> From<SmallVec<T::Few>> for Listing<T> {
    #[inline]
    fn from(list: SmallVec<T::Few>) -> Self {
        Self(list)
    }
}

impl<T: Listed> FromIterator<T> for Listing<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let items = items.into_iter();
        let (least, most) = items.size_hint();
        let mut list = Self::for_as_many(most.unwrap_or(least));
        list.extend(items);
        list
    }
}

impl<T: Listed> Default for Listing<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Listed + Clone> Clone for Listing<T> {
    fn clone(&self) -> Self {
        self.iter().cloned().collect()
    }
}

impl<T: Listed> Deref for Listing<T> {
    type Target = SmallVec<T::Few>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: Listed> DerefMut for Listing<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<T: Listed + fmt::Debug> fmt::Debug for Listing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{HITS_MAX, KEPT_MAX, Kept, Listed, Listing};
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::thread::LocalKey;

    thread_local! {
        static KEPT: Kept<Rc<()>> = const { RefCell::new(Vec::new()) };
    }

    impl Listed for Rc<()> {
        type Few = [Self; 2];

        fn kept() -> &'static LocalKey<Kept<Self>> {
            &KEPT
        }
    }

    fn kept() -> usize {
        KEPT.with_borrow(Vec::len)
    }

    #[test]
    fn the_memory_of_a_longer_list_is_the_next_ones() {
        let one = Rc::new(());
        let list = |many: usize| std::iter::repeat_n(Rc::clone(&one), many).collect::<Listing<_>>();
        list(2).keep_room();
        assert_eq!(kept(), 0, "a short one has none");
        let mut long = list(3);
        let address = long.as_ptr();
        long.keep_room();
        assert_eq!(
            (kept(), Rc::strong_count(&one)),
            (1, 1),
            "the memory is kept, and nothing that was in it"
        );
        let mut long = list(HITS_MAX);
        assert_eq!((kept(), long.as_ptr(), long.len()), (0, address, HITS_MAX));
        let mut again = long.clone();
        assert_ne!(again.as_ptr(), address, "two at once have two");
        long.keep_room();
        again.keep_room();
        assert_eq!((kept(), Rc::strong_count(&one)), (2, 1));
    }

    #[test]
    fn a_thread_keeps_so_much_and_no_more() {
        let one = Rc::new(());
        let mut lists: Vec<Listing<_>> =
            (0..2 * KEPT_MAX).map(|_| std::iter::repeat_n(Rc::clone(&one), 5).collect()).collect();
        lists.iter_mut().for_each(Listing::keep_room);
        assert_eq!((kept(), Rc::strong_count(&one)), (KEPT_MAX, 1));
    }
}
