//! A question that owns what it asks about, so that a whole trace can be made before any of it is sent. Not an answer.

use tollgate_algorithms::{Limit, Micros, Mode, Receipt};
use tollgate_redis::{Command, Hit, KeyName, Name, StateKind};

/// A hit on one of a scene's keys.
#[derive(Clone, Copy, Debug)]
pub struct Owned {
    /// Which key.
    pub key: usize,
    /// What it is called.
    pub name: Name,
    /// Its limit.
    pub limit: Limit,
    /// What is asked.
    pub cost: u64,
    /// Whether a refusal counts.
    pub mode: Mode,
}

/// The question.
#[derive(Clone, Debug)]
pub enum Asked {
    /// See [`Command::Charge`].
    Charge(Vec<Owned>),
    /// See [`Command::Peek`].
    Peek(Vec<Owned>),
    /// See [`Command::UpTo`].
    UpTo(Owned),
    /// See [`Command::Settle`].
    Settle(Owned),
    /// See [`Command::Refund`]: when it was charged, how much, under which limit; and how much of it.
    Refund(Owned, (Micros, u64, Limit), u64),
    /// See [`Command::Reset`].
    Reset(usize, Name),
}

impl Owned {
    /// The same, borrowed.
    #[must_use]
    pub const fn hit(&self) -> Hit<'_> {
        Hit { limit: &self.limit, name: &self.name, cost: self.cost, mode: self.mode }
    }
}

impl Asked {
    /// Hands it on as the store's question.
    pub fn with<T>(&self, then: impl FnOnce(&Command<'_>) -> T) -> T {
        match self {
            Self::Charge(hits) => then(&Command::Charge(&hits.iter().map(Owned::hit).collect::<Vec<_>>())),
            Self::Peek(hits) => then(&Command::Peek(&hits.iter().map(Owned::hit).collect::<Vec<_>>())),
            Self::UpTo(hit) => then(&Command::UpTo(hit.hit())),
            Self::Settle(hit) => then(&Command::Settle(hit.hit())),
            Self::Refund(hit, (at, cost, limit), part) => {
                let receipt = Receipt { at: *at, cost: *cost, limit: *limit };
                then(&Command::Refund(hit.hit(), &receipt, *part))
            }
            Self::Reset(_, name) => then(&Command::Reset(name)),
        }
    }

    /// The keys it is about, each once: of which key of the scene, of which kind, and what it is called.
    #[must_use]
    pub fn keys(&self) -> Vec<(usize, StateKind, KeyName)> {
        // Under no limit nothing is written, whatever there is: any kind shows that.
        let of = |hit: &Owned| {
            let kind = StateKind::of_limit(&hit.limit).unwrap_or(StateKind::Debt);
            (hit.key, kind, hit.name.of(kind))
        };
        let mut keys: Vec<_> = match self {
            Self::Charge(hits) | Self::Peek(hits) => hits.iter().map(of).collect(),
            Self::UpTo(hit) | Self::Settle(hit) | Self::Refund(hit, ..) => vec![of(hit)],
            Self::Reset(key, name) => StateKind::ALL.map(|kind| (*key, kind, name.of(kind))).into(),
        };
        keys.sort_by_key(|key| (key.0, key.1 as usize));
        keys.dedup_by_key(|key| (key.0, key.1));
        keys
    }

    /// The hits it is about.
    #[must_use]
    pub fn hits(&self) -> &[Owned] {
        match self {
            Self::Charge(hits) | Self::Peek(hits) => hits,
            Self::UpTo(hit) | Self::Settle(hit) | Self::Refund(hit, ..) => std::slice::from_ref(hit),
            Self::Reset(..) => &[],
        }
    }
}
