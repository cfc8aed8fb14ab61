//! Permits by ID, held for clients that may disappear: each is released at the latest when its time is over.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tollgate::Permit;

/// Permits held at once, by all clients together. Beyond that none is granted, and the reply is an error.
pub(super) const PERMITS_MAX: usize = 100_000;

/// All permits that are held.
#[derive(Debug, Default)]
pub(super) struct PermitBook(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    permits: HashMap<u128, (Permit, Instant)>,
    ends: BTreeSet<(Instant, u128)>,
}

/// There is no room for another permit, or no randomness for its ID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Full(pub(super) &'static str);

impl PermitBook {
    /// Releases all permits whose time is over, so that they refuse nobody.
    pub(super) fn expire(&self) {
        self.lock().expire();
    }

    /// Holds a permit for a time, and returns its ID: 128 random bits, which nobody can guess.
    pub(super) fn hold(&self, permit: Permit, time: Duration) -> Result<String, Full> {
        let mut random = [0; 16];
        let filled = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
        if filled != Ok(random.len()) {
            return Err(Full("the system returned no random bytes"));
        }
        let id = u128::from_le_bytes(random);
        let mut book = self.lock();
        if book.permits.len() >= PERMITS_MAX {
            return Err(Full("too many permits are held"));
        }
        let end = Instant::now() + time;
        book.permits.insert(id, (permit, end));
        book.ends.insert((end, id));
        Ok(format!("{id:032x}"))
    }

    /// Lets a permit be held for this time from now on. Returns whether it was still held.
    pub(super) fn renew(&self, id: u128, time: Duration) -> bool {
        let mut book = self.lock();
        book.expire();
        let Book { permits, ends } = &mut *book;
        let Some((_, end)) = permits.get_mut(&id) else { return false };
        ends.remove(&(*end, id));
        *end = Instant::now() + time;
        ends.insert((*end, id));
        true
    }

    /// Releases a permit. Returns whether it was still held.
    pub(super) fn release(&self, id: u128) -> bool {
        let mut book = self.lock();
        book.expire();
        let Some((permit, end)) = book.permits.remove(&id) else { return false };
        book.ends.remove(&(end, id));
        drop(book);
        drop(permit);
        true
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn expire(&mut self) {
        let now = Instant::now();
        while let Some((end, id)) = self.ends.first().copied()
            && end <= now
        {
            self.ends.pop_first();
            self.permits.remove(&id);
        }
    }
}
