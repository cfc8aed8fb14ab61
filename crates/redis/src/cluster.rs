//! A cluster of servers: one link for each primary, and a map of which serves which slot.
//!
//! A node that does not serve a call says so before anything has run, so the call may be sent to another one. Nothing else
//! is ever sent twice. The map is asked for again when a node says that a slot has moved, when a node is lost, and once a minute.

mod redirect;
pub(crate) mod slots;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tollgate_algorithms::Limit;

use crate::address::{Node, Place};
use crate::connect::{Connector, exchange};
use crate::failed::ConnectionFailure;
use crate::health::{Counts, Health};
use crate::reconnect::seed;
use crate::resp::{self, Frame};
use crate::{Address, Call, Cause, Link, LinkError, OpenError, Settings, Value};
use redirect::Redirect;
use slots::SlotMap;

/// How often a call follows a redirection. A cluster in which that is not enough is being rearranged: the failure rule applies.
const REDIRECTIONS_MAX: u32 = 2;

/// How long a call waits when some of its keys have moved and others have not.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(2);

/// How often the map is asked for without a reason, plus up to a quarter.
const REFRESH_EVERY: Duration = Duration::from_mins(1);

/// The map is asked for at most so often, whatever happens.
const REFRESH_MIN: Duration = Duration::from_millis(50);

/// Maximum number of nodes with a link. A further one is not connected to: its calls end in an error.
const NODES_MAX: usize = 1_024;

/// The client of a cluster. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Cluster(Arc<Owner>);

/// Ends the refreshing when the last clone goes.
struct Owner {
    inner: Arc<Inner>,
    refreshing: AbortHandle,
}

struct Inner {
    address: Address,
    settings: Settings,
    /// The nodes in the address, which know the others.
    seeds: Vec<Node>,
    map: RwLock<Arc<SlotMap>>,
    links: Mutex<HashMap<Node, Link>>,
    limits: Mutex<Vec<Limit>>,
    /// How decisions ended, whichever node made them.
    counts: Counts,
    /// Why the map could not be had, the last time it was asked for.
    trouble: Mutex<Option<LinkError>>,
    /// Somebody has met a sign that the map is old.
    outdated: Notify,
    /// The map has been asked for.
    refreshed: Notify,
}

