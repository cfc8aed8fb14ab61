//! The client of one server: takes calls, and returns replies or named errors within a time budget.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use smallvec::{SmallVec, smallvec};
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tollgate_algorithms::Limit;

use crate::breaker::Breaker;
use crate::connect::Connector;
use crate::health::Counts;
use crate::link_state::LinkState;
use crate::recent::Recent;
use crate::reconnect::{ConnectionSlot, State, keep, seed};
use crate::resp::ScriptForm;
use crate::shared::LinkInner;
use crate::shared_breaker::SharedBreaker;
use crate::warm_up::{WarmUp, own_name};
use crate::{Address, Call, Cause, Health, LinkError, Script, Settings, StateKind, Value, Writes};

/// A link to one Redis or Valkey server. Cheap to clone; clones share everything, and any thread may use them.
///
/// It opens at once, whether or not there is a server, and connects in the background: calls in the meantime end in
/// [`LinkError::Unreachable`], or wait for the very first try within their budget. A lost connection is made anew, after
/// waits that grow, with the host's name looked up each time. When the last clone is dropped, the connections are closed.
///
/// - A call takes at most [`Settings::budget`], by the timers of its caller's runtime (which count in milliseconds).
/// - At most [`Settings::in_flight_max`] calls are in flight; one more ends at once. So memory is bounded whatever happens.
/// - A call that [`writes`](Call::writes) is sent at most once. If it ends in an error,
///   [`LinkError::may_have_run`] says whether the server may have done what was asked; "no" is certain.
/// - A server that does not know a script gets its text within the same call: it has run nothing, so nothing is doubled.
/// - When the server fails [`Settings::breaker_failures`] times in a row, calls end at once in [`LinkError::Open`], until one
///   call at a time finds it serving again: one for which it [wrote](Writes), since a server that takes no writes does not
///   serve. If there are no calls, or they are answered and nothing is written, the link asks by itself: it sets a key of its own for
///   a moment.
///
/// ```
/// use std::sync::LazyLock;
/// use tollgate_redis::{Call, Link, Script, Settings, StateKind, Value, Writes};
///
/// static HELLO: LazyLock<Script> = LazyLock::new(|| Script {
///     text: "return 'hello'".into(),
///     digest: "1b936e3fe509bcbc9cd0664897bbe8fd0cac101b".into(),
/// });
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// runtime.block_on(async {
///     let link = Link::open("unix:///nowhere/redis.sock".parse()?, Settings::default())?;
///     let call = Call { script: &HELLO, names: Default::default(), arguments: Default::default(), writes: Writes::Nothing };
///     let error = link.call(&call).await.unwrap_err();
///     assert_eq!((error.name(), error.may_have_run()), ("refused", false));
///     Ok(())
/// })
/// # }
/// ```
///
/// A user of the server needs the rights to `EVALSHA`, `EVAL` and `SET` on keys that begin with [`LAYOUT`](crate::LAYOUT),
/// what the scripts call, and `SELECT` if the address names a database. `AUTH` needs no right. `CLIENT SETNAME` and `PING` are sent
/// with every new connection, and `PING` when a connection was idle for [`Settings::ping_after`]; both may be refused.
#[derive(Clone)]
pub struct Link(Arc<Owner>);

/// Stops the tasks when the last link goes.
struct Owner {
    shared: Arc<LinkInner>,
    tasks: Vec<AbortHandle>,
}

/// Why a link could not be opened.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no Tokio runtime.
    NoRuntime,
    /// A setting is out of range; the message names the setting and its range.
    Setting(String),
    /// There is no CA certificate, or the host name is not valid for TLS.
    Tls(String),
    /// A password is missing, or there are two. The message does not contain them.
    Password(String),
}

/// A write without meaning, with which the link probes whether the server has recovered.
static PROBE: LazyLock<Script> = LazyLock::new(|| Script {
    text: "return redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])".into(),
    digest: "5d19e25827e8556e84feacc3b801c72f593d6b21".into(),
});

/// Maximum number of keys tried to find one in a slot of a node. A node with fewer than one slot in a thousand may have none: its
/// breaker then closes with the first call that it serves.
const OWN_KEYS_TRIED_MAX: u32 = 10_000;

/// How long the link leaves a due probe to callers, whose calls are better probes, before it sends its own.
const PATIENCE: Duration = Duration::from_millis(10);

impl Link {
    /// Opens a link, within a Tokio runtime with timers and I/O enabled, in which the connections live.
    ///
    /// # Errors
    /// If there is no runtime, a setting is out of range, a file is invalid, or TLS is misconfigured. Never because of the server.
    pub fn open(address: Address, settings: Settings) -> Result<Self, OpenError> {
        Self::open_as(address, settings, false)
    }

    /// A link to one node of a cluster.
    pub(crate) fn open_node(address: Address, settings: Settings) -> Result<Self, OpenError> {
        Self::open_as(address, settings, true)
    }

