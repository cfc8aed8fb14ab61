//! The endpoint for Redis clients beside redis-server that answers `PING`, under redis-benchmark.

use std::path::Path;
use std::process::Command;

use super::{Comparison, Run, Serving};
use crate::run::result_of;

const OURS: u16 = 16_380;
const THEIRS: u16 = 16_379;

/// What is measured, for the table's head.
pub(crate) const ABOUT: &str = "`CL.THROTTLE` on a million random keys, and `PING` of redis-server, each under redis-benchmark with 50 connections; the server on one core, the \
     load on the other, in turn; the median of three rounds. redis-benchmark has more to send and to read for `CL.THROTTLE` than for `PING`.";

/// Measures with and without pipelines, ours and the peer in turn.
pub(super) fn measure(tollgate: &Path, rounds: usize) -> Result<Vec<Comparison>, String> {
    let listen = format!("127.0.0.1:{OURS}");
    let ours = Serving::start(tollgate, &["serve", "--config", "none", "--resp", &listen], OURS)?;
    let port = THEIRS.to_string();
    let theirs = Serving::start(
        Path::new("redis-server"),
        &["--port", &port, "--save", "", "--appendonly", "no"],
        THEIRS,
    )?;
    let comparison = |name, bar, goal| Comparison {
        name,
        peer: "redis-server `PING`",
        bar,
        goal,
        ours: Vec::new(),
        theirs: Vec::new(),
    };
    let mut comparisons = [
        comparison("RESP, 50 connections, no pipelining", 0.9, 1.15),
        comparison("RESP, 50 connections, pipelines of 32", 0.5, 1.0),
    ];
    for _ in 0..rounds {
        for (comparison, (pipeline, requests)) in comparisons.iter_mut().zip([(1, 200_000), (32, 2_000_000)])
        {
            let key = ["CL.THROTTLE", "key:__rand_int__", "15", "30", "60"];
            comparison.ours.push(load(&ours, OURS, (pipeline, requests), &key)?);
            comparison.theirs.push(load(&theirs, THEIRS, (pipeline, requests), &["PING"])?);
        }
    }
    Ok(comparisons.into())
}

/// One run of redis-benchmark.
fn load(
    serving: &Serving,
    port: u16,
    (pipeline, requests): (u32, u32),
    words: &[&str],
) -> Result<Run, String> {
    let before = serving.processor()?;
    let mut load = Command::new("taskset");
    load.args(["-c", "1", "redis-benchmark", "--csv", "-c", "50", "-r", "1000000"]);
    load.args(["-p", &port.to_string(), "-P", &pipeline.to_string(), "-n", &requests.to_string()])
        .args(words);
    let printed = result_of(load)?;
    let processor = (serving.processor()? - before) / f64::from(requests);
    let (rate, p99) = parse(&printed).ok_or_else(|| format!("redis-benchmark printed:\n{printed}"))?;
    Ok(Run { rate, processor, p99 })
}

/// Requests per second and the 99th percentile of latency, from the last line: a name and seven numbers.
fn parse(printed: &str) -> Option<(f64, f64)> {
    let fields: Vec<&str> = printed.lines().last()?.split(',').map(|field| field.trim_matches('"')).collect();
    Some((fields.get(1)?.parse().ok()?, fields.get(6)?.parse().ok()?))
}

#[test]
fn the_output_of_redis_benchmark_is_understood() {
    let printed = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n\
                   \"PING\",\"143000.00\",\"0.2\",\"0.1\",\"0.2\",\"0.3\",\"0.415\",\"1.5\"\n";
    assert_eq!(parse(printed), Some((143_000.0, 0.415)));
    assert_eq!(parse("WARNING"), None);
}
