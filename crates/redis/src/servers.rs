//! Where calls go: one server, or a cluster of them.

use tokio::time::Instant;
use tollgate_algorithms::Limit;

use crate::address::Place;
use crate::cluster::Cluster;
use crate::{Address, Call, Cause, Health, Link, LinkError, OpenError, Settings, Value};

/// The servers of a store.
#[derive(Clone, Debug)]
pub(crate) enum Servers {
    /// One server, perhaps found by Sentinels.
    One(Link),
    /// A cluster.
    Cluster(Cluster),
}

impl Servers {
    /// See [`Link::open`].
    pub(crate) fn open(address: Address, settings: Settings) -> Result<Self, OpenError> {
        match address.place() {
            Place::Cluster { .. } => Cluster::open(address, settings).map(Self::Cluster),
            Place::Tcp { .. } | Place::Unix(_) | Place::Sentinel { .. } => {
                Link::open(address, settings).map(Self::One)
            }
        }
    }

    /// Carries a call, whose keys are in one slot, until an instant at the latest.
    pub(crate) async fn carry(&self, call: &Call, deadline: Instant) -> Result<Value, LinkError> {
        match self {
            Self::One(link) => link.carry(call, deadline).await,
            Self::Cluster(cluster) => cluster.carry(call, deadline).await,
        }
    }

    /// Counts how a decision ended.
    pub(crate) fn count(&self, cause: Option<Cause>) {
        match self {
            Self::One(link) => link.count(cause),
            Self::Cluster(cluster) => cluster.count(cause),
        }
    }

    /// See [`Link::expect`].
    pub(crate) fn expect(&self, limit: &Limit) {
        match self {
            Self::One(link) => link.expect(limit),
            Self::Cluster(cluster) => cluster.expect(limit),
        }
    }

    /// See [`Link::ready`].
    pub(crate) async fn ready(&self) {
        match self {
            Self::One(link) => link.ready().await,
            Self::Cluster(cluster) => cluster.ready().await,
        }
    }

    /// Returns true if keys in different slots cannot be charged by one call.
    pub(crate) const fn has_slots(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// The health of all servers together.
    pub(crate) fn health(&self) -> Health {
        match self {
            Self::One(link) => link.health(),
            Self::Cluster(cluster) => cluster.health(),
        }
    }

    /// The health of each node of a cluster. Empty for one server.
    pub(crate) fn nodes(&self) -> Vec<(String, Health)> {
        match self {
            Self::One(_) => Vec::new(),
            Self::Cluster(cluster) => cluster.nodes(),
        }
    }
}
