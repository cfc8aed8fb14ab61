//! A permit of a shared limit, and whether it is still valid.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use tollgate_algorithms::Micros;

use super::Pool;
use crate::{Name, boot_clock};

/// A permit that this process has in the store, until it is dropped.
#[must_use = "a permit that is dropped at once limits nothing"]
pub struct Held {
    pool: Arc<Pool>,
    name: Name,
    number: u64,
    since: Micros,
    validity: Validity,
}

/// Whether a permit is valid. It can be asked from anywhere.
#[derive(Clone, Debug)]
pub struct Validity {
    term: Arc<Term>,
    fails_open: bool,
}

/// What the permits of a key that were renewed together have in common.
#[derive(Debug, Default)]
pub(crate) struct Term {
    deadline: AtomicU64,
    phase: AtomicU8,
}

/// It lasts until the deadline.
const VALID: u8 = 0;
/// It lasts until the deadline, and the store fails.
const FAILING: u8 = 1;
/// The store failed until the deadline: nobody knows whether the permits are valid.
const UNKNOWN: u8 = 2;
/// The permits are void.
const VOID: u8 = 3;

impl Term {
    pub(super) fn renew(&self, deadline: Micros) {
        self.deadline.store(deadline.get(), Ordering::Release);
        self.phase.store(VALID, Ordering::Release);
    }

    /// The store has failed, before the deadline. Who finds that out later may have been stopped.
    pub(super) fn fail(&self, now: Micros) {
        if now.get() < self.deadline.load(Ordering::Acquire) {
            self.phase.store(FAILING, Ordering::Release);
        }
    }

    /// It has ended.
    pub(super) fn end(&self) {
        let is_failing = self.phase.load(Ordering::Acquire) == FAILING;
        self.phase.store(if is_failing { UNKNOWN } else { VOID }, Ordering::Release);
    }
}

impl Validity {
    /// Whether the permit is void: others may have it, and whoever holds it must not go on.
    #[must_use]
    pub fn is_void(&self) -> bool {
        match self.term.phase.load(Ordering::Acquire) {
            VOID => true,
            VALID => boot_clock::now().get() >= self.term.deadline.load(Ordering::Acquire),
            // A limit that lets requests through while its store fails does not stop them then.
            _ if self.fails_open => false,
            _ => boot_clock::now().get() >= self.term.deadline.load(Ordering::Acquire),
        }
    }
}

impl Held {
    pub(super) fn new(
        pool: &Arc<Pool>,
        name: Name,
        (term, number): (&Arc<Term>, u64),
        fails_open: bool,
    ) -> Self {
        let validity = Validity { term: Arc::clone(term), fails_open };
        Self { pool: Arc::clone(pool), name, number, since: boot_clock::now(), validity }
    }

    /// Whether it is void: others may have it, and its holder must not go on.
    #[must_use]
    pub fn is_void(&self) -> bool {
        self.validity.is_void()
    }

    /// The same for who does not hold it.
    #[must_use]
    pub const fn validity(&self) -> &Validity {
        &self.validity
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.pool.give_back(self.name, self.number, self.since);
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Held({})", self.name)
    }
}
