//! Floods of HTTP/2 frames: each costs the one who sends it its connection, at most, and nobody else anything.

use std::time::Duration;

use crate::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE,
    field as hpack, frame, get, head,
};
use crate::support::{Recorder, Rig, field, read_to_end, small, status};

/// Large enough for every stream that could get as far as a decision.
const TOKENS: u32 = 100_000;
const POLICY: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
paths:
  /spent:
    get:
      x-rate-limit: { algorithm: token_bucket, capacity: 100000, refill_rate: 0.001, consumer_key: ip }
  /free: { get: {}, post: {} }
";

fn rig(upstream: &Recorder) -> Rig {
    Rig::new(POLICY, upstream.address, |settings| {
        settings.operations = Some(([127, 0, 0, 1], 0).into());
        settings.timeouts.write = Duration::from_millis(200);
        settings.bounds.resets = 50;
    })
}

/// What the gateway has decided about `/spent`, by its own count.
fn decided(rig: &Rig) -> u32 {
    let mut stream = std::net::TcpStream::connect(rig.operations.expect("it has one")).expect("it listens");
    std::io::Write::write_all(&mut stream, b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        .expect("it takes bytes");
    let page = read_to_end(&mut stream);
    let lines = page.lines().filter(|line| line.starts_with("tollgate_decisions_total{"));
    let counts = lines.map(|line| line.rsplit(' ').next().and_then(|count| count.parse::<u32>().ok()));
    counts.map(|count| count.expect("it is a number")).sum()
}

/// The budget that is left, by a request that spends one more.
fn left(rig: &Rig) -> u32 {
    let response = rig.get("/spent", "X-Answer: yes\r\n");
    let told = field(&response, "ratelimit").expect("it is told");
    let left = told.split(';').find_map(|part| part.strip_prefix("r=")).and_then(|left| left.parse().ok());
    left.expect("it is a number")
}

/// It answers only those who ask for an answer.
fn rarely(seen: &str) -> Option<Vec<u8>> {
    if seen.contains("x-answer: yes") { small(seen) } else { None }
}

#[test]
fn a_stream_that_is_reset_has_spent_its_token_and_many_close_the_connection() {
    let upstream = Recorder::new(rarely);
    let rig = rig(&upstream);
    let mut frames = Frames::new(&rig);
    let mut sent: u32 = 0;
    // One after the other, so that each gets as far as the upstream before it is reset.
    while sent < 10_000 {
        let stream = 2 * sent + 1;
        let both = [get(stream, "/spent"), frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())].concat();
        if !frames.write(&both) || (!frames.write(&frame(PING, 0, 0, b"are you?"))) {
            break;
        }
        // Until the answer: then what was before it has been seen.
        let mut answered = false;
        while let Some((kind, flags, ..)) = frames.next() {
            if kind == PING && flags & 1 == 1 {
                answered = true;
                break;
            }
        }
        if !answered {
            break;
        }
        sent += 1;
    }
    assert!((50..200).contains(&sent), "{sent} streams were reset before it was closed");
    let decided = decided(&rig);
    assert!(decided >= 50, "{decided} got as far as a decision");
    assert_eq!(left(&rig), TOKENS - decided - 1, "each has spent its token");
}

#[test]
fn thousands_of_resets_at_once_close_the_connection_and_others_go_on() {
    let upstream = Recorder::new(rarely);
    let rig = rig(&upstream);
    let mut all = Vec::new();
    for number in 0..20_000 {
        all.extend(get(2 * number + 1, "/spent"));
        all.extend(frame(RST_STREAM, 0, 2 * number + 1, &8_u32.to_be_bytes()));
    }
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut frames = Frames::new(&rig);
                frames.write(&all);
                frames.leave();
            });
        }
        for _ in 0..20 {
            assert_eq!(status(&rig.get("/free", "X-Answer: yes\r\n")), 200);
        }
    });
    let decided = decided(&rig);
    assert!(decided < 3 * 500, "{decided} of 60000 got as far as a decision");
    assert_eq!(left(&rig), TOKENS - decided - 1, "each has spent its token");
}

