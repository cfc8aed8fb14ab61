//! The layer itself: whose request it is, what goes on to the service, and what a handler may do.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::routing::get as route;
use http::{HeaderName, Request, StatusCode};
use http_body::Body as _;
use tollgate::{Limit, Limiter, Micros};
use tollgate_tower::{Admitted, KeyExtractor, Peer, Rule, Rules, TollgateLayer};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::support::{PEER, get, limiter, policy, request, run, send};

fn bucket(capacity: u64) -> Limit {
    Limit::token_bucket(capacity, 1, Micros::DAY).expect("it fits")
}

fn rules(limiter: &Limiter, rules: impl IntoIterator<Item = Rule>) -> TollgateLayer {
    TollgateLayer::new(Rules::new(limiter.clone(), rules).expect("they are right"))
}

/// Of a policy and of rules alike.
#[test]
fn without_a_peer_requests_are_answered_500_and_never_let_through() {
    let (limiter, _) = limiter();
    let of_rules = rules(&limiter, [Rule::new("a", bucket(1))]);
    let text = "tollgate: 1\nroutes: [{ path: /, rate_limit: { name: p, algorithm: token_bucket, capacity: 1, refill_rate: 1 } }]";
    for layer in [of_rules, TollgateLayer::new(crate::support::limits(&limiter, text))] {
        for _ in 0..3 {
            let told = get(&layer, "/");
            assert_eq!(told.status, 500);
            assert!(told.problem()["detail"].to_string().contains("tollgate_tower::Peer"));
        }
        let with = |address: &str| {
            let mut request = request("GET", "/", &[]);
            request.extensions_mut().insert(Peer(address.parse().expect("an address")));
            send(&layer, request).status
        };
        assert_eq!([with("192.0.2.1"), with("192.0.2.1"), with("192.0.2.2")], [200, 429, 200]);
    }
    // Where nobody's address matters, none is asked for.
    let layer = rules(&limiter, [Rule::new("e", bucket(1)).keyed_by(KeyExtractor::everyone())]);
    assert_eq!([get(&layer, "/").status, get(&layer, "/").status], [200, 429]);
}

#[test]
fn axums_connect_info_is_a_peer() {
    let (limiter, _) = limiter();
    let app: Router = Router::new()
        .route("/", route(|| async { "hello" }))
        .layer(rules(&limiter, [Rule::new("a", bucket(1))]));
    let ask = |address: [u8; 4]| {
        let mut request = Request::new(Body::empty());
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(IpAddr::from(address), 4_000)));
        run(app.clone().oneshot(request)).expect("it cannot fail").status()
    };
    let (ok, refused) = (StatusCode::OK, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!([ask([192, 0, 2, 1]), ask([192, 0, 2, 1]), ask([192, 0, 2, 2])], [ok, refused, ok]);
}

/// Charged, told and given back as ever; only the handler knows nothing of it.
#[test]
fn a_service_whose_handlers_are_told_nothing_answers_the_same() {
    let [told, untold] = [true, false].map(|tells| {
        let (limiter, _) = limiter();
        let rule =
            Rule::new("a", bucket(2)).keyed_by(KeyExtractor::header(HeaderName::from_static("x-user")));
        let layer = rules(&limiter, [rule]).with_peer(PEER);
        let layer = if tells { layer } else { layer.without_admitted() };
        let service = layer.layer(service_fn(move |request: Request<Body>| async move {
            assert_eq!(request.extensions().get::<Admitted>().is_some(), tells);
            // Who is a stranger has not spent what is another's.
            let status = if request.uri().path() == "/stranger" { 401 } else { 200 };
            http::Response::builder().status(status).body(Body::empty())
        }));
        ["/stranger", "/", "/", "/"].map(|path| {
            let request = Request::builder().uri(path).header("x-user", "ada").body(Body::empty());
            let asked = service.clone().oneshot(request.expect("it is a request"));
            let response = run(asked).expect("it cannot fail");
            (response.status().as_u16(), response.headers().clone())
        })
    });
    assert_eq!(told, untold);
    assert_eq!(untold.map(|(status, _)| status), [401, 200, 200, 429]);
}

/// What was matched goes on, with the query as it came; a spelling of its own is no way around a limit.
#[test]
fn the_path_that_goes_on_is_the_one_that_was_matched() {
    let (limiter, _) = limiter();
    let text = "tollgate: 1\nroutes: [{ path: /login, rate_limit: { name: a, algorithm: token_bucket, capacity: 9, refill_rate: 1 } }]";
    let layer = policy(&limiter, text);
    let table = [
        ("/login", "/login"),
        ("/%6cogin?x=%6c", "/login?x=%6c"),
        ("/x/../login", "/login"),
        ("/./login?", "/login?"),
        ("http://h.example/%6Cogin?a", "http://h.example/login?a"),
    ];
    for (left, (target, wanted)) in (0..9).rev().zip(table) {
        let told = get(&layer, target);
        assert_eq!((told.status, told.body.as_ref()), (200, wanted.as_bytes()), "{target}");
        assert_eq!(told.parameter("ratelimit", "r"), left, "{target} is the same limit");
    }
}

