//! Turns a matched request into hits: which numbers, on which key, at what cost. The limiter charges them.

use tollgate_algorithms::Mode;

use crate::compile::uses;
use crate::compile::variants::VariantKind;
use crate::consumer_index::ConsumerIndex;
use crate::ids::{LimitId, VariantId};
use crate::key::{Kind, push};
use crate::matching::identity::RequestIdentity;
use crate::matching::key_builder::{BuiltKey, KeyTrust};
use crate::matching::limit_charge::LimitCharge;
use crate::matching::operation::RequestMatch;
use crate::matching::request::{BadRequest, Facts};
use crate::matching::{cost as costing, key_builder as whose};
use crate::model::{Cost, CountScope, LimitUse, Priority};
use crate::numbers::Numbers;
use crate::policy::Policy;
use tollgate_http::path::PathError;

/// One hit to be charged.
#[derive(Clone, Debug)]
pub struct Charge {
    /// The limit.
    pub limit: LimitId,
    /// The position among [`Policy::uses_of`] of how the limit applies.
    pub used: usize,
    /// Its numbers: of the policy's variants, or, after them, of the directory's.
    pub variant: VariantId,
    /// What for.
    pub budget: VariantKind,
    /// How much.
    pub cost: u64,
    /// Enforced, or only counted.
    pub mode: Mode,
    /// Whose budget. When the upstream answers a claimed identity with 401, the charge moves to the client's address: see
    /// [`Hits::address_key`].
    pub whose: KeyTrust,
    /// Whether the client's address is a part of the key. Such a charge is never given back.
    pub by_address: bool,
    start: u32,
    end: u32,
    /// Where the key of the client's address ends, which stands behind the charge's own key; the same as `end` if there is none.
    address_end: u32,
    /// Where the key of the address's wide network ends, which stands behind that of the address; the same as `address_end` if
    /// there is none.
    wide_end: u32,
    /// The numbers of the wide network's budget, if there is one.
    wide_variant: VariantId,
}

/// The hits of one request, and room that is used again.
#[derive(Debug, Default)]
pub struct Hits {
    list: ChargeList,
    api_key: Vec<u8>,
    room: Vec<u8>,
    tier: String,
    /// What the request matched.
    matched: Option<RequestMatch>,
    /// How important it is.
    priority: Option<Priority>,
}

/// What is charged.
#[derive(Debug, Default)]
struct ChargeList {
    charges: Vec<Charge>,
    /// Limits that are held rather than charged: concurrency and queues.
    held: Vec<Charge>,
    /// Whose line a request waits in, of each use of a limit with `fair_by`: the use, and where the key begins and ends.
    members: Vec<(usize, u32, u32)>,
    /// The keys of all of them, one behind the other.
    keys: Vec<u8>,
}

impl Hits {
    /// Hits to be charged, all or none.
    #[must_use]
    pub fn charges(&self) -> &[Charge] {
        &self.list.charges
    }

    /// Limits on what is in flight, to be held while it is.
    #[must_use]
    pub fn held(&self) -> &[Charge] {
        &self.list.held
    }

    /// The key of a charge.
    #[must_use]
    pub fn key(&self, charge: &Charge) -> &[u8] {
        self.list.keys.get(charge.start as usize..charge.end as usize).unwrap_or(&[])
    }

    /// In whose line a request waits for the limit of a charge, if the lines of its key take turns.
    #[must_use]
    pub fn member(&self, charge: &Charge) -> Option<&[u8]> {
        let is_own = charge.budget == VariantKind::Own;
        let (_, start, end) = self.list.members.iter().find(|(used, ..)| is_own && *used == charge.used)?;
        self.list.keys.get(*start as usize..*end as usize)
    }

    /// The key of the client's address on the limit of a charge to a [claimed](KeyTrust::Claimed) identity: that of a client who
    /// sends no identity. `None` for all other charges.
    #[must_use]
    pub fn address_key(&self, charge: &Charge) -> Option<&[u8]> {
        let key = self.list.keys.get(charge.end as usize..charge.address_end as usize)?;
        Some(key).filter(|key| !key.is_empty())
    }

    /// The key of the wide network around the client's address, and the number of its variant, where
    /// [`address_key`](Self::address_key) has a key and the limit counts such networks too.
    #[must_use]
    pub fn wide_key(&self, charge: &Charge) -> Option<(VariantId, &[u8])> {
        let key = self.list.keys.get(charge.address_end as usize..charge.wide_end as usize)?;
        Some((charge.wide_variant, key)).filter(|_| !key.is_empty())
    }

    /// What the request matched; `None` before the first request.
    #[must_use]
    pub const fn matched(&self) -> Option<RequestMatch> {
        self.matched
    }

    /// How important the request is; `None` if the policy does not say.
    #[must_use]
    pub const fn priority(&self) -> Option<Priority> {
        self.priority
    }

    /// The tier that was found; `None` if there is none.
    #[must_use]
    pub fn tier(&self) -> Option<&str> {
        Some(self.tier.as_str()).filter(|tier| !tier.is_empty())
    }
}

