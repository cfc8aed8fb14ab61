//! The processor's time stamp counter, used only where the Linux kernel itself keeps time with it.
#![expect(unsafe_code, reason = "one instruction that reads a register")]

use super::Anchor;
use super::counter::CounterClock;

/// A file that names the kernel's clock source. The kernel takes `tsc` only if the counter runs at a constant rate, is
/// the same on all processors, and passes its watchdog.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// Ticks between two readings around one of the system clock, at most; if there are more, the thread was interrupted.
const SAMPLE_TICKS_MAX: u64 = 20_000;
/// Attempts at a sample that was not interrupted.
const SAMPLE_TRIES: u32 = 5;

#[derive(Debug)]
pub(super) struct TscClock {
    pub(super) anchor: Anchor,
    counter: CounterClock,
}

impl TscClock {
    /// The clock, if the kernel keeps time by the counter.
    pub(super) fn new() -> Option<Self> {
        let source = std::fs::read_to_string(CLOCK_SOURCE).ok()?;
        if source.trim() != "tsc" {
            return None;
        }
        let anchor = Anchor::now();
        let (ticks, system) = sample(&anchor);
        Some(Self { counter: CounterClock::new(ticks?, system), anchor })
    }

    #[inline]
    pub(super) fn micros(&self) -> u64 {
        self.counter.micros(ticks()).unwrap_or_else(|| self.check())
    }

    #[cold]
    fn check(&self) -> u64 {
        let (ticks, system) = sample(&self.anchor);
        self.counter.check(ticks, system)
    }

    /// True if the counter failed a check, so that the system clock is read instead.
    pub(super) fn is_distrusted(&self) -> bool {
        self.counter.is_distrusted()
    }
}

/// The system clock, and the counter at the same instant unless the thread was interrupted each time.
fn sample(anchor: &Anchor) -> (Option<u64>, u64) {
    for _ in 0..SAMPLE_TRIES {
        let before = ticks();
        let system = anchor.micros();
        let between = ticks().wrapping_sub(before);
        if between <= SAMPLE_TICKS_MAX {
            return (Some(before.wrapping_add(between / 2)), system);
        }
    }
    (None, anchor.micros())
}

#[inline]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and Linux allows it to programs unless a program asks for a
    // signal instead (`PR_SET_TSC`).
    unsafe { std::arch::x86_64::_rdtsc() }
}
