//! A policy in force, with what its clients are told: a request's head in, a pass or an answer out. No sockets, no bodies.

mod nothing;

use std::sync::OnceLock;

use http::{HeaderName, Method};
use smallvec::SmallVec;
use tollgate::{Gate, Kind, NotAsked, Receipt, Verdict};
use tollgate_algorithms::{Micros, Mode};
use tollgate_policy::model::{Identity, PolicyLimit, StoreFails};
use tollgate_policy::{BadRequest, Budget, Charge, Facts, Hits, LimitId, Matched, Whose};

use crate::answers::Answers;
use crate::asked::{Answer, Asked, Pass};
use crate::card::{Card, Visibility};
use crate::fields::{Degraded, Fields, Line};
use crate::head::{Head, Room};
use crate::later::{Claim, Later, Reported, Settling, holds, only};
use crate::operations::{BodyKind, BodyWanted};
use crate::refusal::{self, Ready};
use crate::{cors, problem};

/// A policy in force, with what its clients are told.
///
/// It does not change, and is shared: a new document, or a new consumers file, makes a new guard on the same limiter. Ask it
/// from any number of threads, each with a [`Room`] of its own.
///
/// ```
/// use std::sync::Arc;
/// use tollgate::{Gate, Limiter};
/// use tollgate_policy::Policy;
/// use tollgate_tower::{Answers, Asked, Guard, Head, Room};
///
/// let policy = Policy::parse("tollgate.yaml", "
/// tollgate: 1
/// rate_limit: { name: reports, algorithm: token_bucket, capacity: 1, refill_rate: 0.1 }
/// routes: [{ path: '/reports/{id}' }]
/// ")?;
/// let guard = Guard::new(Gate::new(Limiter::new()?, Arc::new(policy), None), Answers::default());
///
/// let (uri, mut room) = ("/reports/7".parse()?, Room::default());
/// let head = Head {
///     method: &http::Method::GET,
///     uri: &uri,
///     headers: &http::HeaderMap::new(),
///     peer: "203.0.113.9".parse()?,
///     body_operations: None,
/// };
/// assert!(matches!(guard.ask(&head, &mut room), Asked::Pass(_)));
/// let Asked::Answered(answer) = guard.ask(&head, &mut room) else { panic!("1 of 1 is used up") };
/// assert_eq!((answer.status.as_u16(), &answer.headers["retry-after"]), (429, &http::HeaderValue::from(10)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Guard {
    gate: Gate,
    answers: Answers,
    /// For each set of numbers, the policy's first and then the directory's; `None` where nothing is charged.
    cards: Vec<Option<Card>>,
    /// For each of the policy's, its refusal as far as it can be written down, since it first refused. The directory's have none:
    /// there may be as many as consumers.
    ready: Vec<OnceLock<Option<Box<Ready>>>>,
    /// Whether some of its limits are counted in a shared store.
    waits: bool,
    /// Whether some charge may have to be given back or settled when the response is there.
    settles: bool,
    /// Whether some limit is charged by what a body carries.
    counts_bodies: bool,
    /// Whether some limit is charged by GraphQL operations, which may stand in the query string as well.
    counts_queries: bool,
    /// Every method that an operation names, at most [`nothing::METHODS_MAX`].
    methods: Vec<Method>,
}

/// What came of asking about a request that may pass, beside the verdict.
pub(crate) struct Decided {
    pub(crate) matched: Matched,
    /// When it was decided, by the calendar, if there are numbers to tell.
    pub(crate) told_at: Option<Micros>,
    pub(crate) told: Degraded,
    pub(crate) path: Option<String>,
    pub(crate) receipt: Option<Receipt>,
    pub(crate) degraded: bool,
}

