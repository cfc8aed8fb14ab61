//! A million consumers, streamed: seconds, and how far the process's memory rises.

use std::fmt::Write;
use std::time::Instant;

use tollgate_policy::consumers::{Consumers, Loader, LoaderLimits};

const CONSUMERS: u32 = 1_000_000;
/// Lines are fed in chunks of about this size, as a file is read.
const CHUNK: usize = 64 * 1024;

/// What the kernel says of this process, in kB.
fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.trim_matches([':', ' ', '\t']).split(' ').next()?.parse().ok()).unwrap_or(0)
}

fn load() -> Option<Consumers> {
    let mut loader = Loader::new(LoaderLimits::default());
    let mut chunk = String::from("key_sha256,consumer,tier,organisation\n");
    for number in 0..u64::from(CONSUMERS) {
        // Any 256 bits are as good a hash as another: making real ones would be measured too.
        let mixed = |salt: u64| {
            (number ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(salt | 1)
        };
        for salt in [0x1234_5671, 0x2345_6783, 0x3456_7895, 0x4567_89a7] {
            write!(chunk, "{:016x}", mixed(salt)).ok();
        }
        writeln!(chunk, ",customer-{number:07},tier-{},organisation-{}", number % 5, number % 10_000).ok();
        if chunk.len() >= CHUNK {
            loader.feed(chunk.as_bytes());
            chunk.clear();
        }
    }
    loader.feed(chunk.as_bytes());
    loader.finish().ok()
}

/// The table.
#[expect(clippy::disallowed_methods, reason = "a stopwatch for the report")]
pub(crate) fn table() -> String {
    // What was measured before has left room that would be used again: only what comes on top counts, from the peak on.
    std::fs::write("/proc/self/clear_refs", "5").ok();
    let before = status("VmRSS");
    let start = Instant::now();
    let loaded = load();
    let took = start.elapsed();
    let (peak, count) = (status("VmHWM"), loaded.as_ref().map_or(0, Consumers::len));
    let bytes = loaded.as_ref().map_or(0, Consumers::bytes) / count.max(1);
    format!(
        "| consumers | loaded in | resident memory at its peak, beyond what was there | kept per consumer |\n|---|---|---|---|\n\
         | {count} | {:.2} s, lines made in it | {} MB | {bytes} bytes |\n",
        took.as_secs_f64(),
        peak.saturating_sub(before) / 1_000,
    )
}
