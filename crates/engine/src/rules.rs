//! Limits written in Rust, in force on a limiter: from a request's head to hits, and from a verdict to an outcome.

mod error;
mod keys;
mod limit_cache;
mod rule_key;

use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate::{AddressHit, HITS_MAX, Hit, Limiter, NamedLimit, Verdict};
use tollgate_algorithms::{Limit, Micros, Mode};
use tollgate_http::address::{Client, Prefixes};
use tollgate_http::trusted::TrustedProxies;

use crate::admission::Admission;
use crate::charge;
use crate::descriptor::{LimitDescriptor, NETWORK};
use crate::enforcer::{Enforcer, SourceCharge};
use crate::error::CheckError;
use crate::head::RequestHead;
use crate::ids::DescriptorId;
use crate::key::{push_address, push_wide};
use crate::outcome::Outcome;
use crate::rule::{Cost, Rule};
use crate::scratch::Scratch;
use crate::settlement::{Claim, PendingSettlement, contains, only};
use keys::{KeyOwner, Keys, push_key};

pub use error::{NAME_CHARS_MAX, RulesError};
use limit_cache::LimitCache;
pub use rule_key::{RuleKey, RuleKeyError};

/// Limits written in Rust, in force on a limiter. Every request meets all of them, and is charged for all or none.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limit, Limiter, Micros};
/// use tollgate_engine::{KeyExtractor, Rule, Rules};
/// let per_client = Rule::new("per client", Limit::per_second(1).burst(5)?);
/// let in_all = Rule::new("in all", Limit::sliding_window(1_000, Micros::MINUTE)?).keyed_by(KeyExtractor::everyone());
/// let rules = Rules::new(Limiter::new()?, [per_client, in_all])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rules {
    limiter: Limiter,
    rules: Vec<RegisteredRule>,
    waits: bool,
    proxies: TrustedProxies,
    prefixes: Prefixes,
}

/// A rule with its limit on the limiter.
struct RegisteredRule {
    rule: Rule,
    limit: NamedLimit,
    /// The limits with other numbers that the rule has computed for requests.
    computed: LimitCache,
    /// Its wide limit, for all addresses of a wide IPv6 network together.
    wide: Option<NamedLimit>,
}

/// The cost of each hit of a request.
type Costs = SmallVec<[u64; 4]>;

/// Maximum capacity of the key buffer that is kept for the next request. A longer one, which only a long key takes, is freed.
const BYTES_KEPT_MAX: usize = 4_096;

impl Rules {
    /// Puts rules in force.
    ///
    /// # Errors
    /// If a name is invalid or used twice, or if there are too many rules.
    pub fn new(limiter: Limiter, rules: impl IntoIterator<Item = Rule>) -> Result<Self, RulesError> {
        let mut registered: Vec<RegisteredRule> = Vec::new();
        for rule in rules {
            let printable = rule.name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
            if !printable || !(1..=NAME_CHARS_MAX).contains(&rule.name.len()) {
                return Err(RulesError::Name { name: tollgate_http::text::shown(&rule.name) });
            }
            if registered.iter().any(|other| other.rule.name == rule.name) {
                return Err(RulesError::SameName { name: rule.name });
            }
            let limit = rule.limit_on(&limiter, rule.limit);
            registered.push(RegisteredRule { rule, limit, computed: LimitCache::default(), wide: None });
        }
        let by_address = registered.iter().filter(|registered| registered.rule.may_charge_address()).count();
        if registered.len().saturating_add(by_address) > HITS_MAX {
            return Err(RulesError::TooMany { rules: registered.len() });
        }
        let waits = registered.iter().any(|registered| registered.limit.is_shared());
        let (proxies, prefixes) = (TrustedProxies::None, Prefixes::default());
        Ok(Self { limiter, rules: registered, waits, proxies, prefixes }.with_wide_limits())
    }

    /// Gives each rule that may charge an address a wide limit, if there is a wide prefix.
    fn with_wide_limits(mut self) -> Self {
        let multiple = self.prefixes.ipv6_wide().map(|_| self.prefixes.usual_multiple());
        for RegisteredRule { rule, wide, .. } in &mut self.rules {
            let is_limited = rule.may_charge_address() && rule.limit != Limit::Unlimited;
            let numbers = multiple.filter(|_| is_limited).map(|multiple| rule.limit.times_at_most(multiple));
            *wide = numbers.map(|numbers| rule.limit_on(&self.limiter, numbers));
        }
        self
    }