impl Guard {
    /// Puts a policy in front of clients.
    #[must_use]
    pub fn new(gate: Gate, answers: Answers) -> Self {
        let policy = gate.policy();
        let extra = gate.directory().map_or(&[][..], |directory| directory.variants());
        let cards = policy.variants().iter().chain(extra).map(|variant| {
            let limit = policy.limits().get(variant.limit.index())?;
            let visibility = match (limit.visible, variant.budget) {
                (false, _) => Visibility::Hidden,
                (true, Budget::Own) => Visibility::Shown,
                (true, Budget::AddressCeiling | Budget::WideAddress | Budget::WideCeiling) => {
                    Visibility::Named
                }
            };
            let numbers = variant.numbers.limit()?;
            let card = Card::new(&limit.name, &numbers, visibility, limit.description.as_deref());
            Some(card.with_zero_status(limit.zero_status))
        });
        let cards: Vec<_> = cards.collect();
        let ready = policy.variants().iter().map(|_| OnceLock::new()).collect();
        let settles = policy.limits().iter().any(may_settle);
        let mut wanted = policy.limits().iter().filter_map(BodyWanted::of);
        let counts_queries = wanted.any(|wanted| wanted.kind == BodyKind::GraphQl);
        let counts_bodies =
            counts_queries || policy.limits().iter().any(|limit| BodyWanted::of(limit).is_some());
        let methods = nothing::methods(policy);
        let waits = gate.waits();
        Self { gate, answers, cards, ready, waits, settles, counts_bodies, counts_queries, methods }
    }

    /// The policy in force.
    #[must_use]
    pub const fn gate(&self) -> &Gate {
        &self.gate
    }

    /// What clients are told.
    #[must_use]
    pub const fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Whether to ask takes a while: see [`Gate::waits`].
    pub(crate) const fn waits(&self) -> bool {
        self.waits
    }

    /// What clients may know of a set of numbers.
    pub(crate) fn card(&self, variant: usize) -> Option<&Card> {
        self.cards.get(variant)?.as_ref()
    }

    /// Whether some limit of this request's operation is charged by what its body carries, and how much of it to read for that.
    /// A body that is not counted, because it is larger or cannot be read, costs the most.
    pub fn wants_body(&self, head: &Head<'_>, room: &mut Room) -> Option<BodyWanted> {
        if !self.counts_bodies {
            return None;
        }
        let policy = self.gate.policy();
        // What is wrong with it is said when it is asked.
        let told = (Micros::ZERO, false);
        let facts = head.facts(policy, told, (&mut room.target, &mut room.scratch)).ok()?;
        let limits = policy.limits_of(policy.matched(&facts)).iter();
        let wanted = limits.filter_map(|id| BodyWanted::of(policy.limits().get(id.index())?));
        wanted.reduce(BodyWanted::and)
    }

    /// Decides a request, and charges it.
    pub fn ask(&self, head: &Head<'_>, room: &mut Room) -> Asked {
        let decided = self.decide(head, room, |charges| self.may_settle(charges));
        self.asked(decided, room)
    }

    /// As [`ask`](Self::ask), where some limits are counted in a shared store: see [`Gate::waits`].
    pub async fn ask_async(&self, head: &Head<'_>, room: &mut Room) -> Asked {
        let decided = self.decide_async(head, room, |charges| self.may_settle(charges)).await;
        self.asked(decided, room)
    }

    /// Whether the response may have to say something about one of these charges.
    fn may_settle(&self, charges: &[Charge]) -> bool {
        let settles = |charge: &Charge| charge.whose == Whose::Claimed || self.reported(charge).is_some();
        self.settles && charges.iter().any(settles)
    }

    #[inline]
    fn asked(&self, decided: Result<Decided, Box<Answer>>, room: &Room) -> Asked {
        let Decided { matched, told_at, told, path, receipt, degraded } = match decided {
            Ok(decided) => decided,
            Err(answer) => return Asked::Answered(answer),
        };
        let fields = |without: u32| {
            let mut fields = match (&room.verdict, told_at) {
                (Some(verdict), Some(now)) => {
                    Fields::of(self.lines(verdict, &room.hits, without), &self.answers, now)
                }
                (None, _) | (_, None) => Fields::default(),
            };
            fields.tell(told);
            fields
        };
        let later = receipt.map(|receipt| {
            let settling = self.settling(&room.hits);
            // Only where something is left to tell by a response that gives those charges back.
            let others = settling.claimed.count_ones() as usize != room.hits.charges().len();
            let unclaimed = settling.claimed != 0 && (others || told != Degraded::Untold);
            let unclaimed = unclaimed.then(|| Box::new(fields(settling.claimed)));
            Later { limiter: self.gate.limiter().clone(), receipt, settling, unclaimed }
        });
        let fields = fields(0);
        Asked::Pass(Pass { matched, fields, path, later, degraded })
    }

