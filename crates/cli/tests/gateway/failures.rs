//! An upstream that fails: the client and the log are told what happened, each in its words.

use crate::lines::Lines;
use crate::scripted::{Reply, Scripted};
use crate::support::{POLICY, Rig, field, small, status};

/// An upstream that answers with these bytes and closes, and what came of one request: the response, and the log.
fn failed(bytes: Vec<u8>) -> (String, Lines) {
    let upstream =
        Scripted::new(move |_, request| small(request).map(|_| Reply { bytes: bytes.clone(), close: true }));
    let lines = Lines::default();
    let rig = Rig::logged(POLICY, upstream.address, |_| {}, lines.clone());
    let got = rig.get("/free", "");
    rig.stop();
    rig.ended().expect("it ends well");
    (got, lines)
}

#[test]
fn what_happened_is_what_is_said() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n";
    let fields: String = (0..200).map(|number| format!("X-{number}: y\r\n")).collect();
    let interim = "HTTP/1.1 102 Processing\r\n\r\n".repeat(100);
    let table = [
        (String::new(), "closed the connection before it responded", "closed the connection"),
        ("HTTP/1.1 200 O".into(), "closed the connection before it responded", "closed the connection"),
        (
            format!("{head}{fields}\r\nok"),
            "header of the upstream's response is too large",
            "more than 128 header fields",
        ),
        (
            format!("{head}X: {}\r\n\r\nok", "y".repeat(300 << 10)),
            "header of the upstream's response is too large",
            "its head has more than 64 KiB",
        ),
        ("no HTTP at all\r\n\r\n".into(), "is not valid HTTP", "is not HTTP"),
        ("HTTP/1.1 200 OK\r\nbad name: 1\r\n\r\n".into(), "is not valid HTTP", "is not HTTP"),
        (
            format!("{head}Content-Length: 3\r\n\r\nokay"),
            "is ambiguous",
            "its Content-Length is not a single number",
        ),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n".into(),
            "switched protocols",
            "switched protocols",
        ),
        (interim, "too many interim responses", "too many interim responses"),
    ];
    for (bytes, told, logged) in table {
        let start: String = bytes.chars().take(80).collect();
        let (got, lines) = failed(bytes.into_bytes());
        assert_eq!(status(&got), 502, "{start}: {got}");
        assert!(got.contains(told), "{start}: {got}");
        let failed = lines.with("the upstream failed");
        assert!(failed.len() == 1 && failed[0].contains(logged), "{start}: {}", lines.all());
        let id = field(&got, "x-request-id").expect("it has a request ID");
        assert!(failed[0].contains(id), "{id}: {}", failed[0]);
    }
}

#[test]
fn a_body_that_is_cut_has_a_line() {
    let table = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "it closed the connection"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", "it closed the connection"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n",
            "a chunk's size is not a number",
        ),
    ];
    for (bytes, why) in table {
        let (got, lines) = failed(bytes.into());
        assert_eq!(status(&got), 200, "{got}");
        let failed = lines.with("the upstream failed");
        assert_eq!(failed.len(), 1, "{bytes}: {}", lines.all());
        assert!(
            failed[0].contains("its response body was cut off") && failed[0].contains(why),
            "{}",
            failed[0]
        );
        let id = field(&got, "x-request-id").expect("it has a request ID");
        assert!(failed[0].contains(id), "{id}: {}", failed[0]);
    }
    let (got, lines) = failed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".into());
    assert!(status(&got) == 200 && lines.with("the upstream failed").is_empty(), "{}", lines.all());
}
