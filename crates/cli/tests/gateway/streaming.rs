//! Bodies on their way: as they come, whatever their size, and no faster than they are taken. What is in them is nobody's business.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::mpsc::Sender;
use tollgate_cli::settings::Protocol;

use crate::peers::{
    AnyBody, Handler, Service, block_on, client_http1, client_http2, data, nothing, pieces, request,
};
use crate::process::Process;
use crate::support::{PATIENCE, POLICY, Rig, reset};

/// What may be on its way and not yet taken: the system's buffers of two connections, and a little of ours.
const ON_ITS_WAY_MAX: usize = 40 << 20;
/// A body that is larger than that by far.
const LARGE: usize = 128 << 20;
/// Nothing moves for so long: it stands still.
const STANDSTILL: Duration = Duration::from_millis(300);

/// An upstream that answers with this body, once.
fn answering(body: AnyBody) -> Handler {
    let body = Mutex::new(Some(body));
    Arc::new(move |_| Response::new(body.lock().expect("nobody panics").take().unwrap_or_else(nothing)))
}

/// Sends a request over one version or the other. The client stays as long as what is returned first.
async fn send(
    rig: &Rig,
    speaks_http2: bool,
    sent: Request<AnyBody>,
) -> (Box<dyn std::any::Any>, hyper::Result<Response<Incoming>>) {
    if speaks_http2 {
        let mut client = client_http2(rig.address).await;
        let response = client.send_request(sent).await;
        (Box::new(client), response)
    } else {
        let mut client = client_http1(rig.address).await;
        let response = client.send_request(sent).await;
        (Box::new(client), response)
    }
}

/// Every pair of versions: the client's and the upstream's.
const PAIRS: [(bool, Protocol); 4] =
    [(false, Protocol::Http1), (false, Protocol::Http2), (true, Protocol::Http1), (true, Protocol::Http2)];

#[test]
fn events_arrive_as_they_are_sent() {
    for (speaks_http2, protocol) in PAIRS {
        let (sender, body) = pieces();
        let upstream = Service::new(answering(body), None);
        let rig = Rig::new(POLICY, upstream.address, |settings| settings.upstream.protocol = protocol);
        block_on(async {
            let (_client, response) =
                send(&rig, speaks_http2, request(Method::GET, "/free", nothing())).await;
            let mut body = response.expect("its head does not wait for a body").into_body();
            for number in 0..5 {
                let event = format!("data: {number}\n\n");
                sender.send(data(event.clone())).await.expect("it is wanted");
                let frame = body.frame().await.expect("it does not end").expect("it comes");
                assert_eq!(frame.into_data().expect("it is data"), event);
            }
            drop(sender);
            let rest = body.collect().await.expect("it comes whole").to_bytes();
            assert_eq!(rest, "", "({speaks_http2}, {protocol:?})");
        });
    }
}

/// Sends pieces until nobody takes any more. Says how many bytes were sent.
async fn fill(sender: &Sender<Frame<Bytes>>) -> usize {
    let piece = Bytes::from(vec![b'x'; 64 << 10]);
    let mut sent = 0;
    while sent < LARGE {
        match tokio::time::timeout(STANDSTILL, sender.send(data(piece.clone()))).await {
            Ok(taken) => taken.expect("it is wanted"),
            Err(_) => return sent,
        }
        sent += piece.len();
    }
    sent
}

#[test]
fn a_client_that_does_not_read_holds_the_upstream_back() {
    for (speaks_http2, protocol) in PAIRS {
        let (sender, body) = pieces();
        let upstream = Service::new(answering(body), None);
        let rig = Rig::new(POLICY, upstream.address, |settings| settings.upstream.protocol = protocol);
        block_on(async {
            let (_client, response) =
                send(&rig, speaks_http2, request(Method::GET, "/free", nothing())).await;
            let body = response.expect("it is answered").into_body();
            let sent = fill(&sender).await;
            assert!(sent < ON_ITS_WAY_MAX, "{sent} bytes wait somewhere ({speaks_http2}, {protocol:?})");
            drop(sender);
            let got = body.collect().await.expect("it comes whole").to_bytes();
            assert_eq!(got.len(), sent, "({speaks_http2}, {protocol:?})");
        });
    }
}

