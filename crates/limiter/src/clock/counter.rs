//! Converts a processor's tick counter to microseconds, calibrated and checked against the system clock. Reads neither.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// How long the first calibration takes, in microseconds; until then the system clock answers.
const FIRST_CALIBRATION: u64 = 10_000;
/// How often, in microseconds, the counter is checked against the system clock, and the rate adjusted.
const CHECK_EVERY: u64 = 1_000_000;
/// The shortest span, in microseconds, from which a rate is measured again.
const BASELINE_MIN: u64 = 100_000;
/// By how much, in microseconds, the counter may differ from the system clock when it is checked. One part in 1,024 of the
/// time since the previous check is allowed on top.
const TOLERANCE: u64 = 2_000;
/// The highest reading is recorded once in this many microseconds, so that threads do not contend for it.
const RECORD_EVERY: u64 = 1_000;

/// A counter as a clock. It never runs back by more than [`RECORD_EVERY`], and never runs ahead of the system clock by
/// more than [`CHECK_EVERY`], whatever the counter does: a counter that fails a check is not used again.
#[derive(Debug)]
pub(super) struct CounterClock {
    /// Selects one of `lines`; odd and even versions alternate, so that a reader never waits for a writer.
    version: AtomicU64,
    lines: [LinearClock; 2],
    /// The highest reading, give or take [`RECORD_EVERY`].
    highest: AtomicU64,
    calibrating: AtomicBool,
    distrusted: AtomicBool,
}

/// Microseconds as a linear function of ticks, valid for a number of ticks.
#[derive(Debug, Default)]
struct LinearClock {
    /// Where the line starts.
    ticks: AtomicU64,
    micros: AtomicU64,
    /// What the system clock showed there.
    system: AtomicU64,
    /// Microseconds in 2^64 ticks; 0 before the first calibration.
    rate: AtomicU64,
    /// The number of ticks after which the counter must be checked: 0 before the first calibration.
    valid: AtomicU64,
}

/// A copy of a [`LinearClock`].
#[derive(Clone, Copy, Debug)]
struct Segment {
    ticks: u64,
    micros: u64,
    system: u64,
    rate: u64,
    valid: u64,
}

impl Segment {
    #[inline]
    fn at(&self, ticks: u64) -> u64 {
        self.micros.saturating_add(mul_high(ticks.wrapping_sub(self.ticks), self.rate))
    }
}

impl CounterClock {
    /// Starts the calibration: the counter showed `ticks` when the system clock showed `system` microseconds.
    pub(super) fn new(ticks: u64, system: u64) -> Self {
        let line = || LinearClock {
            ticks: AtomicU64::new(ticks),
            micros: AtomicU64::new(system),
            system: AtomicU64::new(system),
            ..LinearClock::default()
        };
        Self {
            version: AtomicU64::new(0),
            lines: [line(), line()],
            highest: AtomicU64::new(system),
            calibrating: AtomicBool::new(false),
            distrusted: AtomicBool::new(false),
        }
    }

    /// The time at a reading of the counter, or `None` if the system clock must be read: see [`check`](Self::check).
    #[inline]
    pub(super) fn micros(&self, ticks: u64) -> Option<u64> {
        let segment = self.segment();
        if ticks.wrapping_sub(segment.ticks) >= segment.valid {
            return None;
        }
        Some(self.forward(segment.at(ticks)))
    }

    /// The time when the system clock shows `system`. Where `ticks` is given, it is the counter at the same instant, and
    /// the counter is checked and calibrated.
    #[cold]
    pub(super) fn check(&self, ticks: Option<u64>, system: u64) -> u64 {
        if let Some(ticks) = ticks
            && !self.is_distrusted()
            && !self.calibrating.swap(true, Ordering::Acquire)
        {
            self.calibrate(ticks, system);
            self.calibrating.store(false, Ordering::Release);
            return self.micros(ticks).unwrap_or_else(|| self.forward(system));
        }
        self.forward(system)
    }

    /// True if the counter failed a check: from then on only the system clock counts.
    pub(super) fn is_distrusted(&self) -> bool {
        self.distrusted.load(Ordering::Relaxed)
    }

    /// Records a reading and keeps it from being before one that was recorded.
    #[inline]
    fn forward(&self, micros: u64) -> u64 {
        let highest = self.highest.load(Ordering::Relaxed);
        if micros > highest.saturating_add(RECORD_EVERY) {
            self.highest.fetch_max(micros, Ordering::Relaxed);
        }
        micros.max(highest)
    }

