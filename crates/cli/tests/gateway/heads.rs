//! Heads on their way through: what they lose, what they gain, and what is said when they cannot go on. Framing is `smuggling`'s.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::lines::Lines;
use crate::scripted::{Scripted, statuses};
use crate::support::{POLICY, Rig, field, read_to_end, status};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// As the usual one, behind proxies on this machine.
pub(crate) fn behind_proxies(header: &str) -> String {
    format!("{POLICY}x-tollgate: {{ trusted_proxies: {{ networks: 127.0.0.0/8, header: {header} }} }}\n")
}

/// What the upstream gets of a request with these fields.
pub(crate) fn forwarded(policy: &str, fields: &str) -> String {
    let upstream = Scripted::always(OK);
    let rig = Rig::new(policy, upstream.address, |_| {});
    let got = rig.send(format!("GET /free HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
    assert_eq!(status(&got), 200, "{got}");
    upstream.seen().concat()
}

/// All lines of a field.
pub(crate) fn all<'a>(message: &'a str, name: &str) -> Vec<&'a str> {
    let head = message.split("\r\n\r\n").next().unwrap_or_default();
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
}

#[test]
fn fields_between_two_neighbours_do_not_go_on() {
    let fields = "Connection: close, X-Mine, Content-Type\r\nX-Mine: 1\r\nContent-Type: text/plain\r\n\
                  Keep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic x\r\n\
                  Proxy-Authenticate: x\r\nProxy: http://evil\r\nTE: gzip, trailers;q=0.5\r\nUpgrade: h2c\r\n\
                  HTTP2-Settings: x\r\nX-Kept: 2\r\n";
    let seen = forwarded(POLICY, fields);
    for gone in [
        "connection",
        "x-mine",
        "keep-alive",
        "proxy-connection",
        "proxy-authorization",
        "proxy-authenticate",
        "proxy",
        "te",
        "upgrade",
        "http2-settings",
    ] {
        assert_eq!(all(&seen, gone), Vec::<&str>::new(), "{gone}: {seen}");
    }
    assert_eq!(field(&seen, "content-type"), Some("text/plain"), "a body without it is another one");
    assert_eq!(field(&seen, "x-kept"), Some("2"));
}

#[test]
fn te_goes_on_for_trailers_only() {
    let seen = forwarded(POLICY, "Connection: close, TE\r\nTE: gzip, trailers\r\n");
    assert_eq!((all(&seen, "te"), all(&seen, "connection")), (vec!["trailers"], vec!["te"]), "{seen}");
}

#[test]
fn fields_between_two_neighbours_do_not_come_back() {
    let upstream = Scripted::always(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive, X-Mine, Content-Length\r\nX-Mine: 1\r\n\
          Keep-Alive: timeout=5\r\nProxy-Authenticate: x\r\nUpgrade: h2c\r\nX-Kept: 2\r\nX-Request-Id: theirs\r\n\r\nok",
    );
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let got = rig.get("/free", "");
    for gone in ["x-mine", "keep-alive", "proxy-authenticate", "upgrade"] {
        assert_eq!(field(&got, gone), None, "{gone}: {got}");
    }
    assert_eq!(all(&got, "connection"), ["close"], "that is between the gateway and the client");
    assert_eq!((field(&got, "content-length"), field(&got, "x-kept")), (Some("2"), Some("2")), "{got}");
}

#[test]
fn a_strangers_word_on_where_a_request_comes_from_is_replaced() {
    let fields = "Connection: close\r\nForwarded: for=1.2.3.4\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 5.6.7.8\r\n\
                  X-Forwarded-Host: evil\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Prefix: /x\r\n";
    for policy in [POLICY.to_owned(), behind_proxies("X-Forwarded-For").replace("127.0.0.0/8", "10.0.0.0/8")]
    {
        let seen = forwarded(&policy, fields);
        assert_eq!(all(&seen, "forwarded"), ["for=127.0.0.1;host=\"a\";proto=http"]);
        assert_eq!(all(&seen, "x-forwarded-for"), ["127.0.0.1"]);
        assert_eq!(all(&seen, "x-forwarded-host"), ["a"]);
        assert_eq!(all(&seen, "x-forwarded-proto"), ["http"]);
        assert_eq!(all(&seen, "x-forwarded-prefix"), Vec::<&str>::new());
        assert_eq!(all(&seen, "via"), ["1.1 tollgate"]);
    }
}

