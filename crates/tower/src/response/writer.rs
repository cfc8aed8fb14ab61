//! Writes the responses of one enforcer: headers for admitted requests, complete responses for the others.

use std::sync::OnceLock;

use http::{HeaderMap, StatusCode};
use smallvec::SmallVec;
use tollgate_algorithms::Micros;
use tollgate_engine::{
    Admission, CheckError, Enforcer, LimitDescriptor, LimitStatus, Outcome, Refusal, Undetermined,
};

use super::computed_limits::{ComputedLimits, Rendered};
use super::config::ResponseConfig;
use super::error_response::ErrorResponse;
use super::headers::{Degraded, LimitHeaders, RenderedStatus};
use super::problem;
use super::refusal::{self, PreparedRefusal};
use super::rendered_limit::RenderedLimit;
use crate::admitted::InnerAdmissions;

/// Writes the responses of one enforcer.
///
/// It renders the limits once. Replace it together with its enforcer.
#[derive(Debug)]
pub struct ResponseWriter {
    config: ResponseConfig,
    /// By descriptor.
    rendered: Vec<Option<RenderedLimit>>,
    /// The refusals of limits, except for the numbers, since a limit first refused. Consumers' own numbers have none: there may
    /// be as many as consumers.
    ready: Vec<OnceLock<Option<Box<PreparedRefusal>>>>,
    /// Limits with the numbers that rules computed for requests.
    computed: ComputedLimits,
    #[cfg(feature = "policy")]
    cors: Option<tollgate_policy::model::Cors>,
}

/// What to do with a checked request.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is moved once; a box would be an allocation for each request"
)]
#[must_use = "only an admitted request may proceed"]
pub enum Reply {
    /// Forward the request.
    Admitted(Admission),
    /// Send this response.
    Rejected(ErrorResponse),
}

impl ResponseWriter {
    /// A writer for the responses of an enforcer.
    #[must_use]
    pub fn new(enforcer: &Enforcer, config: ResponseConfig) -> Self {
        if config.partition_key {
            enforcer.enable_key_fingerprints();
        }
        let writer = Self::for_descriptors(enforcer.descriptors(), config);
        #[cfg(feature = "policy")]
        if let Some(limits) = enforcer.policy_limits() {
            let policy = limits.policy();
            let ready = policy.variants().iter().map(|_| OnceLock::new()).collect();
            return Self { ready, cors: policy.settings().cors.clone(), ..writer };
        }
        writer
    }

    /// A writer for limits that no enforcer has in force, to show what clients would see.
    #[must_use]
    pub fn for_descriptors(descriptors: &[Option<LimitDescriptor>], config: ResponseConfig) -> Self {
        Self {
            config,
            rendered: descriptors
                .iter()
                .map(|descriptor| descriptor.as_ref().map(RenderedLimit::new))
                .collect(),
            ready: descriptors.iter().map(|_| OnceLock::new()).collect(),
            computed: ComputedLimits::default(),
            #[cfg(feature = "policy")]
            cors: None,
        }
    }

    /// The settings.
    #[must_use]
    pub const fn config(&self) -> &ResponseConfig {
        &self.config
    }

    /// Decides what to do with a checked request. `request` are its headers.
    pub fn reply(&self, checked: Result<Outcome, CheckError>, request: &HeaderMap) -> Reply {
        match checked {
            Ok(Outcome::Admitted(admission)) => Reply::Admitted(admission),
            rejected => Reply::Rejected(self.rejection(&rejected, request)),
        }
    }

    /// The response to a request that was not admitted.
    pub(crate) fn rejection(
        &self,
        checked: &Result<Outcome, CheckError>,
        request: &HeaderMap,
    ) -> ErrorResponse {
        let mut response = match checked {
            Ok(Outcome::Refused(refusal)) => self.refusal(refusal),
            Ok(Outcome::Undetermined(undetermined)) => self.undetermined(undetermined),
            Err(error) => problem::of_error(error),
            Ok(Outcome::Admitted(_)) => problem::internal("the request was admitted"),
            // Only for those who can read bodies; they read it and check again.
            #[cfg(feature = "policy")]
            Ok(Outcome::NeedsBody { .. }) => problem::internal("the body of the request was not read"),
        };
        self.allow_origins(request, &mut response.headers);
        response
    }

    /// Lets scripts in browsers read a response, as far as the policy allows it.
    fn allow_origins(&self, _request: &HeaderMap, _response: &mut HeaderMap) {
        #[cfg(feature = "policy")]
        if let Some(cors) = &self.cors {
            super::cors::write(cors, _request, _response);
        }
    }

