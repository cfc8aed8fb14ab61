//! Charges the hits of one request: addresses with debts first, then all hits or none.

use smallvec::SmallVec;
use tollgate::{AddressHit, Hit, HitError, Limiter, Receipt, Verdict};

/// The hits of one request.
pub(crate) struct Hits<'a> {
    pub(crate) limiter: &'a Limiter,
    /// At most [`tollgate::HITS_MAX`], and at least one.
    pub(crate) hits: &'a [Hit<'a>],
    /// Hits on the client's address, of limits where an address may owe something for identities that were denied.
    pub(crate) addresses: SmallVec<[AddressHit<'a>; 1]>,
    /// Whether somebody may refund or settle the charges.
    pub(crate) needs_receipt: bool,
}

impl Hits<'_> {
    /// Charges them without waiting. The verdict is written in place because it is large.
    #[inline]
    pub(crate) fn try_charge(self, verdict: &mut Option<Verdict>) -> Result<Option<Receipt>, HitError> {
        let Self { limiter, hits, addresses, needs_receipt } = self;
        if !addresses.is_empty() {
            *verdict = limiter.try_refused_for_address(hits, &addresses)?;
            if verdict.is_some() {
                return Ok(None);
            }
        }
        if needs_receipt {
            return limiter.try_charge_into(hits, verdict);
        }
        *verdict = Some(limiter.try_charge(hits)?);
        Ok(None)
    }

    /// Charges them. The future is ready at once unless a limit is counted in a shared store.
    pub(crate) async fn charge(self, verdict: &mut Option<Verdict>) -> Result<Option<Receipt>, HitError> {
        let Self { limiter, hits, addresses, needs_receipt } = self;
        if !addresses.is_empty() {
            *verdict = limiter.refused_for_address(hits, &addresses).await?;
            if verdict.is_some() {
                return Ok(None);
            }
        }
        let (charged, receipt) = if needs_receipt {
            limiter.charge_for_receipt(hits).await?
        } else {
            (limiter.charge(hits).await?, None)
        };
        *verdict = Some(charged);
        Ok(receipt)
    }
}
