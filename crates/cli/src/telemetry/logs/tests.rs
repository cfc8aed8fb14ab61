//! Log lines as written: contents, number, and that nobody waits for them. Written to channels, not files.

use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use serde_json::Value;
use tollgate_algorithms::Micros;

use super::*;

/// Long enough for a thread to be scheduled on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Gives what is written to whoever holds the other end.
struct Out(Sender<String>);

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8(bytes.to_vec()).expect("lines are text");
        self.0.send(line).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn started(log: Log, clock: Clock) -> (Logs, Receiver<String>, Arc<Metrics>) {
    let (out, lines) = mpsc::channel();
    let metrics = Metrics::new();
    let logs = Logs::start(&log, &metrics, clock, Out(out)).unwrap();
    (logs, lines, metrics)
}

fn refusal(request: &RequestId) -> Refusal<'_> {
    Refusal {
        request,
        client: "203.0.113.9".parse().unwrap(),
        limit: "reports",
        retry: Retry::After(Micros::new(1_500_000)),
        method: "POST",
        route: "/reports/{id}",
    }
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"))
}

#[test]
fn a_refusal_says_who_was_refused_by_what_and_for_how_long() {
    let (logs, lines, _) = started(Log::default(), Clock::manual(Micros::ZERO).clock());
    let id = RequestIds::new().next();
    let refusal = refusal(&id);
    logs.refused(&refusal);
    logs.refused(&Refusal { retry: Retry::Never, ..refusal });
    let line = json(&lines.recv_timeout(PATIENCE).unwrap());
    for (field, value) in [
        ("level", Value::from("INFO")),
        ("message", "refused".into()),
        ("request", refusal.request.to_string().into()),
        ("client", "203.0.113.9".into()),
        ("limit", "reports".into()),
        ("retry_after_us", 1_500_000.into()),
        ("method", "POST".into()),
        ("route", "/reports/{id}".into()),
    ] {
        assert_eq!(line[field], value, "{line}");
    }
    assert!(line["timestamp"].is_string(), "{line}");
    assert_eq!(line.as_object().unwrap().len(), 9, "{line}");
    let never = json(&lines.recv_timeout(PATIENCE).unwrap());
    assert_eq!(never.get("retry_after_us"), None, "{never}");
}

#[test]
fn what_a_client_wrote_cannot_forge_a_line_in_either_format() {
    for json in [true, false] {
        let log = Log { json, ..Log::default() };
        let (logs, lines, _) = started(log, Clock::manual(Micros::ZERO).clock());
        let nasty = "GET\n{\"level\":\"ERROR\"}\r\u{1b}[2J\u{202e}\"";
        logs.refused(&Refusal {
            method: nasty,
            route: nasty,
            limit: nasty,
            ..refusal(&RequestIds::new().next())
        });
        logs.finish();
        let all: String = lines.try_iter().collect();
        assert_eq!(all.lines().count(), 1, "{all}");
        assert!(!all.contains(['\r', '\u{1b}', '\u{202e}']), "{all:?}");
    }
}

#[test]
fn refusals_beyond_the_most_are_left_out_and_their_number_is_told() {
    let clock = Clock::manual(Micros::ZERO);
    let (logs, lines, metrics) = started(Log { refusals_per_second: 2, ..Log::default() }, clock.clock());
    let ids = RequestIds::new();
    (0..5).for_each(|_| logs.refused(&refusal(&ids.next())));
    clock.advance(Duration::from_secs(1));
    logs.refused(&refusal(&ids.next()));
    logs.finish();
    let said: Vec<_> = lines.try_iter().map(|line| json(&line)).collect();
    let messages: Vec<_> = said.iter().map(|line| line["message"].as_str().unwrap()).collect();
    assert_eq!(messages.iter().filter(|message| **message == "refused").count(), 3, "{said:?}");
    let told: u64 = said.iter().filter_map(|line| line["left_out"].as_u64()).sum();
    assert_eq!((told, metrics.lines.left_out.get()), (3, 3), "{said:?}");
}

