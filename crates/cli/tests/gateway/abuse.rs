//! Clients and upstreams that are slow, silent or large: each has its time and its room, and no more. Floods are elsewhere.

use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Response, StatusCode};
use http_body_util::BodyExt;
use tollgate_cli::settings::Timeouts;

use crate::frames::{Frames, PING, RST_STREAM, SETTINGS, frame, get};
use crate::peers::{
    Handler, Service, block_on, client_http1, client_http2, data, echo, nothing, pieces, request,
};
use crate::process::read_one;
use crate::support::{POLICY, Recorder, Rig, read_to_end, small, status};

/// Short enough for a test, long enough for a busy machine.
const SHORT: Duration = Duration::from_millis(150);

fn with(upstream: std::net::SocketAddr, change: fn(&mut Timeouts)) -> Rig {
    Rig::new(POLICY, upstream, |settings| change(&mut settings.timeouts))
}

#[test]
fn a_client_that_sends_nothing_is_closed() {
    let rig = with(Recorder::new(small).address, |timeouts| timeouts.header = SHORT);
    assert_eq!(rig.send(""), "");
    assert_eq!(rig.send("GET /free HTTP/1.1\r\nHo"), "");
    assert_eq!(rig.send("PRI * HT"), "", "it may still become HTTP/2");
}

#[test]
fn a_client_that_sends_its_head_byte_by_byte_is_closed() {
    let upstream = Recorder::new(small);
    let rig = with(upstream.address, |timeouts| timeouts.header = SHORT);
    // The second one on a connection that has had a request.
    for before in ["", "GET /free HTTP/1.1\r\nHost: a\r\n\r\n"] {
        let mut stream = rig.connect();
        if !before.is_empty() {
            stream.write_all(before.as_bytes()).expect("it takes bytes");
            assert_eq!(status(&read_one(&mut stream)), 200);
        }
        stream.set_read_timeout(Some(Duration::from_millis(5))).expect("a socket has timeouts");
        let mut bytes = b"GET /free HTTP/1.1\r\nHost: a\r\nX-Long: ".iter().chain(std::iter::repeat(&b'a'));
        let mut sent = 0;
        loop {
            assert!(sent < 2_000, "it is never closed");
            // It waits for the close between two bytes.
            match stream
                .write_all(&[*bytes.next().expect("there is no end")])
                .and_then(|()| stream.read(&mut [0]))
            {
                Ok(1..) => panic!("it is answered"),
                Err(error) if error.kind() == ErrorKind::WouldBlock => sent += 1,
                Ok(0) | Err(_) => break,
            }
        }
    }
    assert_eq!(upstream.requests(), 1);
}

