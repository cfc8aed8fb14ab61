//! The waiters of each key in order of arrival, as linked lists in one slab. Members of a key have a list each, and take turns.

use std::task::Waker;

use super::lanes::{Lanes, NO_MEMBER, NONE};

/// Waiters of any number of keys. Leaving takes the same time wherever a waiter stands.
#[derive(Debug)]
pub(crate) struct Queues<T> {
    seats: Vec<QueueNode<T>>,
    /// The first seat that nobody has; the others follow.
    free: u32,
    /// How many seats somebody has.
    taken: usize,
    lanes: Lanes,
}

/// What somebody waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket {
    pub(crate) key: u64,
    /// The part of the key that takes turns with others; [`NO_MEMBER`] if the key is one line.
    pub(crate) member: u64,
    /// How much of the limit it takes.
    pub(crate) weight: u64,
}

/// A waiter's place, until it is [freed](Queues::free).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place(u32);

#[derive(Debug)]
struct QueueNode<T> {
    /// The lane; none if it has left it.
    lane: u32,
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

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Self { seats: Vec::new(), free: NONE, taken: 0, lanes: Lanes::default() }
    }
}

impl<T> Queues<T> {
    /// How many places are taken.
    pub(crate) const fn taken(&self) -> usize {
        self.taken
    }

    /// Puts a waiter behind all others of its member. `None` if there are as many waiters as can be counted.
    pub(crate) fn push(&mut self, ticket: Ticket, brought: T, waker: Waker) -> Option<Place> {
        let Ticket { key, member, weight } = ticket;
        let (brought, waker) = (Some(brought), Some(waker));
        let place = self.seat(QueueNode { lane: NONE, before: NONE, after: NONE, weight, brought, waker })?;
        let Some(lane) = self.lanes.find_or_add(key, member) else {
            self.free(Place(place));
            return None;
        };
        self.lanes.count(lane, weight);
        let mut last = NONE;
        if let Some(lane) = self.lanes.get_mut(lane) {
            last = std::mem::replace(&mut lane.last, place);
            if last == NONE {
                lane.first = place;
            }
        }
        if let Some(before) = self.seats.get_mut(last as usize) {
            before.after = place;
        }
        if let Some(seat) = self.seats.get_mut(place as usize) {
            (seat.lane, seat.before) = (lane, last);
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

    /// The first waiter of a key: that of the member whose turn it is.
    pub(crate) fn first(&self, key: u64) -> Option<Place> {
        self.lanes.turn(key).map(|lane| Place(lane.first))
    }

    /// How many wait for a key.
    pub(crate) fn length(&self, key: u64) -> u32 {
        self.lanes.length(key)
    }

    /// How many of a member wait for a key.
    pub(crate) fn length_of(&self, key: u64, member: u64) -> u32 {
        self.lanes.length_of(key, member)
    }

    /// How many are served before a newcomer, unless more come of members who wait for less.
    pub(crate) fn ahead(&self, key: u64, member: u64) -> u32 {
        self.lanes.ahead(key, member)
    }

    /// How much of the limit is taken before a newcomer is served, at least.
    pub(crate) fn weight_ahead(&self, key: u64, member: u64) -> u64 {
        if member == NO_MEMBER { self.weight(key) } else { self.ahead(key, member).into() }
    }

    /// How much of the limit those who wait for a key take together.
    pub(crate) fn weight(&self, key: u64) -> u64 {
        self.lanes.weight(key)
    }

    /// Every key that somebody waits for.
    pub(crate) fn keys(&self) -> Vec<u64> {
        self.lanes.keys()
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

    /// Takes a waiter out of its list. It keeps its seat. Those behind it move up; if it was served, it is the next member's turn.
    pub(crate) fn unlink(&mut self, place: Place, served: bool) {
        let Some(seat) = self.seats.get_mut(place.0 as usize) else { return };
        let (before, after, weight) = (seat.before, seat.after, seat.weight);
        let number = std::mem::replace(&mut seat.lane, NONE);
        let Some(lane) = self.lanes.get_mut(number) else { return };
        if before == NONE {
            lane.first = after;
        }
        if after == NONE {
            lane.last = before;
        }
        self.lanes.uncount(number, weight, served);
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
    pub(crate) fn leave_turn(&mut self, place: Place, key: u64, served: bool) -> Option<Waker> {
        self.unlink(place, served);
        self.free(place);
        let first = self.first(key)?;
        let had_turn = std::mem::replace(self.get_mut(first)?, true);
        if had_turn { None } else { self.take_waker(first) }
    }
}
