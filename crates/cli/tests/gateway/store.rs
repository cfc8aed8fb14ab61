//! Gateways that count together in a real Redis: one budget, answers as ever, and each limit's rule without the server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_cli::settings::Settings;
use tollgate_twins::server::{Make, Server};

use crate::lines::Lines;
use crate::support::{Recorder, Rig, field, read_to_end, small, status};

const POLICY: &str = "
tollgate: 1
routes:
  - path: /shared
    rate_limit: { name: shared, algorithm: token_bucket, capacity: 4, refill_rate: 1 per day, consumer_key: ip, when_store_fails: local 1/2 }
  - path: /denied
    rate_limit: { name: denied, algorithm: token_bucket, capacity: 4, refill_rate: 1 per day, consumer_key: ip, when_store_fails: deny }
  - path: /allowed
    rate_limit: { name: allowed, algorithm: token_bucket, capacity: 1, refill_rate: 1 per day, consumer_key: ip, when_store_fails: allow }
";

fn counting_in(server: &Server) -> impl Fn(&mut Settings) {
    let url = format!("unix://{}", server.socket().display());
    move |settings: &mut Settings| {
        settings.store.url = Some(url.clone());
        // Long, because on a busy machine a quick server can be late.
        settings.store.budget = Duration::from_secs(2);
    }
}

#[test]
fn two_gateways_spend_one_budget_and_their_fields_tell_it() {
    let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
    let upstream = Recorder::new(small);
    let rigs = [(); 2].map(|()| Rig::new(POLICY, upstream.address, counting_in(&server)));
    let mut left = Vec::new();
    for turn in 0..6 {
        let answer = rigs[turn % 2].get("/shared", "");
        left.push((status(&answer), field(&answer, "x-ratelimit-remaining").map(str::to_owned)));
    }
    let expected = [(200, "3"), (200, "2"), (200, "1"), (200, "0"), (429, "0"), (429, "0")];
    assert_eq!(left, expected.map(|(status, left)| (status, Some(left.to_owned()))));
    assert_eq!(upstream.requests(), 4, "what was refused did not get there");
}

/// In a rolling deploy, one gateway has the old policy and one the new.
#[test]
fn two_gateways_with_different_algorithms_under_one_name_grant_at_most_twice_the_limit() {
    let upstream = Recorder::new(small);
    let policy = |numbers: &str| {
        format!(
            "tollgate: 1\nroutes:\n  - path: /login\n    rate_limit: {{ name: login, {numbers}, consumer_key: ip, when_store_fails: deny }}\n"
        )
    };
    let bucket = policy("algorithm: token_bucket, capacity: 5, refill_rate: 1 per day");
    for (other, most) in [
        (policy("algorithm: gcra, capacity: 5, refill_rate: 1 per day"), 5),
        (policy("algorithm: sliding_window, limit: 5, window: 1 day"), 10),
    ] {
        let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
        let rigs = [&bucket, &other].map(|policy| Rig::new(policy, upstream.address, counting_in(&server)));
        let statuses: Vec<u16> = (0..40)
            .flat_map(|_| rigs.iter().map(|rig| status(&rig.get("/login", ""))).collect::<Vec<_>>())
            .collect();
        let granted = statuses.iter().filter(|status| **status == 200).count();
        assert_eq!(granted, most, "{other}");
        assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
    }
}

#[test]
fn two_services_whose_root_limits_are_unnamed_share_nothing_unless_their_namespace_is_one() {
    let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
    let upstream = Recorder::new(small);
    let api = |title: &str| {
        format!(
            "openapi: 3.1.0\ninfo: {{ title: {title}, version: '1' }}\n\
             x-rate-limit: {{ algorithm: token_bucket, capacity: 2, refill_rate: 1 per day, when_store_fails: deny }}\n\
             paths: {{ /a: {{ get: {{}} }} }}\n"
        )
    };
    let statuses = |title: &str, namespace: Option<&str>| {
        let rig = Rig::new(&api(title), upstream.address, |settings| {
            counting_in(&server)(settings);
            settings.store.namespace = namespace.map(str::to_owned);
        });
        [(); 3].map(|()| status(&rig.get("/a", "")))
    };
    assert_eq!(statuses("Orders API", None), [200, 200, 429]);
    assert_eq!(statuses("Invoices API", None), [200, 200, 429], "another service");
    assert_eq!(statuses("Orders API", None), [429; 3], "the same service");
    assert_eq!(
        statuses("Invoices API", Some("orders-api")),
        [429; 3],
        "the setting is stronger than the title"
    );
}

