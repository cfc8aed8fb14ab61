//! Layers inside layers: one admission, one set of headers, and a refusal inside charges nothing outside.

use axum::Router;
use axum::body::Body;
use axum::routing::get as route;
use http::{HeaderMap, Request, StatusCode};
use tollgate::{Limit, Limiter, Micros};
use tollgate_tower::{Admitted, KeyExtractor, RateLimitOutcome, ResponseConfig, Rule, Rules, TollgateLayer};
use tower::ServiceExt;

use crate::support::{PEER, limiter, run};

fn layer(limiter: &Limiter, name: &str, capacity: u64) -> TollgateLayer {
    let limit = Limit::token_bucket(capacity, 1, Micros::DAY).expect("it fits");
    let rule = Rule::new(name, limit).keyed_by(KeyExtractor::everyone()).cost(2).estimated();
    TollgateLayer::new(Rules::new(limiter.clone(), [rule]).expect("a rule")).with_peer(PEER)
}

fn ask(app: &Router, target: &str) -> (u16, HeaderMap, String) {
    let request = Request::get(target).body(Body::empty()).expect("a request");
    run(async {
        let (parts, body) = app.clone().oneshot(request).await.expect("it cannot fail").into_parts();
        let body = axum::body::to_bytes(body, 10_000).await.expect("it is short");
        (parts.status.as_u16(), parts.headers, String::from_utf8(body.to_vec()).expect("it is text"))
    })
}

fn field<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    headers.get_all(name).iter().map(|value| value.to_str().expect("it is ASCII")).collect()
}

async fn settle(admitted: Admitted) -> String {
    let limits: Vec<_> = admitted.limits().map(|limit| limit.name().to_owned()).collect();
    format!("{limits:?} {}", admitted.settle(1))
}

/// Three layers around a service: of the server, of a part of it, and of one route.
fn app(limiter: &Limiter, layers: impl Fn(TollgateLayer) -> TollgateLayer) -> Router {
    let route_limit = layers(layer(limiter, "route", 4));
    Router::new()
        .route("/", route(|| async { "hello" }))
        .route("/settle", route(settle))
        .route("/refund", route(|admitted: Admitted| async { admitted.refund().to_string() }))
        .layer(route_limit)
        .layer(layers(layer(limiter, "part", 100)))
        .layer(layers(layer(limiter, "server", 1_000)))
}

/// How much of the limits is left.
fn left(limiter: &Limiter) -> [u64; 3] {
    [("server", 1_000), ("part", 100), ("route", 4)].map(|(name, capacity)| {
        let handle = layer(limiter, name, capacity).handle();
        run(handle.inspect(name, "")).expect("it is there").decision.remaining
    })
}

#[test]
fn a_refusal_inside_charges_nothing_outside_and_its_headers_stand_alone() {
    let tells: [fn(TollgateLayer) -> TollgateLayer; 2] = [|layer| layer, TollgateLayer::without_admitted];
    for layers in tells {
        let (limiter, _) = limiter();
        let app = app(&limiter, layers);
        let (status, headers, _) = ask(&app, "/");
        assert_eq!(status, 200);
        let shown = field(&headers, "ratelimit").join(", ");
        let names: Vec<_> = crate::support::read(&shown).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["server", "part", "route"], "one list shows all of them");
        assert_eq!(field(&headers, "x-ratelimit-limit"), ["4"], "and the closest one binds");
        assert_eq!(ask(&app, "/").0, 200);
        assert_eq!(left(&limiter), [996, 96, 0]);
        for _ in 0..3 {
            let (status, headers, _) = ask(&app, "/");
            assert_eq!(status, 429);
            assert_eq!(left(&limiter), [996, 96, 0], "a refusal charges nothing");
            assert_eq!(field(&headers, "ratelimit"), ["\"route\";r=0;t=172800"]);
            assert_eq!(
                (field(&headers, "x-ratelimit-limit"), field(&headers, "retry-after")),
                (vec!["4"], vec!["172800"])
            );
        }
    }
}

