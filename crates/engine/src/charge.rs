//! Charges the hits of one request: addresses with debts first, then all hits or none.

use smallvec::SmallVec;
use tollgate::{AddressHit, AddressRefusal, Hit, HitError, Limiter, Receipt, Verdict};

use crate::ids::DescriptorId;

/// The hits of one request.
pub(crate) struct Hits<'a> {
    pub(crate) limiter: &'a Limiter,
    /// At most [`tollgate::HITS_MAX`], and at least one.
    pub(crate) hits: &'a [Hit<'a>],
    /// Hits on the client's address, of limits where an address may owe something for identities that were denied.
    pub(crate) addresses: SmallVec<[Address<'a>; 1]>,
    /// Whether somebody may refund or settle the charges.
    pub(crate) needs_receipt: bool,
}

/// A hit on the client's address, and the descriptor of its numbers.
pub(crate) struct Address<'a> {
    pub(crate) hit: AddressHit<'a>,
    pub(crate) id: DescriptorId,
}

/// What a charge leaves besides its verdict.
#[derive(Default)]
pub(crate) struct ChargeDetails {
    /// The charges, if somebody may refund or settle them.
    pub(crate) receipt: Option<Receipt>,
    /// The hits that an address refuses, by position, and the descriptors of the numbers that it refuses them by.
    pub(crate) by_address: SmallVec<[(usize, DescriptorId); 1]>,
}

impl ChargeDetails {
    /// The descriptor of the numbers of a hit's answer: those of the hit, unless the address refuses it.
    pub(crate) fn descriptor(&self, place: usize, of_hit: DescriptorId) -> DescriptorId {
        // Hardly a request is refused for what its address owes.
        let by_address = self.by_address.iter().find(|(refused, _)| *refused == place);
        by_address.map_or(of_hit, |(_, id)| *id)
    }
}

impl<'a> Hits<'a> {
    /// Charges them without waiting. The verdict is written in place because it is large.
    #[inline]
    pub(crate) fn try_charge(self, verdict: &mut Option<Verdict>) -> Result<ChargeDetails, HitError> {
        if !self.addresses.is_empty() {
            let refused = self.limiter.try_refused_for_address(self.hits, &self.on_addresses())?;
            if let Some(refusal) = refused {
                return Ok(self.refused(refusal, verdict));
            }
        }
        let Self { limiter, hits, needs_receipt, .. } = self;
        if needs_receipt {
            let receipt = limiter.try_charge_into(hits, verdict)?;
            return Ok(ChargeDetails { receipt, ..ChargeDetails::default() });
        }
        *verdict = Some(limiter.try_charge(hits)?);
        Ok(ChargeDetails::default())
    }

    /// Charges them. The future is ready at once unless a limit is counted in a shared store.
    pub(crate) async fn charge(self, verdict: &mut Option<Verdict>) -> Result<ChargeDetails, HitError> {
        if !self.addresses.is_empty() {
            let refused = self.limiter.refused_for_address(self.hits, &self.on_addresses()).await?;
            if let Some(refusal) = refused {
                return Ok(self.refused(refusal, verdict));
            }
        }
        let Self { limiter, hits, needs_receipt, .. } = self;
        let (charged, receipt) = if needs_receipt {
            limiter.charge_for_receipt(hits).await?
        } else {
            (limiter.charge(hits).await?, None)
        };
        *verdict = Some(charged);
        Ok(ChargeDetails { receipt, ..ChargeDetails::default() })
    }

    fn on_addresses(&self) -> SmallVec<[AddressHit<'a>; 2]> {
        self.addresses.iter().map(|address| address.hit).collect()
    }

    fn refused(&self, refusal: AddressRefusal, verdict: &mut Option<Verdict>) -> ChargeDetails {
        *verdict = Some(refusal.verdict);
        let refusing = refusal.addresses.iter().filter_map(|number| self.addresses.get(*number));
        let by_address = refusing.map(|address| (address.hit.place, address.id)).collect();
        ChargeDetails { receipt: None, by_address }
    }
}
