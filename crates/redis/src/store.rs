//! The store: a question in, the core's decisions out, within the link's budget. What is done when it fails is the caller's.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use smallvec::SmallVec;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tollgate_algorithms::{Decision, Limit, Mode};

use crate::link_error::cut;
use crate::remembered::{Asking, Next, OnItsWay, Remembered, Turn};
use crate::{Address, Ask, Health, Hit, Link, LinkError, OpenError, Reply, Settings, StoreError};

/// Budgets that several processes share, on one Redis or Valkey server. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct Store {
    link: Link,
    remembered: Arc<Remembered>,
    /// One for each charge that may wait for another's answer: as many as calls may be in flight.
    waiting: Arc<Semaphore>,
    /// What was wrong with the last answer that was no decision.
    no_decision: Arc<Mutex<Option<Box<str>>>>,
    runtime: Handle,
    budget: Duration,
}

/// What is said to hits that are remembered as refused.
type Refused = SmallVec<[Option<Decision>; 2]>;

/// The right to ask about some keys.
type Turns<'a> = SmallVec<[Turn<'a>; 1]>;

/// A blocked thread waits for so many budgets: a charge, and what it may take to give back another.
const BUDGETS_BLOCKED: u32 = 4;

/// Who waits for another's answer does so for this part of the budget, and then asks: a server that is asked with little time left
/// would seem to fail. So one that answers within three quarters of a budget never does, though it was faster until now.
const PATIENCE: u32 = 4;

/// How many bytes of the sentence about an answer that is no decision are kept. What is longer is cut.
const SENTENCE_BYTES_MAX: usize = 500;

/// What came of a [charge](Store::charge).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Charged {
    /// The server was asked.
    Asked(Reply),
    /// It was not: some hits are remembered as refused, so that all are. One for each hit, in their order; `None` for those
    /// about which nothing is known.
    Remembered(SmallVec<[Option<Decision>; 2]>),
}

impl Store {
    /// A store at an address. It must be opened within a tokio runtime, in which its connections live; it opens whether or not
    /// there is a server. The runtime has to run as long as the store is used.
    ///
    /// # Errors
    /// When there is no runtime, a setting is out of range, a file cannot be used, or TLS has nothing to go by. Never because of the server.
    pub fn open(address: Address, settings: Settings) -> Result<Self, OpenError> {
        let runtime = Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        let budget = settings.budget;
        let remembered = Arc::new(Remembered::new(budget / PATIENCE));
        let in_flight_max = settings.in_flight_max;
        let link = Link::open(address, settings)?;
        let waiting = Arc::new(Semaphore::new(in_flight_max));
        Ok(Self { link, remembered, waiting, no_decision: Arc::default(), runtime, budget })
    }

    /// Says that limits like this one will be charged. Their scripts are then run on each new connection before calls go to it, on
    /// keys of no budget, so that no caller waits for a server that has to compile them.
    pub fn expect(&self, limit: &Limit) {
        self.link.expect(limit);
    }

    /// Waits until the store can decide what is [expected](Self::expect), or it is known why it cannot; for at most
    /// [`Settings::connect_timeout`]. To be called once, after everything that is expected and before the first request.
    pub async fn ready(&self) {
        self.link.ready().await;
    }

    /// Asks, and never takes longer than the link's budget.
    ///
    /// # Errors
    /// When there is no decision: that is neither a grant nor a refusal. [`StoreError::may_have_run`] says whether something
    /// may have been charged all the same.
    pub async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, StoreError> {
        let reply = self.carry(ask, &[], Instant::now() + self.budget).await;
        match ask {
            Ask::Reset(name) => self.remembered.forget(name),
            // A cost after the fact may have drained the key by other numbers than those it comes with.
            Ask::Refund(hit, ..) | Ask::Settle(hit) => self.remembered.forget(hit.name),
            Ask::Charge(_) | Ask::Peek(_) | Ask::UpTo(_) => {}
        }
        reply
    }

