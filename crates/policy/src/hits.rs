//! A request becomes hits: which numbers, on which key, at what cost. They are charged by a limiter, not here.

use tollgate_core::Mode;

use crate::asking::Asking;
use crate::compile::variants::Budget;
use crate::directory::Directory;
use crate::key::{Kind, push};
use crate::matching::Matched;
use crate::model::{Counted, PolicyLimit};
use crate::numbers::Numbers;
use crate::policy::Policy;
use crate::request::{BadRequest, Facts};
use crate::whose::Whose;
use crate::{costing, whose};

/// One hit to be charged.
#[derive(Clone, Debug)]
pub struct Charge {
    /// The limit, by number.
    pub limit: u32,
    /// Its numbers: of the policy's variants, or, after them, of the directory's.
    pub variant: u32,
    /// What for.
    pub budget: Budget,
    /// How much.
    pub cost: u64,
    /// Enforced, or only counted.
    pub mode: Mode,
    /// Whose budget. A charge to somebody by their own word is given back when the upstream says that they are not who they
    /// say.
    pub whose: Whose,
    start: u32,
    end: u32,
}

/// The hits of one request, and room that is used again.
#[derive(Debug, Default)]
pub struct Hits {
    charges: Vec<Charge>,
    /// Limits that are held rather than charged: concurrency and queues.
    held: Vec<Charge>,
    keys: Vec<u8>,
    api_key: Vec<u8>,
    room: Vec<u8>,
    tier: String,
}

impl Hits {
    /// Hits to be charged, all or none.
    #[must_use]
    pub fn charges(&self) -> &[Charge] {
        &self.charges
    }

    /// Limits on what is in flight, to be held while it is.
    #[must_use]
    pub fn held(&self) -> &[Charge] {
        &self.held
    }

    /// The key of a charge.
    #[must_use]
    pub fn key(&self, charge: &Charge) -> &[u8] {
        self.keys.get(charge.start as usize..charge.end as usize).unwrap_or(&[])
    }

    /// The tier that was found; `None` if there is none.
    #[must_use]
    pub fn tier(&self) -> Option<&str> {
        Some(self.tier.as_str()).filter(|tier| !tier.is_empty())
    }

    fn clear(&mut self) {
        self.charges.clear();
        self.held.clear();
        self.keys.clear();
        self.tier.clear();
    }
}

impl Policy {
    /// The limits that a request meets, by number.
    #[must_use]
    pub fn limits_of(&self, matched: Matched) -> &[u32] {
        match matched {
            Matched::Operation(id) | Matched::Loosely(id) => {
                self.operations.get(id as usize).map_or(&[], |operation| &operation.limits)
            }
            Matched::Preflight | Matched::Forwarded => &self.root,
            Matched::Nothing { .. } => &[],
        }
    }

    /// What a request is charged: its hits replace those of the request before.
    ///
    /// # Errors
    /// When it cannot be told who is asking and the limit says to reject that, or when what it says it costs is wrong.
    pub fn hits(
        &self,
        facts: &Facts<'_>,
        matched: Matched,
        directory: Option<&Directory>,
        hits: &mut Hits,
    ) -> Result<(), BadRequest> {
        hits.clear();
        let operation = match matched {
            Matched::Operation(id) | Matched::Loosely(id) => self.operations.get(id as usize),
            Matched::Preflight | Matched::Forwarded | Matched::Nothing { .. } => None,
        };
        let places = operation.map_or(self.root_api_key.as_slice(), |operation| &operation.api_key);
        let mut api_key = std::mem::take(&mut hits.api_key);
        let mut room = std::mem::take(&mut hits.room);
        let mut tier = std::mem::take(&mut hits.tier);
        let mut asking = Asking::new(facts, self, directory, places, (&mut api_key, &mut room));
        asking.tier(&mut tier);
        let limits = self.limits_of(matched).iter();
        let mut result = Ok(());
        for (id, limit) in limits.filter_map(|id| Some((*id, self.limits.get(*id as usize)?))) {
            let name = operation.filter(|_| limit.counted == Counted::PerOperation);
            let name = name.map(|of| of.identity.as_str());
            let one = One { id, limit, operation: name, tier: &tier, directory };
            if let Err(bad) = self.one(&one, &mut asking, hits) {
                result = Err(bad);
                break;
            }
        }
        hits.api_key = api_key;
        hits.room = room;
        hits.tier = tier;
        if result.is_err() {
            hits.clear();
        }
        result
    }

