//! Policies that change under load: not one request fails, and none is wrongly limited. The real program, by files and signals.
#![expect(clippy::panic, reason = "a test that cannot go on says why")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::process::Signal;

use crate::process::{Process, read_one};
use crate::support::{Recorder, folder, small, status};

const GENERATION: &str = "tollgate_config_generation";
/// So many requests of `/exact` are granted in all, whatever happens meanwhile.
const EXACT: u32 = 500;
const RELOADS: u32 = 100;
/// So many of them are noticed by the watched folder alone; the others are asked for, because a watch takes its time.
const WATCHED: u32 = 10;

/// A policy whose limits of two operations stay, while what is around them comes, goes and changes.
fn policy(version: u32) -> String {
    let mut text = String::from("openapi: 3.1.0\ninfo: { title: Test, version: '1' }\npaths:\n");
    // Others come before and after, so that numbers and places move.
    for other in 0..version % 5 {
        let capacity = 1 + version;
        text += &format!(
            "  /other-{version}-{other}:\n    get:\n      x-rate-limit: {{ algorithm: gcra, capacity: {capacity}, \
             refill_rate: 1 }}\n"
        );
    }
    text += &format!(
        "  /exact:\n    get:\n      x-rate-limit: {{ name: exact, algorithm: token_bucket, capacity: {EXACT}, \
         refill_rate: 0.0001, consumer_key: ip }}\n"
    );
    text += "  /roomy:\n    get:\n      x-rate-limit: { name: roomy, algorithm: sliding_window, limit: 1000000, \
             window: 1h, consumer_key: ip }\n";
    let changing = 1_000_000 + version;
    text += &format!(
        "  /changing:\n    get:\n      x-rate-limit: {{ name: changing, algorithm: fixed_window, \
         limit: {changing}, window: 1h, consumer_key: ip }}\n"
    );
    text + "  /free: { get: {} }\n"
}

/// Puts another text in a file's place, at once.
fn replace(file: &Path, text: &str) {
    let beside = file.with_extension("new");
    fs::write(&beside, text).expect("a temporary folder can be written");
    fs::rename(&beside, file).expect("a temporary folder can be written");
}

/// Sends requests over one connection until it is told to stop. Counts what `/exact` granted; everything else must be.
fn load(process: &Process, done: &AtomicBool, granted: &AtomicU32) -> u32 {
    let mut stream = process.connect();
    let mut rounds = 0;
    while !done.load(Ordering::Relaxed) || rounds < EXACT {
        for path in ["/exact", "/roomy", "/changing", "/free"] {
            let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
            stream.write_all(request.as_bytes()).expect("it takes bytes");
            let response = read_one(&mut stream);
            match (path, status(&response)) {
                ("/exact", 200) => drop(granted.fetch_add(1, Ordering::Relaxed)),
                ("/exact", 429) | (_, 200) => {}
                (path, _) => panic!("{path}: {response}"),
            }
        }
        rounds += 1;
    }
    rounds
}

#[test]
fn a_hundred_reloads_under_load_lose_nothing_and_limit_nobody_wrongly() {
    let upstream = Recorder::new(small);
    let process = Process::new(&policy(0), upstream.address, &[("WORKERS", "2")]);
    let file = process.folder.join("openapi.yaml");
    let (done, granted) = (AtomicBool::new(false), AtomicU32::new(0));
    let rounds: u32 = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..3).map(|_| scope.spawn(|| load(&process, &done, &granted))).collect();
        for version in 1..=RELOADS {
            let before = process.metric(GENERATION);
            replace(&file, &policy(version));
            if version > WATCHED {
                process.signal(Signal::HUP);
            }
            process.wait(GENERATION, |now| now > before);
        }
        done.store(true, Ordering::Relaxed);
        clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| panic!("a request failed: {}", process.told())))
            .sum()
    });
    println!("{rounds} rounds of requests during {RELOADS} reloads");
    assert_eq!(granted.into_inner(), EXACT, "the limit kept its state");
    assert_eq!(process.metric("tollgate_reloads_total{result=\"failed\"}"), 0);
}

#[test]
fn a_bad_document_changes_nothing_and_a_good_one_after_it_does() {
    let upstream = Recorder::new(small);
    let process = Process::new(&policy(0), upstream.address, &[]);
    let file = process.folder.join("openapi.yaml");
    replace(&file, "openapi: 3.1.0\npaths: { /free: { get: { x-rate-limit: { algorithm: gcr } } } }\n");
    process.signal(Signal::HUP);
    process.wait("tollgate_reloads_total{result=\"failed\"}", |failed| failed == 1);
    assert_eq!(process.metric(GENERATION), 1);
    assert_eq!(status(&process.get("/exact")), 200, "what was in force is");
    process.wait_log("not reloaded");
    replace(&file, &policy(1));
    process.signal(Signal::HUP);
    process.wait(GENERATION, |now| now == 2);
    assert_eq!(status(&process.get("/other-1-0")), 200);
}

/// A ConfigMap's volume: a file is a link into `..data`, and `..data` a link that is swapped for another.
#[test]
fn a_kubernetes_swap_of_links_is_noticed() {
    let folder = folder();
    for version in [0, 1] {
        fs::create_dir(folder.join(format!("..{version}"))).expect("a temporary folder can be written");
        fs::write(folder.join(format!("..{version}/openapi.yaml")), policy(version))
            .expect("it can be written");
    }
    symlink("..0", folder.join("..data")).expect("a temporary folder can be written");
    symlink("..data/openapi.yaml", folder.join("openapi.yaml")).expect("a temporary folder can be written");
    let upstream = Recorder::new(small);
    let process = Process::of(folder.clone(), "openapi.yaml", upstream.address, &[]);
    assert_eq!(status(&process.get("/other-1-0")), 404);
    symlink("..1", folder.join("..data_tmp")).expect("a temporary folder can be written");
    fs::rename(folder.join("..data_tmp"), folder.join("..data")).expect("a temporary folder can be written");
    fs::remove_dir_all(folder.join("..0")).expect("a temporary folder can be written");
    process.wait(GENERATION, |now| now == 2);
    assert_eq!(status(&process.get("/other-1-0")), 200);
}

/// Whoever relies on what is not enforced hears of it each time that a policy is put in force.
#[test]
fn what_is_not_enforced_yet_is_warned_about_at_the_start_and_at_every_reload() {
    let scoped = |scope: &str| {
        format!(
            "openapi: 3.1.0\ninfo: {{ title: Test, version: '1' }}\npaths:\n  /free:\n    get:\n      x-rate-limit: \
             {{ name: one, algorithm: gcra, capacity: 9, refill_rate: 9, scope: {scope} }}\n"
        )
    };
    let upstream = Recorder::new(small);
    let process = Process::new(&scoped("leased"), upstream.address, &[]);
    process.wait_log("does not implement `scope: leased` yet");
    let file = process.folder.join("openapi.yaml");
    replace(&file, &scoped("synced"));
    process.signal(Signal::HUP);
    process.wait_log("does not implement `scope: synced` yet");
    let queue = scoped("exact, mode: shadow").replace("gcra", "leaky_bucket_queue");
    replace(&file, &queue);
    process.signal(Signal::HUP);
    process.wait_log("this version does not share `leaky_bucket_queue` in shadow mode between processes yet");
}
