//! Limits written in Rust, in force on a limiter: from a request's head to hits, and from a verdict to an outcome.

mod error;
mod limit_cache;
mod rule_key;

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate::{AddressHit, HITS_MAX, Hit, Limiter, NamedLimit, Receipt, Verdict};
use tollgate_algorithms::{Micros, Mode};
use tollgate_http::address::{Client, Prefixes};
use tollgate_http::found::Found;
use tollgate_http::header;
use tollgate_http::trusted::TrustedProxies;

use crate::admission::Admission;
use crate::charge;
use crate::descriptor::LimitDescriptor;
use crate::enforcer::{Charged, Enforcer};
use crate::error::CheckError;
use crate::head::RequestHead;
use crate::ids::DescriptorId;
use crate::key::{KeyKind, push, push_address};
use crate::outcome::Outcome;
use crate::rule::{Cost, Extraction, Rule};
use crate::scratch::Scratch;
use crate::settlement::{AddressKey, Claim, PendingSettlement, contains, only};
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
}

/// The keys of a request, one for each rule.
struct Keys<'a> {
    /// One key after the other.
    bytes: &'a [u8],
    /// Where each ends.
    ends: SmallVec<[usize; 4]>,
    /// Those that are a client's claim, one bit each.
    claimed: u32,
    /// The key of the client's address, if it is known and some keys are claims.
    address: Option<AddressKey>,
    /// The limits with numbers that rules computed for this request, by the place of the rule.
    computed: SmallVec<[(usize, NamedLimit); 1]>,
}

impl<'a> Keys<'a> {
    /// Each key, in the order of the rules.
    fn iter(&self) -> impl Iterator<Item = &'a [u8]> {
        let (bytes, starts) = (self.bytes, std::iter::once(&0).chain(&self.ends));
        starts.zip(&self.ends).map(move |(start, end)| bytes.get(*start..*end).unwrap_or(&[]))
    }

    /// The limit of a rule for this request.
    fn limit<'b>(&'b self, place: usize, registered: &'b RegisteredRule) -> &'b NamedLimit {
        let computed = self.computed.iter().find(|(other, _)| *other == place);
        computed.map_or(&registered.limit, |(_, limit)| limit)
    }
}