    fn one(&self, one: &One<'_>, asking: &mut Asking<'_>, hits: &mut Hits) -> Result<(), BadRequest> {
        let start = hits.keys.len();
        one.operation(&mut hits.keys);
        // What is not enforced refuses nothing: it takes the most, and the address, where it would have.
        let lenient = one.limit.mode == Mode::Shadow || one.limit.numbers.limit().is_none();
        let cost = match costing::of(one.limit, asking) {
            Err(_) if lenient => one.limit.cost.range().1,
            other => other?,
        };
        let whose = match whose::write(one.limit, asking, &mut hits.keys) {
            Err(_) if lenient => {
                push(&mut hits.keys, Kind::Address, &asking.client().key_bytes());
                Whose::Address
            }
            other => other?,
        };
        let charge = Charge {
            limit: one.id,
            variant: 0,
            budget: Budget::Own,
            cost,
            mode: one.limit.mode,
            whose,
            start: place(start),
            end: place(hits.keys.len()),
        };
        self.charge(charge.clone(), one, asking, hits);
        let wider: &[Budget] = match whose {
            Whose::Claimed => &[Budget::AddressCeiling, Budget::WideCeiling],
            // Without a key, an address counts towards what it gets with any number of keys.
            Whose::Address => &[Budget::WideAddress, Budget::AddressCeiling],
            Whose::Shared | Whose::Verified => &[],
        };
        for budget in wider {
            self.wider(Charge { budget: *budget, ..charge.clone() }, one, asking, hits);
        }
        Ok(())
    }

    /// A wider budget beside the limit's own: for an address or for a wide prefix. Its key says which, so that it is
    /// nobody's own.
    fn wider(&self, own: Charge, one: &One<'_>, asking: &mut Asking<'_>, hits: &mut Hits) {
        if self.variants.find(one.id, None, own.budget).is_none() {
            return;
        }
        let client = asking.client();
        let wide = client.wide(&self.settings.prefixes);
        let (name, kind, client) = match own.budget {
            Budget::WideAddress => ("wide", Kind::AddressWide, wide),
            Budget::WideCeiling => ("wide ceiling", Kind::AddressWide, wide),
            Budget::Own | Budget::AddressCeiling => ("ceiling", Kind::Address, Some(client)),
        };
        let Some(client) = client else { return };
        let start = hits.keys.len();
        push(&mut hits.keys, Kind::Limit, name.as_bytes());
        one.operation(&mut hits.keys);
        push(&mut hits.keys, kind, &client.key_bytes());
        let (start, end) = (place(start), place(hits.keys.len()));
        let charge = Charge { start, end, whose: Whose::Address, ..own };
        self.charge(charge, one, asking, hits);
    }

    /// Finds the numbers, and keeps the charge unless it is unlimited.
    fn charge(&self, mut charge: Charge, one: &One<'_>, asking: &mut Asking<'_>, hits: &mut Hits) {
        let tier = Some(one.tier).filter(|tier| !tier.is_empty());
        let Some(usual) = self.variants.find(one.id, tier, charge.budget) else { return };
        let overrides = asking.consumer().and_then(|consumer| consumer.overrides);
        let own = one.directory.zip(overrides).and_then(|(directory, id)| directory.variant(id, usual));
        let variant = own.unwrap_or(usual);
        charge.variant = variant;
        match self.numbers(variant, one.directory) {
            None | Some(Numbers::Unlimited) => {}
            Some(Numbers::Counted(_)) => hits.charges.push(charge),
            Some(Numbers::Queue { .. } | Numbers::Concurrency { .. }) => hits.held.push(charge),
        }
    }

    /// The numbers of a variant: the policy's, or, after them, the directory's.
    #[must_use]
    pub fn numbers<'a>(&'a self, variant: u32, directory: Option<&'a Directory>) -> Option<&'a Numbers> {
        let index = variant as usize;
        let own = self.variants.all.get(index);
        let extra = || directory?.variants().get(index.checked_sub(self.variants.all.len())?);
        own.or_else(extra).map(|variant| &variant.numbers)
    }
}

/// A limit that is being charged.
struct One<'a> {
    id: u32,
    limit: &'a PolicyLimit,
    /// The operation's name, if each has a budget of its own.
    operation: Option<&'a str>,
    tier: &'a str,
    directory: Option<&'a Directory>,
}

impl One<'_> {
    fn operation(&self, keys: &mut Vec<u8>) {
        if let Some(name) = self.operation {
            push(keys, Kind::Operation, name.as_bytes());
        }
    }
}

fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
