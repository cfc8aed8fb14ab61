//! Settles charges whose status is shown afterwards, as in response headers. `receipt` does the settling.

use tollgate_algorithms::Decision;

use crate::error::HitError;
use crate::limiter::Limiter;
use crate::receipt::{ChargeLocation, Receipt};
use crate::store::memory::KeyRequest;

impl Limiter {
    /// Like [`settle_in_background`](Self::settle_in_background), and calls `each` with the place of each hit on the receipt and
    /// the status of its key after that. There is none for a charge in a shared store, which is settled later, nor for one
    /// whose key had no room.
    ///
    /// # Errors
    /// If another limiter made the receipt.
    pub fn settle_for_status(
        &self,
        receipt: Receipt,
        actual: Option<u64>,
        mut each: impl FnMut(usize, Option<Decision>),
    ) -> Result<(), HitError> {
        self.0.is_ours(&receipt)?;
        let (local, remote) = receipt.local_and_remote();
        let now = self.0.clock.now();
        for part in local.parts.iter() {
            self.0.adjust(part, part.adjustment(actual), now);
            let status = match part.place {
                ChargeLocation::Here(id) => {
                    self.0.memory.act(&part.limit, id, KeyRequest::Peek(0), (&self.0.clock, now)).ok()
                }
                ChargeLocation::InCommon(_) => None,
                #[cfg(feature = "redis")]
                ChargeLocation::Store(..) => None,
            };
            each(part.hit, status.map(|status| status.decision));
        }
        remote.parts.iter().for_each(|part| each(part.hit, None));
        if remote.is_empty() { Ok(()) } else { self.settle_in_background(remote, actual) }
    }
}

impl Receipt {
    /// The charges in this process, and those in a shared store.
    fn local_and_remote(self) -> (Self, Self) {
        #[cfg(feature = "redis")]
        if self.parts.iter().any(crate::receipt::ChargePart::is_in_store) {
            let is_local = |hit: usize| self.parts.iter().any(|part| part.hit == hit && !part.is_in_store());
            let local: smallvec::SmallVec<[usize; 4]> =
                self.parts.iter().map(|part| part.hit).filter(|hit| is_local(*hit)).collect();
            return self.part(|hit| local.contains(&hit));
        }
        (self, Self { parts: crate::inline_list::InlineList::new() })
    }
}
