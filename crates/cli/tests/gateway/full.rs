//! A gateway whose memory is full says so in one line, and in its metrics.

use std::io::{Read, Write};

use tokio::time::Instant;

use crate::lines::Lines;
use crate::support::{PATIENCE, Recorder, Rig, small};

/// Each key is charged once, and takes a slot and a cell.
const POLICY: &str = "
tollgate: 1
routes:
  - path: /filled
    rate_limit: { name: filled, algorithm: fixed_window, limit: 1, window: 1 day, consumer_key: 'header:X-Key' }
";

const MEMORY: usize = 4 << 20;

/// Sends requests of so many new keys on one connection, one after the other, and waits for all answers.
fn fill(rig: &Rig, keys: std::ops::Range<u32>) {
    let mut stream = rig.connect();
    let mut requests = String::new();
    for key in keys.clone() {
        requests.push_str(&format!("GET /filled HTTP/1.1\r\nHost: a\r\nX-Key: {key}\r\n\r\n"));
    }
    requests.push_str("GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let mut writing = stream.try_clone().expect("a socket has two ends");
    std::thread::scope(|scope| {
        scope.spawn(move || writing.write_all(requests.as_bytes()).expect("it takes bytes"));
        let mut answers = Vec::new();
        stream.read_to_end(&mut answers).expect("it answers");
        let count = String::from_utf8_lossy(&answers).matches("HTTP/1.1 ").count();
        assert_eq!(count, keys.len() + 1, "all are answered");
    });
}

#[test]
fn memory_that_is_full_has_one_line_and_shows_in_the_metrics() {
    let (upstream, lines) = (Recorder::new(small), Lines::default());
    let change = |settings: &mut tollgate_cli::settings::Settings| {
        settings.memory = MEMORY;
        settings.operations = Some(([127, 0, 0, 1], 0).into());
    };
    let rig = Rig::logged(POLICY, upstream.address, change, lines.clone());
    let said = "memory is full";
    let part = || {
        let number = |name| rig.metric(name).expect("it is on the page");
        number("tollgate_store_bytes ") * 100 / number("tollgate_store_max_bytes ")
    };
    fill(&rig, 0..1_000);
    assert!(part() < 90, "{} %", part());
    assert_eq!(lines.with(said).len(), 0);
    let mut next = 1_000;
    while rig.metric("tollgate_store_overflowed_total ") == Some(0) {
        fill(&rig, next..next + 4_000);
        next += 4_000;
        assert!(next < 1_000_000, "it is never full");
    }
    assert!(part() >= 90, "{} %", part());
    let begun = Instant::now();
    while lines.with(said).is_empty() {
        assert!(begun.elapsed() < PATIENCE, "no line says so: {}", lines.all());
        std::thread::yield_now();
    }
    fill(&rig, next..next + 4_000);
    rig.stop();
    rig.ended().expect("it ends well");
    let told = lines.with(said);
    assert!(told.len() == 1 && told[0].contains("TOLLGATE_MEMORY"), "{told:?}");
}
