//! The readiness checks: each says why the gateway is not ready.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tollgate_redis::BreakerState;

use crate::active_policy::PolicyHandle;
use crate::doors::gateway::GatewayContext;
use crate::doors::gateway::upstream::Connector;
use crate::settings::Readiness;

/// A check of the upstream takes no longer, whatever `timeouts.connect` says: who asks does not wait longer either.
const UPSTREAM_TIME_MAX: Duration = Duration::from_secs(5);
/// How long the result of the upstream check is cached, so that frequent requests do not cause as many connections.
const UPSTREAM_KNOWN_FOR: Duration = Duration::from_secs(1);

/// What has to be well for the gateway to be ready.
#[derive(Debug)]
pub struct ReadinessChecks {
    wanted: Readiness,
    common: GatewayContext,
    /// `None` if there is no upstream.
    upstream: Option<Upstream>,
}

/// The check of the upstream, which makes a connection and closes it.
#[derive(Debug)]
struct Upstream {
    connector: Connector,
    time: Duration,
    /// When it was last checked, and what was wrong. Whoever comes meanwhile waits for the same.
    last: Mutex<Option<(Instant, Result<(), String>)>>,
}

impl ReadinessChecks {
    /// The checks that the settings want.
    ///
    /// # Errors
    /// When the upstream's certificates cannot be read.
    pub fn new(common: &GatewayContext) -> Result<Self, String> {
        let settings = &common.settings;
        // Its connections are not counted among those that requests need.
        let upstream = settings.has_gateway().then(|| {
            let connector = Connector::new(settings, Arc::clone(&common.upstream), Arc::default())?;
            let time = settings.timeouts.connect.min(UPSTREAM_TIME_MAX);
            Ok::<_, String>(Upstream { connector, time, last: Mutex::new(None) })
        });
        let upstream = upstream.transpose()?;
        Ok(Self { wanted: settings.readiness, common: common.clone(), upstream })
    }

    /// The numbers to show.
    pub(super) fn encode(&self) -> String {
        self.common.metrics.encode()
    }

    /// Whether a policy is one of the things to be checked.
    pub(super) const fn want_policy(&self) -> bool {
        self.wanted.policy
    }

    /// Why the gateway is not ready, beside its own phase: a sentence for each check that failed.
    pub(super) async fn failed(&self) -> Vec<String> {
        let mut failed = Vec::new();
        if self.wanted.store {
            failed.extend(store(&self.common.live));
        }
        if let Some(upstream) = self.upstream.as_ref().filter(|_| self.wanted.upstream) {
            failed.extend(upstream.checked().await.err());
        }
        failed
    }
}

/// Why the shared store gives no decisions; nothing if it does, or there is none.
fn store(live: &PolicyHandle) -> Option<String> {
    let health = live.load().limits.limiter().store_health()?;
    if health.up && health.breaker == BreakerState::Closed {
        return None;
    }
    let why = health.trouble.map_or_else(|| "calls fail".to_owned(), |trouble| trouble.to_string());
    Some(format!("the shared store makes no decisions: {why}"))
}

impl Upstream {
    async fn checked(&self) -> Result<(), String> {
        let mut last = self.last.lock().await;
        if let Some((at, found)) = &*last
            && at.elapsed() < UPSTREAM_KNOWN_FOR
        {
            return found.clone();
        }
        let found = match timeout(self.time, self.connector.connect()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("cannot connect to the upstream within {:?}", self.time)),
        };
        *last = Some((Instant::now(), found.clone()));
        found
    }
}
