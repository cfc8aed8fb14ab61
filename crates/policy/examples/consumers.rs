//! How long a million consumers take to load, and how much memory: a stopwatch, not a test. The file is made in pieces while
//! it is read, and never held.

use std::fmt::Write;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tollgate_policy::consumers::{Loader, LoaderLimits};

const CONSUMERS: u32 = 1_000_000;
const CHUNK_BYTES: usize = 64 * 1024;
const OVERRIDES: &str = "POST /reports/generate: capacity=50 refill_rate=1 | default: limit=10";

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what it found")]
#[expect(clippy::disallowed_methods, reason = "a report's stopwatch")]
fn main() {
    let mut loader = Loader::new(LoaderLimits::default());
    let mut chunk = String::with_capacity(CHUNK_BYTES + 1_024);
    let mut loading = Duration::ZERO;
    let mut file_bytes = 0;
    chunk.push_str("key_sha256,consumer,tier,organisation,overrides\n");
    for number in 0..CONSUMERS {
        write_line(&mut chunk, number);
        if chunk.len() >= CHUNK_BYTES || number + 1 == CONSUMERS {
            file_bytes += chunk.len();
            let start = std::time::Instant::now();
            loader.feed(chunk.as_bytes());
            loading += start.elapsed();
            chunk.clear();
        }
    }
    let start = std::time::Instant::now();
    let consumers = loader.finish().expect("nothing is wrong with the file");
    loading += start.elapsed();
    let per_consumer = consumers.bytes() / consumers.len();

    let start = std::time::Instant::now();
    let found = (0..CONSUMERS).filter(|number| consumers.find(key(*number).as_bytes()).is_some()).count();
    let finding = start.elapsed() / CONSUMERS;
    assert_eq!(found, consumers.keys());

    let peak = peak_kilobytes().unwrap_or_default();
    println!(
        "{} consumers from a file of {} MB that was never held",
        consumers.len(),
        file_bytes / 1_000_000
    );
    println!("{per_consumer} bytes for each in the table");
    println!("at most 100 MB resident, loader included: {}", if peak < 100_000 { "yes" } else { "no" });
    println!("found by their keys: {found}");
    // What differs from machine to machine goes where nobody compares it.
    eprintln!("loaded in {} ms, {peak} kB resident at most", loading.as_millis());
    eprintln!("one lookup takes {} ns, making the key included", finding.as_nanos());
}

fn key(number: u32) -> String {
    format!("sk_live_{number:08}")
}

fn write_line(chunk: &mut String, number: u32) {
    for byte in Sha256::digest(key(number)) {
        write!(chunk, "{byte:02x}").expect("a string takes all");
    }
    let tier = ["free", "silver", "gold"][number as usize % 3];
    // One in a hundred has an organisation of its own with it, one in a thousand overrides.
    let organisation = number / 100;
    let overrides = if number.is_multiple_of(1_000) { OVERRIDES } else { "" };
    writeln!(chunk, ",consumer-{number:07},{tier},organisation-{organisation},{overrides}")
        .expect("a string takes all");
}

fn peak_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
