//! The gRPC endpoint: puts the limits files in force, and answers Envoy over HTTP/2.

mod connection;
mod limits_files;

use std::sync::Arc;

use tollgate::FailureRule;
use tollgate_envoy::{Headers, Observed, Options, RateLimitService, Routes};
use tollgate_tower::ResetFormat;

use super::listener::{Connection, Context, Handler};
use crate::settings::{Settings, StoreFails};
use crate::telemetry::metrics::EndpointMetrics;
pub(crate) use limits_files::LimitsFiles;

/// Answers its clients.
#[derive(Debug)]
pub(crate) struct Endpoint {
    context: Arc<Context>,
    routes: Routes,
    service: RateLimitService,
}

impl Endpoint {
    /// Puts the limits in force that were loaded with the settings.
    ///
    /// # Errors
    /// A sentence, if the settings cannot be used.
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, String> {
        let common = &context.common;
        let files = common.guards.iter().find_map(|guard| guard.limits.clone());
        let files = files.ok_or("the limits of the endpoint `grpc` were not loaded")?;
        let live = common.live.load();
        let (limiter, namespace) = (live.limits.limiter().clone(), live.limits.namespace().to_owned());
        let (limits, notes) = files.take_first();
        for note in notes {
            common.logs.within(|| tracing::warn!(note, "limits for Envoy"));
        }
        let service = RateLimitService::new(limiter, limits, options(&common.settings, namespace));
        let service = service.with_observer(observer(&context.metrics));
        common.metrics.show_envoy(service.counters());
        files.put_in_force(&service);
        let serving = service.clone();
        tokio::spawn(async move { serving.set_serving(true).await });
        Ok(Self { context: Arc::clone(context), routes: service.routes(), service })
    }
}

impl Handler for Endpoint {
    async fn serve(self: Arc<Self>, connection: Connection) {
        connection::serve(self, connection).await;
    }
}

fn options(settings: &Settings, namespace: String) -> Options {
    let envoy = &settings.envoy;
    let when_store_fails = match envoy.when_store_fails {
        StoreFails::Allow => FailureRule::Allow,
        StoreFails::Deny => FailureRule::Deny,
        StoreFails::Local => FailureRule::Local { share: 1, of: envoy.processes.max(1) },
    };
    let generations = settings.answers.generations;
    let headers = Headers {
        draft: generations.draft,
        x_ratelimit: generations.x_ratelimit,
        triple: generations.triple,
        reset_is_epoch: settings.answers.reset == ResetFormat::Epoch,
    };
    Options { when_store_fails, namespace, receipts_per_key: envoy.receipts, headers }
}

/// Counts requests by result, as for every endpoint.
fn observer(metrics: &Arc<EndpointMetrics>) -> impl Fn(Observed) + Send + Sync + 'static {
    let metrics = Arc::clone(metrics);
    move |observed| match observed {
        Observed::Granted => metrics.granted.inc(),
        Observed::Refused => metrics.refused.inc(),
        Observed::Unavailable => metrics.undetermined.inc(),
        Observed::Invalid => metrics.invalid.inc(),
    }
}
