//! `cargo xtask bench permits`: instructions per forwarded request of the gateway, with limits on what is in progress and without.
//!
//! The gateway runs under callgrind with one worker. It is asked n and then 2n times over one connection; the difference is the cost of n
//! requests, without start and warm-up. A limit that costs more than its bar fails.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use tollgate_testing::folder::Folder;
use tollgate_testing::patience::until;

use crate::bench::machine;
use crate::deadline::Deadline;
use crate::install::{INSTALL_MAX, packages};
use crate::marked;
use crate::run::{captured, command, root};

/// Requests of the shorter run.
const REQUESTS: u64 = 2_000;
/// How much more a forwarded request may cost with a concurrency limit, in percent.
const CONCURRENCY_PERCENT_MAX: u64 = 3;
/// A request, with one limit whatever is compared.
const RATE: &str =
    "{ name: rate, algorithm: token_bucket, capacity: 1000000, refill_rate: 1000000, consumer_key: ip }";
const REQUEST: &[u8] = b"GET /work HTTP/1.1\r\nHost: a\r\nX-API-Key: user-42\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A name, one more limit of the policy, and one more variable of the environment.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// What is compared.
const CASES: [Case; 4] = [
    ("one rate limit", "", &[]),
    (
        "and `concurrency`",
        ", { name: few, algorithm: concurrency, limit: 100, consumer_key: ip, scope: local }",
        &[],
    ),
    ("and `adaptive`", ", { name: found, algorithm: adaptive }", &[]),
    ("and `upstream.adaptive`", "", &[("TOLLGATE_UPSTREAM_ADAPTIVE", "gradient2")]),
];

/// Counts every case, and writes the table.
///
/// # Errors
/// When something cannot be run, or a limit costs more than its bar.
pub(crate) fn run() -> Result<(), String> {
    packages(&[("valgrind --version", "valgrind")], &Deadline::after(INSTALL_MAX))?;
    captured(command("cargo build --release --locked -p tollgate-cli"))?;
    let upstream = upstream()?;
    let mut table = format!(
        "`cargo xtask bench permits` on {}.\n\n| one forwarded request | instructions | more | |\n|---|---:|---:|---:|\n",
        machine()?
    );
    let (mut plain, mut wrong) = (None, None);
    for (name, limits, variables) in CASES {
        let [once, twice] =
            [REQUESTS, 2 * REQUESTS].map(|requests| counted((limits, variables), upstream, requests));
        let count = twice?.saturating_sub(once?) / REQUESTS;
        let plain = *plain.get_or_insert(count);
        let more = count.saturating_sub(plain);
        // Tenths of a percent, rounded up.
        let part = (more * 1_000).div_ceil(plain.max(1));
        let _ = writeln!(table, "| {name} | {count} | {more} | {}.{} % |", part / 10, part % 10);
        println!("{name}: {count} instructions, {more} more");
        if name.contains("concurrency") && part > CONCURRENCY_PERCENT_MAX * 10 {
            wrong = Some(format!("{name} costs more than {CONCURRENCY_PERCENT_MAX} %"));
        }
    }
    marked::write("docs/benchmarks/APPENDIX.md", "permits", &table)?;
    wrong.map_or(Ok(()), Err)
}

/// An upstream that answers every request on every connection.
fn upstream() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                while exchange(&mut stream, None).is_ok() && stream.write_all(ANSWER).is_ok() {}
            });
        }
    });
    Ok(address)
}

/// Sends a request, if there is one, and reads one head and the two bytes behind it, if it is a response.
fn exchange(stream: &mut TcpStream, request: Option<&[u8]>) -> std::io::Result<()> {
    let mut read = Vec::new();
    if let Some(request) = request {
        stream.write_all(request)?;
    }
    let mut piece = [0; 4_096];
    loop {
        let is_whole = match request {
            None => read.ends_with(b"\r\n\r\n"),
            Some(_) => read.ends_with(b"\r\n\r\nok"),
        };
        if is_whole {
            return Ok(());
        }
        match stream.read(&mut piece)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => read.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
}

/// The instructions of a gateway that answers so many requests.
fn counted(
    (limits, variables): (&str, &[(&str, &str)]),
    upstream: SocketAddr,
    requests: u64,
) -> Result<u64, String> {
    let said = |error: std::io::Error| error.to_string();
    let folder = Folder::new("bench-permits");
    let text = format!("tollgate: 1\nrate_limit: [{RATE}{limits}]\nroutes: [{{ path: /work }}]\n");
    let policy = folder.put("policy.yaml", text.as_bytes());
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).map_err(said)?;
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(root().join("target/release/tollgate"));
    valgrind.args(["serve", "--config", "none"]);
    valgrind.env("TOLLGATE_WORKERS", "1").env("TOLLGATE_OPERATIONS_LISTEN", "none");
    valgrind.args([
        "--policy",
        &policy,
        "--upstream",
        &format!("http://{upstream}"),
        "--listen",
        &free.to_string(),
    ]);
    valgrind
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let gateway = valgrind.spawn().map_err(said)?;
    let mut stream = None;
    until("the gateway listens", || {
        stream = TcpStream::connect(free).ok();
        stream.is_some()
    });
    let mut stream = stream.ok_or("the gateway does not listen")?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).map_err(said)?;
    let asked: std::io::Result<()> = (0..requests).try_for_each(|_| exchange(&mut stream, Some(REQUEST)));
    captured(command(&format!("kill -TERM {}", gateway.id())))?;
    drop(stream);
    let output = gateway.wait_with_output().map_err(said)?;
    asked.map_err(|error| format!("the gateway did not answer: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    let collected = printed.lines().find_map(|line| line.split_once("Collected : "));
    let count = collected.and_then(|(_, count)| count.trim().parse().ok());
    count.ok_or_else(|| format!("callgrind said no count:\n{printed}"))
}
