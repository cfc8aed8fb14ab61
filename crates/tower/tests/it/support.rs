//! What every test needs: a limiter with a manual clock, a policy in front of a service, and a client that reads answers.
#![expect(clippy::panic, reason = "a test that cannot go on says why")]

use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use sfv::{BareItem, ListEntry, Parser};
use tollgate::{Clock, Limiter, ManualClock, Micros};
use tollgate_engine::{Admission, Scratch};
use tollgate_policy::Policy;
use tollgate_tower::{
    Enforcer, PolicyLimits, Reply, RequestHead, ResponseConfig, ResponseWriter, TollgateLayer,
};
use tower::{Layer, ServiceExt, service_fn};

/// What the clock says when a test begins.
pub(crate) const START: u64 = 1_763_208_000;
/// Who is asking, unless a test says otherwise.
pub(crate) const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));

/// A limiter whose clock is moved by hand.
pub(crate) fn limiter() -> (Limiter, ManualClock) {
    let clock = Clock::manual(Micros::from_secs(START));
    (Limiter::builder().clock(clock.clock()).build().expect("there is memory"), clock)
}

/// The limits of a policy.
pub(crate) fn limits(limiter: &Limiter, text: &str) -> PolicyLimits {
    let policy = Policy::parse("t.yaml", text).unwrap_or_else(|refused| panic!("{refused}"));
    PolicyLimits::new(limiter.clone(), Arc::new(policy), None)
}

/// A policy in force without a service, as a gateway has it.
pub(crate) struct Gateway {
    pub(crate) enforcer: Arc<Enforcer>,
    pub(crate) responses: ResponseWriter,
}

impl Gateway {
    pub(crate) fn new(limiter: &Limiter, text: &str) -> Self {
        let enforcer = Enforcer::from(limits(limiter, text).non_refundable());
        let responses = ResponseWriter::new(&enforcer, ResponseConfig::default());
        Self { enforcer: Arc::new(enforcer), responses }
    }

    pub(crate) fn check(&self, head: &RequestHead<'_>, scratch: &mut Scratch) -> Reply {
        self.responses.reply(self.enforcer.try_check(head, scratch), head.headers)
    }

    /// Settles what a response with this status determines.
    pub(crate) fn finish(&self, admission: &Admission, status: u16) {
        let status = http::StatusCode::from_u16(status).expect("a status");
        self.responses.finish(admission, status, &mut HeaderMap::new());
    }
}

/// A policy in front of a service, with the usual answers.
pub(crate) fn policy(limiter: &Limiter, text: &str) -> TollgateLayer {
    TollgateLayer::new(limits(limiter, text)).with_peer(PEER)
}

/// An answer, read.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Told {
    /// The body as JSON.
    pub(crate) fn problem(&self) -> Value {
        assert_eq!(self.field("content-type"), "application/problem+json");
        assert_eq!(self.field("cache-control"), "no-store");
        let problem: Value = serde_json::from_slice(&self.body).expect("the body is JSON");
        assert_eq!(problem["status"], self.status, "the body's status is the answer's");
        problem
    }

    /// A field's only line, or nothing.
    pub(crate) fn field(&self, name: &str) -> &str {
        let mut lines = self.headers.get_all(name).iter();
        let first = lines.next().map_or("", |line| line.to_str().expect("it is ASCII"));
        assert_eq!(lines.next(), None, "{name} has one line");
        first
    }

    /// A field that is a number.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.field(name).parse().unwrap_or_else(|_| panic!("{name}: {:?}", self.headers))
    }

    /// A field that is a list of names with numbers, as an independent parser of structured fields reads it.
    pub(crate) fn list(&self, name: &str) -> Vec<(String, Vec<(String, i64)>)> {
        let lines: Vec<_> =
            self.headers.get_all(name).iter().map(|line| line.to_str().expect("it is ASCII")).collect();
        if lines.is_empty() {
            return Vec::new();
        }
        read(&lines.join(", "))
    }

    /// One number of the only member of a list.
    pub(crate) fn parameter(&self, name: &str, key: &str) -> i64 {
        let list = self.list(name);
        let [(_, parameters)] = list.as_slice() else { panic!("{name}: {list:?}") };
        parameters.iter().find(|(known, _)| known == key).unwrap_or_else(|| panic!("{name} has no {key}")).1
    }
}

/// A structured list of names with numbers.
pub(crate) fn read(text: &str) -> Vec<(String, Vec<(String, i64)>)> {
    let list: sfv::List = Parser::new(text).parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let member = |member: &ListEntry| {
        let ListEntry::Item(item) = member else { panic!("{text}: a list in the list") };
        let BareItem::String(name) = &item.bare_item else { panic!("{text}: no name") };
        let numbers = item.params.iter().filter_map(|(key, value)| {
            let BareItem::Integer(number) = value else { return None };
            Some((key.as_str().to_owned(), i64::from(*number)))
        });
        (name.as_str().to_owned(), numbers.collect())
    };
    list.iter().map(member).collect()
}

/// Runs something to its end, on this thread.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

/// A request without a body.
pub(crate) fn request(method: &str, target: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).expect("it is a request")
}

/// Sends a request through the layer to a service that answers with what it is given.
pub(crate) fn send_to(
    layer: &TollgateLayer,
    request: Request<()>,
    upstream: impl Fn(Request<()>) -> Response<Full<Bytes>>,
) -> Told {
    let service = layer.layer(service_fn(|request| {
        let response = upstream(request);
        async { Ok::<_, Infallible>(response) }
    }));
    run(async {
        let response = service.oneshot(request).await.expect("it cannot fail");
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("it cannot fail").to_bytes();
        Told { status: parts.status.as_u16(), headers: parts.headers, body }
    })
}

/// Sends a request through the layer to a service that says which target it got.
pub(crate) fn send(layer: &TollgateLayer, request: Request<()>) -> Told {
    send_to(layer, request, |request| Response::new(Full::from(request.uri().to_string())))
}

/// Sends `GET` of a target.
pub(crate) fn get(layer: &TollgateLayer, target: &str) -> Told {
    send(layer, request("GET", target, &[]))
}
