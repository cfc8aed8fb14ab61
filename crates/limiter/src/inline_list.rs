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
pub(crate) type SpareBuffers<T> = RefCell<Vec<Box<SpareBuffer<T>>>>;

/// An empty list, with room for [`HITS_MAX`].
pub(crate) struct SpareBuffer<T>(Vec<T>);

/// What is listed: one for each hit, at most.
pub(crate) trait InlineItem: Sized + 'static {
    /// So many stand where the list stands, and need no memory.
    type Few: Array<Item = Self>;

    /// Where a thread keeps the memory of lists that had more.
    fn kept() -> &'static LocalKey<SpareBuffers<Self>>;
}

/// A list of at most [`HITS_MAX`].
///
/// A few stand in it. If there are more, all of them are in a box, which goes by its address: were it one list, that has or has not
/// taken memory, whoever looks after its memory when it goes would have to be told where the list is; and then the compiler cannot
/// leave out a verdict of which the caller asks only whether it is granted. That was measured: 26 ns for 19.
pub(crate) struct InlineList<T: InlineItem> {
    few: SmallVec<T::Few>,
    many: SpilledItems<T>,
}

struct SpilledItems<T: InlineItem>(Option<Box<SpareBuffer<T>>>);

impl<T: InlineItem> Drop for SpilledItems<T> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(room) = self.0.take() {
            keep(room);
        }
    }
}

#[cold]
#[inline(never)]
fn keep<T: InlineItem>(mut room: Box<SpareBuffer<T>>) {
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
fn room<T: InlineItem>() -> Box<SpareBuffer<T>> {
    let kept = T::kept().try_with(|kept| kept.try_borrow_mut().ok()?.pop());
    kept.ok().flatten().unwrap_or_else(|| Box::new(SpareBuffer(Vec::with_capacity(HITS_MAX))))
}

impl<T: InlineItem> InlineList<T> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { few: SmallVec::new(), many: SpilledItems(None) }
    }

    /// An empty one that has room for so many.
    #[inline]
    pub(crate) fn for_as_many(many: usize) -> Self {
        let many = (many > T::Few::size()).then(room);
        Self { few: SmallVec::new(), many: SpilledItems(many) }
    }

    /// A list of one.
    #[inline(always)]
    pub(crate) fn of(one: T) -> Self {
        let mut few = SmallVec::new();
        few.push(one);
        Self { few, many: SpilledItems(None) }
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

impl<T: InlineItem, const N: usize> From<[T; N]> for InlineList<T> {
    #[inline(always)]
    fn from(items: [T; N]) -> Self {
        let mut list = Self::new();
        items.into_iter().for_each(|item| list.push(item));
        list
    }
}

impl<T: InlineItem> Extend<T> for InlineList<T> {
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T: InlineItem> FromIterator<T> for InlineList<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::new();
        list.extend(items);
        list
    }
}

impl<T: InlineItem> Default for InlineList<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: InlineItem + Clone> Clone for InlineList<T> {
    fn clone(&self) -> Self {
        let mut list = Self::for_as_many(self.len());
        list.extend(self.iter().cloned());
        list
    }
}

impl<T: InlineItem> Deref for InlineList<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.many.0 {
            None => &self.few,
            Some(many) => &many.0,
        }
    }
}

impl<T: InlineItem> DerefMut for InlineList<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.many.0 {
            None => &mut self.few,
            Some(many) => &mut many.0,
        }
    }
}

impl<T: InlineItem + fmt::Debug> fmt::Debug for InlineList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{HITS_MAX, InlineItem, InlineList, KEPT_MAX, SpareBuffers};
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::thread::LocalKey;

    thread_local! {
        static KEPT: SpareBuffers<Rc<()>> = const { RefCell::new(Vec::new()) };
    }

    impl InlineItem for Rc<()> {
        type Few = [Self; 2];

        fn kept() -> &'static LocalKey<SpareBuffers<Self>> {
            &KEPT
        }
    }

    fn kept() -> usize {
        KEPT.with_borrow(Vec::len)
    }

    #[test]
    fn the_memory_of_a_longer_list_is_the_next_ones() {
        let one = Rc::new(());
        let list = |many: usize| std::iter::repeat_n(Rc::clone(&one), many).collect::<InlineList<_>>();
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
        let lists: Vec<InlineList<_>> =
            (0..2 * KEPT_MAX).map(|_| std::iter::repeat_n(Rc::clone(&one), 5).collect()).collect();
        drop(lists);
        assert_eq!((kept(), Rc::strong_count(&one)), (KEPT_MAX, 1));
    }
}