#[test]
fn a_trusted_proxys_word_on_it_is_kept_and_added_to() {
    let fields = "Connection: close, X-Forwarded-For\r\nX-Forwarded-For: 203.0.113.9, 10.0.0.1\r\nX-Forwarded-For: 10.0.0.2\r\nX-Forwarded-Host: api\r\n\
                  X-Forwarded-Proto: https\r\nVia: 1.0 first\r\n";
    let seen = forwarded(&behind_proxies("X-Forwarded-For"), fields);
    assert_eq!(all(&seen, "x-forwarded-for"), ["203.0.113.9, 10.0.0.1, 10.0.0.2, 127.0.0.1"]);
    assert_eq!(
        (field(&seen, "x-forwarded-host"), field(&seen, "x-forwarded-proto")),
        (Some("api"), Some("https"))
    );
    assert_eq!(all(&seen, "via"), ["1.0 first", "1.1 tollgate"]);
}

#[test]
fn a_header_of_the_trusted_proxies_own_is_a_strangers_to_nobody() {
    let own = behind_proxies("CF-Connecting-IP");
    let strange = own.replace("127.0.0.0/8", "10.0.0.0/8");
    // A client that takes it out would be limited like the proxy, and with all others behind it.
    for connection in ["close", "close, CF-Connecting-IP"] {
        let fields = format!("Connection: {connection}\r\nCF-Connecting-IP: 1.2.3.4\r\n");
        assert_eq!(all(&forwarded(&own, &fields), "cf-connecting-ip"), ["1.2.3.4"], "{connection}");
        assert_eq!(all(&forwarded(&strange, &fields), "cf-connecting-ip"), Vec::<&str>::new());
    }
}

#[test]
fn an_ipv6_address_is_quoted() {
    let Ok(_) = TcpListener::bind("[::1]:0") else { return };
    let upstream = Scripted::always(OK);
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        settings.listen = vec![(std::net::Ipv6Addr::LOCALHOST, 0).into()];
    });
    assert_eq!(status(&rig.get("/free", "")), 200);
    let seen = upstream.seen().concat();
    let wanted = "for=\"[::1]\";host=\"api.example.org\";proto=http";
    assert_eq!((field(&seen, "forwarded"), field(&seen, "x-forwarded-for")), (Some(wanted), Some("::1")));
}

#[test]
fn the_host_is_the_clients_or_the_upstreams_as_the_settings_say() {
    let upstream = Scripted::always(OK);
    let rig = Rig::new(POLICY, upstream.address, |settings| settings.forwarding.keep_host = false);
    assert_eq!(status(&rig.get("/free", "")), 200);
    let seen = upstream.seen().concat();
    assert_eq!(all(&seen, "host"), [upstream.address.to_string()]);
    assert_eq!(field(&seen, "x-forwarded-host"), Some("api.example.org"));
}

#[test]
fn every_request_has_an_id_that_no_stranger_chooses() {
    let upstream =
        Scripted::always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Request-Id: theirs\r\n\r\nok");
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let got = rig.get("/free", "X-Request-Id: mine\r\nX-Request-Id: mine\r\n");
    let seen = upstream.seen().concat();
    let (told, sent) = (all(&got, "x-request-id"), all(&seen, "x-request-id"));
    assert_eq!((told.len(), &told), (1, &sent), "{got}{seen}");
    assert!(told[0].len() == 32 && told[0].bytes().all(|digit| digit.is_ascii_hexdigit()), "{told:?}");
    let mut names: Vec<_> = (0..5).map(|_| rig.get("/limited", "")).collect();
    names.push(rig.get("/nothing", ""));
    names.push(rig.get("//", ""));
    let statuses: Vec<_> = names.iter().map(|got| status(got)).collect();
    assert_eq!(statuses, [200, 200, 200, 429, 429, 404, 400]);
    let names: std::collections::HashSet<_> = names.iter().map(|got| field(got, "x-request-id")).collect();
    assert!(names.len() == 7 && !names.contains(&None), "{names:?}");
}

