//! Requests that wait for their turn, over real sockets: for permits, in queues, and for rates.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use tollgate_testing::patience::until;

use crate::in_progress::{Held, POLICY, Upstream, probe, read_head, write};
use crate::peers::{client_http2, request};
use crate::support::{Rig, field, read_to_end, reset, status};

/// Sends requests on connections of their own, one after the other, and says when each was answered, in milliseconds, with what.
#[expect(clippy::disallowed_methods, reason = "real requests take real time")]
fn answered(rig: &Rig, path: &str, count: usize) -> Vec<(u128, u16)> {
    let start = std::time::Instant::now();
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut client = rig.connect();
        write(&mut client, &format!("GET {path}?probe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        clients.push(client);
    }
    let answers = clients.into_iter().map(|mut client| {
        let status = status(&read_to_end(&mut client));
        (start.elapsed().as_millis(), status)
    });
    answers.collect()
}

#[test]
fn a_request_waits_for_a_permit_in_turn() {
    let mut held = Held::new("/patient?", |_| ());
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let mut client = held.rig.connect();
        write(&mut client, "GET /patient HTTP/1.1\r\nHost: a\r\n\r\n");
        waiting.push(client);
    }
    assert!(held.upstream.accepted.try_recv().is_err(), "nobody is passed on while one is in progress");
    // The first that waits goes, perhaps just when it is its turn: the second is served.
    reset(waiting.remove(0));
    write(&mut held.server, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(status(&read_head(&mut held.client)), 200);
    let accepted = held.upstream.accepted;
    std::thread::spawn(move || {
        for mut server in accepted {
            let _ = server.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
        }
    });
    assert_eq!(status(&read_head(&mut waiting[0])), 204);
}

#[test]
fn a_wait_ends_with_the_time_of_the_whole_exchange() {
    let held = Held::new("/patient?", |settings| settings.timeouts.total = Some(Duration::from_secs(2)));
    let refused = held.rig.get("/patient", "");
    assert_eq!(status(&refused), 429, "{refused}");
    assert!(refused.contains("(an estimate)"), "{refused}");
}

#[test]
fn requests_leave_a_queue_one_interval_apart() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| ());
    let answers = answered(&rig, "/queue", 4);
    assert!(answers.iter().all(|(_, status)| *status == 200), "{answers:?}");
    assert!(answers[3].0 >= 145, "three intervals of 50 ms: {answers:?}");
}

#[test]
fn who_would_wait_in_a_queue_for_too_long_is_told_for_how_long() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| ());
    let admitted = probe(&rig, "/hasty");
    assert_eq!((status(&admitted), field(&admitted, "ratelimit-policy")), (200, Some(r#""hasty";q=3;w=30"#)));
    let refused = probe(&rig, "/hasty");
    // In 5 s it would have to wait for 5 s only.
    assert_eq!((status(&refused), field(&refused, "retry-after")), (429, Some("5")), "{refused}");
}

#[test]
fn requests_wait_for_a_rate_and_hold_no_permit_meanwhile() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| ());
    // Six wait at once, though only three may be in progress.
    let answers = answered(&rig, "/rate", 6);
    assert!(answers.iter().all(|(_, status)| *status == 200), "{answers:?}");
    assert!(answers[5].0 >= 245, "five intervals of 50 ms: {answers:?}");
}

/// A client that says that it waits for a second only is told at once that this is too short.
#[test]
fn a_request_waits_no_longer_than_its_client() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| ());
    assert_eq!(status(&probe(&rig, "/fair")), 200);
    let refused = rig.get("/fair?probe", "Request-Timeout: 0.1\r\n");
    assert_eq!(status(&refused), 429, "{refused}");
    assert_eq!(status(&rig.get("/fair?probe", "Request-Timeout: 10\r\n")), 200);
}

/// Of a queue with 8 places, the noisy client gets half. The other one is the next but one to leave.
#[test]
fn a_noisy_client_starves_nobody() {
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| ());
    let (sender, answers) = mpsc::channel();
    let send = |user: &'static str| {
        let (mut client, sender) = (rig.connect(), sender.clone());
        let head =
            format!("GET /fair?probe HTTP/1.1\r\nHost: a\r\nX-User: {user}\r\nConnection: close\r\n\r\n");
        write(&mut client, &head);
        std::thread::spawn(move || sender.send((user, status(&read_to_end(&mut client)))));
    };
    (0..8).for_each(|_| send("noisy"));
    // One has left, and of the others three were refused.
    let first: Vec<_> = answers.iter().take(4).collect();
    assert_eq!(first.iter().filter(|answer| **answer == ("noisy", 429)).count(), 3, "{first:?}");
    send("light");
    let then: Vec<_> = answers.iter().take(5).collect();
    let place = then.iter().position(|answer| *answer == ("light", 200));
    assert!(place.is_some_and(|place| place <= 2), "{then:?}");
    assert_eq!(then.iter().filter(|answer| **answer == ("noisy", 200)).count(), 4, "{then:?}");
}

/// A body that counts what was taken of it.
struct Counted {
    left: usize,
    taken: Arc<AtomicUsize>,
}

const PIECE: usize = 16 << 10;

impl Body for Counted {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= PIECE;
        self.taken.fetch_add(PIECE, Ordering::SeqCst);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![b'x'; PIECE])))))
    }
}

/// While a request waits, the client may send no more than one window of HTTP/2; when it is its turn, the whole body comes.
#[test]
fn the_body_is_not_read_while_a_request_waits() {
    const WHOLE: usize = 8 << 20;
    let upstream = Upstream::new();
    let rig = Rig::new(POLICY, upstream.address, |_| ());
    let mut first = rig.connect();
    write(&mut first, "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    let mut server = upstream.next();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("the system gives a runtime").block_on(async {
        let taken = Arc::new(AtomicUsize::new(0));
        let body = Counted { left: WHOLE, taken: Arc::clone(&taken) }.map_err(Into::into).boxed_unsync();
        let mut client = client_http2(rig.address).await;
        let waiting =
            tokio::spawn(async move { client.send_request(request(Method::POST, "/upload", body)).await });
        until("the client begins", || taken.load(Ordering::SeqCst) > 0);
        // As many bytes as the windows of the stream and of the connection allow, and what the client has ready besides.
        for _ in 0..20 {
            assert_eq!(status(&probe(&rig, "/nowhere")), 404);
        }
        let sent = taken.load(Ordering::SeqCst);
        assert!(sent <= 1 << 20, "{sent} bytes were taken while the request waits");
        write(&mut server, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        let mut server = upstream.next();
        let mut read = vec![0; 1 << 16];
        until("the whole body comes", || {
            let _ = server.read(&mut read);
            taken.load(Ordering::SeqCst) == WHOLE
        });
        waiting.abort();
    });
    drop(first);
}