#[test]
fn a_body_that_stands_still_is_a_408() {
    let rig = with(Recorder::new(small).address, |timeouts| timeouts.body = SHORT);
    let response = rig.send("POST /free HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    assert_eq!(status(&response), 408, "{response}");
    assert!(response.contains("The request body stopped arriving"), "{response}");
    block_on(async {
        let (sender, body) = pieces();
        let mut client = client_http2(rig.address).await;
        let answered = client.send_request(request(Method::POST, "/free", body));
        let (response, sent) = tokio::join!(answered, sender.send(data("half")));
        sent.expect("it is wanted");
        assert_eq!(response.expect("it is answered").status(), StatusCode::REQUEST_TIMEOUT);
        let other = client.send_request(request(Method::GET, "/free", nothing())).await;
        assert_eq!(other.expect("others go on").status(), StatusCode::OK);
    });
}

/// An upstream that answers with this body, once, and then shortly.
fn answering(body: crate::peers::AnyBody) -> Handler {
    let body = Mutex::new(Some(body));
    Arc::new(move |_| Response::new(body.lock().expect("nobody panics").take().unwrap_or_else(nothing)))
}

#[test]
fn a_client_that_does_not_read_its_response_is_closed() {
    let (sender, body) = pieces();
    let upstream = Service::new(answering(body), None);
    let rig = with(upstream.address, |timeouts| timeouts.write = SHORT);
    let mut stream = rig.connect();
    stream.write_all(b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
    block_on(async {
        // As long as somebody takes them.
        while sender.send(data(vec![b'x'; 64 << 10])).await.is_ok() {}
    });
}

/// One stream that nobody reads, and others beside it; and the client says all the time that it is there.
#[test]
fn a_stream_that_nobody_reads_ends_alone() {
    let (sender, body) = pieces();
    let upstream = Service::new(answering(body), None);
    let rig = with(upstream.address, |timeouts| timeouts.write = SHORT);
    block_on(async {
        let mut client = client_http2(rig.address).await;
        let unread = client.send_request(request(Method::GET, "/free", nothing())).await;
        let unread = unread.expect("it is answered").into_body();
        let filling = async { while sender.send(data(vec![b'x'; 64 << 10])).await.is_ok() {} };
        let asking = async {
            loop {
                let other = client.send_request(request(Method::GET, "/free", nothing())).await;
                assert_eq!(other.expect("it is answered").status(), StatusCode::OK);
            }
        };
        tokio::select! {
            () = filling => {}
            () = asking => {}
        }
        let other = client.send_request(request(Method::GET, "/free", nothing())).await;
        assert_eq!(other.expect("it is answered").status(), StatusCode::OK);
        assert!(unread.collect().await.is_err(), "it was broken off");
    });
}

/// Answers of our own are short, and are held all the same by a client that leaves no room for them.
#[test]
fn a_stream_that_has_no_window_is_reset_whoever_answers() {
    let rig = with(Recorder::new(small).address, |timeouts| timeouts.write = SHORT);
    let mut frames = Frames::new(&rig);
    let no_window = [0, 4, 0, 0, 0, 0];
    frames.write(&frame(SETTINGS, 0, 0, &no_window));
    let mut paths = vec!["/free", "/nowhere"];
    paths.extend(["/limited"; 4]);
    let mut waiting: Vec<u32> = (0..).step_by(2).map(|number| number + 1).take(paths.len()).collect();
    for (path, stream) in paths.iter().zip(&waiting) {
        frames.write(&get(*stream, path));
    }
    while !waiting.is_empty() {
        let (kind, _, stream, _) = frames.next().expect("the connection goes on");
        if kind == RST_STREAM {
            waiting.retain(|waiting| *waiting != stream);
        }
    }
}

#[test]
fn an_upstream_that_does_not_answer_is_a_504() {
    for change in [(|t| t.response = SHORT) as fn(&mut Timeouts), |t| t.total = Some(SHORT)] {
        let rig = with(Recorder::new(|_| None).address, change);
        assert_eq!(status(&rig.get("/free", "")), 504);
        block_on(async {
            let mut client = client_http2(rig.address).await;
            let response = client.send_request(request(Method::GET, "/free", nothing())).await;
            assert_eq!(response.expect("it is answered").status(), StatusCode::GATEWAY_TIMEOUT);
        });
    }
}

#[test]
fn an_upstream_that_takes_no_connection_is_a_504() {
    block_on(async {
        // The system answers nobody beyond a full queue.
        let socket = tokio::net::TcpSocket::new_v4().expect("there are sockets");
        socket.bind(([127, 0, 0, 1], 0).into()).expect("there is a free port");
        let full = socket.listen(1).expect("it is bound");
        let address = full.local_addr().expect("it is bound");
        let mut waiting = Vec::new();
        while let Ok(Ok(stream)) = tokio::time::timeout(SHORT, tokio::net::TcpStream::connect(address)).await
        {
            waiting.push(stream);
            assert!(waiting.len() < 100, "the queue has an end");
        }
        let rig = with(address, |timeouts| timeouts.connect = SHORT);
        let response = rig.get("/free", "");
        assert_eq!(status(&response), 504, "{response}");
        assert!(response.contains("Connecting to the upstream timed out"), "{response}");
    });
}

#[test]
fn a_response_that_stands_still_is_broken_off() {
    fn half(_: &str) -> Option<Vec<u8>> {
        Some(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n".to_vec())
    }
    for change in [(|t| t.response_body = SHORT) as fn(&mut Timeouts), |t| t.total = Some(SHORT)] {
        let rig = with(Recorder::new(half).address, change);
        let response = rig.get("/free", "");
        assert!(response.contains("\r\n4\r\nhalf\r\n") && !response.ends_with("0\r\n\r\n"), "{response}");
        block_on(async {
            let mut client = client_http2(rig.address).await;
            let response = client.send_request(request(Method::GET, "/free", nothing())).await;
            let body = response.expect("it has begun").into_body();
            assert!(body.collect().await.is_err(), "it was broken off");
        });
    }
}

#[test]
fn a_response_without_an_end_has_its_time() {
    for speaks_http2 in [false, true] {
        let (sender, body) = pieces();
        let upstream = Service::new(answering(body), None);
        let rig = with(upstream.address, |timeouts| timeouts.total = Some(SHORT));
        block_on(async {
            let endless = async { while sender.send(data("more")).await.is_ok() {} };
            let reading = async {
                let sent = request(Method::GET, "/free", nothing());
                let mut one = None;
                let response = if speaks_http2 {
                    client_http2(rig.address).await.send_request(sent).await
                } else {
                    one.insert(client_http1(rig.address).await).send_request(sent).await
                };
                let body = response.expect("it has begun").into_body();
                assert!(body.collect().await.is_err(), "it was broken off");
            };
            tokio::join!(endless, reading);
        });
    }
}

#[test]
fn an_idle_connection_is_closed_after_its_time() {
    let rig = with(Recorder::new(small).address, |timeouts| timeouts.idle = SHORT);
    let mut stream = rig.connect();
    for _ in 0..2 {
        stream.write_all(b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
        assert_eq!(status(&read_one(&mut stream)), 200);
    }
    assert_eq!(read_to_end(&mut stream), "");
}

/// What is said on an HTTP/2 connection need not be a request: it is not hurried on, and it is told before it is closed.
#[test]
fn an_idle_http2_connection_is_told_to_go() {
    let rig = with(Recorder::new(small).address, |timeouts| {
        timeouts.idle = 4 * SHORT;
        timeouts.header = SHORT;
    });
    let mut frames = Frames::new(&rig);
    frames.write(&frame(PING, 0, 0, b"are you?"));
    assert_eq!(frames.leave(), Some(0), "not an error, and not without a word");
    // One that answers is gone at once.
    block_on(async {
        let mut client = client_http2(rig.address).await;
        let response = client.send_request(request(Method::GET, "/free", nothing())).await;
        assert_eq!(response.expect("it is answered").status(), StatusCode::OK);
        while !client.is_closed() {
            let _ = client.ready().await;
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn a_head_has_so_much_room() {
    let upstream = Service::new(echo(), None);
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        settings.bounds.head_bytes = 4 << 10;
        settings.bounds.header_fields = 20;
    });
    let large = format!("X-Large: {}\r\n", "x".repeat(8 << 10));
    let many: String = (0..30).map(|number| format!("X-{number}: a\r\n")).collect();
    assert_eq!(status(&rig.get("/free", &large)), 431);
    assert_eq!(status(&rig.get("/free", &many)), 431);
    assert_eq!(status(&rig.get("/free", "X-Small: a\r\n")), 200);
    block_on(async {
        let mut client = client_http2(rig.address).await;
        for (fields, length, expected) in [(1, 8 << 10, 431), (30, 1, 431), (10, 100, 200)] {
            let mut sent = request(Method::GET, "/free", nothing());
            for number in 0..fields {
                let name = http::HeaderName::try_from(format!("x-{number}")).expect("it is a name");
                let value = http::HeaderValue::try_from("x".repeat(length)).expect("it is a value");
                sent.headers_mut().insert(name, value);
            }
            let response = client.send_request(sent).await.expect("it is answered");
            assert_eq!(response.status().as_u16(), expected);
        }
    });
}
