//! What is done when the response is there: charges are given back or brought to their true cost. It decides nothing about it.

use http::{HeaderMap, HeaderName, StatusCode};
use smallvec::SmallVec;
use tollgate::{Gate, Limiter, NamedLimit, Receipt};
use tollgate_http::found::Found;
use tollgate_http::header;
use tollgate_policy::{Hits, LimitId};

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
    /// Charges to claimed identities: one bit each. There are never more than [`tollgate::HITS_MAX`].
    pub(crate) claimed: u32,
    /// What a 401 does to each of them. One whose client's address is not known is not here, and stays as it is.
    pub(crate) claims: SmallVec<[Claim; 1]>,
    /// Charges whose true cost the response says.
    pub(crate) reported: Vec<Reported>,
}

/// A charge to a claimed identity, and the address that is charged in its place when the upstream denies the identity.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) place: usize,
    pub(crate) limit: NamedLimit,
    pub(crate) address: AddressKey,
    pub(crate) cost: u64,
    /// Whether the charge stays where it is too, because the address is a part of its key: the client has spent what is its own.
    pub(crate) stays: bool,
}

impl Claim {
    /// What a 401 does to the charge at this place: nothing if that is not to a claimed identity, else a charge to the address and
    /// one to the wide network around it, if the limit counts such.
    pub(crate) fn of<'a>(gate: &'a Gate, hits: &'a Hits, place: usize) -> impl Iterator<Item = Self> + 'a {
        let charge = hits.charges().get(place).into_iter();
        charge.flat_map(move |charge| {
            gate.addresses_of(hits, charge).map(move |(limit, address)| Self {
                place,
                limit: limit.clone(),
                address: address.into(),
                cost: charge.cost,
                stays: charge.by_address,
            })
        })
    }
}

/// The key of an address on a limit. Without an operation it takes at most 19 bytes.
pub(crate) type AddressKey = SmallVec<[u8; 24]>;

/// Charges of one limit whose true cost the response says.
#[derive(Clone, Debug)]
pub(crate) struct Reported {
    /// The limit, by number.
    pub(crate) limit: LimitId,
    pub(crate) charges: u32,
    pub(crate) header: HeaderName,
    pub(crate) max: u64,
}

impl Settling {
    /// Whether a response with this status may make a difference. Most do not, and their charges are left alone.
    pub(crate) fn may_settle(&self, status: StatusCode) -> bool {
        self.denied(status) != 0 || !self.reported.is_empty()
    }

    /// The charges to identities that this response denies: a set. Their numbers are another client's, and are not told.
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
        if self.denied(status) != 0 {
            // What nobody was charged for is nobody's to pay.
            for claim in self.claims.iter().filter(|claim| receipt.holds(claim.place)) {
                // The limit is this limiter's, and so is the receipt: neither can be another's.
                let _ = limiter.charge_denied(&claim.limit.hit(&claim.address).cost(claim.cost));
            }
            let moves = |place| self.claims.iter().any(|claim| claim.place == place && !claim.stays);
            let (claimed, rest) = receipt.part(moves);
            let _ = limiter.settle_in_background(claimed, None);
            receipt = rest;
        }
        for reported in &self.reported {
            let Found::One(text) = header::find(headers, &reported.header) else { continue };
            let Some(actual) = whole(text) else { continue };
            let (its, rest) = receipt.part(|place| holds(reported.charges, place));
            let _ = limiter.settle_in_background(its, Some(actual.min(reported.max)));
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
    /// A 401 denies the identity that the client claims: what was charged to it is given back, so that a stranger cannot spend
    /// another client's budget, and is charged to the client's address on the same limit. A charge whose key contains the
    /// address stays. A cost that the response reports replaces the estimate: a whole number, at most the limit's `max`; if it
    /// is missing, sent twice, or not a number, the estimate stays.
    pub fn responded(self, status: StatusCode, headers: &mut HeaderMap) {
        let Self { limiter, receipt, settling, .. } = self;
        if settling.may_settle(status) {
            // Nobody else knows of these charges: what is left stays charged.
            drop(settling.settled(receipt, &limiter, (status, headers)));
        }
    }
}
