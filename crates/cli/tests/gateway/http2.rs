//! HTTP/2 on either side and on both: bodies, trailers, many streams, gRPC, and upstreams that go away. Attacks are elsewhere.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use tokio::task::JoinSet;
use tollgate_cli::settings::Protocol;
use tollgate_testing::PYTHON;
use tollgate_testing::patience::{ended, until, within};

use crate::peers::{
    Service, Told, block_on, client_http1, client_http2, data, echo, nothing, pieces, read, request,
    trailers, whole,
};
use crate::support::{POLICY, Rig, field, status};

fn through(upstream: &Service, protocol: Protocol) -> Rig {
    Rig::new(POLICY, upstream.address, |settings| settings.upstream.protocol = protocol)
}

#[test]
fn bodies_and_trailers_pass_both_ways_between_all_versions() {
    let upstream = Service::new(echo(), None);
    for (protocol, version) in [(Protocol::Http1, "HTTP/1.1"), (Protocol::Http2, "HTTP/2.0")] {
        let rig = through(&upstream, protocol);
        for speaks_http2 in [false, true] {
            block_on(async {
                let (sender, body) = pieces();
                let mut sent = request(Method::POST, "/free", body);
                sent.headers_mut().insert("trailer", "x-check".parse().expect("it is a value"));
                let mut client = None;
                let answered = async {
                    if speaks_http2 {
                        client_http2(rig.address).await.send_request(sent).await
                    } else {
                        client.insert(client_http1(rig.address).await).send_request(sent).await
                    }
                };
                let sending = async {
                    for piece in [data("one, "), data("two"), trailers("x-check", "good")] {
                        sender.send(piece).await.expect("it is wanted");
                    }
                    drop(sender);
                };
                let (response, ()) = tokio::join!(answered, sending);
                let response = response.expect("it is answered");
                assert_eq!(response.headers()["x-version"], version);
                let host = if version == "HTTP/2.0" { "api.example.org" } else { "" };
                assert_eq!(response.headers()["x-authority"], host);
                let (body, trailers) = read(response).await;
                let check = trailers.and_then(|trailers| trailers.get("x-check").cloned());
                assert_eq!(body, "one, two");
                assert_eq!(check.expect("trailers come"), "good", "{protocol:?} {speaks_http2}");
            });
        }
    }
}

#[test]
fn many_streams_at_once_are_all_answered() {
    let upstream = Service::new(echo(), None);
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let rig = through(&upstream, protocol);
        block_on(async {
            let client = client_http2(rig.address).await;
            let mut all = JoinSet::new();
            for number in 0..400 {
                let mut client = client.clone();
                all.spawn(async move {
                    let sent = request(Method::POST, "/free", whole(number.to_string()));
                    let response = client.send_request(sent).await.expect("it is answered");
                    assert_eq!(response.status(), StatusCode::OK);
                    assert_eq!(read(response).await.0, number.to_string());
                });
            }
            while let Some(done) = all.join_next().await {
                done.expect("none fails");
            }
        });
    }
}

/// Responses that do not end take the places of all streams that an upstream allows: others go another way.
#[test]
fn an_upstream_that_allows_few_streams_has_more_connections() {
    const STREAMS: u32 = 3;
    let bodies = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&bodies);
    let handler = move |asked: http::Request<hyper::body::Incoming>| {
        if asked.method() != Method::GET {
            return http::Response::new(nothing());
        }
        let (sender, body) = pieces();
        kept.lock().expect("nobody panics").push(sender);
        http::Response::new(body)
    };
    let upstream = Service::narrow(Arc::new(handler), None, STREAMS);
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        settings.upstream.protocol = Protocol::Http2;
        settings.timeouts.upstream_idle = Duration::from_millis(100);
        settings.operations = Some(([127, 0, 0, 1], 0).into());
    });
    let open = || rig.metric("tollgate_upstream_open");
    block_on(async {
        let mut client = client_http2(rig.address).await;
        let mut unended = Vec::new();
        for number in 0..4 * STREAMS {
            let sent = client.send_request(request(Method::GET, "/free", nothing())).await;
            unended.push(sent.expect("it is answered"));
            let other = client.send_request(request(Method::POST, "/free", nothing())).await;
            assert_eq!(other.expect("it is answered").status(), StatusCode::OK, "beside {number}");
        }
        // The last of the others found no room beside them.
        assert_eq!(open(), Some(5));
        bodies.lock().expect("nobody panics").clear();
        for response in unended {
            assert_eq!(read(response).await.0, "");
        }
        // They go when they are not needed any more, but for one.
        until("only one is left", || open() == Some(1));
    });
    assert_eq!(upstream.connections(), 5);
}

/// Without TLS only gRPC is known to speak HTTP/2; what else comes is not sent over its connection.
#[test]
fn grpc_goes_over_http2_and_everything_else_does_not() {
    let upstream = Service::new(echo(), None);
    let rig = through(&upstream, Protocol::Auto);
    for (kind, version) in [
        ("application/json", "HTTP/1.1"),
        ("application/grpc", "HTTP/2.0"),
        ("application/json", "HTTP/1.1"),
        ("application/grpc+proto", "HTTP/2.0"),
        ("application/grpc; charset=utf-8", "HTTP/2.0"),
        // Another protocol, which was made for HTTP/1.1.
        ("application/grpc-web", "HTTP/1.1"),
        ("application/grpc-web+proto", "HTTP/1.1"),
        ("application/grpc-web-text", "HTTP/1.1"),
    ] {
        let response = rig.get("/free", &format!("Content-Type: {kind}\r\n"));
        assert_eq!((status(&response), field(&response, "x-version")), (200, Some(version)));
    }
}