#[test]
fn a_trusted_peers_request_id_is_kept() {
    let ids = |policy: &str, fields: &str| {
        let (upstream, lines) = (Scripted::always(OK), Lines::default());
        let rig =
            Rig::logged(policy, upstream.address, |settings| settings.log.requests = true, lines.clone());
        let got = rig.get("/free", fields);
        rig.stop();
        rig.ended().expect("it ends well");
        let seen = upstream.seen().concat();
        let (told, sent) = (all(&got, "x-request-id"), all(&seen, "x-request-id"));
        assert_eq!((told.len(), &told), (1, &sent), "{got}{seen}");
        let line = format!("\"request\":\"{}\"", told[0]);
        assert!(lines.with("served").len() == 1 && lines.all().contains(&line), "{line}: {}", lines.all());
        told[0].to_owned()
    };
    let made = |id: &str| id.len() == 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit());
    let (trusted, id) = (behind_proxies("X-Forwarded-For"), "0af7651916cd43dd-8448:eb211c80319c");
    assert_eq!(ids(&trusted, &format!("X-Request-Id: {id}\r\n")), id);
    // It may stand in lines and headers as it is, or it is not kept.
    for bad in
        ["X-Request-Id: a b\r\n", "X-Request-Id: a\"b\r\n", "X-Request-Id: a\r\nX-Request-Id: a\r\n", ""]
    {
        let id = ids(&trusted, bad);
        assert!(made(&id), "{bad}: {id}");
    }
    let long = ids(&trusted, &format!("X-Request-Id: {}\r\n", "x".repeat(129)));
    assert!(made(&long), "{long}");
    for policy in [POLICY.to_owned(), trusted.replace("127.0.0.0/8", "10.0.0.0/8")] {
        let strange = ids(&policy, &format!("X-Request-Id: {id}\r\n"));
        assert!(made(&strange), "{strange}");
    }
}