#[test]
fn without_the_server_each_limit_does_what_it_says_and_then_counts_there_again() {
    let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
    let upstream = Recorder::new(small);
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        counting_in(&server)(settings);
        settings.store.budget = Duration::from_millis(100);
        settings.operations = Some(([127, 0, 0, 1], 0).into());
    });
    until(&rig, "/denied", &[200]);
    server.signal("STOP").expect("it is frozen");
    let statuses =
        |path: &str, count: usize| -> Vec<u16> { (0..count).map(|_| status(&rig.get(path, ""))).collect() };
    assert_eq!(statuses("/shared", 4), [200, 200, 429, 429], "half of four");
    assert_eq!(statuses("/denied", 2), [503, 503]);
    let passed = rig.get("/allowed", "");
    assert_eq!(
        (status(&passed), field(&passed, "x-ratelimit-remaining")),
        (200, None),
        "no numbers that nobody knows"
    );
    let page = metrics(&rig);
    assert!(page.contains("tollgate_degraded_total 7\n"), "all of them: {page}");
    assert!(page.contains("tollgate_shared_store_breaker_open 1\n"), "{page}");
    server.signal("CONT").expect("it goes on");
    until(&rig, "/denied", &[200]);
}

#[test]
fn a_refused_key_is_remembered_and_its_answer_is_as_ever() {
    let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
    let upstream = Recorder::new(small);
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        counting_in(&server)(settings);
        settings.operations = Some(([127, 0, 0, 1], 0).into());
    });
    assert_eq!(status(&rig.get("/allowed", "")), 200);
    for _ in 0..50 {
        let answer = rig.get("/allowed", "");
        assert_eq!((status(&answer), field(&answer, "x-ratelimit-remaining")), (429, Some("0")));
        assert_eq!(field(&answer, "retry-after"), Some("86400"));
    }
    let page = metrics(&rig);
    let count = |name: &str| -> u64 {
        let line = page.lines().find(|line| line.starts_with(name)).expect("it is there");
        line.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let (remembered, asked) = (
        count("tollgate_shared_store_remembered_total "),
        count("tollgate_shared_store_calls_total{result=\"answered\"}"),
    );
    // It is asked again once a second.
    assert!(remembered > 25 && remembered + asked >= 51, "{remembered} remembered, {asked} asked: {page}");
}

#[test]
fn a_gateway_starts_without_a_server() {
    let upstream = Recorder::new(small);
    let rig = Rig::new(POLICY, upstream.address, |settings| {
        settings.store.url = Some("unix:///nonexistent/tollgate.socket".into());
    });
    assert_eq!((status(&rig.get("/shared", "")), status(&rig.get("/denied", ""))), (200, 503));
}

#[test]
fn a_key_that_holds_something_else_has_a_line_and_a_count_that_say_so() {
    let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
    let (upstream, lines) = (Recorder::new(small), Lines::default());
    let change = |settings: &mut Settings| {
        counting_in(&server)(settings);
        settings.operations = Some(([127, 0, 0, 1], 0).into());
    };
    let rig = Rig::logged(POLICY, upstream.address, change, lines.clone());
    assert_eq!(status(&rig.get("/denied", "")), 200);
    let keys = tell(&server, "KEYS tg3:*");
    let key = keys.lines().find(|line| line.starts_with("tg3:")).expect("its budget is there");
    tell(&server, &format!("SET {key} somebody-elses"));
    assert_eq!(status(&rig.get("/denied", "")), 503, "that is no decision");
    let told = until_told(&lines, "some calls to the shared store fail");
    for words in ["foreign", key, "delete it"] {
        assert!(told[0].contains(words), "{words} is not in {}", told[0]);
    }
    let page = metrics(&rig);
    assert!(page.contains("tollgate_shared_store_calls_total{result=\"foreign\"} 1\n"), "{page}");
    assert!(page.contains("tollgate_shared_store_calls_total{result=\"answered\"} 1\n"), "{page}");
}