    /// Sets the trusted proxies for finding the client's address. Default: none.
    #[must_use]
    pub fn trusted_proxies(self, proxies: TrustedProxies) -> Self {
        Self { proxies, ..self }
    }

    /// Sets which addresses are one client. Default: an IPv4 address, and an IPv6 network of 64 bits.
    ///
    /// An IPv6 client is also charged for the wide network around it, by default of 48 bits, whose limit is
    /// [so many times](Prefixes::usual_multiple) the rule's: 256 times for 65,536 networks of 64 bits. Otherwise, whoever has a
    /// network of 48 bits would have 65,536 limits. Clients see it as a limit of its own, such as `login (network)`, while it is
    /// closer to refusing than the rule's.
    #[must_use]
    pub fn prefixes(self, prefixes: Prefixes) -> Self {
        Self { prefixes, ..self }.with_wide_limits()
    }

    /// The limiter that holds the state.
    #[must_use]
    pub const fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// The limiter's limit of the rule with this name. To inspect and reset its keys, use [`inspect`](Self::inspect) and
    /// [`reset`](Self::reset), which build keys as a request does.
    #[must_use]
    pub fn limit(&self, name: &str) -> Option<&NamedLimit> {
        self.rules.iter().find(|registered| registered.rule.name == name).map(|registered| &registered.limit)
    }

    pub(crate) const fn waits(&self) -> bool {
        self.waits
    }

    pub(crate) fn descriptors(&self) -> Vec<Option<LimitDescriptor>> {
        let own = self.rules.iter().map(|registered| Some(registered.rule.descriptor()));
        let wide = self.rules.iter().map(|RegisteredRule { rule, wide, .. }| {
            let wide = LimitDescriptor { limit: wide.as_ref()?.limit(), ..rule.descriptor() };
            Some(wide.widened(NETWORK))
        });
        own.chain(wide).collect()
    }

    /// The descriptor of a rule's wide limit.
    fn wide_id(&self, place: usize) -> DescriptorId {
        DescriptorId::new(self.rules.len().saturating_add(place))
    }

    pub(crate) async fn check(
        &self,
        enforcer: &Arc<Enforcer>,
        head: &RequestHead<'_>,
        scratch: &mut Scratch,
    ) -> Result<Outcome, CheckError> {
        let Scratch { keys: bytes, verdict, .. } = scratch;
        let keys = self.keys(head, bytes)?;
        let hits = self.hits(&keys, head);
        if hits.is_empty() {
            return Ok(Outcome::Admitted(Admission::unlimited(enforcer)));
        }
        let costs = hits.iter().map(Hit::get_cost).collect();
        let charged = self.hits_of(&keys, &hits).charge(verdict).await?;
        drop(hits);
        Ok(self.outcome(enforcer, (charged, verdict.as_ref()), (&keys, &costs)))
    }

    pub(crate) fn try_check(
        &self,
        enforcer: &Arc<Enforcer>,
        head: &RequestHead<'_>,
        scratch: &mut Scratch,
    ) -> Result<Outcome, CheckError> {
        let Scratch { keys: bytes, verdict, .. } = scratch;
        if bytes.capacity() > BYTES_KEPT_MAX {
            *bytes = Vec::new();
        }
        let keys = self.keys(head, bytes)?;
        let hits = self.hits(&keys, head);
        if hits.is_empty() {
            return Ok(Outcome::Admitted(Admission::unlimited(enforcer)));
        }
        let costs = hits.iter().map(Hit::get_cost).collect();
        let charged = self.hits_of(&keys, &hits).try_charge(verdict)?;
        drop(hits);
        Ok(self.outcome(enforcer, (charged, verdict.as_ref()), (&keys, &costs)))
    }

