//! Runs wrk and reads what it says. Who is loaded, and what that costs them, is elsewhere.

use crate::process::leashed;

/// Connections of every load, as the figures are asked for.
const CONNECTIONS: u32 = 64;

/// What wrk says of a run.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Said {
    /// Responses.
    pub(crate) requests: u64,
    /// Of these, those whose status is not 2xx or 3xx.
    pub(crate) refused: u64,
    /// Responses a second.
    pub(crate) per_second: u64,
}

/// Loads a port for so many seconds, as fast as it answers.
pub(crate) fn run(cores: &str, script: &str, port: u16, seconds: u32) -> Result<Said, String> {
    let words = format!("wrk -t1 -c{CONNECTIONS} -d{seconds}s -s {script} http://127.0.0.1:{port}/");
    let words: Vec<_> = words.split(' ').map(String::from).collect();
    let output = leashed(cores, &words)?.output().map_err(|error| format!("cannot start wrk: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    read(&printed).ok_or_else(|| format!("wrk did not measure:\n{printed}{errors}"))
}

/// Reads its report. A run with errors of connections has measured something else, and is none.
fn read(printed: &str) -> Option<Said> {
    let trimmed = || printed.lines().map(str::trim);
    if trimmed().any(|line| line.starts_with("Socket errors")) {
        return None;
    }
    let after = |label: &str| trimmed().find_map(|line| line.strip_prefix(label)).map(str::trim);
    let requests = trimmed().find_map(|line| line.split_once(" requests in ")?.0.parse().ok())?;
    let refused = after("Non-2xx or 3xx responses:").map_or(Some(0), |count| count.parse().ok())?;
    let per_second = after("Requests/sec:")?.split('.').next()?.parse().ok()?;
    Some(Said { requests, refused, per_second })
}

#[test]
fn a_report_is_read() {
    let report = "Running 5s test\n  1 threads and 64 connections\n    Latency 1.10ms\n  248930 requests in 5.00s, 37.27MB read\n";
    let rate = "Requests/sec:  49771.91\nTransfer/sec:      7.45MB\n";
    let granted = Said { requests: 248_930, refused: 0, per_second: 49_771 };
    assert_eq!(read(&format!("{report}{rate}")), Some(granted));
    let refused = Said { requests: 248_930, refused: 248_500, per_second: 49_771 };
    assert_eq!(read(&format!("{report}  Non-2xx or 3xx responses: 248500\n{rate}")), Some(refused));
}

#[test]
fn a_run_with_errors_is_none() {
    let report = "  248930 requests in 5.00s, 37.27MB read\n  Socket errors: connect 0, read 3, write 0, timeout 0\nRequests/sec:  49771.91\n";
    assert_eq!(read(report), None);
    assert_eq!(read("unable to connect to 127.0.0.1:1 Connection refused"), None);
}