#[test]
fn the_namespace_has_a_line_and_there_is_a_warning_without_one() {
    let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
    let upstream = Recorder::new(small);
    let started = |namespace: Option<&str>| {
        let lines = Lines::default();
        let change = |settings: &mut Settings| {
            counting_in(&server)(settings);
            settings.store.namespace = namespace.map(str::to_owned);
        };
        (Rig::logged(POLICY, upstream.address, change, lines.clone()), lines)
    };
    let (_rig, lines) = started(Some("orders"));
    let told = until_told(&lines, "the shared store has a namespace");
    assert!(told[0].contains("\"orders\""), "{told:?}");
    let (_rig, lines) = started(None);
    let told = until_told(&lines, "the shared store has no namespace");
    assert!(told[0].contains("WARN") && told[0].contains("Set `store.namespace`"), "{told:?}");
}

#[test]
fn the_log_has_a_line_when_the_store_fails_and_one_when_it_is_back() {
    let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
    let (upstream, lines) = (Recorder::new(small), Lines::default());
    let change = |settings: &mut Settings| {
        counting_in(&server)(settings);
        settings.store.budget = Duration::from_millis(100);
    };
    let rig = Rig::logged(POLICY, upstream.address, change, lines.clone());
    until(&rig, "/denied", &[200]);
    let (fails, back) = ("the shared store failed", "the shared store has recovered");
    server.signal("STOP").expect("it is frozen");
    until(&rig, "/denied", &[503; 8]);
    let told = until_told(&lines, fails);
    assert!(told[0].contains("\"why\":"), "it says why: {}", told[0]);
    server.signal("CONT").expect("it goes on");
    until_told(&lines, back);
    let count = |words| lines.with(words).len();
    // However many calls failed. (Where the machine stalls, it may fail and come back more than once.)
    assert!(count(fails) <= count(back) + 1 && count(fails) < 4, "{}", lines.all());
}

#[test]
fn a_password_that_changes_is_read_from_its_file_and_a_file_that_is_gone_is_named() {
    let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
    tell(&server, "CONFIG SET requirepass old");
    let file = server.socket().with_file_name("password");
    std::fs::write(&file, "old\n").expect("it is written");
    let (upstream, lines) = (Recorder::new(small), Lines::default());
    let change = |settings: &mut Settings| {
        counting_in(&server)(settings);
        settings.store.password = Some(file.display().to_string());
        settings.operations = Some(([127, 0, 0, 1], 0).into());
    };
    let rig = Rig::logged(POLICY, upstream.address, change, lines.clone());
    until(&rig, "/denied", &[200]);
    std::fs::remove_file(&file).expect("it is removed");
    tell(&server, "AUTH old\r\nCONFIG SET requirepass new\r\nCLIENT KILL TYPE normal");
    until(&rig, "/denied", &[503]);
    let told = until_told(&lines, "the shared store failed");
    assert!(told[0].contains("(file)") && told[0].contains(&file.display().to_string()), "{}", told[0]);
    assert!(!metrics(&rig).contains("tollgate_shared_store_connections_total{result=\"file\"} 0\n"));
    std::fs::write(&file, "new\n").expect("it is written");
    until(&rig, "/denied", &[200]);
}

#[test]
fn the_first_requests_of_a_cold_gateway_on_a_cold_server_are_decided_by_the_store() {
    let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
    let upstream = Recorder::new(small);
    let policy = POLICY.replace("capacity: 1,", "capacity: 1000,");
    let rig = Rig::new(&policy, upstream.address, |settings| {
        counting_in(&server)(settings);
        settings.operations = Some(([127, 0, 0, 1], 0).into());
    });
    let scripts = tell(&server, "INFO memory");
    let scripts = scripts.lines().find_map(|line| line.trim_end().strip_prefix("number_of_cached_scripts:"));
    let scripts: u64 = scripts.and_then(|count| count.parse().ok()).expect("a number");
    assert!(scripts >= 7, "the policy's scripts have run before the first request: {scripts}");
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| (0..30).for_each(|_| assert_eq!(status(&rig.get("/allowed", "")), 200)));
        }
    });
    assert_eq!(
        (rig.metric("tollgate_degraded_total"), upstream.requests()),
        (Some(0), 300),
        "{}",
        metrics(&rig)
    );
}

