//! Clients that end their side of the connection behind their request, as `nc -N` does: they get their response all the same.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::peers::{Certificate, block_on};
use crate::scripted::{Reply, Scripted, statuses};
use crate::support::{POLICY, Recorder, Rig, read_to_end, reset, small, status};
use crate::tls::with;

const GET: &str = "GET /free HTTP/1.1\r\nHost: a\r\n\r\n";

/// Sends this, ends the sending side, and gets everything until the gateway closes.
fn send_and_end(rig: &Rig, bytes: &str) -> String {
    let mut stream = rig.connect();
    stream.write_all(bytes.as_bytes()).expect("it takes bytes");
    stream.shutdown(Shutdown::Write).expect("it can be ended");
    read_to_end(&mut stream)
}

/// An upstream that answers a request when it is told to.
fn told() -> (SocketAddr, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    let (tell, told) = channel();
    let told = Arc::new(Mutex::new(told));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let told = Arc::clone(&told);
            std::thread::spawn(move || {
                let (mut seen, mut piece) = (String::new(), [0; 4096]);
                while let Ok(count @ 1..) = stream.read(&mut piece) {
                    seen.push_str(&String::from_utf8_lossy(&piece[..count]));
                    let Some(answer) = small(&seen) else { continue };
                    if told.lock().expect("nobody panics").recv().is_err()
                        || stream.write_all(&answer).is_err()
                    {
                        return;
                    }
                    seen.clear();
                }
            });
        }
    });
    (address, tell)
}

#[test]
fn who_ends_its_side_behind_a_request_gets_the_response() {
    let (upstream, tell) = told();
    let rig = Rig::new(POLICY, upstream, |_| {});
    let post = "POST /free HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";
    let chunked =
        "POST /free HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n";
    for (sent, count) in [(GET.to_owned(), 1), (post.into(), 1), (chunked.into(), 1), (GET.repeat(3), 3)] {
        let mut stream = rig.connect();
        stream.write_all(sent.as_bytes()).expect("it takes bytes");
        stream.shutdown(Shutdown::Write).expect("it can be ended");
        // There is one worker: when it has answered this, it has read the end.
        assert_eq!(status(&rig.get("/nowhere", "")), 404);
        (0..count).for_each(|_| tell.send(()).expect("it waits"));
        let got = read_to_end(&mut stream);
        assert_eq!(statuses(&got), vec![200; count], "{sent}: {got}");
        assert!(got.ends_with("\r\n\r\nok"), "{got}");
    }
    assert_eq!(statuses(&send_and_end(&rig, "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")), [404]);
    assert_eq!(statuses(&send_and_end(&rig, "garbage\r\n\r\n")), [400]);
}

#[test]
fn a_long_response_is_whole() {
    const LENGTH: usize = 8 << 20;
    let upstream = Scripted::new(|_, request| {
        small(request)?;
        let mut bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\n\r\n").into_bytes();
        bytes.resize(bytes.len() + LENGTH, b'x');
        Some(Reply { bytes, close: false })
    });
    let rig = Rig::new(POLICY, upstream.address, |_| {});
    let got = send_and_end(&rig, GET);
    assert_eq!(got.split("\r\n\r\n").nth(1).map(str::len), Some(LENGTH));
}

#[test]
fn over_tls_it_is_the_same() {
    let (certificate, upstream) = (Certificate::new(), Recorder::new(small));
    let rig = Rig::new(POLICY, upstream.address, |settings| with(&certificate, settings));
    let got = block_on(async {
        let mut tls = certificate.connect(rig.address, &["http/1.1"]).await.expect("they agree");
        tls.write_all(GET.as_bytes()).await.expect("it takes bytes");
        tls.shutdown().await.expect("it can be ended");
        let mut got = String::new();
        tls.read_to_string(&mut got).await.expect("it is answered, and closed");
        got
    });
    assert_eq!(statuses(&got), [200], "{got}");
}

#[test]
fn a_body_that_ends_too_early_is_a_400_at_once() {
    let upstream = Recorder::new(small);
    let policy = format!(
        "{POLICY}  /batch:\n    post:\n      x-rate-limit:\n        {{ name: batch, algorithm: token_bucket, capacity: 9, refill_rate: 1, \
         consumer_key: ip, cost: {{ operations: json_array, max: 5, max_body: 1 KiB }} }}\n"
    );
    let rig = Rig::new(&policy, upstream.address, |_| {});
    for path in ["/free", "/batch"] {
        for half in [
            "Content-Length: 9\r\n\r\nhalf",
            "Content-Length: 9\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
            "Transfer-Encoding: chunked\r\n\r\n4\r\nha",
        ] {
            let got = send_and_end(&rig, &format!("POST {path} HTTP/1.1\r\nHost: a\r\n{half}"));
            assert_eq!(statuses(&got), [400], "{path} {half}: {got}");
            assert!(got.contains("The request body is incomplete"), "{got}");
        }
    }
}

#[test]
fn what_is_no_whole_request_has_no_response() {
    let rig = Rig::new(POLICY, Recorder::new(small).address, |_| {});
    for sent in ["", "GET /free HTT", "GET /free HTTP/1.1\r\nHost: a\r\n"] {
        assert_eq!(send_and_end(&rig, sent), "", "{sent}");
    }
}

/// Who resets the connection waits for nothing, and its request is given up.
#[test]
fn who_resets_is_gone() {
    let upstream = Recorder::new(|_| None);
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        settings.operations = Some(([127, 0, 0, 1], 0).into());
    });
    let mut stream = rig.connect();
    stream.write_all(GET.as_bytes()).expect("it takes bytes");
    let mut other = rig.connect();
    other.write_all(b"GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n").expect("it takes bytes");
    other.read_exact(&mut [0; 12]).expect("it is answered");
    reset(stream);
    drop(other);
    rig.stop();
    rig.ended().expect("it need not wait for the upstream");
}
