//! How often the machine stands still: a program on each core that does nothing but read a clock. What it misses is nobody's doing on
//! this machine, whatever the kernel says of time that was withheld; and it is in the latency of everybody.

use std::process::{Child, Stdio};
use std::time::Duration;

use crate::process::leashed;
use crate::stopwatch::now;

/// A clock that was not read for so long was stopped.
const STOPPED: Duration = Duration::from_micros(500);
/// How long the clocks are read.
const SECONDS: u32 = 3;

/// What one reader missed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Missed {
    times: u64,
    micros: u64,
    longest: u64,
}

/// Reads the clock for so many seconds, and prints what it missed: how often, how long in all, how long at the most.
pub(crate) fn read_clock(seconds: u32) {
    let mut missed = Missed::default();
    let mut last = now();
    let end = last + Duration::from_secs(seconds.into());
    while last < end {
        let at = now();
        if at - last >= STOPPED {
            let micros = u64::try_from((at - last).as_micros()).unwrap_or(u64::MAX);
            missed = missed.and(Missed { times: 1, micros, longest: micros });
        }
        last = at;
    }
    println!("{} {} {}", missed.times, missed.micros, missed.longest);
}

/// A sentence about both cores, while both are busy.
pub(crate) fn sentence() -> Result<String, String> {
    let me = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let words = [me.display().to_string(), "still".into(), SECONDS.to_string()];
    let read =
        |core| leashed(core, &words)?.stdout(Stdio::piped()).spawn().map_err(|error| error.to_string());
    let readers = [read("0")?, read("1")?].map(missed);
    let [first, second] = readers;
    Ok(said(first?.and(second?)))
}

fn missed(reader: Child) -> Result<Missed, String> {
    let output = reader.wait_with_output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [times, micros, longest] = numbers[..] else { return Err(format!("no clock was read: {printed}")) };
    Ok(Missed { times, micros, longest })
}

fn said(missed: Missed) -> String {
    let tenths = missed.micros / (u64::from(SECONDS) * 2 * 1_000);
    let (longest, core) = (missed.longest / 100, missed.times / (u64::from(SECONDS) * 2));
    format!(
        "A program on each core that only reads a clock was stopped {core} times a second for longer than half a millisecond, for up to \
         {}.{} ms: {}.{} % of its time.",
        longest / 10,
        longest % 10,
        tenths / 10,
        tenths % 10
    )
}

impl Missed {
    fn and(self, other: Self) -> Self {
        Self {
            times: self.times + other.times,
            micros: self.micros + other.micros,
            longest: self.longest.max(other.longest),
        }
    }
}

#[test]
fn what_two_readers_missed_is_a_share_of_both_their_times() {
    let one = Missed { times: 6, micros: 30_000, longest: 12_080 };
    let both = one.and(Missed { times: 12, micros: 6_000, longest: 700 });
    assert_eq!(
        said(both),
        "A program on each core that only reads a clock was stopped 3 times a second for longer than half a millisecond, for up to 12.0 ms: \
         0.6 % of its time."
    );
}
