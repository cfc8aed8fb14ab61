//! How far a TRACE or an OPTIONS goes (`Max-Forwards`): one step less at each hop, and answered where none is left.

use crate::scripted::Scripted;
use crate::support::{Rig, field, status};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const POLICY: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /there:
    get: {}
    trace: {}
    options:
      x-rate-limit: { name: small, algorithm: token_bucket, capacity: 2, refill_rate: 0.001, consumer_key: ip }
";

fn ask(rig: &Rig, method: &str, fields: &str) -> String {
    rig.send(format!("{method} /there?a=b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n"))
}

#[test]
fn a_request_that_may_go_further_has_one_step_less() {
    let upstream = Scripted::always(OK);
    let rig = Rig::new(POLICY, upstream.address, |settings| settings.upstream.idle_max = 0);
    for (method, sent, arrived) in [("TRACE", "3", "2"), ("OPTIONS", "1", "0"), ("GET", "0", "0")] {
        let got = ask(&rig, method, &format!("Max-Forwards: {sent}\r\n"));
        assert_eq!(status(&got), 200, "{method}: {got}");
        let seen = upstream.settled();
        assert_eq!(field(seen.last().expect("it arrived"), "max-forwards"), Some(arrived), "{method}");
    }
}

#[test]
fn a_request_that_may_go_no_further_is_charged_and_answered_here() {
    let upstream = Scripted::always(OK);
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        settings.operations = Some(([127, 0, 0, 1], 0).into());
    });
    let statuses: Vec<_> = (0..3).map(|_| status(&ask(&rig, "OPTIONS", "Max-Forwards: 0\r\n"))).collect();
    assert_eq!(statuses, [200, 200, 429], "it is no way around a limit");
    let secret = "Max-Forwards: 0\r\nVia: 1.1 before\r\nAuthorization: Bearer hunter2\r\nCookie: hunter2\r\n";
    let got = ask(&rig, "TRACE", secret);
    assert_eq!((status(&got), field(&got, "content-type")), (200, Some("message/http")), "{got}");
    let (_, body) = got.split_once("\r\n\r\n").expect("there is a body");
    assert_eq!(
        body, "TRACE /there?a=b HTTP/1.1\r\nhost: a\r\nvia: 1.1 before\r\nmax-forwards: 0\r\n\r\n",
        "what came, without secrets"
    );
    let got = ask(&rig, "TRACE", "Max-Forwards: none\r\n");
    assert_eq!(status(&got), 400, "{got}");
    assert!(got.contains("Max-Forwards must be a single whole number"), "{got}");
    assert!(upstream.seen().is_empty(), "the upstream gets none of it");
    assert_eq!(rig.metric("tollgate_answered_total{kind=\"last_hop\"}"), Some(3));
}
