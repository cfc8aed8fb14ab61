//! Limits written in Rust, in force: a request in, an admission or an answer out. No documents, no routes.

mod error;

use std::cell::Cell;
use std::net::IpAddr;
use std::sync::{Mutex, OnceLock};

use http::request::Parts;
use smallvec::SmallVec;
use tollgate::{AddressHit, HITS_MAX, Hit, HitError, Kind, Limiter, NamedLimit, Receipt, Verdict};
use tollgate_algorithms::{Micros, Mode};
use tollgate_http::address::{Client, Prefixes};
use tollgate_http::found::Found;
use tollgate_http::header;
use tollgate_http::trusted::TrustedProxies;
use tollgate_policy::key::{Kind as Part, push};

use crate::answers::Answers;
use crate::asked::Answer;
use crate::card::Card;
use crate::fields::{Degraded, Line, partition};
use crate::front::{Admission, Entry};
use crate::later::{AddressKey, Claim, Settling, holds, only};
use crate::refusal::{self, Ready};
use crate::rule::{Cost, Rule, Whom};
use crate::{peer, problem};
pub use error::{NAME_CHARS_MAX, RulesError};

/// Limits written in Rust, in force on a limiter. A request meets all of them, and is charged for all or none.
///
/// ```
/// use tollgate::{Limit, Limiter, Micros};
/// use tollgate_tower::{By, Rule, Rules};
/// let per_client = Rule::new("per client", Limit::token_bucket(5, 1, Micros::SECOND)?);
/// let in_all = Rule::new("in all", Limit::sliding_window(1_000, Micros::MINUTE)?).by(By::everyone());
/// let rules = Rules::new(Limiter::new()?, [per_client, in_all])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Rules {
    limiter: Limiter,
    rules: Vec<Armed>,
    /// Whether some of them are counted in a shared store.
    waits: bool,
    answers: Answers,
    proxies: TrustedProxies,
    prefixes: Prefixes,
}

/// A rule that can be charged.
#[derive(Debug)]
struct Armed {
    rule: Rule,
    limit: NamedLimit,
    card: Card,
    /// Its refusal as far as it can be written down, since it first refused.
    ready: OnceLock<Option<Box<Ready>>>,
}

/// Whose budgets a request is charged to.
struct Met {
    /// One key after the other.
    bytes: Vec<u8>,
    /// Where each ends.
    ends: SmallVec<[usize; 4]>,
    /// Those that are claimed identities: see [`Settling`].
    claimed: u32,
    /// The key of the client's address, if some are and it is known.
    address: Option<AddressKey>,
}

impl Met {
    /// Each key, in the order of the rules.
    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| self.bytes.get(*start..*end).unwrap_or(&[]))
    }
}

/// Room for keys is kept for the next request up to this. More, which only a long key told by a closure takes, is given back.
const BYTES_KEPT_MAX: usize = 4_096;

