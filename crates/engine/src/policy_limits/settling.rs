//! Determines which of a policy's charges a response may settle, and which addresses pay for denied identities.

use http::HeaderName;
use tollgate::NamedLimit;
use tollgate_policy::model::{Cost, Identity, PolicyLimit};
use tollgate_policy::{Charge, Hits, KeyTrust, VariantId};

use super::PolicyLimits;
use crate::settlement::{Claim, PendingSettlement, ReportedCharges, only};

impl PolicyLimits {
    /// The keys that the charge to a claimed identity moves to when the upstream denies the identity: the client's address, and
    /// the wide network around it.
    pub(super) fn addresses_of<'a>(
        &'a self,
        hits: &'a Hits,
        charge: &'a Charge,
    ) -> impl Iterator<Item = (VariantId, &'a NamedLimit, &'a [u8])> {
        let own = hits.address_key(charge).map(|key| (charge.variant, key));
        let wide = hits.wide_key(charge);
        own.into_iter().chain(wide).filter_map(|(variant, key)| Some((variant, self.limit_of(variant)?, key)))
    }

    /// What a response may settle.
    pub(super) fn pending(&self, hits: &Hits) -> PendingSettlement {
        let mut pending = PendingSettlement::default();
        for (place, charge) in hits.charges().iter().enumerate() {
            if charge.whose == KeyTrust::Claimed {
                pending.claimed |= only(place);
                pending.claims.extend(self.claims(hits, place, charge));
            }
            let Some((header, max)) = self.reported(hits, charge) else { continue };
            pending.estimates |= only(place);
            let limit = charge.limit.index();
            match pending.reported.last_mut().filter(|last| last.limit == limit) {
                // The charges of a limit are next to each other.
                Some(last) => last.charges |= only(place),
                None => {
                    let (charges, header) = (only(place), header.clone());
                    pending.reported.push(ReportedCharges { limit, charges, header, max });
                }
            }
        }
        pending
    }

    fn claims<'a>(
        &'a self,
        hits: &'a Hits,
        place: usize,
        charge: &'a Charge,
    ) -> impl Iterator<Item = Claim> + 'a {
        self.addresses_of(hits, charge).map(move |(_, limit, address)| Claim {
            place,
            limit: limit.clone(),
            address: address.into(),
            cost: charge.cost,
            stays: charge.by_address,
        })
    }

    /// The header of the response that reports the actual cost of a charge, and its maximum.
    fn reported(&self, hits: &Hits, charge: &Charge) -> Option<(&HeaderName, u64)> {
        self.policy.cost_of(hits, charge)?.reported_in()
    }

    /// Whether a response may settle this charge.
    pub(super) fn may_settle(&self, hits: &Hits, charge: &Charge) -> bool {
        charge.whose == KeyTrust::Claimed || self.reported(hits, charge).is_some()
    }

    /// Whether no response changes this charge.
    pub(super) fn is_non_refundable(&self, hits: &Hits, charge: &Charge) -> bool {
        !self.may_settle(hits, charge)
    }
}

/// Whether a response may settle charges of a limit.
pub(super) fn may_settle(limit: &PolicyLimit, cost: &Cost) -> bool {
    let claimed = |identity: &Identity| match identity {
        Identity::ApiKey
        | Identity::Header(_)
        | Identity::Cookie(_)
        | Identity::Query(_)
        | Identity::JwtUnverified(_) => true,
        Identity::Address
        | Identity::Body(_)
        | Identity::Jwt(_)
        | Identity::Consumer
        | Identity::Organisation
        | Identity::Everyone => false,
    };
    cost.reported_in().is_some() || limit.key.chain.iter().flatten().any(claimed)
}
