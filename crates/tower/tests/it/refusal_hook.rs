//! What is up to the service: its own responses to refusals, the outcome in the response, and checks of a handler's own.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::post;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use tollgate::{Limit, Micros, NamedLimit};
use tollgate_engine::{Enforcer, Outcome, Scratch};
use tollgate_tower::{ErrorResponse, RateLimitOutcome, RequestHead, Rule, Rules, TollgateLayer};
use tower::{Layer, ServiceExt, service_fn};

use crate::support::{PEER, limiter, request, run, send};

fn bucket(capacity: u64) -> Limit {
    Limit::token_bucket(capacity, 1, Micros::MINUTE).expect("it fits")
}

/// A layer with one limit of one, whose refusals are written by the service.
fn own_429() -> TollgateLayer {
    let rules = Rules::new(limiter().0, [Rule::new("per client", bucket(1))]).expect("a rule");
    TollgateLayer::new(rules).with_peer(PEER).on_refusal(|refusal, mut response| {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        response.map(|problem| format!("{refusal}; {} bytes less", problem.len()))
    })
}

#[test]
fn a_service_writes_the_body_of_its_refusals() {
    let layer = own_429();
    assert_eq!(send(&layer, request("GET", "/", &[])).status, 200);
    let told = send(&layer, request("GET", "/", &[]));
    assert_eq!((told.status, told.field("content-type")), (429, "text/plain"));
    // All that the layer prepared is there, and the service changed what it liked.
    assert_eq!((told.number("retry-after"), told.parameter("ratelimit", "t")), (60, 60));
    let body = String::from_utf8(told.body.to_vec()).expect("it is text");
    let less = body.strip_prefix("refused by \"per client\", retry after 60 s; ").expect("it is the refusal");
    assert!(less.ends_with(" bytes less") && !less.starts_with("0 "), "{less}");
}

#[test]
fn a_grpc_call_is_refused_in_grpcs_own_way_whatever_the_hook() {
    let layer = own_429();
    let call = || send(&layer, request("POST", "/", &[("content-type", "application/grpc")]));
    assert_eq!(call().status, 200);
    let told = call();
    assert_eq!((told.status, told.field("grpc-status"), told.body.len()), (200, "8", 0));
    assert_eq!(told.field("content-type"), "application/grpc");
}

/// What a response's extensions say.
fn outcome(layer: &TollgateLayer, request: Request<()>) -> (u16, Option<String>) {
    let service = layer.layer(service_fn(|_| async { Ok::<_, Infallible>(Response::new(String::new())) }));
    let response = run(service.oneshot(request)).expect("it cannot fail");
    let said = response.extensions().get::<RateLimitOutcome>().map(|outcome| match outcome {
        RateLimitOutcome::Admitted(admitted) => {
            let left = admitted.binding_limit().map(|limit| limit.remaining());
            format!("admitted, {left:?} left")
        }
        RateLimitOutcome::Refused(refusal) => refusal.to_string(),
        RateLimitOutcome::NotChecked(error) => error.to_string(),
        other @ (RateLimitOutcome::Undetermined(_) | _) => format!("{other:?}"),
    });
    (response.status().as_u16(), said)
}

#[test]
fn a_response_carries_the_outcome_for_middleware_around_the_layer() {
    let (limiter, _) = limiter();
    let key = tollgate_tower::KeyExtractor::header(http::HeaderName::from_static("x-key"));
    let rules = || {
        let rules = [Rule::new("a", bucket(2)).keyed_by(key.clone())];
        TollgateLayer::new(Rules::new(limiter.clone(), rules).expect("a rule")).with_peer(PEER)
    };
    let layer = rules();
    let ask = |headers: &[(&str, &str)]| outcome(&layer, request("GET", "/", headers));
    assert_eq!(ask(&[]), (200, Some("admitted, Some(1) left".into())));
    assert_eq!(outcome(&rules().without_admitted(), request("GET", "/", &[])), (200, None));
    assert_eq!(ask(&[]), (429, Some("refused by \"a\", retry after 60 s".into())));
    let (status, said) = ask(&[("x-key", "a"), ("x-key", "b")]);
    assert!(status == 400 && said.is_some_and(|said| said.contains("x-key")), "{status}");
}

/// For handlers that check a limit themselves: the same responses as the layer's.
#[test]
fn a_handler_checks_a_limit_of_its_own_and_returns_the_refusal() {
    async fn login(State(logins): State<NamedLimit>, account: String) -> Result<String, ErrorResponse> {
        let verdict = tollgate_tower::check(&logins, &account).await?;
        Ok(format!("{account}, {:?} left", verdict.remaining()))
    }
    let (limiter, clock) = limiter();
    let logins = limiter.limit("logins", bucket(2));
    let app: Router = Router::new().route("/login", post(login)).with_state(logins.clone());
    let ask = |account: &'static str| {
        let request = Request::post("/login").body(Body::from(account)).expect("a request");
        run(async {
            let response = app.clone().oneshot(request).await.expect("it cannot fail");
            let (parts, body) = response.into_parts();
            let body = axum::body::to_bytes(body, 1_000).await.expect("it is short");
            crate::support::Told { status: parts.status.as_u16(), headers: parts.headers, body }
        })
    };
    assert_eq!((ask("ada").body, ask("ada").body), ("ada, Some(1) left".into(), "ada, Some(0) left".into()));
    let refused = ask("ada");
    assert_eq!((refused.status, refused.number("retry-after")), (429, 60));
    assert_eq!(refused.problem()["violated-policies"], serde_json::json!(["logins"]));
    assert_eq!(ask("bob").status, 200);
    clock.advance(Duration::from_secs(60));
    assert_eq!(ask("ada").status, 200);
    let long = run(tollgate_tower::check(&logins, vec![b'x'; tollgate::KEY_BYTES_MAX + 1]));
    assert_eq!(long.expect_err("it is too long").status, 500);
}

/// A refusal by the engine itself becomes the response that the layer would send.
#[test]
fn a_refusal_is_a_response() {
    let (limiter, _) = limiter();
    let rule = || Rules::new(limiter.clone(), [Rule::new("a", bucket(1))]).expect("a rule");
    let (enforcer, headers) = (std::sync::Arc::new(Enforcer::from(rule())), http::HeaderMap::new());
    let head = RequestHead::new("GET", "/", &headers).with_peer(PEER);
    let check = || enforcer.try_check(&head, &mut Scratch::default()).expect("it is checked");
    assert!(matches!(check(), Outcome::Admitted(_)));
    let Outcome::Refused(refusal) = check() else { unreachable!("one of one is used up") };
    let response = ErrorResponse::from(&refusal);
    let told = send(&TollgateLayer::new(rule()).with_peer(PEER), request("GET", "/", &[]));
    assert_eq!(
        (response.status.as_u16(), &response.headers, response.body),
        (told.status, &told.headers, told.body)
    );
}