thread_local! {
    /// Room for keys, so that none is made for a request that is decided at once.
    static BYTES: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Rules {
    /// Puts rules in force.
    ///
    /// # Errors
    /// When a name cannot be shown, stands twice, or there are too many.
    pub fn new(limiter: Limiter, rules: impl IntoIterator<Item = Rule>) -> Result<Self, RulesError> {
        let mut armed: Vec<Armed> = Vec::new();
        for rule in rules {
            let printable = rule.name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
            if !printable || !(1..=NAME_CHARS_MAX).contains(&rule.name.len()) {
                return Err(RulesError::Name { name: tollgate_http::text::shown(&rule.name) });
            }
            if armed.iter().any(|other| other.rule.name == rule.name) {
                return Err(RulesError::SameName { name: rule.name });
            }
            let limit = rule.limit_on(&limiter);
            let card = Card::new(&rule.name, &rule.limit, rule.visibility, rule.says.as_deref());
            armed.push(Armed { rule, limit, card, ready: OnceLock::new() });
        }
        if armed.len() > HITS_MAX {
            return Err(RulesError::TooMany { rules: armed.len() });
        }
        let (answers, proxies) = (Answers::default(), TrustedProxies::None);
        let waits = armed.iter().any(|armed| armed.limit.is_shared());
        Ok(Self { limiter, rules: armed, waits, answers, proxies, prefixes: Prefixes::default() })
    }

    /// What clients are told, in place of the defaults.
    #[must_use]
    pub fn answers(mut self, answers: Answers) -> Self {
        self.rules.iter_mut().for_each(|armed| armed.ready = OnceLock::new());
        Self { answers, ..self }
    }

    /// Whose word is taken for a client's address: nobody's, unless set.
    #[must_use]
    pub fn trusted_proxies(self, proxies: TrustedProxies) -> Self {
        Self { proxies, ..self }
    }

    /// Which addresses are one client: an IPv4 address, and an IPv6 network of 64 bits, unless set.
    #[must_use]
    pub fn prefixes(self, prefixes: Prefixes) -> Self {
        Self { prefixes, ..self }
    }

    pub(crate) const fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// What clients may know of a rule.
    pub(crate) fn card(&self, rule: usize) -> Option<&Card> {
        self.rules.get(rule).map(|armed| &armed.card)
    }

    /// What clients are told.
    pub(crate) const fn told_to_clients(&self) -> &Answers {
        &self.answers
    }

    /// Whether some rules are counted in a shared store, so that to ask takes a while.
    pub(crate) const fn waits(&self) -> bool {
        self.waits
    }

    /// Charges a request. `fixed` is who is asking, whatever the request says.
    pub(crate) fn ask(&self, parts: &Parts, fixed: Option<IpAddr>) -> Result<Admission, Box<Answer>> {
        let met = self.met(parts, fixed)?;
        let hits = self.hits(&met, parts);
        if hits.is_empty() {
            return Ok(self.nothing());
        }
        let (mut verdict, costs) = (None, costs(&hits));
        let owing = self.owing(&met, &hits);
        let refused =
            if owing.is_empty() { Ok(None) } else { self.limiter.try_refused_for_address(&hits, &owing) };
        let receipt = match refused {
            Ok(None) => self.limiter.try_charge_into(&hits, &mut verdict),
            Ok(refused) => {
                verdict = refused;
                Ok(None)
            }
            Err(error) => Err(error),
        };
        drop((hits, owing));
        let told = self.told(receipt, verdict.as_ref(), (&met, &costs));
        if met.bytes.capacity() <= BYTES_KEPT_MAX {
            BYTES.set(met.bytes);
        }
        told
    }

    /// As [`ask`](Self::ask), where it takes a while.
    pub(crate) async fn ask_async(
        &self,
        parts: &Parts,
        fixed: Option<IpAddr>,
    ) -> Result<Admission, Box<Answer>> {
        let met = self.met(parts, fixed)?;
        let hits = self.hits(&met, parts);
        if hits.is_empty() {
            return Ok(self.nothing());
        }
        let (owing, costs) = (self.owing(&met, &hits), costs(&hits));
        let refused =
            if owing.is_empty() { Ok(None) } else { self.limiter.refused_for_address(&hits, &owing).await };
        let charged = match refused {
            Ok(None) => self.limiter.charge_for_receipt(&hits).await,
            Ok(Some(verdict)) => Ok((verdict, None)),
            Err(error) => Err(error),
        };
        match charged {
            Ok((verdict, receipt)) => self.told(Ok(receipt), Some(&verdict), (&met, &costs)),
            Err(error) => self.told(Err(error), None, (&met, &costs)),
        }
    }

    /// Whose budgets a request is charged to.
    fn met(&self, parts: &Parts, fixed: Option<IpAddr>) -> Result<Met, Box<Answer>> {
        let mut met = Met { bytes: BYTES.take(), ends: SmallVec::new(), claimed: 0, address: None };
        met.bytes.clear();
        for (place, armed) in self.rules.iter().enumerate() {
            if self.key(&armed.rule, parts, fixed, &mut met.bytes)? {
                met.claimed |= only(place);
            }
            met.ends.push(met.bytes.len());
        }
        if met.claimed != 0 {
            met.address = self.client(parts, fixed).map(|client| {
                let start = met.bytes.len();
                push(&mut met.bytes, Part::Address, &client.key_bytes());
                AddressKey::from_slice(met.bytes.get(start..).unwrap_or(&[]))
            });
        }
        Ok(met)
    }

    /// The hits on the client's address that stand behind claimed identities, of rules where an address may owe something.
    fn owing<'a>(&'a self, met: &'a Met, hits: &[Hit<'a>]) -> SmallVec<[AddressHit<'a>; 1]> {
        let Some(address) = &met.address else { return SmallVec::new() };
        let owing = |(place, (armed, hit)): (usize, (&'a Armed, &Hit<'a>))| {
            let asked = holds(met.claimed, place) && hit.mode() == Mode::Enforced && armed.limit.has_denied();
            asked.then(|| AddressHit { place, hit: armed.limit.hit(address).cost(hit.asks()) })
        };
        self.rules.iter().zip(hits).enumerate().filter_map(owing).collect()
    }

    /// What is charged to them.
    fn hits<'a>(&'a self, met: &'a Met, parts: &Parts) -> SmallVec<[Hit<'a>; 2]> {
        let mut hits: SmallVec<[Hit<'_>; 2]> = SmallVec::new();
        for (armed, key) in self.rules.iter().zip(met.keys()) {
            let cost = match &armed.rule.cost {
                Cost::Fixed(cost) => *cost,
                Cost::Told(cost) => cost(parts),
            };
            let hit = armed.limit.hit(key).cost(cost);
            hits.push(if armed.rule.mode == Mode::Shadow { hit.shadow() } else { hit });
        }
        hits
    }

    /// What comes of a charge.
    fn told(
        &self,
        receipt: Result<Option<Receipt>, HitError>,
        verdict: Option<&Verdict>,
        (met, costs): (&Met, &Costs),
    ) -> Result<Admission, Box<Answer>> {
        let receipt = receipt.map_err(|error| Box::new(problem::internal(&error.to_string())))?;
        // There always is one; were there none, nobody would know whether it may pass.
        let verdict = verdict.ok_or_else(|| Box::new(problem::internal("no limit has said anything")))?;
        let now = self.decided_at(verdict);
        let told = Degraded::of(Some(verdict), &self.answers);
        if let Kind::Unavailable(_) = verdict.kind() {
            let mut answer = Box::new(refusal::unavailable());
            told.write(&mut answer.headers);
            return Err(answer);
        }
        if !verdict.granted() {
            let lines: SmallVec<[Line<'_>; 2]> = self.lines(verdict, met).collect();
            let quickly = |line: &Line<'_>, armed: &Armed| {
                let ready = armed.ready.get_or_init(|| Ready::new(line.card, &self.answers));
                ready.as_ref()?.answer(line, &self.answers, now)
            };
            let answer = match (&*lines, &*self.rules) {
                ([line], [armed]) => quickly(line, armed),
                _ => None,
            };
            if let Some(mut answer) = answer.or_else(|| refusal::refused(&lines, &self.answers, now)) {
                answer.refused_by = verdict.refused_by();
                told.write(&mut answer.headers);
                return Err(answer);
            }
        }
        let mut entries = SmallVec::new();
        // One after the other: to collect them takes as long as to charge one.
        for (((card, armed), answer), key) in (0..).zip(&self.rules).zip(verdict.answers()).zip(met.keys()) {
            entries.push(Entry {
                card,
                decision: answer.decision(),
                mode: answer.mode(),
                source: answer.source(),
                partition: partition(&armed.card, key, &self.answers),
            });
        }
        let settling = self.settling(met, costs);
        let (told_at, degraded, receipt) = (Some(now), verdict.degraded(), Mutex::new(receipt));
        Ok(Admission { entries, told_at, told, path: None, receipt, settling, degraded, tier: None })
    }

    /// What the response will do with what was charged.
    fn settling(&self, met: &Met, costs: &Costs) -> Settling {
        let mut settling = Settling { claimed: met.claimed, ..Settling::default() };
        let Some(address) = &met.address else { return settling };
        for (place, (armed, cost)) in self.rules.iter().zip(costs).enumerate() {
            if holds(met.claimed, place) {
                let (limit, address) = (armed.limit.clone(), address.clone());
                settling.claims.push(Claim { place, limit, address, cost: *cost, stays: false });
            }
        }
        settling
    }

    /// When it was decided, by the calendar. The time of a shared store is its own, so that there what is told counts from the answer on.
    fn decided_at(&self, verdict: &Verdict) -> Micros {
        match verdict.answers() {
            [first, ..] if !self.waits => self.limiter.calendar(first.at()),
            _ => self.limiter.now(),
        }
    }

    /// What comes of a request where there are no rules.
    fn nothing(&self) -> Admission {
        Admission { told: Degraded::of(None, &self.answers), ..Admission::default() }
    }

    fn lines<'a>(&'a self, verdict: &'a Verdict, met: &'a Met) -> impl Iterator<Item = Line<'a>> {
        // What nothing decided has no numbers to tell.
        let known = self
            .rules
            .iter()
            .zip(verdict.answers())
            .zip(met.keys())
            .filter(|((_, answer), _)| answer.source().has_numbers());
        known.map(|((armed, answer), key)| Line {
            card: &armed.card,
            decision: answer.decision(),
            mode: answer.mode(),
            key,
        })
    }

    /// Writes whose budget it is. Whether that is by the client's word alone.
    fn key(
        &self,
        rule: &Rule,
        parts: &Parts,
        fixed: Option<IpAddr>,
        keys: &mut Vec<u8>,
    ) -> Result<bool, Box<Answer>> {
        match &rule.by.0 {
            Whom::Everyone => {
                push(keys, Part::Everyone, b"");
                return Ok(false);
            }
            Whom::Told(key) => {
                if let Some(key) = key(parts).filter(|key| !key.is_empty()) {
                    push(keys, Part::Consumer, &key);
                    return Ok(false);
                }
            }
            Whom::Header(name) => match header::find(&parts.headers, name) {
                Found::One(value) => {
                    push(keys, Part::Header(name.as_str()), value);
                    return Ok(true);
                }
                Found::Missing | Found::Empty => {}
                Found::Repeated | Found::Malformed => {
                    let why = format!(
                        "the header {name}, which says who is asking, is there twice or too long: send it once"
                    );
                    return Err(Box::new(problem::bad_request(&why)));
                }
            },
            Whom::Address => {}
        }
        let client = self.client(parts, fixed);
        let client = client.ok_or_else(|| Box::new(problem::internal(peer::UNKNOWN)))?;
        push(keys, Part::Address, &client.key_bytes());
        Ok(false)
    }

    /// The client's address, if it is known.
    fn client(&self, parts: &Parts, fixed: Option<IpAddr>) -> Option<Client> {
        let peer = fixed.or_else(|| peer::of(parts))?;
        Some(Client::of(self.proxies.client(peer, &parts.headers).address, &self.prefixes))
    }
}

/// What each hit of a request asks for.
type Costs = SmallVec<[u64; 2]>;

fn costs(hits: &[Hit<'_>]) -> Costs {
    hits.iter().map(Hit::asks).collect()
}
