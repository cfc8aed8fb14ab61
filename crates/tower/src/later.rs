//! What is done when the response is there: charges are given back or brought to their true cost. It decides nothing about it.

use http::{HeaderMap, HeaderName, StatusCode};
use tollgate::{Limiter, Receipt};
use tollgate_policy::found::Found;
use tollgate_policy::header;

use crate::fields::{Fields, whole};

/// What is to be done with the response to a request that passed.
///
/// If it is dropped instead, because no response came, every charge stays: what was begun was paid for.
#[derive(Debug)]
#[must_use = "the response says what is given back, and what was the true cost"]
pub struct Later {
    pub(crate) limiter: Limiter,
    pub(crate) receipt: Receipt,
    pub(crate) settling: Settling,
    /// The fields without those of limits that were charged by the client's word alone. In a box: mostly there is nothing else to tell,
    /// and hardly any response asks for it.
    pub(crate) unclaimed: Option<Box<Fields>>,
}

/// By what a response settles charges. A charge is told by its place among those of the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settling {
    /// Charges to somebody by their own word: one bit each. There are never more than [`tollgate::HITS_MAX`].
    pub(crate) claimed: u32,
    /// Charges whose true cost the response says.
    pub(crate) reported: Vec<Reported>,
}

/// Charges of one limit whose true cost the response says.
#[derive(Clone, Debug)]
pub(crate) struct Reported {
    /// The limit, by number.
    pub(crate) limit: u32,
    pub(crate) charges: u32,
    pub(crate) header: HeaderName,
    pub(crate) max: u64,
}

impl Settling {
    /// Whether a response with this status may make a difference. Most do not, and their charges are left alone.
    pub(crate) fn may_settle(&self, status: StatusCode) -> bool {
        self.denied(status) != 0 || !self.reported.is_empty()
    }

    /// The charges that this response gives back, because the client is not who it says: a set. Their numbers are another's.
    pub(crate) fn denied(&self, status: StatusCode) -> u32 {
        if status == StatusCode::UNAUTHORIZED { self.claimed } else { 0 }
    }

    /// Does with charges what the response says; what it says nothing of is returned.
    #[must_use = "what is left may still be settled by somebody else"]
    pub(crate) fn settled(
        &self,
        mut receipt: Receipt,
        limiter: &Limiter,
        (status, headers): (StatusCode, &HeaderMap),
    ) -> Receipt {
        let denied = self.denied(status);
        if denied != 0 {
            let (claimed, rest) = receipt.part(|place| holds(denied, place));
            // Of this limiter, so that it cannot be another's.
            let _ = limiter.settle_soon(claimed, None);
            receipt = rest;
        }
        for reported in &self.reported {
            let Found::One(text) = header::find(headers, &reported.header) else { continue };
            let Some(actual) = whole(text) else { continue };
            let (its, rest) = receipt.part(|place| holds(reported.charges, place));
            let _ = limiter.settle_soon(its, Some(actual.min(reported.max)));
            receipt = rest;
        }
        receipt
    }
}

/// Whether a set of charges holds one.
pub(crate) fn holds(set: u32, place: usize) -> bool {
    u32::try_from(place).is_ok_and(|place| set.checked_shr(place).unwrap_or(0) & 1 == 1)
}

/// The set of one charge.
pub(crate) fn only(place: usize) -> u32 {
    u32::try_from(place).ok().and_then(|place| 1_u32.checked_shl(place)).unwrap_or(0)
}

impl Later {
    /// Does it.
    ///
    /// A 401 says that the client is not who it says: what was charged to somebody by the client's word alone is given back, so
    /// that a stranger cannot spend, or read, what is another's. A cost that the response reports replaces the estimate: a
    /// whole number, at most the limit's `max`; if it is missing, there twice, or no number, the estimate stays.
    pub fn responded(self, status: StatusCode, headers: &mut HeaderMap) {
        let Self { limiter, receipt, settling, .. } = self;
        if settling.may_settle(status) {
            // Nobody else knows of these charges: what is left stays charged.
            drop(settling.settled(receipt, &limiter, (status, headers)));
        }
    }
}