#[test]
fn an_upstream_that_does_not_read_holds_the_client_back() {
    for (speaks_http2, protocol) in PAIRS {
        // It keeps the body, reads none of it, and has not answered to the end.
        let kept = Arc::new(Mutex::new(None));
        let keeps = Arc::clone(&kept);
        let handler: Handler = Arc::new(move |request: Request<Incoming>| {
            let (sender, answer) = pieces();
            *keeps.lock().expect("nobody panics") = Some((request.into_body(), sender));
            Response::new(answer)
        });
        let upstream = Service::new(handler, None);
        let rig = Rig::new(POLICY, upstream.address, |settings| settings.upstream.protocol = protocol);
        block_on(async {
            let (sender, body) = pieces();
            let sending = async {
                let (_client, response) =
                    send(&rig, speaks_http2, request(Method::POST, "/free", body)).await;
                response.expect("it is answered").into_body().collect().await.expect("it ends");
            };
            let filling = async {
                let sent = fill(&sender).await;
                assert!(sent < ON_ITS_WAY_MAX, "{sent} bytes wait somewhere ({speaks_http2}, {protocol:?})");
                drop(sender);
                let kept = kept.lock().expect("nobody panics").take();
                let (body, _answer) = kept.expect("it was asked");
                let got = body.collect().await.expect("it comes whole").to_bytes();
                assert_eq!(got.len(), sent, "({speaks_http2}, {protocol:?})");
            };
            tokio::join!(sending, filling);
        });
    }
}

#[test]
fn large_bodies_pass_both_ways_in_little_memory() {
    let echo = crate::peers::echo();
    let upstream = Service::new(echo, None);
    let process = Process::new(POLICY, upstream.address, &[]);
    assert!(process.get("/free").starts_with("HTTP/1.1 200"));
    let before = process.kilobytes("VmHWM");
    for speaks_http2 in [false, true] {
        block_on(async {
            let (sender, body) = pieces();
            let sent = request(Method::POST, "/free", body);
            let mut one = None;
            let answering = async {
                if speaks_http2 {
                    client_http2(process.address).await.send_request(sent).await
                } else {
                    one.insert(client_http1(process.address).await).send_request(sent).await
                }
            };
            let reading = async {
                let mut body = answering.await.expect("it is answered").into_body();
                let mut got = 0;
                while let Some(frame) = body.frame().await {
                    got += frame.expect("it comes").data_ref().map_or(0, Bytes::len);
                }
                got
            };
            let sending = async {
                let sent = fill(&sender).await;
                drop(sender);
                sent
            };
            let (got, sent) = tokio::join!(reading, sending);
            assert_eq!((sent, got), (LARGE, LARGE));
        });
    }
    let grown = process.kilobytes("VmHWM") - before;
    println!("{LARGE} bytes up and down, twice: {grown} kB more than before");
    assert!(grown < 8 << 10, "{grown} kB");
}

#[test]
fn the_upstream_learns_that_a_client_has_gone() {
    for (speaks_http2, protocol) in PAIRS {
        let (sender, body) = pieces();
        let upstream = Service::new(answering(body), None);
        let rig = Rig::new(POLICY, upstream.address, |settings| settings.upstream.protocol = protocol);
        block_on(async {
            let (client, response) = send(&rig, speaks_http2, request(Method::GET, "/free", nothing())).await;
            let mut body = response.expect("it is answered").into_body();
            sender.send(data("begun")).await.expect("it is wanted");
            assert!(body.frame().await.is_some());
            drop((client, body));
            // Over HTTP/1.1 the client may only have ended its side: that it takes nothing is seen when it is sent something.
            while sender.send(data("more")).await.is_ok() {}
        });
    }
}

#[test]
fn an_upstream_that_has_not_answered_learns_it_too() {
    let upstream = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let rig = Rig::new(POLICY, upstream.local_addr().expect("it is bound"), |_| {});
    let mut client = rig.connect();
    client.write_all(b"GET /free HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
    let (mut got, _) = upstream.accept().expect("it is asked");
    got.set_read_timeout(Some(PATIENCE)).expect("a socket has timeouts");
    let mut seen = [0; 4096];
    assert!(got.read(&mut seen).expect("a request comes") > 0);
    reset(client);
    assert_eq!(got.read(&mut seen).expect("it is closed"), 0);
}
