//! A request becomes hits: which numbers, on which key, at what cost. They are charged by a limiter, not here.

use http::HeaderName;
use tollgate_core::Mode;

use crate::asking::{Asking, Sent, Token};
use crate::compile::variants::Budget;
use crate::directory::Directory;
use crate::found::Found;
use crate::key::{Kind, push};
use crate::matching::Matched;
use crate::model::{Cost, CostFrom, Counted, Identity, Missing, PolicyLimit, Repeated};
use crate::numbers::Numbers;
use crate::policy::Policy;
use crate::quantity::whole;
use crate::request::{BadRequest, Facts};
use crate::{cookie, header, query};

/// How sure it is whose budget is charged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sureness {
    /// It was verified, or it is an address: nobody can be somebody else.
    Sure,
    /// It is what the client says of itself.
    Claimed,
}

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
    /// How sure it is whose budget this is.
    pub sureness: Sureness,
    /// Whether the key is an identity rather than an address or nobody: such a charge is given back when the upstream
    /// says that the client is not who it says.
    pub identified: bool,
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

/// What one link of a chain gives.
enum Link {
    /// The parts were written; how sure, and whether it is an identity.
    Key(Sureness, bool),
    Missing,
    Unclear,
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
        let mut tier = std::mem::take(&mut hits.tier);
        let mut asking = Asking::new(facts, self, directory, places, &mut api_key);
        asking.tier(&mut tier);
        let limits = self.limits_of(matched).iter();
        let mut result = Ok(());
        for (id, limit) in limits.filter_map(|id| Some((*id, self.limits.get(*id as usize)?))) {
            let name = operation.filter(|_| limit.counted == Counted::PerOperation).map(|of| of.name());
            let one = One { id, limit, operation: name.as_deref(), tier: &tier, directory };
            if let Err(bad) = self.one(&one, &mut asking, hits) {
                result = Err(bad);
                break;
            }
        }
        hits.api_key = api_key;
        hits.tier = tier;
        if result.is_err() {
            hits.clear();
        }
        result
    }

    fn one(&self, one: &One<'_>, asking: &mut Asking<'_>, hits: &mut Hits) -> Result<(), BadRequest> {
        let cost = cost_of(one.limit, asking)?;
        let start = hits.keys.len();
        let (sureness, identified) = one.key(asking, &mut hits.keys)?;
        let by_address = !identified && sureness == Sureness::Sure;
        let charge = Charge {
            limit: one.id,
            variant: 0,
            budget: Budget::Own,
            cost,
            mode: one.limit.mode,
            sureness,
            identified,
            start: place(start),
            end: place(hits.keys.len()),
        };
        self.charge(charge.clone(), one, asking, hits);
        if sureness == Sureness::Claimed && one.limit.address_ceiling.is_some() {
            self.wider(Budget::AddressCeiling, &charge, one, asking, hits);
        }
        if by_address {
            self.wider(Budget::WideAddress, &charge, one, asking, hits);
        }
        Ok(())
    }

    /// A wider budget beside the limit's own: for an address or for a wide prefix.
    fn wider(&self, budget: Budget, own: &Charge, one: &One<'_>, asking: &mut Asking<'_>, hits: &mut Hits) {
        let client = asking.client();
        let start = hits.keys.len();
        one.operation(&mut hits.keys);
        match budget {
            Budget::WideAddress => match client.wide(&self.settings.prefixes) {
                Some(wide) => push(&mut hits.keys, Kind::AddressWide, &wide.key_bytes()),
                None => return,
            },
            Budget::Own | Budget::AddressCeiling => push(&mut hits.keys, Kind::Address, &client.key_bytes()),
        }
        let (start, end) = (place(start), place(hits.keys.len()));
        let charge = Charge { budget, start, end, sureness: Sureness::Sure, identified: false, ..own.clone() };
        self.charge(charge, one, asking, hits);
    }

    /// Finds the numbers, and keeps the charge unless it is unlimited.
    fn charge(&self, mut charge: Charge, one: &One<'_>, asking: &mut Asking<'_>, hits: &mut Hits) {
        let overrides = asking.consumer().and_then(|consumer| consumer.overrides);
        let own = one.directory.zip(overrides).and_then(|(directory, id)| directory.variant(id, one.id, charge.budget));
        let tier = Some(one.tier).filter(|tier| !tier.is_empty());
        let Some(variant) = own.or_else(|| self.variants.find(one.id, tier, charge.budget)) else { return };
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

    /// Writes the key: the first link of the chain that is there, or what the limit says of nobody.
    fn key(&self, asking: &mut Asking<'_>, keys: &mut Vec<u8>) -> Result<(Sureness, bool), BadRequest> {
        self.operation(keys);
        let start = keys.len();
        for link in &self.limit.key.chain {
            match together(link, asking, keys) {
                Link::Key(sureness, identified) => return Ok((sureness, identified)),
                Link::Missing => keys.truncate(start),
                Link::Unclear => {
                    keys.truncate(start);
                    if self.limit.key.repeated == Repeated::Reject {
                        return Err(BadRequest::TwoIdentities { limit: self.limit.name.clone() });
                    }
                }
            }
        }
        match self.limit.key.missing {
            Missing::Reject => Err(BadRequest::NoIdentity { limit: self.limit.name.clone() }),
            Missing::Anonymous => {
                push(keys, Kind::Anonymous, b"");
                // One budget for all of them: it is no address, and nobody can be somebody else by it.
                Ok((Sureness::Sure, true))
            }
            Missing::Address => {
                push(keys, Kind::Address, &asking.client().key_bytes());
                Ok((Sureness::Sure, false))
            }
        }
    }
}

