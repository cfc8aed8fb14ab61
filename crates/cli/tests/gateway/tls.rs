//! TLS on both sides: what is agreed on, what is trusted, and who is waited for. What is said over it is in the other files.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode, Version};
use tollgate_cli::serve::{StartError, start};
use tollgate_cli::settings::{Settings, Tls, Upstream};

use crate::peers::{
    Certificate, Handler, Service, block_on, echo, nothing, read, request, speak_http1, speak_http2, whole,
};
use crate::support::{POLICY, Recorder, Rig, field, read_to_end, small, status};

/// Clients come over TLS.
pub(crate) fn with(certificate: &Certificate, settings: &mut Settings) {
    settings.tls = Some(Tls::new(text(&certificate.certificate), text(&certificate.key)));
}

fn text(path: &std::path::Path) -> String {
    path.to_str().expect("it is UTF-8").to_owned()
}

/// An upstream with TLS that is trusted by this certificate.
fn trusting(certificate: &Certificate, upstream: &mut Upstream) {
    upstream.tls = true;
    upstream.ca = Some(text(&certificate.certificate));
}

#[test]
fn a_client_and_the_gateway_agree_on_http2_or_http1() {
    let certificate = Certificate::new();
    let upstream = Service::new(echo(), None);
    let rig = Rig::new(POLICY, upstream.address, |settings| with(&certificate, settings));
    block_on(async {
        for (offered, agreed) in
            [(&["h2", "http/1.1"][..], Some("h2")), (&["http/1.1"], Some("http/1.1")), (&[], None)]
        {
            let tls = certificate.connect(rig.address, offered).await.expect("they agree");
            let alpn = tls.get_ref().1.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
            assert_eq!(alpn.as_deref(), agreed);
            let sent = request(Method::POST, "/free", whole("body"));
            let (version, response) = if agreed == Some("h2") {
                (Version::HTTP_2, speak_http2(tls).await.send_request(sent).await)
            } else {
                (Version::HTTP_11, speak_http1(tls).await.send_request(sent).await)
            };
            let response = response.expect("it is answered");
            assert_eq!((response.status(), response.version()), (StatusCode::OK, version));
            assert_eq!(read(response).await.0, "body");
        }
        let none = certificate.connect(rig.address, &["spdy/3"]).await;
        assert!(none.is_err(), "there is nothing to agree on");
    });
}

#[test]
fn a_client_without_alpn_may_speak_http2_all_the_same() {
    let certificate = Certificate::new();
    let upstream = Service::new(echo(), None);
    let rig = Rig::new(POLICY, upstream.address, |settings| with(&certificate, settings));
    block_on(async {
        let tls = certificate.connect(rig.address, &[]).await.expect("they agree");
        let sent = speak_http2(tls).await.send_request(request(Method::GET, "/free", nothing())).await;
        assert_eq!(sent.expect("it is answered").status(), StatusCode::OK);
    });
}

/// A replayed request would be charged twice.
#[test]
fn nothing_is_taken_before_the_handshake_is_over() {
    let certificate = Certificate::new();
    let upstream = Recorder::new(small);
    let rig = Rig::new(POLICY, upstream.address, |settings| with(&certificate, settings));
    let mut config = certificate.trusted(&["http/1.1"]);
    config.enable_early_data = true;
    let config = Arc::new(config);
    let mut resumed = false;
    for _ in 0..2 {
        let name = "localhost".try_into().expect("it is a name");
        let mut tls = rustls::ClientConnection::new(Arc::clone(&config), name).expect("it is a client");
        assert!(tls.early_data().is_none(), "no ticket says that early data is taken");
        let mut tcp = rig.connect();
        let mut stream = rustls::Stream::new(&mut tls, &mut tcp);
        stream
            .write_all(b"GET /free HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .expect("it takes bytes");
        let mut response = String::new();
        let _ = stream.read_to_string(&mut response);
        assert_eq!(status(&response), 200);
        resumed = tls.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
    }
    assert!(resumed, "the second one had a ticket, and could have sent early data with it");
}

#[test]
fn a_client_that_stalls_in_the_handshake_is_closed() {
    let certificate = Certificate::new();
    let upstream = Recorder::new(small);
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        with(&certificate, settings);
        settings.timeouts.header = Duration::from_millis(100);
    });
    for begun in [&b""[..], &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]] {
        let mut stream = rig.connect();
        stream.write_all(begun).expect("it takes bytes");
        assert_eq!(read_to_end(&mut stream), "");
    }
    // What is not TLS at all is not waited for.
    let plain = rig.send("GET /free HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(!plain.contains("HTTP"), "{plain}");
    assert_eq!(upstream.requests(), 0);
}