/// The cost of each hit of a request.
type Costs = SmallVec<[u64; 2]>;

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
            registered.push(RegisteredRule { rule, limit, computed: LimitCache::default() });
        }
        if registered.len() > HITS_MAX {
            return Err(RulesError::TooMany { rules: registered.len() });
        }
        let waits = registered.iter().any(|registered| registered.limit.is_shared());
        let (proxies, prefixes) = (TrustedProxies::None, Prefixes::default());
        Ok(Self { limiter, rules: registered, waits, proxies, prefixes })
    }

    /// Sets the trusted proxies for finding the client's address. Default: none.
    #[must_use]
    pub fn trusted_proxies(self, proxies: TrustedProxies) -> Self {
        Self { proxies, ..self }
    }

    /// Sets which addresses are one client. Default: an IPv4 address, and an IPv6 network of 64 bits.
    #[must_use]
    pub fn prefixes(self, prefixes: Prefixes) -> Self {
        Self { prefixes, ..self }
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
        self.rules.iter().map(|registered| Some(registered.rule.descriptor())).collect()
    }

    pub(crate) async fn check(
        &self,
        enforcer: &Arc<Enforcer>,
        head: &RequestHead<'_>,
        scratch: &mut Scratch,
    ) -> Result<Outcome, CheckError> {
        let Scratch { keys, verdict, .. } = scratch;
        let keys = self.keys(head, keys)?;
        let hits = self.hits(&keys, head);
        if hits.is_empty() {
            return Ok(Outcome::Admitted(Admission::unlimited(enforcer)));
        }
        let costs = hits.iter().map(Hit::asks).collect();
        let receipt = self.hits_of(&keys, &hits).charge(verdict).await?;
        drop(hits);
        Ok(self.outcome(enforcer, (receipt, verdict.as_ref()), (&keys, &costs)))
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
        let costs = hits.iter().map(Hit::asks).collect();
        let receipt = self.hits_of(&keys, &hits).try_charge(verdict)?;
        drop(hits);
        Ok(self.outcome(enforcer, (receipt, verdict.as_ref()), (&keys, &costs)))
    }

    /// The keys of a request.
    fn keys<'a>(&self, head: &RequestHead<'_>, bytes: &'a mut Vec<u8>) -> Result<Keys<'a>, CheckError> {
        let (mut ends, mut claimed, mut address) = (SmallVec::new(), 0, None);
        let mut computed = SmallVec::new();
        bytes.clear();
        for (place, registered) in self.rules.iter().enumerate() {
            if self.push_key(&registered.rule, head, bytes)? {
                claimed |= only(place);
            }
            ends.push(bytes.len());
            computed.extend(registered.computed_limit(head, &self.limiter).map(|limit| (place, limit)));
        }
        if claimed != 0 {
            address = self.client(head).map(|client| {
                let start = bytes.len();
                push_address(bytes, &client);
                AddressKey::from_slice(bytes.get(start..).unwrap_or(&[]))
            });
        }
        Ok(Keys { bytes, ends, claimed, address, computed })
    }

    /// Appends the key of a rule. Returns whether it is a client's claim.
    fn push_key(&self, rule: &Rule, head: &RequestHead<'_>, bytes: &mut Vec<u8>) -> Result<bool, CheckError> {
        match &rule.key.0 {
            Extraction::Everyone => {
                push(bytes, KeyKind::Everyone, b"");
                return Ok(false);
            }
            Extraction::Fn(key) => {
                if let Some(key) = key(head).filter(|key| !key.is_empty()) {
                    push(bytes, KeyKind::Consumer, &key);
                    return Ok(false);
                }
            }
            Extraction::Header(name) => match header::find(head.headers, name) {
                Found::One(value) => {
                    push(bytes, KeyKind::Header(name.as_str()), value);
                    return Ok(true);
                }
                Found::Missing | Found::Empty => {}
                Found::Repeated | Found::Malformed => {
                    return Err(CheckError::BadRequest(format!(
                        "the header {name}, which identifies the client, was sent more than once or is too long: send it once"
                    )));
                }
            },
            Extraction::Address => {}
        }
        push_address(bytes, &self.client(head).ok_or(CheckError::UnknownPeer)?);
        Ok(false)
    }

    /// The client's address, if it is known.
    fn client(&self, head: &RequestHead<'_>) -> Option<Client> {
        Some(Client::of(self.proxies.client(head.peer?, head.headers).address, &self.prefixes))
    }

    fn hits<'a>(&'a self, keys: &'a Keys<'_>, head: &RequestHead<'_>) -> SmallVec<[Hit<'a>; 2]> {
        let mut hits: SmallVec<[Hit<'_>; 2]> = SmallVec::new();
        for (place, (registered, key)) in self.rules.iter().zip(keys.iter()).enumerate() {
            let cost = match &registered.rule.cost {
                Cost::Fixed(cost) => *cost,
                Cost::Fn(cost) => cost(head),
            };
            let hit = keys.limit(place, registered).hit(key);
            let hit = if registered.rule.is_estimate { hit.estimate(cost) } else { hit.cost(cost) };
            hits.push(if registered.rule.mode == Mode::Shadow { hit.shadow() } else { hit });
        }
        hits
    }

    fn hits_of<'a>(&'a self, keys: &'a Keys<'_>, hits: &'a [Hit<'a>]) -> charge::Hits<'a> {
        charge::Hits {
            limiter: &self.limiter,
            hits,
            addresses: self.debtors(keys, hits),
            needs_receipt: true,
        }
    }

    /// The hits on the client's address for claimed identities, of rules where an address may owe something.
    fn debtors<'a>(&'a self, keys: &'a Keys<'_>, hits: &[Hit<'a>]) -> SmallVec<[AddressHit<'a>; 1]> {
        let Some(address) = &keys.address else { return SmallVec::new() };
        let debtor = |(place, (registered, hit)): (usize, (&'a RegisteredRule, &Hit<'a>))| {
            let may_owe = contains(keys.claimed, place)
                && hit.mode() == Mode::Enforced
                && registered.limit.has_denied();
            may_owe.then(|| {
                let limit = keys.limit(place, registered);
                AddressHit { place, hit: limit.hit(address).cost(hit.asks()) }
            })
        };
        self.rules.iter().zip(hits).enumerate().filter_map(debtor).collect()
    }

    /// The outcome of a charge.
    fn outcome(
        &self,
        enforcer: &Arc<Enforcer>,
        (receipt, verdict): (Option<Receipt>, Option<&Verdict>),
        (keys, costs): (&Keys<'_>, &Costs),
    ) -> Outcome {
        let hits = (0..).map(DescriptorId::new).zip(keys.iter());
        let mut statuses = verdict.map(|verdict| enforcer.statuses(verdict, hits)).unwrap_or_default();
        for (place, limit) in &keys.computed {
            if let Some(status) = statuses.get_mut(*place) {
                status.computed = Some(limit.limit());
            }
        }
        let charged = Charged {
            receipt,
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
        let estimated = self.rules.iter().enumerate().filter(|(_, registered)| registered.rule.is_estimate);
        pending.estimates = estimated.fold(0, |set, (place, _)| set | only(place));
        let Some(address) = &keys.address else { return pending };
        for (place, (registered, cost)) in self.rules.iter().zip(costs).enumerate() {
            if contains(keys.claimed, place) {
                let (limit, address) = (keys.limit(place, registered).clone(), address.clone());
                pending.claims.push(Claim { place, limit, address, cost: *cost, stays: false });
            }
        }
        pending
    }

    /// When it was decided, by the calendar. A shared store has a clock of its own, so there the time counts from its answer on.
    fn decided_at(&self, verdict: Option<&Verdict>) -> Micros {
        match verdict.map(Verdict::answers) {
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
