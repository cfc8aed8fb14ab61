//! Short inline lists of decisions and charges. Longer ones reuse memory of their thread.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

use smallvec::{Array, SmallVec};

use crate::limiter::HITS_MAX;

/// So much memory is kept by a thread, in lists; what comes back beyond that is given up. Requests that wait for a shared store, or for
/// their responses, have theirs at the same time.
const KEPT_MAX: usize = 16;

/// Memory that a thread keeps.
pub(crate) type Kept<T> = RefCell<Vec<Box<Room<T>>>>;

/// An empty list, with room for [`HITS_MAX`].
pub(crate) struct Room<T>(Vec<T>);

/// What is listed: one for each hit, at most.
pub(crate) trait Listed: Sized + 'static {
    /// So many stand where the list stands, and need no memory.
    type Few: Array<Item = Self>;

    /// Where a thread keeps the memory of lists that had more.
    fn kept() -> &'static LocalKey<Kept<Self>>;
}

/// A list of at most [`HITS_MAX`].
///
/// A few stand in it. If there are more, all of them are in a box, which goes by its address: were it one list, that has or has not
/// taken memory, whoever looks after its memory when it goes would have to be told where the list is; and then the compiler cannot
/// leave out a verdict of which the caller asks only whether it is granted. That was measured: 26 ns for 19.
pub(crate) struct Listing<T: Listed> {
    few: SmallVec<T::Few>,
    many: Many<T>,
}

struct Many<T: Listed>(Option<Box<Room<T>>>);

impl<T: Listed> Drop for Many<T> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(room) = self.0.take() {
            keep(room);
        }
    }
}

#[cold]
#[inline(never)]
fn keep<T: Listed>(mut room: Box<Room<T>>) {
    room.0.clear();
    // A thread that is about to end keeps nothing.
    let _ = T::kept().try_with(|kept| {
        if let Ok(mut kept) = kept.try_borrow_mut()
            && kept.len() < KEPT_MAX
        {
            kept.push(room);
        }
    });
}

#[cold]
#[inline(never)]
fn room<T: Listed>() -> Box<Room<T>> {
    let kept = T::kept().try_with(|kept| kept.try_borrow_mut().ok()?.pop());
    kept.ok().flatten().unwrap_or_else(|| Box::new(Room(Vec::with_capacity(HITS_MAX))))
}

impl<T: Listed> Listing<T> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { few: SmallVec::new(), many: Many(None) }
    }

    /// An empty one that has room for so many.
    #[inline]
    pub(crate) fn for_as_many(many: usize) -> Self {
        let many = (many > T::Few::size()).then(room);
        Self { few: SmallVec::new(), many: Many(many) }
    }

    /// A list of one.
    #[inline(always)]
    pub(crate) fn of(one: T) -> Self {
        let mut few = SmallVec::new();
        few.push(one);
        Self { few, many: Many(None) }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        match &mut self.many.0 {
            None if self.few.len() < T::Few::size() => self.few.push(item),
            None => self.push_further(item),
            Some(many) => many.0.push(item),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_further(&mut self, item: T) {
        let mut room = room();
        room.0.extend(self.few.drain(..));
        room.0.push(item);
        self.many.0 = Some(room);
    }

    /// Keeps those for which it holds.
    pub(crate) fn retain(&mut self, holds: impl Fn(&T) -> bool) {
        match &mut self.many.0 {
            None => self.few.retain(|item| holds(item)),
            Some(many) => many.0.retain(holds),
        }
    }

    /// Takes everything out, in order.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = T> + '_ {
        let many = self.many.0.as_mut().map(|many| many.0.drain(..));
        self.few.drain(..).chain(many.into_iter().flatten())
    }
}

impl<T: Listed, const N: usize> From<[T; N]> for Listing<T> {
    #[inline(always)]
    fn from(items: [T; N]) -> Self {
        let mut list = Self::new();
        items.into_iter().for_each(|item| list.push(item));
        list
    }
}

impl<T: Listed> Extend<T> for Listing<T> {
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T: Listed> FromIterator<T> for Listing<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::new();
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
        let mut list = Self::for_as_many(self.len());
        list.extend(self.iter().cloned());
        list
    }
}

impl<T: Listed> Deref for Listing<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.many.0 {
            None => &self.few,
            Some(many) => &many.0,
        }
    }
}

impl<T: Listed> DerefMut for Listing<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.many.0 {
            None => &mut self.few,
            Some(many) => &mut many.0,
        }
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
        drop(list(2));
        assert_eq!(kept(), 0, "a short one has none");
        let long = list(3);
        let address = long.as_ptr();
        drop(long);
        assert_eq!(
            (kept(), Rc::strong_count(&one)),
            (1, 1),
            "the memory is kept, and nothing that was in it"
        );
        let long = list(HITS_MAX);
        assert_eq!((kept(), long.as_ptr(), long.len()), (0, address, HITS_MAX));
        let again = long.clone();
        assert_ne!(again.as_ptr(), address, "two at once have two");
        drop((long, again));
        assert_eq!((kept(), Rc::strong_count(&one)), (2, 1));
    }

    #[test]
    fn a_thread_keeps_so_much_and_no_more() {
        let one = Rc::new(());
        let lists: Vec<Listing<_>> =
            (0..2 * KEPT_MAX).map(|_| std::iter::repeat_n(Rc::clone(&one), 5).collect()).collect();
        drop(lists);
        assert_eq!((kept(), Rc::strong_count(&one)), (KEPT_MAX, 1));
    }
}