/// The gateway resets the streams itself, because of what the client sends on them (CVE-2025-8671).
#[test]
fn streams_that_a_client_makes_us_reset_close_the_connection_too() {
    let upstream = Recorder::new(rarely);
    let rig = rig(&upstream);
    let mut all = Vec::new();
    for number in 0..5_000 {
        let stream = 2 * number + 1;
        all.extend(frame(HEADERS, END_HEADERS, stream, &head(true, "/free")));
        all.extend(frame(WINDOW_UPDATE, 0, stream, &0_u32.to_be_bytes()));
    }
    let mut frames = Frames::new(&rig);
    frames.write(&all);
    frames.leave();
    assert!(upstream.requests() < 500, "{}", upstream.requests());
    assert_eq!(status(&rig.get("/free", "X-Answer: yes\r\n")), 200);
}

#[test]
fn a_head_without_an_end_closes_the_connection() {
    let upstream = Recorder::new(small);
    let rig = rig(&upstream);
    for (what, piece) in
        [("large fields", hpack("x-large", &"x".repeat(100)).repeat(100)), ("nothing at all", Vec::new())]
    {
        let mut frames = Frames::new(&rig);
        frames.write(&frame(HEADERS, END_STREAM, 1, &head(false, "/free")));
        // More than the system keeps of them while the gateway is not run.
        assert!(frames.flood(&frame(CONTINUATION, 0, 1, &piece).repeat(10), 1_000_000), "{what}");
    }
    assert_eq!(status(&rig.get("/free", "")), 200);
    assert_eq!(upstream.requests(), 1);
}

/// A few bytes that stand for many: a field of 4,000 bytes that is remembered, and then named 16,000 times.
#[test]
fn a_bomb_of_fields_is_not_unpacked() {
    let upstream = Recorder::new(small);
    let rig = rig(&upstream);
    let mut bomb = head(false, "/free");
    // Remembered, with a new name; its length is 127 and then some, as RFC 7541 5.1 writes it.
    bomb.extend([0x40, 1, b'x', 0x7f, 0xa1, 0x1e]);
    bomb.extend(vec![b'x'; 127 + 0x21 + (0x1e << 7)]);
    let names = vec![0xbe; 16_384 - bomb.len()];
    bomb.extend(names);
    let mut frames = Frames::new(&rig);
    frames.write(&frame(HEADERS, END_STREAM | END_HEADERS, 1, &bomb));
    // The stream is refused or reset, or the connection is closed.
    let refused = std::iter::from_fn(|| frames.next()).find(|(_, _, stream, _)| *stream == 1);
    assert!(refused.is_none_or(|(kind, flags, ..)| kind == RST_STREAM || flags & END_STREAM == END_STREAM));
    assert_eq!(upstream.requests(), 0);
    assert_eq!(status(&rig.get("/free", "")), 200);
}

#[test]
fn floods_that_are_answered_are_not_answered_without_end() {
    let upstream = Recorder::new(small);
    let rig = rig(&upstream);
    for (what, bytes) in [
        ("settings", frame(SETTINGS, 0, 0, &[])),
        ("pings", frame(PING, 0, 0, b"are you?")),
        ("requests whose answers nobody reads", Vec::new()),
    ] {
        let mut frames = Frames::new(&rig);
        let closed = if bytes.is_empty() {
            (0..1_000_000).any(|number| !frames.write(&get(2 * number + 1, "/nothing")))
        } else {
            // Nobody reads the answers, and so they are not waited for any longer than any others.
            frames.flood(&bytes.repeat(1_000), 100_000)
        };
        assert!(closed, "{what}");
        assert_eq!(status(&rig.get("/free", "")), 200, "{what}");
    }
}

#[test]
fn data_without_bytes_is_borne_for_a_while_and_not_passed_on() {
    let upstream = Recorder::new(small);
    let rig = rig(&upstream);
    for (count, borne) in [(10, true), (200_000, false)] {
        let mut frames = Frames::new(&rig);
        frames.write(&frame(HEADERS, END_HEADERS, 1, &head(true, "/free")));
        let empty = frame(DATA, 0, 1, &[]).repeat(count);
        if frames.write(&empty) {
            frames.write(&frame(DATA, END_STREAM, 1, b"body"));
        }
        let answered =
            std::iter::from_fn(|| frames.next()).any(|(kind, _, stream, _)| (kind, stream) == (HEADERS, 1));
        assert_eq!(answered, borne, "{count}");
    }
    assert_eq!(status(&rig.get("/free", "")), 200);
    assert!(upstream.seen().iter().all(|seen| seen.len() < 4_096), "none of it was passed on");
}