/// An upstream that says GOAWAY again and again, as one does that is redeployed.
#[test]
fn an_upstream_that_goes_away_loses_no_request() {
    let upstream = Arc::new(Service::new(echo(), None));
    let rig = through(&upstream, Protocol::Http2);
    block_on(async {
        let client = client_http2(rig.address).await;
        for _ in 0..20 {
            let mut all = JoinSet::new();
            for number in 0..20 {
                let (mut client, upstream) = (client.clone(), Arc::clone(&upstream));
                all.spawn(async move {
                    let response = client.send_request(request(Method::GET, "/free", nothing())).await;
                    assert_eq!(response.expect("it is answered").status(), StatusCode::OK, "{number}");
                    if number == 0 {
                        upstream.tell(Told::Leave);
                    }
                });
            }
            while let Some(done) = all.join_next().await {
                done.expect("none fails");
            }
        }
    });
    assert!(upstream.connections() > 1, "it went away, and another connection was made");
}

#[test]
fn what_an_upstream_has_begun_it_finishes_although_it_goes_away() {
    let upstream = Service::new(echo(), None);
    let rig = through(&upstream, Protocol::Http2);
    block_on(async {
        let mut client = client_http2(rig.address).await;
        let (sender, body) = pieces();
        let answered = client.send_request(request(Method::POST, "/free", body));
        let (response, sent) = tokio::join!(answered, sender.send(data("begun, ")));
        sent.expect("it is wanted");
        upstream.tell(Told::Leave);
        // As soon as the gateway has heard of it, others go another way.
        while upstream.connections() < 2 {
            let other = client.send_request(request(Method::POST, "/free", whole("other"))).await;
            assert_eq!(read(other.expect("it is answered")).await.0, "other");
        }
        sender.send(data("finished")).await.expect("it is wanted");
        drop(sender);
        assert_eq!(read(response.expect("it is answered")).await.0, "begun, finished");
    });
    assert_eq!(upstream.connections(), 2);
}

#[test]
fn a_lost_connection_is_made_anew() {
    let upstream = Service::new(echo(), None);
    let rig = through(&upstream, Protocol::Http2);
    for connections in 1..=5 {
        assert_eq!(status(&rig.get("/free", "")), 200);
        assert_eq!(upstream.connections(), connections);
        upstream.tell(Told::Cut);
    }
}

#[test]
fn a_response_that_breaks_off_is_not_taken_for_a_whole_one() {
    let (sender, body) = pieces();
    let body = std::sync::Mutex::new(Some(body));
    let handler =
        move |_| http::Response::new(body.lock().expect("nobody panics").take().unwrap_or_else(nothing));
    let upstream = Service::new(Arc::new(handler), None);
    let rig = through(&upstream, Protocol::Http2);
    block_on(async {
        let mut client = client_http2(rig.address).await;
        let answered = client.send_request(request(Method::GET, "/free", nothing()));
        let (response, sent) = tokio::join!(answered, sender.send(data("begun")));
        sent.expect("it is wanted");
        upstream.tell(Told::Cut);
        let body = response.expect("it has begun").into_body();
        assert!(http_body_util::BodyExt::collect(body).await.is_err(), "it was not whole");
    });
}

const GRPC: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /test.Echo/Unary: { post: {} }
  /test.Echo/Down: { post: {} }
  /test.Echo/Both: { post: {} }
  /test.Echo/Fails: { post: {} }
  /test.Echo/Limited:
    post:
      x-rate-limit: { algorithm: token_bucket, capacity: 2, refill_rate: 0.001, consumer_key: ip }
";

/// A real gRPC client and server, in another language.
#[test]
fn grpc_passes_through() {
    let script = "tests/gateway/grpc_echo.py";
    let mut server = Command::new(PYTHON);
    server.args([script, "serve"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = server.spawn().expect("`cargo xtask test install` puts Python there");
    let out = server.stdout.take().expect("it has an output");
    let port = within("it says where it listens", || {
        let mut port = String::new();
        BufReader::new(out).read_line(&mut port).map(|_| port)
    });
    let port = port.expect("its output can be read");
    let port: u16 = port.trim().parse().expect("PyPI's grpcio is installed");
    let rig = Rig::new(GRPC, ([127, 0, 0, 1], port).into(), |_| {});
    let address = rig.address.to_string();
    let asked =
        within("the client ends", move || Command::new(PYTHON).args([script, "ask", &address]).output());
    let asked = asked.expect("`cargo xtask test install` puts Python there");
    // It ends when its input does.
    drop(server.stdin.take());
    ended(&mut server);
    let said = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(asked.status.success(), "{said}{}", String::from_utf8_lossy(&asked.stderr));
    assert_eq!(said.lines().count(), 5, "{said}");
}