    #[inline]
    fn segment(&self) -> Segment {
        loop {
            let version = self.version.load(Ordering::Acquire);
            let line = &self.lines[usize::from(version & 1 == 1)];
            let segment = Segment {
                ticks: line.ticks.load(Ordering::Relaxed),
                micros: line.micros.load(Ordering::Relaxed),
                system: line.system.load(Ordering::Relaxed),
                rate: line.rate.load(Ordering::Relaxed),
                valid: line.valid.load(Ordering::Relaxed),
            };
            fence(Ordering::Acquire);
            if self.version.load(Ordering::Relaxed) == version {
                return segment;
            }
        }
    }

    /// Publishes a line. Only the holder of `calibrating` calls this.
    fn publish(&self, segment: Segment) {
        let version = self.version.load(Ordering::Relaxed).wrapping_add(1);
        let line = &self.lines[usize::from(version & 1 == 1)];
        fence(Ordering::Release);
        line.ticks.store(segment.ticks, Ordering::Relaxed);
        line.micros.store(segment.micros, Ordering::Relaxed);
        line.system.store(segment.system, Ordering::Relaxed);
        line.rate.store(segment.rate, Ordering::Relaxed);
        line.valid.store(segment.valid, Ordering::Relaxed);
        self.version.store(version, Ordering::Release);
    }

    fn calibrate(&self, ticks: u64, system: u64) {
        let old = self.segment();
        let passed = system.saturating_sub(old.system);
        let counted = ticks.wrapping_sub(old.ticks);
        if old.rate == 0 && passed < FIRST_CALIBRATION {
            return;
        }
        let went_back = counted > u64::MAX / 2;
        let at = if old.rate == 0 { system } else { old.at(ticks) };
        if went_back || at.abs_diff(system) > TOLERANCE + passed / 1_024 {
            self.distrusted.store(true, Ordering::Relaxed);
            self.publish(Segment { rate: 0, valid: 0, ..old });
            return;
        }
        let is_baseline = old.rate == 0 || passed >= BASELINE_MIN;
        let measured = if is_baseline { rate(passed, counted) } else { old.rate };
        // Readings may be ahead of the system clock already, but not by more than was recorded.
        let told = self.highest.load(Ordering::Relaxed).saturating_add(RECORD_EVERY);
        let micros = system.max(at.min(told));
        let ahead = (micros - system).min(CHECK_EVERY / 2);
        // What it is ahead of the system clock is made up for until the next check.
        let rate = measured - measured / CHECK_EVERY * ahead;
        let valid = ticks_in(CHECK_EVERY, measured);
        if measured == 0 || valid == 0 {
            self.distrusted.store(true, Ordering::Relaxed);
            self.publish(Segment { rate: 0, valid: 0, ..old });
            return;
        }
        self.publish(Segment { ticks, micros, system, rate, valid });
    }
}

/// The microseconds in 2^64 ticks, if `micros` passed in `ticks`. 0 if the counter stands still or is slower than 1 MHz.
fn rate(micros: u64, ticks: u64) -> u64 {
    let scaled = (u128::from(micros) << 64).checked_div(u128::from(ticks)).unwrap_or(0);
    u64::try_from(scaled).unwrap_or(0)
}

/// The ticks in so many microseconds.
fn ticks_in(micros: u64, rate: u64) -> u64 {
    let ticks = (u128::from(micros) << 64).checked_div(u128::from(rate)).unwrap_or(0);
    u64::try_from(ticks).unwrap_or(0)
}

