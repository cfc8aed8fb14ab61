//! What a gateway writes down of requests: who was refused by what, and why the upstream fails; and no key, and no client's bytes.

use std::io::{self, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::scripted::Scripted;
use crate::support::{Rig, field, status};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const POLICY: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
x-tollgate: { trusted_proxies: { networks: 127.0.0.0/8, header: X-Forwarded-For } }
paths:
  /things/{id}:
    get:
      x-rate-limit: { name: small, algorithm: token_bucket, capacity: 1, refill_rate: 0.001, consumer_key: 'header:X-Key' }
";

/// A log that the test reads.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// All lines with these words.
    pub(crate) fn with(&self, words: &str) -> Vec<String> {
        let bytes = self.0.lock().expect("nobody panics");
        let lines = String::from_utf8_lossy(&bytes).into_owned();
        lines.lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
    }

    pub(crate) fn all(&self) -> String {
        self.with("").join("\n")
    }
}

/// Runs `requests` through a gateway, and gives the lines that came of it.
fn lines_of(json: bool, requests: impl FnOnce(&Rig)) -> Lines {
    let (upstream, lines) = (Scripted::always(OK), Lines::default());
    let change = |settings: &mut tollgate_cli::settings::Settings| {
        settings.log.requests = true;
        settings.log.json = json;
    };
    let rig = Rig::logged(POLICY, upstream.address, change, lines.clone());
    requests(&rig);
    rig.stop();
    rig.ended().expect("it ends well");
    lines
}

#[test]
fn a_refusals_line_says_who_which_limit_and_how_long() {
    let mut name = String::new();
    let lines = lines_of(true, |rig| {
        let fields = "X-Key: secret-key\r\nX-Forwarded-For: 203.0.113.9\r\n";
        assert_eq!(status(&rig.get("/things/7?token=secret-query", fields)), 200);
        let refused = rig.get("/things/7?token=secret-query", fields);
        assert_eq!(status(&refused), 429);
        name = field(&refused, "x-request-id").expect("it has a name").to_owned();
    });
    let refused = lines.with("\"refused\"");
    assert_eq!(refused.len(), 1, "{}", lines.all());
    for wanted in [
        format!("\"request\":\"{name}\""),
        "\"client\":\"203.0.113.9\"".into(),
        "\"limit\":\"small\"".into(),
        "\"method\":\"GET\"".into(),
        "\"route\":\"/things/{id}\"".into(),
        "\"retry_after_us\":".into(),
    ] {
        assert!(refused[0].contains(&wanted), "{wanted} is not in {}", refused[0]);
    }
    assert!(!lines.all().contains("secret"), "{}", lines.all());
}

#[test]
fn every_request_has_a_line_if_that_is_set() {
    let lines = lines_of(true, |rig| {
        assert_eq!(status(&rig.get("/things/7", "X-Key: a\r\n")), 200);
        assert_eq!(status(&rig.get("/nothing", "")), 404);
        assert_eq!(status(&rig.get("//", "")), 400);
    });
    let served = lines.with("\"served\"");
    let wanted = [(200, "/things/{id}"), (404, ""), (400, "")];
    assert_eq!(served.len(), wanted.len(), "{}", lines.all());
    for (line, (status, route)) in served.iter().zip(wanted) {
        assert!(line.contains(&format!("\"status\":{status}")), "{line}");
        assert!(line.contains(&format!("\"route\":\"{route}\"")), "{line}");
        assert!(line.contains("\"client\":\"127.0.0.1\""), "{line}");
    }
}

#[test]
fn no_key_and_no_byte_of_a_client_is_in_a_line() {
    for json in [false, true] {
        let lines = lines_of(json, |rig| {
            let table = [
                ("GET", "/things/evil-path", "X-Key: evil-key\r\n"),
                ("GET", "/things/evil-path", "X-Key: evil-key\r\n"),
                ("GET", "/evil-path?evil-query", "User-Agent: evil-agent\r\nAuthorization: Bearer evil\r\n"),
                (
                    "GET",
                    "/things/evil-path",
                    "X-Key: evil-key\r\nX-Forwarded-For: evil-hop\r\nX-Request-Id: evil id\r\n",
                ),
                ("GET", "/things/evil%0aevil", "X-Key: evil\u{1b}[31m\r\n"),
                ("GET", "//evil", "Cookie: evil=evil\r\n"),
                ("GET", "http://evil/things/1", "X-Key: evil\r\n"),
            ];
            for (method, target, fields) in table {
                rig.send(format!(
                    "{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n"
                ));
            }
        });
        let all = lines.all();
        assert!(all.contains("served") && all.contains("refused"), "{all}");
        assert!(!all.contains("evil"), "{all}");
        assert!(all.bytes().all(|byte| byte == b'\n' || !byte.is_ascii_control()), "{all:?}");
    }
}

#[test]
fn a_failing_upstream_has_a_line_and_not_one_for_each_request() {
    let nobody =
        TcpListener::bind("127.0.0.1:0").expect("there is a free port").local_addr().expect("it is bound");
    let lines = Lines::default();
    let rig = Rig::logged(POLICY, nobody, |_| {}, lines.clone());
    for number in 0..50 {
        assert_eq!(status(&rig.get("/things/1", &format!("X-Key: {number}\r\n"))), 502);
    }
    rig.stop();
    rig.ended().expect("it ends well");
    let failed = lines.with("the upstream failed");
    assert!(!failed.is_empty() && failed.len() < 50, "{}", lines.all());
    assert!(
        failed[0].contains("cannot connect to the upstream") && failed[0].contains("WARN"),
        "{}",
        failed[0]
    );
}
