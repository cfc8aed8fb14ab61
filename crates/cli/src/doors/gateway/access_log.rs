//! Counts and logs what happened to a request.

use std::net::IpAddr;

use http::{HeaderMap, Method, StatusCode, request};
use tollgate::{Kind, Source};
use tollgate_engine::{CheckError, Outcome, Scratch};
use tollgate_policy::{Policy, RequestMatch};
use tollgate_tower::{ErrorKind, ErrorResponse};

use super::client_connection::{ExchangeResult, RunningExchange};
use super::deadlines::DeadlineKind;
use super::error_response::Rejected;
use super::stopwatch::Stopwatch;
use super::upstream::{SendStats, UpstreamError};
use super::worker::Worker;
use crate::active_policy::ActivePolicy;
use crate::telemetry::logs::{Refusal, RequestId, ServedRequest};

impl Worker {
    /// A request was asked about.
    pub(crate) fn decided(&self, live: &ActivePolicy, scratch: &Scratch, since: &Stopwatch) {
        match scratch.waited() {
            None => self.metrics.decision.record(since.nanos()),
            Some(waited) => self.metrics.waits.record(waited.get().saturating_mul(1_000)),
        }
        for (place, granted) in scratch.asked() {
            let Some(charge) = scratch.hits().held().get(*place) else { continue };
            let Some(meters) = live.meters.get(charge.limit.index()) else { continue };
            meters.count(*granted, charge.mode, Source::Own);
        }
        let Some(verdict) = scratch.verdict() else { return };
        if verdict.is_degraded() {
            self.metrics.degraded.inc();
        }
        let charges = scratch.hits().charges();
        if let Kind::Unavailable(_) = verdict.kind() {
            let meters = charges.iter().filter_map(|charge| live.meters.get(charge.limit.index()));
            meters.for_each(|meters| meters.unavailable.inc());
            return;
        }
        for (charge, answer) in charges.iter().zip(verdict.results()) {
            let Some(meters) = live.meters.get(charge.limit.index()) else { continue };
            meters.count(answer.is_granted(), answer.mode(), answer.source());
        }
    }

    /// The upstream was tried, and may have failed.
    pub(crate) fn tried(&self, effort: SendStats, failed: Option<&Rejected>, request: &RequestId) {
        let metrics = &self.metrics;
        metrics.upstream_connects.add(u64::from(effort.connects));
        metrics.upstream_retries.add(u64::from(effort.retries));
        let errors = &metrics.upstream_errors;
        let (count, why) = match failed {
            None
            | Some(Rejected::Answer(_) | Rejected::TooLarge | Rejected::HeadTooLarge | Rejected::Void) => {
                return;
            }
            Some(Rejected::Late(due)) => match due {
                DeadlineKind::Connect => (&errors.timeout, "connecting timed out".to_owned()),
                DeadlineKind::Response => (&errors.timeout, "it did not respond in time".to_owned()),
                DeadlineKind::Total => {
                    (&errors.timeout, "the total timeout of the exchange passed".to_owned())
                }
                DeadlineKind::Header
                | DeadlineKind::Head
                | DeadlineKind::Idle
                | DeadlineKind::Body
                | DeadlineKind::Pace
                | DeadlineKind::Write
                | DeadlineKind::ResponseBody => return,
            },
            Some(Rejected::Upstream(error)) => match error {
                UpstreamError::Client => return,
                UpstreamError::Connect(_) => (&errors.connect, error.to_string()),
                UpstreamError::Tls(_) => (&errors.tls, error.to_string()),
                UpstreamError::Broken(_) | UpstreamError::Ended => (&errors.closed, error.to_string()),
                UpstreamError::Garbled(_)
                | UpstreamError::Ambiguous(_)
                | UpstreamError::TooLarge(_)
                | UpstreamError::Switched
                | UpstreamError::Interim => (&errors.protocol, error.to_string()),
            },
        };
        count.inc();
        self.logs.upstream_failed(request, &why);
    }

    /// What a request's line will say; `None` if requests have no lines.
    pub(crate) fn noted(&self, peer: IpAddr, method: &Method) -> Option<AccessLogEntry> {
        let requests = self.settings.log.requests;
        requests.then(|| AccessLogEntry { client: peer, method: Some(method.clone()), route: String::new() })
    }

    /// As [`noted`](Self::noted), for bytes that are no request, so that nothing is known of it but who sent them.
    pub(crate) fn noted_unreadable(&self, peer: IpAddr) -> Option<AccessLogEntry> {
        let requests = self.settings.log.requests;
        requests.then(|| AccessLogEntry { client: peer, method: None, route: String::new() })
    }