    /// Decides a request, and charges it; with a receipt, if one is wanted. The verdict is left in the room: it is large, and
    /// few look at it.
    pub(crate) fn decide(
        &self,
        head: &Head<'_>,
        room: &mut Room,
        wanted: impl FnOnce(&[Charge]) -> bool,
    ) -> Result<Decided, Box<Answer>> {
        self.charge(head, room, wanted).map_err(|answer| self.readable(head, answer))
    }

    /// As [`decide`](Self::decide), where to ask takes a while.
    pub(crate) async fn decide_async(
        &self,
        head: &Head<'_>,
        room: &mut Room,
        wanted: impl FnOnce(&[Charge]) -> bool,
    ) -> Result<Decided, Box<Answer>> {
        self.charge_async(head, room, wanted).await.map_err(|answer| self.readable(head, answer))
    }

    /// An answer that scripts in browsers can read, as far as the policy says so.
    fn readable(&self, head: &Head<'_>, mut answer: Box<Answer>) -> Box<Answer> {
        if let Some(cors) = &self.gate.policy().settings().cors {
            cors::write(cors, head.headers, &mut answer.headers);
        }
        answer
    }

    fn charge(
        &self,
        head: &Head<'_>,
        room: &mut Room,
        wanted: impl FnOnce(&[Charge]) -> bool,
    ) -> Result<Decided, Box<Answer>> {
        let now = self.gate.limiter().now();
        let Room { target, scratch, hits, verdict } = room;
        *verdict = None;
        let told = (now, self.counts_queries);
        let facts = head.facts(self.gate.policy(), told, (target, scratch)).map_err(|error| bad(&error))?;
        let matched = self.meet(&facts, hits)?;
        let receipt = self.gate.charge_into(hits, wanted, verdict).map_err(|error| wrong(&error))?;
        self.decided((head, &facts), (matched, receipt), (hits, verdict.as_ref()))
    }

    async fn charge_async(
        &self,
        head: &Head<'_>,
        room: &mut Room,
        wanted: impl FnOnce(&[Charge]) -> bool,
    ) -> Result<Decided, Box<Answer>> {
        let now = self.gate.limiter().now();
        let Room { target, scratch, hits, verdict } = room;
        *verdict = None;
        let told = (now, self.counts_queries);
        let facts = head.facts(self.gate.policy(), told, (target, scratch)).map_err(|error| bad(&error))?;
        let matched = self.meet(&facts, hits)?;
        let charged = self.gate.charge_async(hits, wanted).await.map_err(|error| wrong(&error))?;
        let receipt;
        (*verdict, receipt) = charged;
        // Later, because what is told counts from the answer on.
        let facts = Facts { now: self.gate.limiter().now(), ..facts };
        self.decided((head, &facts), (matched, receipt), (hits, verdict.as_ref()))
    }

    fn meet(&self, facts: &Facts<'_>, hits: &mut Hits) -> Result<Matched, Box<Answer>> {
        match self.gate.meet(facts, hits) {
            Ok(Matched::Unmatched { other_methods }) => Err(Box::new(self.nothing(facts, other_methods))),
            Ok(matched) => Ok(matched),
            Err(error) => Err(wrong(&error)),
        }
    }

    /// What comes of a charge.
    #[inline]
    fn decided(
        &self,
        (head, facts): (&Head<'_>, &Facts<'_>),
        (matched, receipt): (Matched, Option<Receipt>),
        (hits, verdict): (&Hits, Option<&Verdict>),
    ) -> Result<Decided, Box<Answer>> {
        let (mut told_at, mut degraded) = (None, false);
        let told = Degraded::of(verdict, &self.answers);
        if let Some(verdict) = verdict {
            degraded = verdict.degraded();
            if verdict.granted() {
                told_at = Some(facts.now);
            } else if let Some(mut answer) = self.refused(verdict, hits, facts.now) {
                answer.matched = Some(matched);
                told.write(&mut answer.headers);
                return Err(answer);
            }
        }
        Ok(Decided { matched, told_at, told, path: head.other_path(facts), receipt, degraded })
    }