#[test]
fn what_was_left_out_is_told_also_if_nothing_comes_after_it() {
    let (logs, lines, _) = started(Log { refusals_per_second: 0, ..Log::default() }, Clock::monotonic());
    logs.refused(&refusal(&RequestIds::new().next()));
    let line = json(&lines.recv_timeout(PATIENCE).unwrap());
    assert_eq!((&line["message"], &line["left_out"]), (&"refusals left out of the log".into(), &1.into()));
}

#[test]
fn requests_have_a_line_only_if_it_is_asked_for() {
    let id = RequestIds::new().next();
    let served = ServedRequest {
        request: &id,
        client: "::1".parse().unwrap(),
        method: "GET",
        route: "/reports",
        status: 200,
        nanos: 1_234_567,
    };
    for requests in [false, true] {
        let (logs, lines, _) = started(Log { requests, ..Log::default() }, Clock::monotonic());
        logs.served(&served);
        logs.finish();
        let said: Vec<_> = lines.try_iter().map(|line| json(&line)).collect();
        assert_eq!(said.len(), usize::from(requests), "{said:?}");
        if let [line] = &said[..] {
            assert_eq!((&line["status"], &line["took_us"]), (&200.into(), &1_234.into()));
        }
    }
}

#[test]
fn only_our_lines_are_written_and_none_that_is_for_debugging() {
    let (logs, lines, _) = started(Log { json: false, ..Log::default() }, Clock::monotonic());
    logs.within(|| {
        tracing::debug!("a detail");
        tracing::error!(target: "h2", "a library's");
        tracing::warn!(why = "x", "ours");
    });
    logs.finish();
    let said: Vec<_> = lines.try_iter().collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].ends_with("WARN ours why=\"x\"\n"), "{said:?}");
}

/// Writes nothing until it may.
struct Stuck(Receiver<()>);

impl Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The other end is gone: from now on everything passes.
        let _ = self.0.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn when_nobody_takes_lines_they_are_dropped_and_counted_and_nobody_waits() {
    let (open, stuck) = mpsc::channel();
    let metrics = Metrics::new();
    let logs = Logs::start(&Log::default(), &metrics, Clock::monotonic(), Stuck(stuck)).unwrap();
    let long = "x".repeat(100_000);
    let fit = QUEUE_BYTES_MAX / 100_000;
    logs.within(|| (0..fit + 10).for_each(|_| tracing::warn!(long, "a long line")));
    let dropped = metrics.lines.dropped.get();
    assert!((10..=12).contains(&dropped), "{dropped}");
    drop(open);
    logs.finish();
    // There is room again, but nobody writes any more.
    logs.within(|| tracing::warn!("late"));
    assert_eq!(metrics.lines.dropped.get(), dropped + 1);
}

#[test]
fn a_reader_that_is_gone_harms_nobody() {
    let (logs, lines, metrics) = started(Log::default(), Clock::monotonic());
    drop(lines);
    logs.within(|| tracing::warn!("for nobody"));
    logs.finish();
    assert_eq!(metrics.lines.dropped.get(), 1);
}

#[test]
fn the_end_does_not_wait_for_ever_for_a_reader_that_is_stuck() {
    let (open, stuck) = mpsc::channel();
    let metrics = Metrics::new();
    let logs = Logs::start(&Log::default(), &metrics, Clock::monotonic(), Stuck(stuck)).unwrap();
    logs.within(|| tracing::warn!("for nobody yet"));
    let clock = Clock::monotonic();
    let before = clock.now();
    logs.finish();
    drop(logs);
    let waited = Duration::from_micros(clock.now().get() - before.get());
    assert!((FLUSH_MAX..PATIENCE).contains(&waited), "{waited:?}");
    drop(open);
}