impl Cluster {
    /// See [`Link::open`].
    pub(crate) fn open(address: Address, settings: Settings) -> Result<Self, OpenError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        settings.check().map_err(OpenError::Setting)?;
        // What is wrong with files is said now, and not when a node is met.
        Connector::new(address.clone(), &settings)?;
        let seeds = match address.place() {
            Place::Cluster { seeds, .. } => seeds.clone(),
            Place::Tcp { .. } | Place::Unix(_) | Place::Sentinel { .. } => Vec::new(),
        };
        let inner = Arc::new(Inner {
            address,
            settings,
            seeds,
            map: RwLock::default(),
            links: Mutex::default(),
            limits: Mutex::default(),
            counts: Counts::new(),
            trouble: Mutex::default(),
            outdated: Notify::new(),
            refreshed: Notify::new(),
        });
        let refreshing = runtime.spawn(keep_map(Arc::clone(&inner))).abort_handle();
        Ok(Self(Arc::new(Owner { inner, refreshing })))
    }

    /// Carries a call to the node of its keys, until an instant at the latest. All its keys are in one slot.
    pub(crate) async fn carry(&self, call: &Call, deadline: Instant) -> Result<Value, LinkError> {
        let inner = &self.0.inner;
        let slot = call.names.first().map_or(0, crate::KeyName::slot);
        let mut node = inner.owner(slot, deadline).await?;
        let (mut is_asking, mut redirections) = (false, 0);
        loop {
            let link = inner.link(&node)?;
            let error = match link.carry_as(call, is_asking, deadline).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            match Redirect::of(&error, &node) {
                Some(Redirect::Moved(slot, target)) if redirections < REDIRECTIONS_MAX => {
                    inner.moved(slot, &target);
                    (node, is_asking) = (target, false);
                    redirections += 1;
                }
                Some(Redirect::Ask(target)) if redirections < REDIRECTIONS_MAX => {
                    (node, is_asking) = (target, true);
                    redirections += 1;
                }
                Some(Redirect::TryAgain) if Instant::now() + TRY_AGAIN_AFTER < deadline => {
                    sleep_until(Instant::now() + TRY_AGAIN_AFTER).await;
                }
                Some(Redirect::Moved(..) | Redirect::Ask(_) | Redirect::TryAgain) | None => {
                    if is_sign_of_change(&error) {
                        inner.outdated.notify_one();
                    }
                    return Err(error);
                }
            }
        }
    }

    /// See [`Link::count`].
    pub(crate) fn count(&self, cause: Option<Cause>) {
        self.0.inner.counts.ended(cause);
    }

    /// See [`Link::expect`].
    pub(crate) fn expect(&self, limit: &Limit) {
        self.0.inner.limits.lock().unwrap_or_else(PoisonError::into_inner).push(*limit);
        let links: Vec<Link> = self.0.inner.links().values().cloned().collect();
        links.iter().for_each(|link| link.expect(limit));
    }

    /// See [`Link::ready`].
    pub(crate) async fn ready(&self) {
        let inner = &self.0.inner;
        let known = timeout(
            inner.settings.connect_timeout,
            inner.owner(0, Instant::now() + inner.settings.connect_timeout),
        );
        let _known = known.await;
        for node in inner.map().nodes() {
            if let Ok(link) = inner.link(&node) {
                link.ready().await;
            }
        }
    }

    /// The health of each node that has a link.
    pub(crate) fn nodes(&self) -> Vec<(String, Health)> {
        let mut nodes: Vec<_> =
            self.0.inner.links().iter().map(|(node, link)| (node.to_string(), link.health())).collect();
        nodes.sort_by(|(one, _), (other, _)| one.cmp(other));
        nodes
    }

    /// The health of all nodes together: up if each is that serves slots.
    pub(crate) fn health(&self) -> Health {
        let nodes: Vec<Health> = self.nodes().into_iter().map(|(_, health)| health).collect();
        let trouble = self.0.inner.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Health::together(&nodes, &self.0.inner.counts, trouble)
    }
}

/// Whether an error may mean that another node serves the slot by now.
const fn is_sign_of_change(error: &LinkError) -> bool {
    match error {
        LinkError::Unreachable { .. }
        | LinkError::Lost { .. }
        | LinkError::Open
        | LinkError::Timeout { .. } => true,
        LinkError::Server { cause, .. } => {
            matches!(
                cause,
                Cause::Moved | Cause::Ask | Cause::ReadOnly | Cause::ClusterDown | Cause::MasterDown
            )
        }
        LinkError::TooManyInFlight => false,
    }
}

