//! The limits that a layer has in force, which can be replaced as a whole while requests are in flight.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tollgate_engine::Enforcer;

use crate::response::config::ResponseConfig;
use crate::response::writer::ResponseWriter;

/// An enforcer and the writer of its responses. A request keeps to the ones it was checked by.
#[derive(Debug)]
pub(crate) struct ActiveLimits {
    pub(crate) enforcer: Arc<Enforcer>,
    pub(crate) responses: ResponseWriter,
}

/// The limits that are in force now.
#[derive(Debug)]
pub(crate) struct LiveLimits(ArcSwap<ActiveLimits>);

impl ActiveLimits {
    pub(crate) fn new(enforcer: Enforcer, config: ResponseConfig) -> Self {
        let responses = ResponseWriter::new(&enforcer, config);
        Self { enforcer: Arc::new(enforcer), responses }
    }
}

impl LiveLimits {
    pub(crate) fn new(active: ActiveLimits) -> Self {
        Self(ArcSwap::from_pointee(active))
    }

    #[inline]
    pub(crate) fn load(&self) -> Arc<ActiveLimits> {
        self.0.load_full()
    }

    /// Replaces what responses show.
    pub(crate) fn configure(&self, config: ResponseConfig) {
        self.0.rcu(|active| ActiveLimits {
            responses: ResponseWriter::new(&active.enforcer, config),
            enforcer: Arc::clone(&active.enforcer),
        });
    }
}
