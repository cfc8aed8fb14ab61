//! The waiters of each key in order of arrival, as linked lists in one slab.

use std::collections::HashMap;
use std::task::Waker;

use foldhash::fast::FixedState;

/// No place.
const NONE: u32 = u32::MAX;

/// Waiters of any number of keys. Leaving takes the same time wherever a waiter stands.
#[derive(Debug)]
pub(crate) struct Queues<T> {
    seats: Vec<QueueNode<T>>,
    /// The first seat that nobody has; the others follow.
    free: u32,
    /// How many seats somebody has.
    taken: usize,
    ends: HashMap<u64, KeyQueue, FixedState>,
}

/// A waiter's place, until it is [freed](Queues::free).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place(u32);

#[derive(Debug)]
struct QueueNode<T> {
    key: u64,
    before: u32,
    after: u32,
    /// How much of the limit it takes.
    weight: u64,
    /// What the waiter brought along, and what it got; `None` if nobody has the seat.
    brought: Option<T>,
    waker: Option<Waker>,
}

/// What a waiter for a permit takes in memory, besides its future.
const _: () = assert!(size_of::<QueueNode<[u64; 2]>>() <= 64);

/// The first and the last waiter of a key, how many there are, and how much they take together.
#[derive(Clone, Copy, Debug)]
struct KeyQueue {
    first: u32,
    last: u32,
    length: u32,
    weight: u64,
}

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Self { seats: Vec::new(), free: NONE, taken: 0, ends: HashMap::default() }
    }
}

impl<T> Queues<T> {
    /// Puts a waiter behind all others of its key. `None` if there are as many waiters as can be counted.
    pub(crate) fn push(&mut self, (key, weight): (u64, u64), brought: T, waker: Waker) -> Option<Place> {
        let (brought, waker) = (Some(brought), Some(waker));
        let place = self.seat(QueueNode { key, before: NONE, after: NONE, weight, brought, waker })?;
        let ends =
            self.ends.entry(key).or_insert(KeyQueue { first: place, last: NONE, length: 0, weight: 0 });
        ends.weight = ends.weight.saturating_add(weight);
        let last = std::mem::replace(&mut ends.last, place);
        ends.length = ends.length.saturating_add(1);
        if let Some(before) = self.seats.get_mut(last as usize) {
            before.after = place;
        }
        if let Some(seat) = self.seats.get_mut(place as usize) {
            seat.before = last;
        }
        Some(Place(place))
    }

    fn seat(&mut self, seat: QueueNode<T>) -> Option<u32> {
        self.taken += 1;
        if let Some(free) = self.seats.get_mut(self.free as usize) {
            let place = std::mem::replace(&mut self.free, free.after);
            *free = seat;
            return Some(place);
        }
        let place = u32::try_from(self.seats.len()).ok().filter(|place| *place != NONE);
        match place {
            Some(_) => self.seats.push(seat),
            None => self.taken -= 1,
        }
        place
    }

    /// The first waiter of a key.
    pub(crate) fn first(&self, key: u64) -> Option<Place> {
        self.ends.get(&key).map(|ends| Place(ends.first))
    }

    /// How many wait for a key.
    pub(crate) fn length(&self, key: u64) -> u32 {
        self.ends.get(&key).map_or(0, |ends| ends.length)
    }

    /// How much of the limit those who wait for a key take together.
    pub(crate) fn weight(&self, key: u64) -> u64 {
        self.ends.get(&key).map_or(0, |ends| ends.weight)
    }

    /// Every key that somebody waits for.
    pub(crate) fn keys(&self) -> Vec<u64> {
        self.ends.keys().copied().collect()
    }

    /// What a waiter brought along.
    pub(crate) fn get(&self, place: Place) -> Option<&T> {
        self.seats.get(place.0 as usize)?.brought.as_ref()
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut T> {
        self.seats.get_mut(place.0 as usize)?.brought.as_mut()
    }

    /// Takes the waker of a waiter, to be woken outside of any lock.
    pub(crate) fn take_waker(&mut self, place: Place) -> Option<Waker> {
        self.seats.get_mut(place.0 as usize)?.waker.take()
    }

    /// Sets who is woken.
    pub(crate) fn set_waker(&mut self, place: Place, waker: &Waker) {
        if let Some(seat) = self.seats.get_mut(place.0 as usize)
            && !seat.waker.as_ref().is_some_and(|known| known.will_wake(waker))
        {
            seat.waker = Some(waker.clone());
        }
    }

    /// Takes a waiter out of the list of its key. It keeps its seat. Those behind it move up.
    pub(crate) fn unlink(&mut self, place: Place) {
        let Some(seat) = self.seats.get_mut(place.0 as usize) else { return };
        let (key, before, after, weight) = (seat.key, seat.before, seat.after, seat.weight);
        (seat.before, seat.after) = (NONE, NONE);
        let Some(ends) = self.ends.get_mut(&key) else { return };
        if before == NONE && ends.first != place.0 {
            // It has left already.
            return;
        }
        ends.length = ends.length.saturating_sub(1);
        ends.weight = ends.weight.saturating_sub(weight);
        if before == NONE {
            ends.first = after;
        }
        if after == NONE {
            ends.last = before;
        }
        if ends.length == 0 {
            self.ends.remove(&key);
        }
        if let Some(before) = self.seats.get_mut(before as usize) {
            before.after = after;
        }
        if let Some(after) = self.seats.get_mut(after as usize) {
            after.before = before;
        }
    }

    /// Gives a seat back, after [`unlink`](Self::unlink).
    pub(crate) fn free(&mut self, place: Place) -> Option<T> {
        let seat = self.seats.get_mut(place.0 as usize)?;
        let brought = seat.brought.take()?;
        seat.waker = None;
        seat.after = std::mem::replace(&mut self.free, place.0);
        self.taken -= 1;
        if self.taken == 0 {
            // A crowd that has gone leaves no memory behind.
            *self = Self::default();
        }
        Some(brought)
    }
}

impl Queues<bool> {
    /// Leaves a line in which the first has the turn (`true`), and gives the turn to the next. Returns who is to be woken.
    pub(crate) fn leave_turn(&mut self, place: Place, key: u64) -> Option<Waker> {
        self.unlink(place);
        self.free(place);
        let first = self.first(key)?;
        let had_turn = std::mem::replace(self.get_mut(first)?, true);
        if had_turn { None } else { self.take_waker(first) }
    }
}
