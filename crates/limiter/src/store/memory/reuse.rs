//! Estimates from a sample whether evicted keys return. If they do, the table keeps idle keys.

use tollgate_algorithms::Micros;

use super::slot::REST_MASK;
use crate::sync::{AtomicU64, Ordering};

/// One key in so many is watched. A table too small for a sample keeps idle keys anyway.
const SAMPLED: u64 = 1_024;
/// So many dropped keys are remembered: enough to notice that some of four million keys come back.
const DROPPED_MAX: usize = 4_096;
/// What a key that comes back adds to the score. A new key takes one off, so the score rises if one key in nine comes back.
const SCORE_OF_A_RETURN: u64 = 8;
/// From this score on, idle keys are kept...
const SCORE_TO_KEEP: u64 = 24;
/// ... and no score is higher, so that it is forgotten soon that keys used to come back.
const SCORE_MAX: u64 = 64;

/// How many of the keys that are put in were there before.
#[derive(Debug)]
pub(super) struct ReturningKeys {
    /// The identities of dropped keys, as far as a tag has them, each at a place that follows from it. 0 is none.
    dropped: Box<[AtomicU64]>,
    score: AtomicU64,
    /// Until when idle keys are kept, in microseconds.
    keep_until: AtomicU64,
}

impl ReturningKeys {
    pub(super) fn new() -> Self {
        let dropped = (0..DROPPED_MAX).map(|_| AtomicU64::new(0)).collect();
        Self { dropped, score: AtomicU64::new(0), keep_until: AtomicU64::new(0) }
    }

    /// Where an identity is remembered, if it is watched.
    #[inline]
    fn place(&self, id: u64) -> Option<&AtomicU64> {
        let rest = id & REST_MASK;
        if !rest.is_multiple_of(SAMPLED) {
            return None;
        }
        self.dropped.get(usize::try_from(rest / SAMPLED).ok()? % DROPPED_MAX)
    }

    /// Notes that a key lost its slot.
    #[inline]
    pub(super) fn note_drop(&self, id: u64) {
        if let Some(place) = self.place(id) {
            place.store(id & REST_MASK, Ordering::Relaxed);
        }
    }

    /// Notes that a key was put in.
    #[inline]
    pub(super) fn note_new(&self, id: u64, keep_until: Micros) {
        if let Some(place) = self.place(id) {
            self.note_watched(place, id & REST_MASK, keep_until);
        }
    }

    #[cold]
    fn note_watched(&self, place: &AtomicU64, rest: u64, keep_until: Micros) {
        let score = self.score.load(Ordering::Relaxed);
        // Two threads may overwrite each other's count: it is an estimate.
        if place.load(Ordering::Relaxed) == rest {
            place.store(0, Ordering::Relaxed);
            let score = score.saturating_add(SCORE_OF_A_RETURN).min(SCORE_MAX);
            self.score.store(score, Ordering::Relaxed);
            if score >= SCORE_TO_KEEP {
                self.keep_until.fetch_max(keep_until.get(), Ordering::Relaxed);
            }
        } else {
            self.score.store(score.saturating_sub(1), Ordering::Relaxed);
        }
    }

    /// Whether enough keys have come back lately that idle ones are worth their room.
    #[inline]
    pub(super) fn are_frequent(&self, now: Micros) -> bool {
        now.get() < self.keep_until.load(Ordering::Relaxed)
    }
}
