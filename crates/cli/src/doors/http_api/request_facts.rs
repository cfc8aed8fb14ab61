//! A request that a client describes: its method, target, headers and address, decided by the policy as the gateway would.

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tollgate_engine::{CheckError, Outcome, RequestHead, Scratch};
use tollgate_tower::{ErrorResponse, Reply};

use super::Endpoint;
use super::decision;
use super::problem::{Answer, Problem};
use super::strict_json::Object;
use crate::active_policy::ActivePolicy;

/// Characters of a request's target; more are an error.
pub(super) const TARGET_CHARS_MAX: usize = 8 << 10;
/// Characters of a host or an address; more are an error.
const HOST_CHARS_MAX: usize = 256;

/// A request as it was described.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) host: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) address: IpAddr,
}

impl Described {
    /// Reads one.
    fn read(mut request: Object) -> Result<Self, Problem> {
        let method = request.required_text("method", 64)?;
        let method =
            method.parse().map_err(|_| request.bad("method", "is no method of HTTP, such as `GET`"))?;
        let target = request.required_text("target", TARGET_CHARS_MAX)?;
        if !target.starts_with('/') {
            return Err(
                request.bad("target", "is no path with or without a query, such as `/reports?page=2`")
            );
        }
        let host = request.text("host", HOST_CHARS_MAX)?;
        let address = request.required_text("address", HOST_CHARS_MAX)?;
        let address = address.parse().map_err(|_| request.bad("address", "is no IP address"))?;
        let mut headers = HeaderMap::new();
        if let Some(members) = request.object("headers")? {
            let pointer = |name: &str| members.pointer(name);
            let wrong = |name: &str, what: &str| super::strict_json::bad(pointer(name), what);
            for (name, value) in members.entries()? {
                let parsed: Result<HeaderName, _> = name.parse();
                let header = parsed.map_err(|_| wrong(name, "this is no name of a header"))?;
                let value =
                    HeaderValue::from_str(value).map_err(|_| wrong(name, "this is no value of a header"))?;
                headers.append(header, value);
            }
        }
        request.end()?;
        Ok(Self { method, target, host, headers, address })
    }
}

/// Checks a request that a body describes.
pub(super) async fn check(
    endpoint: &Endpoint,
    live: &Arc<ActivePolicy>,
    request: Object,
) -> Result<Answer, Problem> {
    let described = Described::read(request)?;
    let outcome = ask(live, &described).await;
    let metrics = &endpoint.context.metrics;
    if let Ok(Outcome::Refused(refusal)) = &outcome {
        let degraded = refusal.degradation() != tollgate_engine::Degradation::None;
        let retry = (Some(refusal.retry()), degraded);
        let mut answer = decision::of_statuses(false, refusal.limits(), retry, metrics);
        let rejection = match live.responses.reply(outcome, &described.headers) {
            Reply::Rejected(rejection) => rejection,
            Reply::Admitted(_) => return Err(Problem::undetermined("no decision")),
        };
        show(&mut answer, &rejection.headers);
        return Ok(answer);
    }
    match live.responses.reply(outcome, &described.headers) {
        Reply::Admitted(admission) => {
            let state = (None, admission.is_degraded());
            let mut answer = decision::of_statuses(true, admission.limits(), state, metrics);
            let (parts, body) = answer.into_parts();
            let mut headers = parts.headers.clone();
            live.responses.write(&admission, parts.status, &mut headers);
            answer = http::Response::from_parts(parts, body);
            *answer.headers_mut() = headers;
            Ok(answer)
        }
        Reply::Rejected(rejection) => Err(problem_of(&rejection, endpoint)),
    }
}

/// Copies the headers that show limits.
fn show(answer: &mut Answer, headers: &HeaderMap) {
    for (name, value) in headers {
        if !answer.headers().contains_key(name) {
            answer.headers_mut().append(name, value.clone());
        }
    }
}

/// A response that is no decision: the request is wrong, or the store gave none.
fn problem_of(rejection: &ErrorResponse, endpoint: &Endpoint) -> Problem {
    let body: Option<serde_json::Value> = serde_json::from_slice(&rejection.body).ok();
    let detail = body.as_ref().and_then(|body| body.get("detail")?.as_str()).unwrap_or("no decision");
    if rejection.status == http::StatusCode::SERVICE_UNAVAILABLE {
        endpoint.context.metrics.undetermined.inc();
        return Problem::undetermined("no decision: the shared store makes none; nothing was charged");
    }
    // It is the request that is described which is wrong, and not the request that describes it.
    Problem::new(http::StatusCode::UNPROCESSABLE_ENTITY, detail).at("/request".into())
}

/// Asks the policy.
pub(super) async fn ask(live: &Arc<ActivePolicy>, described: &Described) -> Result<Outcome, CheckError> {
    let Described { method, target, host, headers, address } = described;
    let mut head = RequestHead::new(method.as_str(), target, headers).with_peer(*address);
    head.authority = host.as_deref();
    if live.waits {
        let mut scratch = Scratch::default();
        return live.enforcer.check(&head, &mut scratch).await;
    }
    thread_local! {
        static SCRATCH: std::cell::RefCell<Scratch> = std::cell::RefCell::new(Scratch::default());
    }
    SCRATCH.with_borrow_mut(|scratch| live.enforcer.try_check(&head, scratch))
}