#[test]
fn an_upstream_with_tls_is_spoken_to_if_it_is_trusted() {
    let (its, other) = (Certificate::new(), Certificate::new());
    let upstream = Service::new(echo(), Some(&its));
    let rig = Rig::new(POLICY, upstream.address, |settings| trusting(&its, &mut settings.upstream));
    for _ in 0..2 {
        let response = rig.get("/free", "");
        assert_eq!(status(&response), 200, "{response}");
        assert!(response.contains("x-version: HTTP/2.0\r\n"), "it was agreed on: {response}");
        assert!(response.contains("x-authority: api.example.org\r\n"), "{response}");
    }
    assert_eq!(upstream.connections(), 1);
    let mistrustful = Rig::new(POLICY, upstream.address, |settings| trusting(&other, &mut settings.upstream));
    let response = mistrustful.get("/free", "");
    assert_eq!(status(&response), 502, "{response}");
    assert!(response.contains("The TLS connection to the upstream failed"), "{response}");
}

/// That it speaks HTTP/2 turns out in the handshake, when the head was written for HTTP/1.1 already.
#[test]
fn te_goes_on_to_an_upstream_that_agrees_on_http2() {
    let certificate = Certificate::new();
    let handler: Handler = Arc::new(|request| {
        let mut response = http::Response::new(nothing());
        let te = request.headers().get("te").cloned();
        response.headers_mut().extend(te.map(|te| (http::HeaderName::from_static("x-te"), te)));
        response
    });
    let upstream = Service::new(handler, Some(&certificate));
    let rig = Rig::new(POLICY, upstream.address, |settings| trusting(&certificate, &mut settings.upstream));
    for kind in ["application/grpc", "application/json"] {
        // The first one makes the connection, and the next one finds it.
        for _ in 0..2 {
            let got = rig.get("/free", &format!("Content-Type: {kind}\r\nTE: trailers\r\n"));
            assert_eq!((status(&got), field(&got, "x-te")), (200, Some("trailers")), "{kind}: {got}");
        }
    }
}

#[test]
fn an_upstream_that_does_not_speak_tls_is_a_502() {
    let certificate = Certificate::new();
    let upstream = Recorder::new(|_| Some(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()));
    let rig = Rig::new(POLICY, upstream.address, |settings| trusting(&certificate, &mut settings.upstream));
    assert_eq!(status(&rig.get("/free", "")), 502);
}

#[test]
fn a_wrong_certificate_file_is_told_at_the_start() {
    let (good, other) = (Certificate::new(), Certificate::new());
    let not_pem = good.certificate.with_file_name("not.pem");
    std::fs::write(&not_pem, "no certificate").expect("a temporary folder can be written");
    let [certificate, key, others, not_pem] =
        [&good.certificate, &good.key, &other.key, &not_pem].map(|path| text(path));
    for (certificate, key, said) in [
        ("none.pem", &*key, "none.pem cannot be read: there is no such file"),
        (&*certificate, "none.pem", "`tls.key` names a file that does not exist"),
        (&*not_pem, &*key, "not.pem has no PEM certificate"),
        (&*certificate, &*not_pem, "not.pem has no PEM private key"),
        (&*certificate, &*others, "do not match"),
    ] {
        let upstream = Upstream {
            tls: false,
            host: "127.0.0.1".into(),
            port: 9,
            protocol: tollgate_cli::settings::Protocol::Auto,
            ca: None,
            idle_max: 1,
            lookup: None,
            adaptive: tollgate_cli::settings::UpstreamLimit::default(),
        };
        let mut settings = Settings::new("tests/documents/good.yaml", upstream);
        settings.listen = vec![([127, 0, 0, 1], 0).into()];
        settings.operations = None;
        settings.tls = Some(Tls::new(certificate, key));
        match start(settings, io::sink()) {
            Err(StartError::Other(why)) => assert!(why.contains(said), "{why}"),
            other => panic!("it did not say why: {other:?}"),
        }
    }
}
