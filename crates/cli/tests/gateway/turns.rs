//! Requests that wait for their turn, over real sockets: for permits, in queues, and for rates.

use std::io::Write;
use std::time::Duration;

use crate::in_progress::{Held, POLICY, Upstream, probe, read_head, write};
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
