//! The limits that a layer has in force, and the handle that replaces them as a whole while requests are in flight.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tollgate::KeyStatus;
use tollgate_engine::{Enforcer, RuleKey, RuleKeyError};

use crate::response::config::ResponseConfig;
use crate::response::writer::ResponseWriter;

/// An enforcer and the writer of its responses. A request keeps to the ones it was checked by.
#[derive(Debug)]
pub(crate) struct ActiveLimits {
    pub(crate) enforcer: Arc<Enforcer>,
    pub(crate) responses: ResponseWriter,
}

impl ActiveLimits {
    pub(crate) fn new(enforcer: Arc<Enforcer>, config: ResponseConfig) -> Self {
        let responses = ResponseWriter::new(&enforcer, config);
        Self { enforcer, responses }
    }
}

/// A handle to the limits that a [`TollgateLayer`](crate::TollgateLayer) has in force: replaces them while the service runs, and
/// inspects and resets their keys. Cheap to clone.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tollgate::{Limit, Limiter};
/// use tollgate_tower::{Rule, Rules, TollgateLayer};
///
/// let limiter = Limiter::new()?;
/// let per_client = Rule::new("per client", Limit::per_second(1).burst(5)?);
/// let limits = TollgateLayer::new(Rules::new(limiter.clone(), [per_client])?);
/// let handle = limits.handle(); // and `limits` goes into the router
///
/// // Later, from anywhere: other numbers. Limits are known by their names, so clients keep what they have used.
/// let more = Rule::new("per client", Limit::per_second(10).burst(50)?);
/// handle.replace(Rules::new(limiter, [more])?);
///
/// assert_eq!(handle.inspect("per client", "203.0.113.9").await?.decision.remaining, 50);
/// handle.reset("per client", "203.0.113.9").await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct LimitsHandle(Arc<ArcSwap<ActiveLimits>>);

impl LimitsHandle {
    pub(crate) fn new(active: ActiveLimits) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(active)))
    }

    #[inline]
    pub(crate) fn load(&self) -> Arc<ActiveLimits> {
        self.0.load_full()
    }

    /// Replaces the limits, for all requests from now on. Requests in flight keep to the limits that admitted them.
    ///
    /// Use the same limiter, so that limits of the same name keep their state; with another limiter, every key starts afresh.
    pub fn replace(&self, enforcer: impl Into<Enforcer>) {
        let enforcer = Arc::new(enforcer.into());
        self.0.rcu(|active| ActiveLimits::new(Arc::clone(&enforcer), *active.responses.config()));
    }

    /// Replaces what responses show.
    pub fn configure_responses(&self, config: ResponseConfig) {
        self.0.rcu(|active| ActiveLimits::new(Arc::clone(&active.enforcer), config));
    }

    /// The limits in force.
    #[must_use]
    pub fn enforcer(&self) -> Arc<Enforcer> {
        Arc::clone(&self.load().enforcer)
    }

    /// Reports the status of a key of the rule with this name, without charging it: see [`RuleKey`] for what a key is. The future
    /// is ready at once unless the rule is counted in a shared store.
    ///
    /// # Errors
    /// When no rule has this name, when the key cannot be a key of the rule, or when the shared store does not answer.
    pub async fn inspect<'a>(
        &self,
        rule: &str,
        key: impl Into<RuleKey<'a>>,
    ) -> Result<KeyStatus, RuleKeyError> {
        let enforcer = self.enforcer();
        enforcer.rules().ok_or(RuleKeyError::NoRules)?.inspect(rule, key).await
    }

    /// Removes the state of a key of the rule with this name, as if it had never been charged. Returns whether there was a state.
    ///
    /// # Errors
    /// Like [`inspect`](Self::inspect).
    pub async fn reset<'a>(&self, rule: &str, key: impl Into<RuleKey<'a>>) -> Result<bool, RuleKeyError> {
        let enforcer = self.enforcer();
        enforcer.rules().ok_or(RuleKeyError::NoRules)?.reset(rule, key).await
    }
}

impl fmt::Debug for LimitsHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LimitsHandle").field(&self.load().enforcer).finish()
    }
}
