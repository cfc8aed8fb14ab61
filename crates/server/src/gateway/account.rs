//! What happened, counted and written down. It changes nothing about a request.

use http::StatusCode;
use tollgate::{Kind, Retry};
use tollgate_core::Mode;
use tollgate_tower::{Answer, AnswerKind, Asked, Room};

use super::live::InForce;
use super::stopped::Stopped;
use super::stopwatch::Stopwatch;
use super::upstream::{Answered, Effort, UpstreamError};
use super::watch::Due;
use super::worker::Worker;

impl Worker {
    /// A request was asked about.
    pub(crate) fn decided(&self, live: &InForce, room: &Room, asked: &Asked, since: &Stopwatch) {
        self.metrics.decision.record(since.nanos());
        let verdict = match asked {
            Asked::Pass(pass) => pass.verdict.as_ref(),
            Asked::Answered(answer) => answer.verdict.as_ref(),
        };
        let Some(verdict) = verdict else { return };
        let charges = room.hits().charges();
        if let Kind::Unavailable(_) = verdict.kind() {
            let meters = charges.iter().filter_map(|charge| live.meters.get(charge.limit as usize));
            meters.for_each(|meters| meters.unavailable.inc());
            return;
        }
        for (charge, answer) in charges.iter().zip(verdict.answers()) {
            let Some(meters) = live.meters.get(charge.limit as usize) else { continue };
            match (answer.granted(), answer.mode()) {
                (true, _) => meters.granted.inc(),
                (false, Mode::Enforced) => meters.refused.inc(),
                (false, Mode::Shadow) => meters.shadow_refused.inc(),
            }
        }
    }

    /// The upstream was tried.
    pub(crate) fn tried(&self, effort: Effort, answered: &Result<Answered, Stopped>) {
        let metrics = &self.metrics;
        metrics.upstream_connects.add(u64::from(effort.connects));
        metrics.upstream_retries.add(u64::from(effort.retries));
        let errors = &metrics.upstream_errors;
        match answered {
            Ok(_) | Err(Stopped::Answer(_) | Stopped::TooLarge | Stopped::HeadTooLarge) => return,
            Err(Stopped::Late(Due::Connect | Due::Response | Due::Total)) => errors.timeout.inc(),
            Err(Stopped::Late(_)) | Err(Stopped::Upstream(UpstreamError::Client)) => return,
            Err(Stopped::Upstream(UpstreamError::Connect(_))) => errors.connect.inc(),
            Err(Stopped::Upstream(UpstreamError::Tls(_))) => errors.tls.inc(),
            Err(Stopped::Upstream(UpstreamError::Broken { .. } | UpstreamError::Ended)) => {
                errors.closed.inc()
            }
        }
    }

    /// A request is answered here.
    pub(crate) fn stopped(&self, stopped: Stopped) -> Answer {
        let answer = stopped.into_answer();
        let answered = &self.metrics.answered;
        let count = match (answer.kind, answer.status) {
            (AnswerKind::Refused, _) => &answered.refused,
            (AnswerKind::Never, _) => &answered.never_fits,
            (AnswerKind::Unavailable, _) => &answered.unavailable,
            (AnswerKind::NotFound, _) => &answered.not_found,
            (AnswerKind::MethodNotAllowed, _) => &answered.method_not_allowed,
            (_, StatusCode::PAYLOAD_TOO_LARGE) => &answered.body_too_large,
            (_, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE) => &answered.head_too_large,
            (_, StatusCode::REQUEST_TIMEOUT) => &answered.request_timeout,
            (_, StatusCode::NOT_IMPLEMENTED) => &answered.not_implemented,
            (_, StatusCode::GATEWAY_TIMEOUT) => &answered.gateway_timeout,
            (_, StatusCode::BAD_GATEWAY) => &answered.bad_gateway,
            (AnswerKind::BadRequest | AnswerKind::Other, _) => &answered.bad_request,
        };
        count.inc();
        answer
    }

    /// An exchange has ended, or was broken off.
    pub(crate) fn exchanged(&self, status: Option<StatusCode>, broken: bool, nanos: u64) {
        match status {
            Some(status) => {
                self.metrics.responses.count(status);
                self.metrics.proxied.record(nanos);
            }
            None => self.metrics.clients_gone.inc(),
        }
        if broken {
            self.metrics.upstream_errors.cut.inc();
        }
    }

    /// A connection was closed because its client was late.
    pub(crate) fn closed_late(&self, _due: Due) {}
}

/// How long, in seconds, for a line.
pub(crate) fn seconds(retry: Option<Retry>) -> Option<u64> {
    match retry? {
        Retry::After(wait) => Some(wait.secs_rounded_up()),
        Retry::Never => None,
    }
}