    /// Asks, and remembers what is said of these hits, which are at these places.
    async fn carry(
        &self,
        ask: &Ask<'_>,
        keys: &[(usize, &Hit<'_>)],
        end: Instant,
    ) -> Result<Reply, StoreError> {
        let charges = match ask {
            Ask::Charge(hits) => hits,
            Ask::UpTo(hit) | Ask::Settle(hit) => std::slice::from_ref(hit),
            Ask::Peek(_) | Ask::Refund(..) | Ask::Reset(_) => &[],
        };
        let on_its_way = OnItsWay::new(&self.remembered, charges);
        let value = self.link.carry(&ask.call(), end).await.map_err(StoreError::Link);
        let read = value.and_then(|value| Reply::read(ask, &value).map(|reply| (reply, value)));
        match &read {
            Ok((reply, value)) => on_its_way.answered(keys, reply, value),
            Err(error) => on_its_way.failed(error),
        }
        self.counted(read).map(|(reply, _)| reply)
    }

    /// Counts how a question ended. An answer that is no decision is one that somebody has to look into.
    fn counted<T>(&self, ended: Result<T, StoreError>) -> Result<T, StoreError> {
        self.link.count(ended.as_ref().err().map(StoreError::cause));
        if let Err(error @ (StoreError::Foreign(_) | StoreError::ForeignKind(_) | StoreError::Disagrees(_))) =
            &ended
        {
            let sentence = cut(&error.to_string(), SENTENCE_BYTES_MAX);
            *self.no_decision.lock().unwrap_or_else(PoisonError::into_inner) = Some(sentence);
        }
        ended
    }

    /// As [`Ask::Charge`], where some hits are on keys of which nothing is ever given back, by no process: a refusal of such
    /// a hit is remembered for as long as it must hold, and the server is not asked meanwhile. `for_good` says which, in the order
    /// of the hits.
    ///
    /// Only enforced hits are remembered, and for at most [`REMEMBERED_MAX`](crate::REMEMBERED_MAX). When a refusal has had its
    /// time, one caller asks and the others wait for what it is told: for a quarter of their budget at most, and then they ask too.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn charge(&self, hits: &[Hit<'_>], for_good: &[bool]) -> Result<Charged, StoreError> {
        if let Some(refused) = self.remembered(hits, for_good) {
            return Ok(Charged::Remembered(refused));
        }
        self.charge_not_remembered(hits, for_good).await
    }

    /// As [`charge`](Self::charge), for callers that have just learned from [`remembered`](Self::remembered) that no hit is
    /// remembered as refused: it is not looked up again.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn charge_not_remembered(
        &self,
        hits: &[Hit<'_>],
        for_good: &[bool],
    ) -> Result<Charged, StoreError> {
        let keys: SmallVec<[(usize, &Hit<'_>); 4]> = lasting(hits, for_good).collect();
        if keys.is_empty() {
            return self.ask(&Ask::Charge(hits)).await.map(Charged::Asked);
        }
        let end = Instant::now() + self.budget;
        let turns = match self.turns(&keys, end, || self.remembered(hits, for_good)).await {
            Ok(Ok(turns)) => turns,
            Ok(Err(refused)) => return Ok(Charged::Remembered(refused)),
            // Nothing was sent for this charge, and so nobody else counts it.
            Err(error) => return self.counted(Err(StoreError::Link(error))),
        };
        self.remembered.begin();
        let charged = self.carry(&Ask::Charge(hits), &keys, end).await;
        let error = match &charged {
            Err(StoreError::Link(error)) => Some(error),
            // What is wrong with one key does not concern those who wait for another.
            Err(StoreError::Disagrees(_) | StoreError::Foreign(_) | StoreError::ForeignKind(_)) | Ok(_) => {
                None
            }
        };
        turns.into_iter().for_each(|turn| turn.end(error));
        charged.map(Charged::Asked)
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

    /// What is said to hits of which one is remembered as refused: see [`charge`](Self::charge). `None` if none is.
    #[must_use]
    pub fn remembered(&self, hits: &[Hit<'_>], for_good: &[bool]) -> Option<SmallVec<[Option<Decision>; 2]>> {
        let now = Instant::now();
        let mut said: SmallVec<[Option<Decision>; 2]> = SmallVec::new();
        for (place, hit) in lasting(hits, for_good) {
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
    fn next(&self, keys: &[(usize, &Hit<'_>)], now: Instant) -> Result<Turns<'_>, Arc<Asking>> {
        let mut turns = SmallVec::new();
        for (_, hit) in keys {
            // Several hits may be on one key.
            if turns.iter().any(|turn: &Turn<'_>| turn.is_of(hit.name)) {
                continue;
            }
            match self.remembered.next(hit, now) {
                // Nobody waits with a turn of another key in hand: two could wait for each other.
                Next::Wait(asking) => return Err(asking),
                Next::AskAlone(turn) => turns.push(turn),
                Next::Refuse | Next::Ask => {}
            }
        }
        Ok(turns)
    }

    /// How many charges were refused because that was [remembered](Self::charge).
    #[must_use]
    pub fn refused_from_memory(&self) -> u64 {
        self.remembered.told()
    }

    /// Whether [`block_on`](Self::block_on) may block this thread: it is no thread of a Tokio runtime, and has not entered one.
    #[must_use]
    pub fn may_block(&self) -> bool {
        Handle::try_current().is_err()
    }

    /// Runs a call to this store on a thread outside of any runtime, and blocks it. `None`, at once, if it
    /// [must not](Self::may_block); `None` also if it takes longer than a few time budgets, which happens when nothing runs the
    /// store's runtime meanwhile.
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

    /// Runs what asks this store in its runtime. It is done whether or not anybody waits for it.
    pub fn spawn<F>(&self, asking: F) -> impl Future<Output = ()> + Send + use<F>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let task = self.runtime.spawn(asking);
        async move {
            // It ends badly only if the runtime ends.
            let _ = task.await;
        }
    }

    /// How the link is doing, and what its answers are worth.
    #[must_use]
    pub fn health(&self) -> Health {
        let no_decision = self.no_decision.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Health { no_decision, ..self.link.health() }
    }
}

/// The enforced hits of which nothing is given back, with their places.
fn lasting<'a>(hits: &'a [Hit<'a>], for_good: &[bool]) -> impl Iterator<Item = (usize, &'a Hit<'a>)> {
    let flagged = hits.iter().enumerate().zip(for_good);
    flagged.filter(|((_, hit), for_good)| **for_good && hit.mode == Mode::Enforced).map(|(hit, _)| hit)
}

/// Wakes a blocked thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