    fn open_as(address: Address, settings: Settings, by_slot: bool) -> Result<Self, OpenError> {
        let runtime = Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        settings.check().map_err(OpenError::Setting)?;
        let settings = Settings { stall_timeout: settings.patience(), ..settings };
        let connector = Connector::new(address, &settings)?;
        let shared = Arc::new(LinkInner {
            connector,
            lanes: (0..settings.connections).map(|_| ConnectionSlot::new()).collect(),
            breaker: SharedBreaker::new(Breaker::new(&settings, seed())),
            counts: Counts::new(),
            permits: Arc::new(Semaphore::new(settings.in_flight_max)),
            turn: AtomicUsize::new(0),
            recent: Recent::default(),
            warm_up: WarmUp::default(),
            up: LinkState::new(),
            changed: Notify::new(),
            by_slot,
            own_keys: AtomicU32::new(0),
            settings,
        });
        let keep = |at| runtime.spawn(keep(Arc::clone(&shared), at)).abort_handle();
        let mut tasks: Vec<_> = (0..shared.lanes.len()).map(keep).collect();
        tasks.push(runtime.spawn(probe(Arc::clone(&shared))).abort_handle());
        Ok(Self(Arc::new(Owner { shared, tasks })))
    }

    /// Carries one call to the server and its answer back.
    ///
    /// # Errors
    /// When there is no answer within the budget, by name: see [`LinkError`].
    pub async fn call(&self, call: &Call) -> Result<Value, LinkError> {
        let result = self.carry(call, Instant::now() + self.0.shared.settings.budget).await;
        self.count(result.as_ref().err().map(LinkError::cause));
        result
    }

    /// As [`call`](Self::call), until an instant that may come before the budget's end. How it ended is not counted yet: what the
    /// answer is worth is for the caller to say, by [`count`](Self::count).
    pub(crate) async fn carry(&self, call: &Call, deadline: Instant) -> Result<Value, LinkError> {
        self.0.shared.call(call, ScriptForm::Together, deadline).await
    }

    /// As [`carry`](Self::carry). With `ASKING`, a node serves a call on a slot that is moving to it.
    pub(crate) async fn carry_as(
        &self,
        call: &Call,
        is_asking: bool,
        deadline: Instant,
    ) -> Result<Value, LinkError> {
        let form = if is_asking { ScriptForm::AskingDigest } else { ScriptForm::Together };
        self.0.shared.call(call, form, deadline).await
    }

    /// Has the link use keys of its own in a slot that its node serves.
    pub(crate) fn use_slots(&self, is_served: impl Fn(u16) -> bool) {
        let is_good = |own_keys: u32| is_served(own_name("probe", own_keys).of(StateKind::Debt).slot());
        let own_keys = &self.0.shared.own_keys;
        if !is_good(own_keys.load(Ordering::Relaxed))
            && let Some(good) = (1..OWN_KEYS_TRIED_MAX).find(|own_keys| is_good(*own_keys))
        {
            own_keys.store(good, Ordering::Relaxed);
        }
    }

    /// Counts how a call ended that was carried, or that should have been.
    pub(crate) fn count(&self, cause: Option<Cause>) {
        self.0.shared.counts.ended(cause);
    }

    /// Limits like this one will be charged: their scripts are run on each new connection before it counts as up.
    pub(crate) fn expect(&self, limit: &Limit) {
        self.0.shared.warm_up.expect(limit);
    }

    /// See [`Store::ready`](crate::Store::ready).
    pub(crate) async fn ready(&self) {
        self.0.shared.prepare().await;
    }

    /// How the link is doing.
    #[must_use]
    pub fn health(&self) -> Health {
        let shared = &self.0.shared;
        let (up, since) = shared.up.read();
        let trouble = shared.lanes.iter().find_map(|lane| match lane.state() {
            State::Down(error) => Some(error),
            State::Up(_) | State::Connecting => None,
        });
        let (answered, failed) = shared.counts.calls();
        let (connections, connections_failed) = shared.counts.connections();
        Health {
            up,
            since: since.elapsed(),
            trouble: trouble.filter(|_| !up),
            breaker: shared.breaker.standing(),
            in_flight: shared.settings.in_flight_max.saturating_sub(shared.permits.available_permits()),
            answered,
            failed,
            errors: shared.recent.all(),
            no_decision: None,
            connections,
            connections_failed,
        }
    }
}

/// Asks the server when nobody else does, so that an open breaker closes without traffic too.
async fn probe(shared: Arc<LinkInner>) {
    loop {
        shared.breaker.overdue(PATIENCE).await;
        let own_keys = shared.own_keys.load(Ordering::Relaxed);
        let call = Call {
            script: &PROBE,
            names: smallvec![own_name("probe", own_keys).of(StateKind::Debt)],
            arguments: smallvec![SmallVec::from_slice(b"1000")],
            writes: Writes::Always,
        };
        shared.probe(&call).await;
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("to", &self.0.shared.connector).finish_non_exhaustive()
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRuntime => {
                f.write_str("the store must be opened within a Tokio runtime that has timers and I/O enabled")
            }
            Self::Setting(sentence) => write!(f, "a store setting is out of range: {sentence}"),
            Self::Tls(sentence) | Self::Password(sentence) => f.write_str(sentence),
        }
    }
}

impl Error for OpenError {}