    /// What each limit says, but for a set of charges.
    fn lines<'a>(
        &'a self,
        verdict: &'a Verdict,
        hits: &'a Hits,
        without: u32,
    ) -> impl Iterator<Item = Line<'a>> {
        let both = hits.charges().iter().zip(verdict.answers()).enumerate();
        both.filter_map(move |(place, (charge, answer))| {
            // What nothing decided has no numbers to tell.
            let known = answer.source().has_numbers() && !holds(without, place);
            let card = self.card(charge.variant.index()).filter(|_| known)?;
            Some(Line { card, decision: answer.decision(), mode: answer.mode(), key: hits.key(charge) })
        })
    }

    /// What is answered to a request that was not granted; `None` if it may pass all the same.
    fn refused(&self, verdict: &Verdict, hits: &Hits, now: Micros) -> Option<Box<Answer>> {
        if let Kind::Unavailable(_) = verdict.kind() {
            let limit = |id: LimitId| self.gate.policy().limits().get(id.index());
            let mut enforced = hits.charges().iter().filter(|charge| charge.mode == Mode::Enforced);
            let allows = |id| limit(id).is_some_and(|limit| limit.when_store_fails == StoreFails::Allow);
            return (!enforced.all(|charge| allows(charge.limit))).then(|| Box::new(refusal::unavailable()));
        }
        let lines: SmallVec<[Line<'_>; 2]> = self.lines(verdict, hits, 0).collect();
        let quickly = |line: &Line<'_>, charge: &Charge| {
            let ready = self.ready.get(charge.variant.index())?;
            ready.get_or_init(|| Ready::new(line.card, &self.answers)).as_ref()?.answer(
                line,
                &self.answers,
                now,
            )
        };
        let answer = match (&*lines, hits.charges()) {
            ([line], [charge]) => quickly(line, charge),
            _ => None,
        };
        let mut answer = answer.or_else(|| refusal::refused(&lines, &self.answers, now))?;
        let refused_by = verdict.refused_by().and_then(|place| hits.charges().get(place));
        answer.refused_by = refused_by.map(|charge| charge.limit.index());
        Some(answer)
    }

    /// Where the response says what a charge really costs.
    fn reported(&self, charge: &Charge) -> Option<(&HeaderName, u64)> {
        self.gate.policy().limits().get(charge.limit.index())?.reported_in()
    }

    /// What the response will do with what was charged.
    pub(crate) fn settling(&self, hits: &Hits) -> Settling {
        let mut settling = Settling::default();
        for (place, charge) in hits.charges().iter().enumerate() {
            if charge.whose == Whose::Claimed {
                settling.claimed |= only(place);
                settling.claims.extend(Claim::of(&self.gate, hits, place));
            }
            let Some((header, max)) = self.reported(charge) else { continue };
            match settling.reported.last_mut().filter(|last| last.limit == charge.limit) {
                // A limit's charges stand together: its own, and wider ones.
                Some(last) => last.charges |= only(place),
                None => {
                    let charges = only(place);
                    settling.reported.push(Reported {
                        limit: charge.limit,
                        charges,
                        header: header.clone(),
                        max,
                    });
                }
            }
        }
        settling
    }
}

fn bad(error: &BadRequest) -> Box<Answer> {
    Box::new(problem::wrong_request(error))
}

fn wrong(error: &NotAsked) -> Box<Answer> {
    match error {
        NotAsked::BadRequest(error) => bad(error),
        NotAsked::Hit(error) => Box::new(problem::internal(&error.to_string())),
    }
}

/// Whether a response may have to say something about a limit's charges.
fn may_settle(limit: &PolicyLimit) -> bool {
    let claimed = |identity: &Identity| match identity {
        Identity::ApiKey
        | Identity::Header(_)
        | Identity::Cookie(_)
        | Identity::Query(_)
        | Identity::JwtUnverified(_) => true,
        Identity::Address
        | Identity::Jwt(_)
        | Identity::Consumer
        | Identity::Organisation
        | Identity::Everyone => false,
    };
    limit.reported_in().is_some() || limit.key.chain.iter().flatten().any(claimed)
}
