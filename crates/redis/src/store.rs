//! The store: takes a command, and returns decisions within the time budget. The caller handles failures.

mod groups;
mod shares;

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use smallvec::SmallVec;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tollgate_algorithms::{Decision, Limit, Mode, Receipt};

use crate::link_error::cut;
use crate::refusal_cache::{CacheAction, InFlightCharge, InFlightQuery, RefusalCache, Turn};
use crate::servers::Servers;
pub use groups::{GroupsCharge, InGroups};

use crate::{Address, Command, Health, Hit, LinkError, OpenError, Reply, Settings, StoreError, Value};

/// The state of limits on one Redis or Valkey server, for several processes. Cheap to clone; clones refer to the same store.
#[derive(Clone, Debug)]
pub struct Store {
    servers: Servers,
    remembered: Arc<RefusalCache>,
    /// Permits for charges that wait for another caller's query: as many as calls may be in flight.
    waiting: Arc<Semaphore>,
    /// What was wrong with the last reply without a decision.
    no_decision: Arc<Mutex<Option<Box<str>>>>,
    runtime: Handle,
    budget: Duration,
}

/// The decisions of hits with cached refusals.
type Refused = SmallVec<[Option<Decision>; 2]>;

/// The turn to query the server about some keys.
type Turns<'a> = SmallVec<[Turn<'a>; 1]>;

/// How many time budgets a blocked thread waits: one charge, and what it may take to refund another.
const BUDGETS_BLOCKED: u32 = 4;

/// A caller waits for another's query for this part of the time budget, and then queries the server itself. A query with little
/// time left would fail; this way, a server that replies within three quarters of the budget never seems to fail.
const PATIENCE: u32 = 4;

/// Maximum length of the message about a reply without a decision; longer ones are truncated.
const SENTENCE_BYTES_MAX: usize = 500;

/// The result of a [charge](Store::charge).
#[derive(Debug)]
pub enum ChargeResult {
    /// The server decided.
    Asked(Reply),
    /// Cached refusals decided: some hits are refused, and so is the batch. One decision per hit, in order; `None` for hits
    /// without a cached one.
    Remembered(SmallVec<[Option<Decision>; 2]>),
    /// The hits are in several slots of a cluster, which decided one after the other.
    InGroups(InGroups),
}

impl Store {
    /// Opens a store within a Tokio runtime, in which its connections live. It succeeds whether or not
    /// the server is reachable. The runtime must run as long as the store is used.
    ///
    /// # Errors
    /// If there is no runtime, a setting is out of range, a file is invalid, or TLS is misconfigured. Never because of the server.
    pub fn open(address: Address, settings: Settings) -> Result<Self, OpenError> {
        let runtime = Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        let budget = settings.budget;
        let remembered = Arc::new(RefusalCache::new(budget / PATIENCE));
        let in_flight_max = settings.in_flight_max;
        let servers = Servers::open(address, settings)?;
        let waiting = Arc::new(Semaphore::new(in_flight_max));
        Ok(Self { servers, remembered, waiting, no_decision: Arc::default(), runtime, budget })
    }

    /// Announces that limits of this kind will be charged. Their scripts then run on each new connection before other calls, on
    /// unused keys, so that no caller waits for the server to compile them.
    pub fn expect(&self, limit: &Limit) {
        self.servers.expect(limit);
    }

    /// Waits until the store can decide the [expected](Self::expect) limits, or has failed, for at most
    /// [`Settings::connect_timeout`]. Call this once, after the calls of `expect` and before the first request.
    pub async fn ready(&self) {
        self.servers.ready().await;
    }

    /// Runs a command within the link's time budget.
    ///
    /// # Errors
    /// If there is no decision, which is neither a grant nor a refusal. [`StoreError::may_have_run`] says whether something
    /// may have been charged nevertheless.
    pub async fn ask(&self, ask: &Command<'_>) -> Result<Reply, StoreError> {
        if let Command::Peek(hits) = ask
            && let Some(groups) = self.several_groups(hits)
        {
            return self.peek_groups(hits, &groups).await;
        }
        self.ask_with_value(ask).await.map(|(reply, _)| reply)
    }