#[test]
fn the_log_says_why_the_store_gives_no_decisions_in_the_servers_own_words() {
    let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
    tell(&server, "ACL SETUSER gate on >hunter2 ~tg3:* +ping");
    let (upstream, lines) = (Recorder::new(small), Lines::default());
    let change = |settings: &mut Settings| {
        counting_in(&server)(settings);
        settings.store.url = settings.store.url.take().map(|url| format!("{url}?user=gate&pass=hunter2"));
    };
    let rig = Rig::logged(POLICY, upstream.address, change, lines.clone());
    assert_eq!(status(&rig.get("/denied", "")), 503);
    let told = until_told(&lines, "some calls to the shared store fail");
    assert!(told[0].contains("\"cause\":\"noperm\"") && told[0].contains("NOPERM"), "{}", told[0]);
    assert!(!lines.all().contains("hunter2"), "{}", lines.all());
}

/// An upstream with a word of its own under the name of our field.
fn theirs(seen: &str) -> Option<Vec<u8>> {
    let answer = b"HTTP/1.1 200 OK\r\nTollgate-Degraded: theirs\r\nContent-Length: 2\r\n\r\nok";
    small(seen).map(|_| answer.to_vec())
}

#[test]
fn a_degraded_answer_says_so_in_a_field_if_the_settings_say_so() {
    let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
    let upstream = Recorder::new(theirs);
    let nowhere = |settings: &mut Settings| {
        settings.store.url = Some("unix:///nonexistent/tollgate.socket".into());
    };
    let there = Rig::new(POLICY, upstream.address, |settings| {
        counting_in(&server)(settings);
        settings.answers.degraded = true;
    });
    let telling = Rig::new(POLICY, upstream.address, |settings| {
        nowhere(settings);
        settings.answers.degraded = true;
    });
    let silent = Rig::new(POLICY, upstream.address, nowhere);
    let table = [
        ("not degraded", &there, "/shared", 200, None),
        ("not degraded", &there, "/denied", 200, None),
        ("a share of two", &telling, "/shared", 200, Some("local")),
        ("a share of two", &telling, "/shared", 200, Some("local")),
        ("a share of two", &telling, "/shared", 429, Some("local")),
        ("denied", &telling, "/denied", 503, Some("unknown")),
        ("allowed", &telling, "/allowed", 200, Some("uncounted")),
        ("no limits were asked", &telling, "/elsewhere", 404, None),
        ("not set", &silent, "/shared", 200, Some("theirs")),
        ("not set", &silent, "/denied", 503, None),
    ];
    for (why, rig, path, wanted, word) in table {
        let answer = rig.get(path, "");
        assert_eq!((status(&answer), field(&answer, "tollgate-degraded")), (wanted, word), "{why}: {path}");
        let lines = answer.to_ascii_lowercase().matches("tollgate-degraded").count();
        assert_eq!(lines, usize::from(word.is_some()), "{why}: {path} has it once");
    }
}

/// Asks until the answers were these, one after the other.
fn until(rig: &Rig, path: &str, statuses: &[u16]) {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut wanted = statuses.iter();
    let mut next = wanted.next();
    while let Some(wanted_status) = next {
        assert!(Instant::now() < deadline, "{path} was never {wanted_status}");
        if status(&rig.get(path, "")) == *wanted_status {
            next = wanted.next();
        }
    }
}

/// Waits until a line has these words, and gives all that have.
fn until_told(lines: &Lines, words: &str) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let told = lines.with(words);
        if !told.is_empty() {
            return told;
        }
        assert!(Instant::now() < deadline, "no line has `{words}`: {}", lines.all());
        std::thread::yield_now();
    }
}

/// Sends the server a line, and gives what it answers.
fn tell(server: &Server, line: &str) -> String {
    let mut stream = UnixStream::connect(server.socket()).expect("a connection");
    stream.write_all(format!("{line}\r\nQUIT\r\n").as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// The page that Prometheus reads.
fn metrics(rig: &Rig) -> String {
    let mut stream = TcpStream::connect(rig.operations.expect("it has operators")).expect("a connection");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").expect("it is sent");
    read_to_end(&mut stream)
}