    /// The keys of a request.
    fn keys<'a>(&self, head: &RequestHead<'_>, bytes: &'a mut Vec<u8>) -> Result<Keys<'a>, CheckError> {
        // Found once for all rules: over proxies it takes a while.
        let found = OnceCell::new();
        let client = || *found.get_or_init(|| self.client(head));
        let (mut ends, mut claimed, mut by_address) = (SmallVec::new(), 0, 0);
        let mut computed = SmallVec::new();
        bytes.clear();
        for (place, registered) in self.rules.iter().enumerate() {
            match push_key(&registered.rule, head, &client, bytes)? {
                KeyOwner::Claimed => claimed |= only(place),
                KeyOwner::Address => by_address |= only(place),
                KeyOwner::Known => {}
            }
            ends.push(bytes.len());
            computed.extend(registered.computed_limit(head, &self.limiter).map(|limit| (place, limit)));
        }
        let (mut address, mut wide) = (None, None);
        if claimed | by_address != 0
            && let Some(client) = client()
        {
            // Written behind the others, whose bytes are read by their ends.
            let start = bytes.len();
            if claimed != 0 {
                push_address(bytes, &client);
                address = Some(start..bytes.len());
            }
            let start = bytes.len();
            if let Some(network) = client.wide(&self.prefixes) {
                push_wide(bytes, &network);
                wide = Some(start..bytes.len());
            }
        }
        Ok(Keys { bytes, ends, claimed, by_address, address, wide, computed })
    }

    /// The client's address, if it is known.
    fn client(&self, head: &RequestHead<'_>) -> Option<Client> {
        Some(Client::of(self.proxies.client(head.peer?, head.headers).address, &self.prefixes))
    }