#[test]
fn a_handler_sees_and_settles_the_limits_of_all_layers() {
    let (limiter, _) = limiter();
    let app = app(&limiter, |layer| layer);
    let (_, headers, body) = ask(&app, "/settle");
    assert_eq!(body, r#"["server", "part", "route"] true"#);
    assert_eq!(left(&limiter), [999, 99, 3]);
    let shown = field(&headers, "ratelimit").join(", ");
    let remaining = crate::support::read(&shown).into_iter().map(|(_, numbers)| numbers[0].1);
    assert_eq!(remaining.collect::<Vec<_>>(), [999, 99, 3], "headers show what was settled");
    assert_eq!(ask(&app, "/refund").2, "true");
    assert_eq!(left(&limiter), [999, 99, 3]);
}

/// An error is no refusal: whoever sends wrong requests pays for them outside.
#[test]
fn a_wrong_request_is_charged_outside() {
    let (limiter, _) = limiter();
    let key = KeyExtractor::header(http::HeaderName::from_static("x-key"));
    let limit = Limit::per_second(1).burst(1).expect("it fits");
    let rules = Rules::new(limiter.clone(), [Rule::new("a", limit).keyed_by(key)]).expect("a rule");
    let app = Router::new()
        .route("/", route(|| async { "hello" }))
        .layer(TollgateLayer::new(rules).with_peer(PEER))
        .layer(layer(&limiter, "server", 1_000));
    let request = Request::get("/").header("x-key", "a").header("x-key", "b").body(Body::empty());
    let response = run(app.oneshot(request.expect("a request"))).expect("it cannot fail");
    assert_eq!(
        (response.status(), field(response.headers(), "ratelimit")),
        (StatusCode::BAD_REQUEST, vec!["\"server\";r=998;t=172800"])
    );
    assert_eq!(left(&limiter)[0], 998);
}

/// Middleware in between that tries twice, or that shows an error page of its own.
#[test]
fn what_counts_is_the_response_that_came() {
    use axum::extract::Request;
    use axum::middleware::{Next, from_fn, map_response};
    use axum::response::Response;

    let (limiter, _) = limiter();
    let inner = Router::new().route("/", route(|| async { "hello" })).layer(layer(&limiter, "route", 4));
    let twice = from_fn(|request: Request, next: Next| async move {
        let (parts, _) = request.into_parts();
        let again = || Request::from_parts(parts.clone(), Body::empty());
        let (first, second) = (next.clone().run(again()).await, next.run(again()).await);
        // An answer without what was rejected is an answer.
        if second.status() == 429 { first } else { second }
    });
    let app = inner.clone().layer(twice).layer(layer(&limiter, "server", 1_000));
    assert_eq!((ask(&app, "/").0, left(&limiter)), (200, [998, 100, 0]));
    assert_eq!((ask(&app, "/").0, left(&limiter)), (429, [998, 100, 0]));

    let page = map_response(|response: Response| async move {
        if response.status() == 429 {
            (StatusCode::SERVICE_UNAVAILABLE, "later").into_response()
        } else {
            response
        }
    });
    use axum::response::IntoResponse;
    let app = inner.layer(page).layer(layer(&limiter, "server", 1_000));
    assert_eq!((ask(&app, "/").0, left(&limiter)), (503, [998, 100, 0]), "refunded without the extension");
}

#[test]
fn middleware_outside_sees_the_outcome_of_all_layers() {
    use axum::middleware::map_response;
    use axum::response::{IntoResponse, Response};

    let (limiter, _) = limiter();
    let tell = map_response(|response: Response| async move {
        match response.extensions().get() {
            Some(RateLimitOutcome::Admitted(admitted)) => format!("{} limits", admitted.limits().count()),
            Some(RateLimitOutcome::Refused(refusal)) => refusal.limit().name().to_owned(),
            other => format!("{other:?}"),
        }
        .into_response()
    });
    let app = app(&limiter, |layer| layer).layer(tell);
    assert_eq!(["/", "/", "/"].map(|target| ask(&app, target).2), ["3 limits", "3 limits", "route"]);
}

/// What stood in for a key inside is not hidden by a layer outside.
#[test]
fn a_degraded_limit_inside_is_told() {
    let clock = tollgate::Clock::manual(Micros::from_secs(crate::support::START));
    let full = Limiter::builder()
        .clock(clock.clock())
        .max_memory(tollgate::MAX_MEMORY_BYTES_MIN)
        .build()
        .expect("memory");
    crate::degraded::fill(&full);
    let (room, _) = limiter();
    let config = ResponseConfig { degraded: true, ..ResponseConfig::default() };
    let with_room = |name| layer(&room, name, 10).with_responses(config);
    let without_room = layer(&full, "a", 10).with_responses(config);
    let app = Router::new().route("/", route(|| async { "hello" })).layer(without_room).layer(with_room("b"));
    let (status, headers, _) = ask(&app, "/");
    assert_eq!((status, field(&headers, "tollgate-degraded")), (200, vec!["full"]));
}