#[test]
fn who_waits_to_send_a_body_is_told_to_if_granted_and_not_if_refused() {
    let policy = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /put:
    put:
      x-rate-limit: { name: one, algorithm: token_bucket, capacity: 1, refill_rate: 0.001, consumer_key: ip }
";
    let upstream = Scripted::always(OK);
    let rig = Rig::new(policy, upstream.address, |_| {});
    let head = "PUT /put HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
    let mut granted = rig.connect();
    granted.write_all(head.as_bytes()).expect("it takes bytes");
    let mut told = [0; 25];
    granted.read_exact(&mut told).expect("it is told to go on");
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    granted.write_all(b"hello").expect("it takes the body");
    let mut first = [0; 12];
    granted.read_exact(&mut first).expect("there is a response");
    assert_eq!(&first, b"HTTP/1.1 200");
    let seen = upstream.seen().concat();
    assert!(seen.ends_with("\r\n\r\nhello"), "{seen}");
    assert_eq!(field(&seen, "expect"), None, "the gateway has answered it");
    let mut refused = rig.connect();
    refused.write_all(head.as_bytes()).expect("it takes bytes");
    let got = read_to_end(&mut refused);
    assert_eq!(statuses(&got), [429], "and nothing before it, and the connection is closed: {got}");
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn what_the_upstream_says_of_limits_is_never_made_more_permissive() {
    let upstream = Scripted::always(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nRateLimit: \"theirs\";r=1;t=9\r\nRateLimit-Policy: \"theirs\";q=1;w=9\r\n\
          X-RateLimit-Limit: 1\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 9\r\nRetry-After: 77\r\n\r\nok",
    );
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let got = rig.get("/limited", "");
    assert!(all(&got, "ratelimit").concat().contains("\"theirs\";r=1;t=9"), "{got}");
    assert!(all(&got, "ratelimit").concat().contains("\"small\";r=2"), "{got}");
    assert_eq!(all(&got, "x-ratelimit-remaining"), ["0"]);
    assert_eq!(all(&got, "retry-after"), ["77"]);
}

#[test]
fn no_byte_of_a_client_makes_a_line_of_its_own() {
    let upstream = Scripted::always(OK);
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let table = [
        ("/free?x=%0d%0aEvil:%201", ""),
        ("/free/%0d%0aEvil:%201", ""),
        ("/free", "X-Any: a%0d%0aEvil: 1\r\n"),
        ("/nothing%0d%0aEvil:1", ""),
        ("/free", "User-Agent: \u{85}Evil: 1\r\n"),
    ];
    for (target, fields) in table {
        let got = rig.get(target, fields);
        assert_eq!(field(&got, "evil"), None, "{target}: {got}");
    }
    for seen in upstream.seen() {
        assert_eq!(field(&seen, "evil"), None, "{seen}");
    }
}

#[test]
fn when_nothing_listens_that_is_said_without_saying_where() {
    let nobody =
        TcpListener::bind("127.0.0.1:0").expect("there is a free port").local_addr().expect("it is bound");
    let rig = Rig::new(POLICY, nobody, |_| {});
    let got = rig.get("/free", "");
    assert_eq!(status(&got), 502, "{got}");
    assert_eq!(field(&got, "content-type"), Some("application/problem+json"));
    assert!(got.contains("The upstream is unreachable"), "{got}");
    assert!(!got.contains("127.0.0.1") && !got.contains(&nobody.port().to_string()), "{got}");
}

#[test]
fn a_body_beyond_the_limit_is_413_whether_its_length_is_told_or_not() {
    let upstream = Scripted::always(OK);
    let rig = Rig::new(POLICY, upstream.address, |settings| settings.bounds.body_bytes = Some(8));
    let post = |fields: &str, body: &str| {
        rig.send(format!("POST /free HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n{body}"))
    };
    assert_eq!(status(&post("Content-Length: 8\r\n", "12345678")), 200);
    assert_eq!(status(&post("Transfer-Encoding: chunked\r\n", "8\r\n12345678\r\n0\r\n\r\n")), 200);
    assert_eq!(statuses(&post("Content-Length: 9\r\n", "123456789")), [413]);
    assert_eq!(statuses(&post("Content-Length: 9\r\nExpect: 100-continue\r\n", "")), [413]);
    assert_eq!(
        statuses(&post("Transfer-Encoding: chunked\r\n", "4\r\n1234\r\n5\r\n56789\r\n0\r\n\r\n")),
        [413]
    );
    let whole = upstream.seen().iter().filter(|seen| crate::support::small(seen).is_some()).count();
    assert!(whole <= 2, "{:?}", upstream.seen());
}

#[test]
fn a_head_that_is_too_long_or_has_too_many_fields_is_431() {
    let upstream = Scripted::always(OK);
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        settings.bounds.head_bytes = 16 << 10;
        settings.bounds.header_fields = 20;
    });
    let few: String = (0..17).map(|number| format!("X-{number}: y\r\n")).collect();
    let many: String = (0..19).map(|number| format!("X-{number}: y\r\n")).collect();
    assert_eq!(status(&rig.get("/free", &few)), 200);
    assert_eq!(statuses(&rig.get("/free", &many)), [431]);
    assert_eq!(status(&rig.get("/free", &format!("X: {}\r\n", "y".repeat(15 << 10)))), 200);
    assert_eq!(statuses(&rig.get("/free", &format!("X: {}\r\n", "y".repeat(17 << 10)))), [431]);
    assert_eq!(
        statuses(&rig.get(&format!("/free?{}", "y".repeat(9 << 10)), "")),
        [400],
        "the policy reads 8 KiB"
    );
    assert_eq!(upstream.seen().concat().matches(" HTTP/1.1\r\n").count(), 2);
}