    /// The hits of the rules, and then those on wide networks.
    fn hits<'a>(&'a self, keys: &'a Keys<'a>, head: &RequestHead<'_>) -> SmallVec<[Hit<'a>; 4]> {
        let mut hits: SmallVec<[Hit<'_>; 4]> = SmallVec::new();
        for (place, (registered, key)) in self.rules.iter().zip(keys.iter()).enumerate() {
            let cost = match &registered.rule.cost {
                Cost::Fixed(cost) => *cost,
                Cost::Fn(cost) => cost(head),
            };
            let hit = keys.limit(place, &registered.limit).hit(key);
            let hit = if registered.rule.is_estimate { hit.estimate(cost) } else { hit.cost(cost) };
            hits.push(if registered.rule.mode == Mode::Shadow { hit.shadow() } else { hit });
        }
        for (place, limit, key) in self.wide_hits(keys) {
            let Some(own) = hits.get(place) else { continue };
            let is_estimate = self.rules.get(place).is_some_and(|registered| registered.rule.is_estimate);
            let hit = limit.hit(key);
            let hit = if is_estimate { hit.estimate(own.get_cost()) } else { hit.cost(own.get_cost()) };
            hits.push(if own.mode() == Mode::Shadow { hit.shadow() } else { hit });
        }
        hits
    }

    /// The wide limits that are charged beside the limits of rules: the rule's position, the limit and the key.
    fn wide_hits<'a>(&'a self, keys: &Keys<'a>) -> impl Iterator<Item = (usize, &'a NamedLimit, &'a [u8])> {
        let (key, by_address) = (keys.wide(), keys.by_address);
        // IPv4 clients have no wide network.
        let rules = if key.is_some() { self.rules.as_slice() } else { &[] };
        rules.iter().enumerate().filter_map(move |(place, registered)| {
            let limit = registered.wide.as_ref().filter(|_| contains(by_address, place))?;
            Some((place, limit, key?))
        })
    }

    fn hits_of<'a>(&'a self, keys: &'a Keys<'a>, hits: &'a [Hit<'a>]) -> charge::Hits<'a> {
        let addresses = self.debtors(keys, hits);
        charge::Hits { limiter: &self.limiter, hits, addresses, needs_receipt: true }
    }

    /// The keys that a charge to a claimed identity moves to when the service denies the identity: the client's address, and the
    /// wide network around it.
    fn addresses_of<'a>(
        &'a self,
        keys: &'a Keys<'a>,
        place: usize,
    ) -> impl Iterator<Item = (DescriptorId, &'a NamedLimit, &'a [u8])> {
        let registered = self.rules.get(place).filter(|_| contains(keys.claimed, place));
        let own = registered.zip(keys.address());
        let own = own
            .map(|(registered, key)| (DescriptorId::new(place), keys.limit(place, &registered.limit), key));
        let wide = registered.and_then(|registered| registered.wide.as_ref()).zip(keys.wide());
        own.into_iter().chain(wide.map(|(limit, key)| (self.wide_id(place), limit, key)))
    }

    /// The hits on the client's address for claimed identities, of rules where an address may owe something.
    fn debtors<'a>(&'a self, keys: &'a Keys<'a>, hits: &[Hit<'a>]) -> SmallVec<[charge::Address<'a>; 1]> {
        let mut debtors = SmallVec::new();
        if keys.claimed == 0 {
            return debtors;
        }
        for (place, hit) in hits.iter().enumerate().filter(|(_, hit)| hit.mode() == Mode::Enforced) {
            let denied = self.addresses_of(keys, place).filter(|(_, limit, _)| limit.has_denied());
            debtors.extend(denied.map(|(id, limit, key)| {
                let hit = AddressHit { place, hit: limit.hit(key).cost(hit.get_cost()) };
                charge::Address { hit, id }
            }));
        }
        debtors
    }

    /// The outcome of a charge.
    fn outcome(
        &self,
        enforcer: &Arc<Enforcer>,
        (charged, verdict): (charge::ChargeDetails, Option<&Verdict>),
        (keys, costs): (&Keys<'_>, &Costs),
    ) -> Outcome {
        let own = keys.iter().enumerate().map(|(place, key)| (DescriptorId::new(place), key));
        let wide = self.wide_hits(keys).map(|(place, _, key)| (self.wide_id(place), key));
        let hits = own.chain(wide).enumerate().map(|(place, (id, key))| (charged.descriptor(place, id), key));
        let mut statuses = verdict.map(|verdict| enforcer.statuses(verdict, hits)).unwrap_or_default();
        for (place, limit) in &keys.computed {
            if let Some(status) = statuses.get_mut(*place) {
                status.computed = Some(limit.limit());
            }
        }
        let charged = SourceCharge {
            receipt: charged.receipt,
            decided_at: self.decided_at(verdict),
            path: None,
            #[cfg(feature = "policy")]
            matched: None,
        };
        let enforced = self.rules.iter().filter(|registered| registered.rule.mode == Mode::Enforced);
        let fails = enforced.map(|registered| registered.rule.store_fails());
        enforcer.outcome(verdict, (statuses, charged), fails, |admission| {
            admission.pending = self.pending(keys, costs);
        })
    }

    /// What a response may settle.
    fn pending(&self, keys: &Keys<'_>, costs: &Costs) -> PendingSettlement {
        let mut pending = PendingSettlement { claimed: keys.claimed, ..PendingSettlement::default() };
        let is_estimate =
            |place: usize| self.rules.get(place).is_some_and(|registered| registered.rule.is_estimate);
        let wide = self.wide_hits(keys).map(|(place, ..)| place);
        let hits = (0..self.rules.len()).chain(wide).enumerate();
        let estimated = hits.filter(|(_, rule)| is_estimate(*rule));
        pending.estimates = estimated.fold(0, |set, (place, _)| set | only(place));
        if keys.claimed == 0 {
            return pending;
        }
        for (place, cost) in costs.iter().enumerate() {
            pending.claims.extend(self.addresses_of(keys, place).map(|(_, limit, address)| {
                let (limit, address) = (limit.clone(), address.into());
                Claim { place, limit, address, cost: *cost, stays: false }
            }));
        }
        pending
    }

    /// When it was decided, by the calendar. A shared store has a clock of its own, so there the time counts from its answer on.
    fn decided_at(&self, verdict: Option<&Verdict>) -> Micros {
        match verdict.map(Verdict::results) {
            Some([first, ..]) if !self.waits => self.limiter.calendar(first.at()),
            _ => self.limiter.now(),
        }
    }
}

impl RegisteredRule {
    /// The limit with the numbers that the rule computes for a request; `None` if it is the rule's own.
    fn computed_limit(&self, head: &RequestHead<'_>, limiter: &Limiter) -> Option<NamedLimit> {
        let numbers = self.rule.limit_fn.as_ref()?(head).filter(|numbers| *numbers != self.rule.limit)?;
        Some(self.computed.get_or_insert(numbers, || self.rule.limit_on(limiter, numbers)))
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rules ")?;
        f.debug_list().entries(self.rules.iter().map(|registered| &registered.rule)).finish()
    }
}