impl ChargeList {
    fn clear(&mut self) {
        self.charges.clear();
        self.held.clear();
        self.members.clear();
        self.keys.clear();
    }
}

impl Policy {
    /// The limits that a request meets.
    #[must_use]
    pub fn limits_of(&self, matched: RequestMatch) -> &[LimitId] {
        match matched {
            RequestMatch::Operation(id) | RequestMatch::Loosely(id) => {
                self.operations.get(id.index()).map_or(&[], |operation| &operation.limits)
            }
            RequestMatch::Preflight | RequestMatch::Forwarded => &self.root,
            RequestMatch::Unmatched { .. } => &[],
        }
    }

    /// How the limits of [`limits_of`](Self::limits_of) apply: under which condition, at what cost, because of which place.
    #[must_use]
    pub fn uses_of(&self, matched: RequestMatch) -> &[LimitUse] {
        match matched {
            RequestMatch::Operation(id) | RequestMatch::Loosely(id) => {
                self.operations.get(id.index()).map_or(&[], |operation| &operation.uses)
            }
            RequestMatch::Preflight | RequestMatch::Forwarded => &self.root_uses,
            RequestMatch::Unmatched { .. } => &[],
        }
    }

    /// What a charge costs, as the policy says it.
    #[must_use]
    pub fn cost_of(&self, hits: &Hits, charge: &Charge) -> Option<&Cost> {
        let at = self.uses_of(hits.matched()?).get(charge.used)?;
        Some(uses::cost_of(self.limits.get(charge.limit.index())?, Some(at)))
    }