/// One link: every part of it has to be there.
fn together(link: &[Identity], asking: &mut Asking<'_>, keys: &mut Vec<u8>) -> Link {
    let (mut sureness, mut identified) = (Sureness::Sure, false);
    for identity in link {
        match part(identity, asking, keys) {
            Link::Key(more, is_identity) => {
                sureness = sureness.max(more);
                identified |= is_identity;
            }
            other @ (Link::Missing | Link::Unclear) => return other,
        }
    }
    Link::Key(sureness, identified)
}

fn part(identity: &Identity, asking: &mut Asking<'_>, keys: &mut Vec<u8>) -> Link {
    let (headers, query) = (asking.facts.headers, asking.facts.query.unwrap_or(""));
    match identity {
        Identity::Everyone => {
            push(keys, Kind::Everyone, b"");
            Link::Key(Sureness::Sure, true)
        }
        Identity::Address => {
            push(keys, Kind::Address, &asking.client().key_bytes());
            Link::Key(Sureness::Sure, false)
        }
        Identity::ApiKey => api_key(asking, keys),
        Identity::Consumer => match asking.consumer() {
            Some(consumer) => verified(keys, Kind::Consumer, consumer.name.as_bytes()),
            None => missing_or_unclear(asking),
        },
        Identity::Organisation => match asking.consumer().and_then(|consumer| consumer.organisation) {
            Some(organisation) => verified(keys, Kind::Organisation, organisation.as_bytes()),
            None => missing_or_unclear(asking),
        },
        Identity::Header(name) => claimed(header::find(headers, name), keys, Kind::Header(name.as_str())),
        Identity::Cookie(name) => claimed(cookie::find(headers, name), keys, Kind::Cookie(name)),
        Identity::Query(name) => claimed(query::find(query, name, &mut asking.room), keys, Kind::Query(name)),
        Identity::Jwt(claim) => token(asking.claims(), claim, Sureness::Sure, keys),
        Identity::JwtUnverified(claim) => token(asking.unverified(), claim, Sureness::Claimed, keys),
    }
}

/// Where consumers are known, an unknown key is no key, and all keys of a consumer are one.
fn api_key(asking: &mut Asking<'_>, keys: &mut Vec<u8>) -> Link {
    match asking.api_key() {
        Sent::Nothing => return Link::Missing,
        Sent::Unclear => return Link::Unclear,
        Sent::One => {}
    }
    if !asking.can_verify() {
        push(keys, Kind::ApiKey, asking.key_bytes);
        return Link::Key(Sureness::Claimed, true);
    }
    match asking.consumer() {
        Some(consumer) => verified(keys, Kind::Consumer, consumer.name.as_bytes()),
        None => Link::Missing,
    }
}

fn missing_or_unclear(asking: &mut Asking<'_>) -> Link {
    if asking.api_key() == &Sent::Unclear { Link::Unclear } else { Link::Missing }
}

fn verified(keys: &mut Vec<u8>, kind: Kind<'_>, value: &[u8]) -> Link {
    push(keys, kind, value);
    Link::Key(Sureness::Sure, true)
}

fn claimed(found: Found<'_>, keys: &mut Vec<u8>, kind: Kind<'_>) -> Link {
    match found {
        Found::Missing | Found::Empty => Link::Missing,
        Found::Repeated | Found::Malformed => Link::Unclear,
        Found::One(value) => {
            push(keys, kind, value);
            Link::Key(Sureness::Claimed, true)
        }
    }
}

fn token(token: &Token, claim: &str, sureness: Sureness, keys: &mut Vec<u8>) -> Link {
    match token {
        Token::Nothing => Link::Missing,
        Token::Unclear => Link::Unclear,
        Token::Claims(claims) => match claims.get(claim) {
            Some(value) if !value.text().as_bytes().is_empty() => {
                let kind = match sureness {
                    Sureness::Sure => Kind::JwtClaim(claim),
                    Sureness::Claimed => Kind::JwtClaimUnverified(claim),
                };
                push(keys, kind, value.text().as_bytes());
                Link::Key(sureness, true)
            }
            _ => Link::Missing,
        },
    }
}

/// What the request costs under a limit.
fn cost_of(limit: &PolicyLimit, asking: &mut Asking<'_>) -> Result<u64, BadRequest> {
    let (from, default, max) = match &limit.cost {
        Cost::Fixed(cost) => return Ok(*cost),
        Cost::Reported { estimate, .. } => return Ok(*estimate),
        // A body that was not counted costs the most.
        Cost::Operations { max, .. } => return Ok(asking.facts.body_operations.unwrap_or(*max).min(*max)),
        Cost::Asked { from, default, max } => (from, *default, *max),
    };
    let found = match from {
        CostFrom::Header(name) => header::find(asking.facts.headers, name),
        CostFrom::Query(name) => query::find(asking.facts.query.unwrap_or(""), name, &mut asking.room),
    };
    let said = match found {
        Found::Missing => return Ok(default),
        Found::One(text) => std::str::from_utf8(text).ok().and_then(|text| whole(text).ok()),
        Found::Empty | Found::Repeated | Found::Malformed => None,
    };
    let wrong = || BadRequest::Cost { limit: limit.name.clone(), max };
    said.filter(|cost| *cost <= max).ok_or_else(wrong)
}

/// The header in which the upstream says afterwards what a request cost, and the most that is charged for it.
impl PolicyLimit {
    /// Where the true cost is said afterwards.
    #[must_use]
    pub const fn reported_in(&self) -> Option<(&HeaderName, u64)> {
        match &self.cost {
            Cost::Reported { header, max, .. } => Some((header, *max)),
            Cost::Fixed(_) | Cost::Asked { .. } | Cost::Operations { .. } => None,
        }
    }
}

fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