    /// Gives back a part of a charge: see [`Command::Refund`]. Returns how much came back, in units of cost: never more than `part`
    /// still weighed, and nothing if the receipt is void.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn refund(&self, hit: &Hit<'_>, receipt: &Receipt, part: u64) -> Result<u64, StoreError> {
        let ask = Command::Refund(*hit, receipt, part);
        self.ask_with_value(&ask).await.map(|(_, value)| Reply::refunded(&ask, &value))
    }

    /// As [`ask`](Self::ask), with what the server said.
    async fn ask_with_value(&self, ask: &Command<'_>) -> Result<(Reply, Value), StoreError> {
        let reply = self.carry(ask, &[], Instant::now() + self.budget).await;
        match ask {
            Command::Reset(name) => self.remembered.forget(name),
            // A cost after the fact may have drained the key by other numbers than those it comes with.
            Command::Refund(hit, ..) | Command::Settle(hit) => self.remembered.forget(hit.name),
            Command::Charge(_) | Command::Peek(_) | Command::UpTo(_) => {}
        }
        reply
    }

    /// Runs a command, and caches its result for the hits at these positions.
    async fn carry(
        &self,
        ask: &Command<'_>,
        keys: &[(usize, &Hit<'_>)],
        end: Instant,
    ) -> Result<(Reply, Value), StoreError> {
        let charges = match ask {
            Command::Charge(hits) => hits,
            Command::UpTo(hit) | Command::Settle(hit) => std::slice::from_ref(hit),
            Command::Peek(_) | Command::Refund(..) | Command::Reset(_) => &[],
        };
        let on_its_way = InFlightCharge::new(&self.remembered, charges);
        let value = self.servers.carry(&ask.call(), end).await.map_err(StoreError::Link);
        let read = value.and_then(|value| Reply::read(ask, &value).map(|reply| (reply, value)));
        match &read {
            Ok((reply, value)) => on_its_way.answered(keys, reply, value),
            Err(error) => on_its_way.failed(error),
        }
        self.counted(read)
    }

    /// Counts the result of a command. A reply without a decision needs an operator's attention.
    pub(super) fn counted<T>(&self, ended: Result<T, StoreError>) -> Result<T, StoreError> {
        self.servers.count(ended.as_ref().err().map(StoreError::cause));
        if let Err(error @ (StoreError::Foreign(_) | StoreError::ForeignKind(_) | StoreError::Disagrees(_))) =
            &ended
        {
            let sentence = cut(&error.to_string(), SENTENCE_BYTES_MAX);
            *self.no_decision.lock().unwrap_or_else(PoisonError::into_inner) = Some(sentence);
        }
        ended
    }

    /// Runs [`Command::Charge`] with the refusal cache. `non_refundable` marks the hits, in order, on keys on which no process ever gives
    /// anything back: refusals of such hits are cached while they hold, and the server is not called.
    ///
    /// Only enforced hits are cached, for at most [`REMEMBERED_MAX`](crate::REMEMBERED_MAX). When an entry expires,
    /// one caller queries the server and the others wait for its result, for at most a quarter of their time budget.
    ///
    /// # Errors
    /// Like [`ask`](Self::ask).
    pub async fn charge(
        &self,
        hits: &[Hit<'_>],
        non_refundable: &[bool],
    ) -> Result<ChargeResult, StoreError> {
        if let Some(refused) = self.remembered(hits, non_refundable) {
            return Ok(ChargeResult::Remembered(refused));
        }
        self.charge_not_remembered(hits, non_refundable).await
    }

    /// As [`charge`](Self::charge), for callers that have just learned from [`remembered`](Self::remembered) that no hit is
    /// remembered as refused: it is not looked up again.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn charge_not_remembered(
        &self,
        hits: &[Hit<'_>],
        non_refundable: &[bool],
    ) -> Result<ChargeResult, StoreError> {
        if let Some(groups) = self.several_groups(hits) {
            return Ok(self.charge_groups(hits, &groups).await);
        }
        let keys: SmallVec<[(usize, &Hit<'_>); 4]> = lasting(hits, non_refundable).collect();
        if keys.is_empty() {
            return self.ask(&Command::Charge(hits)).await.map(ChargeResult::Asked);
        }
        let end = Instant::now() + self.budget;
        let turns = match self.turns(&keys, end, || self.remembered(hits, non_refundable)).await {
            Ok(Ok(turns)) => turns,
            Ok(Err(refused)) => return Ok(ChargeResult::Remembered(refused)),
            // Nothing was sent for this charge, and so nobody else counts it.
            Err(error) => return self.counted(Err(StoreError::Link(error))),
        };
        self.remembered.begin();
        let charged = self.carry(&Command::Charge(hits), &keys, end).await;
        let error = match &charged {
            Err(StoreError::Link(error)) => Some(error),
            // What is wrong with one key does not concern those who wait for another.
            Err(StoreError::Disagrees(_) | StoreError::Foreign(_) | StoreError::ForeignKind(_)) | Ok(_) => {
                None
            }
        };
        turns.into_iter().for_each(|turn| turn.end(error));
        charged.map(|(reply, _)| ChargeResult::Asked(reply))
    }

    /// Waits for the turns to ask about these keys, unless what others are told settles it.
    ///
    /// # Errors
    /// When too many wait already, or when another's question ended in an error of the server.
    async fn turns(
        &self,
        keys: &[(usize, &Hit<'_>)],
        end: Instant,
        refused: impl Fn() -> Option<Refused>,
    ) -> Result<Result<Turns<'_>, Refused>, LinkError> {
        let mut place = None;
        let latest = end - (self.budget - self.budget / PATIENCE);
        loop {
            let now = Instant::now();
            let asking = match self.next(keys, now) {
                Ok(turns) => return Ok(Ok(turns)),
                // It has waited for long enough, and asks beside those who have the turns.
                Err(_) if now >= latest => return Ok(Ok(Turns::new())),
                Err(asking) => asking,
            };
            if place.is_none() {
                place = Some(self.waiting.try_acquire().map_err(|_| LinkError::TooManyInFlight)?);
            }
            asking.ended(latest).await?;
            if let Some(refused) = refused() {
                return Ok(Err(refused));
            }
        }
    }

    /// The decisions of hits if one of them has a cached refusal: see [`charge`](Self::charge). `None` if none has.
    #[must_use]
    pub fn remembered(
        &self,
        hits: &[Hit<'_>],
        non_refundable: &[bool],
    ) -> Option<SmallVec<[Option<Decision>; 2]>> {
        let now = Instant::now();
        let mut said: SmallVec<[Option<Decision>; 2]> = SmallVec::new();
        for (place, hit) in lasting(hits, non_refundable) {
            if let Some(decision) = self.remembered.refused(hit, now) {
                said.resize(hits.len(), None);
                said.get_mut(place)?.replace(decision);
            }
        }
        if said.is_empty() {
            return None;
        }
        self.remembered.tell();
        Some(said)
    }

    /// The turns to ask about these keys, or the one whose answer is to be waited for. What is refused has been told before;
    /// if that has changed just now, the server says it too.
    fn next(&self, keys: &[(usize, &Hit<'_>)], now: Instant) -> Result<Turns<'_>, Arc<InFlightQuery>> {
        let mut turns = SmallVec::new();
        for (_, hit) in keys {
            // Several hits may be on one key.
            if turns.iter().any(|turn: &Turn<'_>| turn.is_of(hit.name)) {
                continue;
            }
            match self.remembered.next(hit, now) {
                // Nobody waits with a turn of another key in hand: two could wait for each other.
                CacheAction::Wait(asking) => return Err(asking),
                CacheAction::AskAlone(turn) => turns.push(turn),
                CacheAction::Refuse | CacheAction::Ask => {}
            }
        }
        Ok(turns)
    }

    /// Number of charges refused by the [cache](Self::charge).
    #[must_use]
    pub fn refused_from_memory(&self) -> u64 {
        self.remembered.told()
    }

    /// Returns true if [`block_on`](Self::block_on) may block this thread: it does not belong to a Tokio runtime.
    #[must_use]
    pub fn may_block(&self) -> bool {
        Handle::try_current().is_err()
    }

    /// Runs a future of this store on a thread outside any runtime, and blocks the thread. Returns `None` at once if it
    /// [must not block](Self::may_block), or after a few time budgets, which happens if nothing drives the
    /// store's runtime.
    pub fn block_on<T>(&self, asking: impl Future<Output = T>) -> Option<T> {
        if !self.may_block() {
            return None;
        }
        // Timers are those of the runtime, which runs elsewhere.
        let _entered = self.runtime.enter();
        let end = Instant::now() + self.budget.saturating_mul(BUDGETS_BLOCKED);
        let mut asking = pin!(asking);
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(done) = asking.as_mut().poll(&mut context) {
                return Some(done);
            }
            let left = end.checked_duration_since(Instant::now())?;
            thread::park_timeout(left);
        }
    }

    /// Spawns a future of this store in its runtime. It completes whether or not anybody awaits it. `None` if the runtime ends first.
    pub fn spawn<F, T>(&self, asking: F) -> impl Future<Output = Option<T>> + Send + use<F, T>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let task = self.runtime.spawn(asking);
        async move { task.await.ok() }
    }

    /// The health of each node of a cluster, by its address. Empty for a single server.
    #[must_use]
    pub fn nodes(&self) -> Vec<(String, Health)> {
        self.servers.nodes()
    }

    /// The health of the link, and of its replies.
    #[must_use]
    pub fn health(&self) -> Health {
        let no_decision = self.no_decision.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Health { no_decision, ..self.servers.health() }
    }
}

/// The enforced hits of which nothing is given back, with their places.
fn lasting<'a>(hits: &'a [Hit<'a>], non_refundable: &[bool]) -> impl Iterator<Item = (usize, &'a Hit<'a>)> {
    let flagged = hits.iter().enumerate().zip(non_refundable);
    flagged
        .filter(|((_, hit), non_refundable)| **non_refundable && hit.mode == Mode::Enforced)
        .map(|(hit, _)| hit)
}

/// Wakes a blocked thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