    /// A request was checked: now the client and the operation are known.
    pub(crate) fn note(
        &self,
        live: &ActivePolicy,
        headers: &HeaderMap,
        checked: &Result<Outcome, CheckError>,
        noted: &mut Option<AccessLogEntry>,
    ) {
        let Some(noted) = noted else { return };
        let policy = live.limits.policy();
        noted.client = policy.settings().trusted_proxies.client(noted.client, headers).address;
        let matched = match checked {
            Ok(Outcome::Admitted(admission)) => admission.matched(),
            Ok(Outcome::Refused(refusal)) => refusal.matched(),
            Ok(Outcome::Undetermined(undetermined)) => undetermined.matched,
            Ok(Outcome::NeedsBody { .. }) | Err(_) => None,
        };
        route(policy, matched).clone_into(&mut noted.route);
    }

    /// A limit refused a request, which is logged.
    pub(crate) fn refused(
        &self,
        live: &ActivePolicy,
        refusal: &tollgate_engine::Refusal,
        parts: &request::Parts,
        running: &RunningExchange,
    ) {
        let policy = live.limits.policy();
        let proxies = &policy.settings().trusted_proxies;
        self.logs.refused(&Refusal {
            request: running.id(),
            client: proxies.client(running.client().peer, &parts.headers).address,
            limit: refusal.limit().name(),
            retry: refusal.retry(),
            method: parts.method.as_str(),
            route: route(policy, refusal.matched()),
        });
    }

    /// A request was answered, to its last byte.
    pub(crate) fn served(&self, request: &RequestId, noted: &AccessLogEntry, status: StatusCode, nanos: u64) {
        let AccessLogEntry { client, method, route } = noted;
        let (method, status) = (method.as_ref().map_or("", Method::as_str), status.as_u16());
        self.logs.served(&ServedRequest { request, client: *client, method, route, status, nanos });
    }

    /// A request is answered here, for this reason.
    pub(crate) fn stopped(&self, stopped: Rejected) -> ErrorResponse {
        let answer = stopped.into_answer();
        self.count_answer(&answer);
        answer
    }

    /// Counts an answer of the gateway's own.
    pub(crate) fn count_answer(&self, answer: &ErrorResponse) {
        let answered = &self.metrics.answered;
        let count = match (answer.kind, answer.status) {
            (ErrorKind::Refused, _) => &answered.refused,
            (ErrorKind::Never, _) => &answered.never_fits,
            (ErrorKind::Zero, _) => &answered.zero_limit,
            (ErrorKind::Unavailable, _) => &answered.unavailable,
            (ErrorKind::NotFound, _) => &answered.not_found,
            (ErrorKind::MethodNotAllowed, _) => &answered.method_not_allowed,
            (_, StatusCode::OK) => &answered.last_hop,
            (_, StatusCode::PAYLOAD_TOO_LARGE) => &answered.body_too_large,
            (_, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE) => &answered.head_too_large,
            (_, StatusCode::REQUEST_TIMEOUT) => &answered.request_timeout,
            (_, StatusCode::NOT_IMPLEMENTED) => &answered.not_implemented,
            (_, StatusCode::GATEWAY_TIMEOUT) => &answered.gateway_timeout,
            (_, StatusCode::BAD_GATEWAY) => &answered.bad_gateway,
            _ => &answered.bad_request,
        };
        count.inc();
    }

    /// An exchange has ended, or was broken off.
    pub(crate) fn exchanged(&self, went: ExchangeResult, nanos: u64) {
        if let Some(status) = went.status {
            self.metrics.responses.count(status);
            // A tunnel is as long as its client stays, which says nothing about the upstream.
            if went.passed_on && status != StatusCode::SWITCHING_PROTOCOLS {
                self.metrics.proxied.record(nanos);
            }
        }
        if went.broken {
            self.metrics.upstream_errors.cut.inc();
        } else if !went.over {
            self.metrics.clients_gone.inc();
        }
    }

    /// A connection was closed because its client was late.
    pub(crate) fn closed_late(&self, _due: DeadlineKind) {}
}

/// What the line of a request says.
#[derive(Debug)]
pub(crate) struct AccessLogEntry {
    client: IpAddr,
    /// Nothing if the request could not be read.
    method: Option<Method>,
    /// The template of its operation, as the document has it.
    route: String,
}

/// The template of the operation that was meant; empty if none was. Never the path itself: that is the client's.
fn route(policy: &Policy, matched: Option<RequestMatch>) -> &str {
    match matched {
        Some(RequestMatch::Operation(id) | RequestMatch::Loosely(id)) => {
            policy.operations().get(id.index()).map_or("", |operation| &operation.template)
        }
        Some(RequestMatch::Preflight | RequestMatch::Forwarded | RequestMatch::Unmatched { .. }) | None => "",
    }
}