    /// What a request costs under each limit that applies to it, as the policy says it.
    pub fn costs_of<'a>(
        &'a self,
        facts: &'a Facts<'_>,
        matched: RequestMatch,
    ) -> impl Iterator<Item = &'a Cost> {
        let applied = self.applied(facts, matched);
        applied.filter_map(|(_, at)| Some(uses::cost_of(self.limits.get(at.limit.index())?, Some(at))))
    }

    /// What a request is charged: its hits replace those of the request before.
    ///
    /// # Errors
    /// When it cannot be told who is asking and the limit says to reject that, or when what it says it costs is wrong.
    pub fn hits(
        &self,
        facts: &Facts<'_>,
        matched: RequestMatch,
        directory: Option<&ConsumerIndex>,
        hits: &mut Hits,
    ) -> Result<(), BadRequest> {
        let Hits { list, api_key, room, tier, matched: of_hits, priority } = hits;
        list.clear();
        *of_hits = Some(matched);
        let operation = match matched {
            RequestMatch::Operation(id) | RequestMatch::Loosely(id) => self.operations.get(id.index()),
            RequestMatch::Preflight | RequestMatch::Forwarded | RequestMatch::Unmatched { .. } => None,
        };
        // Another operation may allow it; where none is met, nobody does.
        let allows_slashes = operation.is_some_and(|operation| operation.allows_encoded_slashes);
        if self.allows_slashes
            && !allows_slashes
            && let Some(at) = facts.path.find("%2F")
        {
            return Err(BadRequest::Path(PathError::EncodedSlash { at }));
        }
        let places = operation.map_or(self.root_api_key.as_slice(), |operation| &operation.api_key);
        let mut asking = RequestIdentity::new(facts, self, directory, places, (api_key, room));
        asking.tier(tier);
        *priority = self.priority(facts, operation, tier);
        for (used, at) in self.applied(facts, matched) {
            let id = &at.limit;
            let Some(limit) = self.limits.get(id.index()) else { continue };
            let cost = uses::cost_of(limit, Some(at));
            let name = operation.filter(|_| limit.counted == CountScope::PerOperation);
            let name = name.map(|of| of.identity.as_str());
            let variants = self.variants.of(*id);
            let one = LimitCharge { id: *id, used, limit, cost, variants, operation: name, tier, directory };
            if let Err(bad) = self.one(&one, &mut asking, list) {
                list.clear();
                tier.clear();
                return Err(bad);
            }
        }
        Ok(())
    }

    fn one(
        &self,
        one: &LimitCharge<'_>,
        asking: &mut RequestIdentity<'_>,
        list: &mut ChargeList,
    ) -> Result<(), BadRequest> {
        let start = list.keys.len();
        one.operation(&mut list.keys);
        // What is not enforced refuses nothing: it takes the most, and the address, where it would have.
        let cost = match costing::of(one.limit, one.cost, asking) {
            Err(_) if one.is_lenient() => one.cost.range().1,
            other => other?,
        };
        let BuiltKey { whose, by_address } = match whose::write(one.limit, asking, &mut list.keys) {
            Err(_) if one.is_lenient() => {
                push(&mut list.keys, Kind::Address, &asking.client().key_bytes());
                BuiltKey::ADDRESS
            }
            other => other?,
        };
        let (start, end) = (place(start), place(list.keys.len()));
        if whose == KeyTrust::Claimed {
            one.operation(&mut list.keys);
            push(&mut list.keys, Kind::Address, &asking.client().key_bytes());
        }
        let address_end = place(list.keys.len());
        let wide_variant = if whose == KeyTrust::Claimed { self.push_wide(one, asking, list) } else { None };
        let own = Charge {
            limit: one.id,
            used: one.used,
            variant: NO_VARIANT,
            budget: VariantKind::Own,
            cost,
            mode: one.limit.mode,
            whose,
            by_address,
            start,
            end,
            address_end,
            wide_end: place(list.keys.len()),
            wide_variant: wide_variant.unwrap_or(NO_VARIANT),
        };
        if !one.limit.fair_by.is_empty() {
            let start = place(list.keys.len());
            whose::write_member(one.limit, asking, &mut list.keys);
            list.members.push((one.used, start, place(list.keys.len())));
        }
        self.charge(&own, one, asking, list);
        let wider: &[VariantKind] = match whose {
            KeyTrust::Claimed | KeyTrust::Account => &[VariantKind::AddressCeiling, VariantKind::WideCeiling],
            // Without a key, an address counts towards what it gets with any number of keys.
            KeyTrust::Address => &[VariantKind::WideAddress, VariantKind::AddressCeiling],
            KeyTrust::Shared | KeyTrust::Verified => &[],
        };
        // Most limits have no wider ones.
        if one.variants.has_wider() {
            for budget in wider {
                self.wider(Charge { budget: *budget, ..own.clone() }, one, asking, list);
            }
        }
        Ok(())
    }

    /// Writes the key of the wide budget that a client without an identity would be charged for, too. Returns its variant;
    /// `None` if there is no such budget.
    fn push_wide(
        &self,
        one: &LimitCharge<'_>,
        asking: &mut RequestIdentity<'_>,
        list: &mut ChargeList,
    ) -> Option<VariantId> {
        let variant = one.variants.find(None, VariantKind::WideAddress)?;
        let wide = asking.client().wide(&self.settings.prefixes)?;
        one.wider_key("wide", (Kind::AddressWide, &wide), &mut list.keys);
        Some(variant)
    }

    /// A wider budget beside the limit's own: for an address or for a wide prefix. Its key says which, so that it is
    /// nobody's own.
    fn wider(
        &self,
        own: Charge,
        one: &LimitCharge<'_>,
        asking: &mut RequestIdentity<'_>,
        list: &mut ChargeList,
    ) {
        let client = asking.client();
        let wide = client.wide(&self.settings.prefixes);
        let (name, kind, client) = match own.budget {
            VariantKind::WideAddress => ("wide", Kind::AddressWide, wide),
            VariantKind::WideCeiling => ("wide ceiling", Kind::AddressWide, wide),
            VariantKind::Own | VariantKind::AddressCeiling => ("ceiling", Kind::Address, Some(client)),
        };
        let Some(client) = client else { return };
        if one.variants.find(None, own.budget).is_none() {
            return;
        }
        let start = list.keys.len();
        one.wider_key(name, (kind, &client), &mut list.keys);
        let (start, end) = (place(start), place(list.keys.len()));
        let (address_end, wide_end) = (end, end);
        let charge =
            Charge { start, end, address_end, wide_end, whose: KeyTrust::Address, by_address: true, ..own };
        self.charge(&charge, one, asking, list);
    }

    /// Finds the numbers, and keeps the charge unless it is unlimited.
    fn charge(
        &self,
        charge: &Charge,
        one: &LimitCharge<'_>,
        asking: &mut RequestIdentity<'_>,
        list: &mut ChargeList,
    ) {
        let tier = Some(one.tier).filter(|tier| !tier.is_empty());
        let Some(usual) = one.variants.find(tier, charge.budget) else { return };
        let overrides = asking.consumer().and_then(|consumer| consumer.overrides);
        let own = one.directory.zip(overrides).and_then(|(directory, id)| directory.variant(id, usual));
        let variant = own.unwrap_or(usual);
        let charged = || Charge { variant, ..charge.clone() };
        match self.numbers(variant, one.directory) {
            None | Some(Numbers::Unlimited) => {}
            Some(Numbers::Counted(_)) => list.charges.push(charged()),
            Some(Numbers::Queue { .. } | Numbers::Concurrency { .. } | Numbers::Adaptive { .. }) => {
                list.held.push(charged());
            }
        }
    }

    /// The numbers of a variant: the policy's, or, after them, the directory's.
    #[must_use]
    pub fn numbers<'a>(
        &'a self,
        variant: VariantId,
        directory: Option<&'a ConsumerIndex>,
    ) -> Option<&'a Numbers> {
        let index = variant.index();
        let own = self.variants.all.get(index);
        let extra = || directory?.variants().get(index.checked_sub(self.variants.all.len())?);
        own.or_else(extra).map(|variant| &variant.numbers)
    }
}

/// A placeholder that is replaced before anyone reads it.
const NO_VARIANT: VariantId = VariantId::FIRST;

fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