    /// The response to a refused request.
    pub(crate) fn refusal(&self, refusal: &Refusal) -> ErrorResponse {
        let now = refusal.decided_at();
        let statuses: SmallVec<[LimitStatus<'_>; 2]> = refusal.limits().collect();
        let mut response = self
            .ready_refusal(&statuses, refusal.hits(), now)
            .or_else(|| self.refused(statuses.iter().copied(), now))
            // It has a limit that refuses, so there is a response.
            .unwrap_or_else(refusal::unavailable);
        Degraded::of(refusal.degradation(), &self.config).write(&mut response.headers);
        response
    }

    fn undetermined(&self, _: &Undetermined) -> ErrorResponse {
        let mut response = refusal::unavailable();
        let unknown = tollgate_engine::Degradation::Unknown;
        Degraded::of(unknown, &self.config).write(&mut response.headers);
        response
    }

    /// The response to a request that these limits refuse. `None` if no enforced limit refuses it.
    pub fn refused<'a>(
        &self,
        statuses: impl Iterator<Item = LimitStatus<'a>>,
        now: Micros,
    ) -> Option<ErrorResponse> {
        let statuses: SmallVec<[LimitStatus<'_>; 2]> = statuses.collect();
        let computed = self.computed.rendered(statuses.iter());
        let rendered = statuses.iter().filter_map(|status| self.rendered(status, &computed));
        let rendered: SmallVec<[RenderedStatus<'_>; 2]> = rendered.collect();
        refusal::refused(&rendered, &self.config, now)
    }

    /// The response to a request with one hit, from the one that was rendered before.
    fn ready_refusal(&self, statuses: &[LimitStatus<'_>], hits: usize, now: Micros) -> Option<ErrorResponse> {
        let ([status @ LimitStatus { computed: None, .. }], 1) = (statuses, hits) else { return None };
        let nothing = Rendered::default();
        let rendered = self.rendered(status, &nothing)?;
        let ready = self.ready.get(status.id.index())?;
        let ready = ready.get_or_init(|| PreparedRefusal::new(rendered.rendered, &self.config));
        ready.as_ref()?.response(&rendered, &self.config, now)
    }

    /// Settles what the head of a response determines, and writes the headers that show limits. Limits whose charges a 401
    /// refunds are not shown.
    pub fn finish(&self, admission: &Admission, status: StatusCode, headers: &mut HeaderMap) {
        admission.settle_by_response(status, headers);
        self.write(admission, status, headers);
    }

    /// Writes the headers that show limits after a response with this status.
    pub fn write(&self, admission: &Admission, status: StatusCode, headers: &mut HeaderMap) {
        self.write_around(admission, InnerAdmissions::default(), status, headers);
    }

    /// As [`write`](Self::write), around the headers of layers inside. If one of them refused the request, nothing is charged
    /// here, and its headers stand alone.
    pub(crate) fn write_around(
        &self,
        admission: &Admission,
        inside: InnerAdmissions,
        status: StatusCode,
        headers: &mut HeaderMap,
    ) {
        let computed = self.computed.rendered_for(admission, status);
        let mut fields = match admission.decided_at().filter(|_| !inside.is_refused) {
            Some(now) => {
                let shown = admission.shown_limits(status);
                let shown = shown.filter_map(|status| self.rendered(&status, &computed));
                LimitHeaders::of(shown, &self.config, now)
            }
            None => LimitHeaders::default(),
        };
        let degradation = admission.degradation().max(inside.degradation);
        fields.tell(Degraded::of(degradation, &self.config));
        fields.write(headers);
    }

    /// Writes the headers that show these limits at an instant of the calendar.
    pub fn write_limits<'a>(
        &self,
        statuses: impl Iterator<Item = LimitStatus<'a>>,
        now: Micros,
        headers: &mut HeaderMap,
    ) {
        let statuses: SmallVec<[LimitStatus<'_>; 2]> = statuses.filter(LimitStatus::is_shown).collect();
        let computed = self.computed.rendered(statuses.iter());
        let shown = statuses.iter().filter_map(|status| self.rendered(status, &computed));
        LimitHeaders::of(shown, &self.config, now).write(headers);
    }

    /// A limit's status with the limit as responses show it: rendered once, or for the numbers of this request.
    fn rendered<'a>(
        &'a self,
        status: &LimitStatus<'_>,
        computed: &'a Rendered,
    ) -> Option<RenderedStatus<'a>> {
        let rendered = match status.computed {
            None => self.rendered.get(status.id.index())?.as_ref()?,
            Some(numbers) => computed.get(status.id, numbers)?,
        };
        let partition = if self.config.partition_key { status.key_fingerprint } else { 0 };
        let (decision, mode, is_shown) = (status.decision, status.mode, status.is_shown());
        Some(RenderedStatus { rendered, decision, mode, is_shown, partition })
    }
}