/// A handler's word is the last: it settles, gives back, or leaves it.
#[test]
fn a_handler_sees_its_limits_and_settles_once() {
    let (limiter, _) = limiter();
    let limits = [
        Rule::new("tokens", bucket(100)).cost(10).estimated(),
        Rule::new("requests", bucket(50)).keyed_by(KeyExtractor::everyone()),
    ];
    let app: Router = Router::new()
        .route(
            "/settle",
            route(|admitted: Admitted| async {
                format!("{} {}", admitted.clone().settle(3), admitted.refund())
            }),
        )
        .route(
            "/only",
            route(|admitted: Admitted| async move {
                let settled = [
                    admitted.settle_limit("tokens", 30),
                    admitted.settle_limit("tokens", 1),
                    admitted.settle_limit("x", 1),
                ];
                format!("{settled:?} {}", admitted.refund())
            }),
        )
        .route("/refund", route(|admitted: Admitted| async { admitted.refund().to_string() }))
        .route(
            "/look",
            route(|admitted: Admitted| async move {
                let all: Vec<_> = admitted
                    .limits()
                    .map(|standing| (standing.name().to_owned(), standing.remaining()))
                    .collect();
                let binding =
                    admitted.binding_limit().map(|standing| (standing.name().to_owned(), standing.limit()));
                format!("{all:?} {binding:?} {} {:?}", admitted.is_degraded(), admitted.tier())
            }),
        )
        .layer(rules(&limiter, limits).with_peer(PEER));
    let ask = |target: &str| {
        let request = Request::get(target).body(Body::empty()).expect("it is a request");
        run(async {
            let response = app.clone().oneshot(request).await.expect("it cannot fail");
            let body = axum::body::to_bytes(response.into_body(), 1_000).await.expect("it is short");
            String::from_utf8(body.to_vec()).expect("it is text")
        })
    };
    let table = [
        ("/look", r#"[("tokens", 90), ("requests", 49)] Some(("requests", 50)) false None"#),
        // Three of the ten stay, and the request itself was no estimate: that one is refunded.
        ("/settle", "true true"),
        ("/look", r#"[("tokens", 77), ("requests", 48)] Some(("requests", 50)) false None"#),
        ("/only", "[true, false, false] true"),
        ("/look", r#"[("tokens", 37), ("requests", 47)] Some(("tokens", 100)) false None"#),
        ("/refund", "true"),
        ("/look", r#"[("tokens", 27), ("requests", 46)] Some(("tokens", 100)) false None"#),
    ];
    for (place, (target, wanted)) in table.iter().enumerate() {
        assert_eq!(ask(target), *wanted, "{place}: {target}");
    }
}

#[test]
fn a_handler_without_a_layer_is_told_so() {
    let app: Router = Router::new()
        .route("/", route(|_: Admitted| async { "hello" }))
        .route("/maybe", route(|admitted: Option<Admitted>| async move { admitted.is_none().to_string() }));
    let ask = |target: &str| {
        let request = Request::get(target).body(Body::empty()).expect("it is a request");
        run(app.clone().oneshot(request)).expect("it cannot fail").status()
    };
    assert_eq!([ask("/"), ask("/maybe")], [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::OK]);
}

/// Nothing is waited for, and nothing boxed for waiting: the service was called when `call` returns.
#[test]
fn limits_in_memory_are_asked_at_once() {
    let (limiter, _) = limiter();
    let mut service =
        rules(&limiter, [Rule::new("a", bucket(1))]).with_peer(PEER).layer(service_fn(|_: Request<()>| {
            std::future::ready(Ok::<_, std::convert::Infallible>(http::Response::new(String::new())))
        }));
    run(async {
        for wanted in ["ResponseFuture(admitted)", "ResponseFuture(answered)"] {
            let called = service.ready().await.expect("it is ready").call(request("GET", "/", &[]));
            assert_eq!(format!("{called:?}"), wanted);
        }
    });
}

/// A request that is dropped before its response, as a cancelled stream is, has spent its token.
#[test]
fn a_cancelled_request_has_spent_its_token() {
    let (limiter, _) = limiter();
    let layer = rules(&limiter, [Rule::new("a", bucket(2))]).with_peer(PEER);
    let mut never = layer.layer(service_fn(|_: Request<()>| {
        std::future::pending::<Result<http::Response<String>, std::convert::Infallible>>()
    }));
    run(async {
        never.ready().await.expect("it is ready");
        drop(never.call(request("GET", "/", &[])));
    });
    assert_eq!([get(&layer, "/").status, get(&layer, "/").status], [200, 429]);
}

#[test]
fn an_answers_length_is_known_and_its_body_ends() {
    let (limiter, _) = limiter();
    let layer = rules(&limiter, [Rule::new("a", bucket(1)).cost(2)]).with_peer(PEER);
    let service = layer.layer(service_fn(|_: Request<()>| async {
        Ok::<_, std::convert::Infallible>(http::Response::new(String::from("four")))
    }));
    let response = run(service.oneshot(request("GET", "/", &[]))).expect("it cannot fail");
    let length = response.body().size_hint().exact().expect("it is known");
    let told = get(&layer, "/");
    assert_eq!((response.status().as_u16(), told.body.len() as u64), (422, length));
    assert!(!response.body().is_end_stream());
}
