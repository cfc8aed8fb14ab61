//! What clients hold by an id that nobody can guess: receipts and permits, a bounded number, each for a bounded time.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::problem::Problem;

/// The things that clients hold.
#[derive(Debug)]
pub(super) struct Book<T> {
    most: usize,
    when_full: WhenFull,
    entries: Mutex<Entries<T>>,
}

/// What happens when there are as many as may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WhenFull {
    /// The one that would expire first is dropped.
    Forget,
    /// There is no place for another one.
    Refuse,
}

#[derive(Debug)]
struct Entries<T> {
    by_id: HashMap<u128, (Instant, T)>,
    by_end: BTreeSet<(Instant, u128)>,
}

impl<T> Book<T> {
    pub(super) fn new(most: usize, when_full: WhenFull) -> Self {
        let entries = Mutex::new(Entries { by_id: HashMap::new(), by_end: BTreeSet::new() });
        Self { most, when_full, entries }
    }

    /// Drops what has expired.
    pub(super) fn sweep(&self, now: Instant) {
        let mut gone = Vec::new();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        while entries.by_end.first().is_some_and(|(end, _)| *end <= now) {
            gone.extend(entries.pop());
        }
        drop(entries);
        // Without the lock: a permit that is dropped wakes others.
        drop(gone);
    }

    /// Keeps something, and gives its id.
    ///
    /// # Errors
    /// 503, when there is no place for it, or the system has no random bytes. It is given back then.
    pub(super) fn put(&self, item: T, time: Duration, now: Instant) -> Result<String, (T, Problem)> {
        self.sweep(now);
        let mut random = [0; 16];
        if getrandom::fill(&mut random).is_err() {
            return Err((item, Problem::undetermined("the system returned no random bytes for an id")));
        }
        let id = u128::from_le_bytes(random);
        let end = now.checked_add(time).unwrap_or(now);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gone = None;
        if entries.by_id.len() >= self.most {
            match self.when_full {
                WhenFull::Refuse => {
                    drop(entries);
                    let detail = format!("{} are held already, which is the maximum", self.most);
                    return Err((item, Problem::undetermined(detail)));
                }
                WhenFull::Forget => gone = entries.pop(),
            }
        }
        entries.by_id.insert(id, (end, item));
        entries.by_end.insert((end, id));
        drop(entries);
        drop(gone);
        Ok(format!("{id:032x}"))
    }

    /// Takes something out by its id; `None` if it was taken before, has expired, or never was.
    pub(super) fn take(&self, id: &str, now: Instant) -> Option<T> {
        self.sweep(now);
        let is_id = id.len() == 32 && id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        let id = u128::from_str_radix(id, 16).ok().filter(|_| is_id)?;
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let (end, item) = entries.by_id.remove(&id)?;
        entries.by_end.remove(&(end, id));
        Some(item)
    }
}

impl<T> Entries<T> {
    /// Takes out the one that expires first.
    fn pop(&mut self) -> Option<T> {
        let (_, id) = self.by_end.pop_first()?;
        self.by_id.remove(&id).map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn what_is_held_is_taken_once_and_expires() {
        let now = Instant::now();
        let book = Book::new(9, WhenFull::Refuse);
        let id = book.put("a", HOUR, now).expect("there is room");
        let short = book.put("b", Duration::from_secs(1), now).expect("there is room");
        assert_ne!(id, short);
        let shifted = format!("+{}", &id[1..]);
        for odd in ["", "0", &id[1..], &shifted, &format!("{id}0"), &id.replace(|_| true, "f")] {
            assert_eq!(book.take(odd, now), None, "{odd}");
        }
        let later = now + Duration::from_secs(1);
        assert_eq!(book.take(&short, later), None, "it has expired");
        assert_eq!(book.take(&id, later), Some("a"));
        assert_eq!(book.take(&id, later), None, "it is taken once");
        let entries = book.entries.lock().unwrap();
        assert!(entries.by_id.is_empty() && entries.by_end.is_empty());
    }

    #[test]
    fn a_full_book_forgets_or_refuses() {
        let now = Instant::now();
        let forgets = Book::new(2, WhenFull::Forget);
        let ids: Vec<_> = (0..3).map(|number| forgets.put(number, HOUR, now).expect("it forgets")).collect();
        let held: Vec<_> = ids.iter().filter_map(|id| forgets.take(id, now)).collect();
        assert_eq!(held.len(), 2);
        let refuses = Book::new(2, WhenFull::Refuse);
        for number in 0..2 {
            refuses.put(number, HOUR, now).expect("there is room");
        }
        let (back, problem) = refuses.put(2, HOUR, now).expect_err("it is full");
        assert_eq!((back, problem.status().as_u16()), (2, 503));
        refuses.put(3, HOUR, now + HOUR).expect("the others have expired");
    }
}
