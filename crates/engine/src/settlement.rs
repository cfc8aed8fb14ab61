//! The pending settlement of an admission: which charges a response refunds, moves, or replaces with their actual cost.

use http::{HeaderMap, HeaderName, StatusCode};
use smallvec::SmallVec;
use tollgate::{Limiter, NamedLimit, Receipt};
use tollgate_http::found::Lookup;
use tollgate_http::header;

/// What a response may settle. A charge is identified by the position of its hit in the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingSettlement {
    /// Charges to claimed identities: one bit each. There are never more than [`tollgate::HITS_MAX`].
    pub(crate) claimed: u32,
    /// What a 401 does to each of them. A charge without a known client address is not here, and stays.
    pub(crate) claims: SmallVec<[Claim; 1]>,
    /// Charges whose actual cost the response reports.
    pub(crate) reported: Vec<ReportedCharges>,
    /// Charges whose cost was an estimate: one bit each.
    pub(crate) estimates: u32,
}

/// A charge to a claimed identity, and the address that is charged instead when the identity is denied.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) place: usize,
    pub(crate) limit: NamedLimit,
    pub(crate) address: AddressKey,
    pub(crate) cost: u64,
    /// Whether the charge stays as well, because the address is a part of its key: the client has spent its own quota.
    pub(crate) stays: bool,
}

/// The key of an address on a limit. Without an operation it takes at most 19 bytes.
pub(crate) type AddressKey = SmallVec<[u8; 24]>;

/// Charges of one limit whose actual cost the response reports.
#[derive(Clone, Debug)]
pub(crate) struct ReportedCharges {
    /// The limit of the policy, by number: its charges are next to each other.
    #[cfg(feature = "policy")]
    pub(crate) limit: usize,
    pub(crate) charges: u32,
    pub(crate) header: HeaderName,
    pub(crate) max: u64,
}

impl PendingSettlement {
    /// Whether a response with this status may settle anything. Most do not, and their charges are left alone.
    pub(crate) fn may_settle(&self, status: StatusCode) -> bool {
        self.denied(status) != 0 || !self.reported.is_empty()
    }

    /// The charges to identities that a response with this status denies, one bit each.
    pub(crate) fn denied(&self, status: StatusCode) -> u32 {
        if status == StatusCode::UNAUTHORIZED { self.claimed } else { 0 }
    }

    /// Settles what the response determines, and returns the rest of the receipt. `settle` replaces the cost of charges.
    #[must_use = "the rest may still be settled"]
    pub(crate) fn settle(
        &self,
        mut receipt: Receipt,
        limiter: &Limiter,
        (status, headers): (StatusCode, &HeaderMap),
        settle: impl Fn(Receipt, u64),
    ) -> Receipt {
        if self.denied(status) != 0 {
            // A charge that was settled before is nobody's to pay.
            for claim in self.claims.iter().filter(|claim| receipt.holds(claim.place)) {
                // The limit is this limiter's, and so is the receipt: neither can be foreign.
                let _ = limiter.charge_denied(&claim.limit.hit(&claim.address).cost(claim.cost));
            }
            let moves = |place| self.claims.iter().any(|claim| claim.place == place && !claim.stays);
            let (claimed, rest) = receipt.part(moves);
            let _ = limiter.settle_in_background(claimed, None);
            receipt = rest;
        }
        for reported in &self.reported {
            let Lookup::One(text) = header::find(headers, &reported.header) else { continue };
            let Some(actual) = header::whole_number(text) else { continue };
            let (its, rest) = receipt.part(|place| contains(reported.charges, place));
            settle(its, actual.min(reported.max));
            receipt = rest;
        }
        receipt
    }
}

/// Whether a set of charges contains one.
pub(crate) fn contains(set: u32, place: usize) -> bool {
    u32::try_from(place).is_ok_and(|place| set.checked_shr(place).unwrap_or(0) & 1 == 1)
}

/// The set of one charge.
pub(crate) fn only(place: usize) -> u32 {
    u32::try_from(place).ok().and_then(|place| 1_u32.checked_shl(place)).unwrap_or(0)
}