impl Inner {
    fn map(&self) -> Arc<SlotMap> {
        Arc::clone(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn links(&self) -> MutexGuard<'_, HashMap<Node, Link>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node that serves a slot. Waits for the map if nobody is known to.
    async fn owner(&self, slot: u16, deadline: Instant) -> Result<Node, LinkError> {
        loop {
            let refreshed = self.refreshed.notified();
            if let Some(node) = self.map().owner(slot) {
                return Ok(node.clone());
            }
            let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.outdated.notify_one();
            if let Some(error) = trouble {
                return Err(error);
            }
            let waited = timeout_at(deadline, refreshed).await;
            waited.map_err(|_| LinkError::Timeout { sent: false })?;
        }
    }

    /// The link to a node, opened when it is first needed.
    fn link(&self, node: &Node) -> Result<Link, LinkError> {
        let mut links = self.links();
        if let Some(link) = links.get(node) {
            return Ok(link.clone());
        }
        if links.len() >= NODES_MAX {
            return Err(LinkError::unreachable(Cause::Other, "the cluster has too many nodes"));
        }
        let opened = Link::open_node(self.address.at(node), self.settings.clone());
        let link = opened.map_err(|error| LinkError::unreachable(Cause::File, &error.to_string()))?;
        self.give_slot(node, &link);
        for limit in self.limits.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            link.expect(limit);
        }
        links.insert(node.clone(), link.clone());
        Ok(link)
    }

    /// Tells a link which keys it may use for its own calls: those of a slot that its node serves.
    fn give_slot(&self, node: &Node, link: &Link) {
        let map = self.map();
        link.use_slots(|slot| map.owner(slot) == Some(node));
    }

    /// A slot has moved to a node.
    fn moved(&self, slot: u16, target: &Node) {
        {
            let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
            if map.owner(slot) != Some(target) {
                Arc::make_mut(&mut map).note(slot, target);
            }
        }
        self.outdated.notify_one();
    }

    /// Asks one node after another for the map, until one knows it.
    async fn refresh(&self) -> Result<(), ConnectionFailure> {
        let mut failed = ConnectionFailure::new(Cause::Dns, "the store address has no host");
        let mut nodes = self.map().nodes();
        nodes.extend(self.seeds.iter().filter(|seed| !nodes.contains(seed)).cloned().collect::<Vec<_>>());
        for node in nodes {
            failed = match self.ask(&node).await {
                Ok(map) if map.served() == 0 => ConnectionFailure::new(
                    Cause::ClusterDown,
                    &format!("{node} knows no node that serves a slot"),
                ),
                Ok(map) => {
                    self.take(map);
                    return Ok(());
                }
                Err(failed) => failed,
            };
        }
        Err(failed)
    }

    /// What one node says of the slots.
    async fn ask(&self, node: &Node) -> Result<SlotMap, ConnectionFailure> {
        let connector = Connector::new(self.address.at(node), &self.settings);
        let connector = connector.map_err(|error| ConnectionFailure::new(Cause::File, &error.to_string()))?;
        let mut stream = connector.connect().await?;
        let mut input = Vec::new();
        let question = resp::command(&["CLUSTER", "SLOTS"]);
        let asked = timeout(self.settings.connect_timeout, exchange(&mut stream, &question, 1, &mut input));
        let limit = self.settings.connect_timeout;
        let reply = asked.await.unwrap_or_else(|_| Err(ConnectionFailure::late(limit)))?.pop();
        match reply {
            Some(Frame::Value(value)) => SlotMap::read(&value, node).ok_or_else(|| {
                ConnectionFailure::new(Cause::Garbled, "the reply to CLUSTER SLOTS is not one")
            }),
            Some(Frame::Error(line)) => Err(ConnectionFailure::said(line)),
            None => Err(ConnectionFailure::new(Cause::Garbled, "no reply")),
        }
    }

    /// Replaces the map. Links to nodes that serve nothing any more are closed when their calls have ended.
    fn take(&self, map: SlotMap) {
        let nodes = map.nodes();
        *self.map.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(map);
        let links: Vec<(Node, Link)> = {
            let mut links = self.links();
            links.retain(|node, _| nodes.contains(node));
            links.iter().map(|(node, link)| (node.clone(), link.clone())).collect()
        };
        links.iter().for_each(|(node, link)| self.give_slot(node, link));
        // Connections are made before a call needs them.
        nodes.iter().for_each(|node| drop(self.link(node)));
    }
}

/// Asks for the map at once, when it may be old, and once in a while.
async fn keep_map(inner: Arc<Inner>) {
    loop {
        let result = inner.refresh().await;
        *inner.trouble.lock().unwrap_or_else(PoisonError::into_inner) =
            result.err().map(|failed| failed.unreachable());
        inner.refreshed.notify_waiters();
        let began = Instant::now();
        let jitter =
            Duration::from_millis(seed() % (u64::try_from(REFRESH_EVERY.as_millis()).unwrap_or(1) / 4));
        let _sign_or_time = timeout_at(began + REFRESH_EVERY + jitter, inner.outdated.notified()).await;
        sleep_until(began + REFRESH_MIN).await;
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.refreshing.abort();
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("address", &self.0.inner.address).finish_non_exhaustive()
    }
}