/// The upper half of a product.
#[inline]
fn mul_high(left: u64, right: u64) -> u64 {
    ((u128::from(left) * u128::from(right)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::{CHECK_EVERY, CounterClock, RECORD_EVERY};

    /// Where the simulated system clock starts: some instant of 2025.
    const START: u64 = 1_763_208_000_000_000;

    /// A counter and a system clock that both follow a true time, in microseconds since the start.
    struct World {
        clock: CounterClock,
        /// Ticks in 1,000 microseconds.
        ticks_per_ms: u64,
        /// Added to the counter, wrapping: its value at the start, and every jump since.
        offset: u64,
        checks: u32,
    }

    impl World {
        fn new(ticks_per_ms: u64, offset: u64) -> Self {
            Self { clock: CounterClock::new(offset, START), ticks_per_ms, offset, checks: 0 }
        }

        fn ticks(&self, at: u64) -> u64 {
            let counted = u128::from(at) * u128::from(self.ticks_per_ms) / 1_000;
            self.offset.wrapping_add(u64::try_from(counted).unwrap())
        }

        /// The time as the clock tells it, since the start.
        fn read(&mut self, at: u64) -> u64 {
            let ticks = self.ticks(at);
            let micros = self.clock.micros(ticks).unwrap_or_else(|| {
                self.checks += 1;
                self.clock.check(Some(ticks), START + at)
            });
            micros - START
        }
    }

    #[test]
    fn a_good_counter_follows_the_system_clock_for_days() {
        for (ticks_per_ms, offset) in [(2_700_000, 0), (3_999_977, u64::MAX - 1_000), (1_003, 17)] {
            let mut world = World::new(ticks_per_ms, offset);
            let (mut at, mut last) = (0, 0);
            // Readings half a millisecond apart, then hours apart.
            for step in 0..30_000_u64 {
                at += if step < 20_000 { 500 } else { 37_000_000 };
                let told = world.read(at);
                assert!(told >= last && told.abs_diff(at) <= 2, "{ticks_per_ms}: {told} at {at}");
                last = told;
            }
            assert!(!world.clock.is_distrusted());
        }
    }

    #[test]
    fn the_system_clock_is_read_once_a_second() {
        let mut world = World::new(2_500_000, 5);
        for at in (0..60 * CHECK_EVERY).step_by(1_000) {
            world.read(at);
        }
        // Ten readings while it calibrates, then one a second.
        assert!((60..=75).contains(&world.checks), "{}", world.checks);
    }

    #[test]
    fn a_counter_that_jumps_is_not_used_again() {
        let jumps: [i64; 4] = [40_000_000_000, -40_000_000_000, 20_000_000, -20_000_000];
        for jump in jumps {
            let mut world = World::new(2_500_000, 1 << 40);
            let (mut at, mut last) = (0, 0);
            for step in 0..20_000_u64 {
                at += 500;
                if step == 9_999 {
                    world.offset = world.offset.wrapping_add_signed(jump);
                }
                let told = world.read(at);
                assert!(told + RECORD_EVERY >= last, "{jump}: back from {last} to {told}");
                assert!(told <= at + CHECK_EVERY, "{jump}: {told} at {at}");
                last = told;
            }
            assert!(world.clock.is_distrusted(), "{jump}");
            assert!(last >= at, "{jump}: the system clock counts again");
        }
    }

    #[test]
    fn a_counter_whose_rate_changes_is_not_used_again() {
        let mut world = World::new(2_500_000, 0);
        let mut at = 0;
        for _ in 0..10_000 {
            at += 500;
            world.read(at);
        }
        // Twice as fast from now on.
        world.offset = world.offset.wrapping_sub(world.ticks(at).wrapping_sub(world.offset));
        world.ticks_per_ms *= 2;
        for _ in 0..10_000 {
            at += 500;
            assert!(world.read(at) <= at + CHECK_EVERY);
        }
        assert!(world.clock.is_distrusted());
    }

    #[test]
    fn a_system_clock_that_is_slewed_is_followed() {
        let mut world = World::new(2_500_000, 0);
        let mut last = 0;
        for step in 0..200_000_u64 {
            let at = step * 500;
            // The counter runs 400 ppm fast, then slow, as seen from the system clock.
            let ppm: i64 = if step % 50_000 < 25_000 { 400 } else { -400 };
            world.offset = world.offset.wrapping_add_signed(2_500 / 2 * ppm / 1_000);
            let told = world.read(at);
            assert!(told >= last && told.abs_diff(at) < 1_000, "{told} at {at}");
            last = told;
        }
        assert!(!world.clock.is_distrusted());
    }

    #[test]
    fn readings_from_many_threads_agree() {
        let world = World::new(2_500_000, 0);
        let times: Vec<u64> = (0..4_000_000).step_by(100).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for &at in &times {
                        let ticks = world.ticks(at);
                        let told = world.clock.micros(ticks);
                        let told = told.unwrap_or_else(|| world.clock.check(Some(ticks), START + at));
                        // A thread that lags behind is told the time of those that do not.
                        assert!(told + 2 >= START + at && told <= START + 4_000_000 + 2);
                    }
                });
            }
        });
    }
}
