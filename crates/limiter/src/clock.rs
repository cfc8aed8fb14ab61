//! The only file that reads a clock. Everything else takes `now` as an argument, or reads a [`Clock`] once per decision.
#![expect(clippy::disallowed_methods, reason = "this is where clocks are read")]

mod calendar;
#[cfg(any(test, all(target_os = "linux", target_arch = "x86_64")))]
mod counter;
mod manual;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tsc;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tollgate_algorithms::Micros;

use crate::timers::Shared;

pub(crate) use calendar::Calendar;
pub use manual::ManualClock;

/// The clock of a limiter.
///
/// Every clock counts microseconds since the Unix epoch. It reads the wall clock when it is created and follows
/// the system's monotonic time from then on, so decisions never see time run back. Later corrections of the
/// wall clock move only the calendar (the boundaries of future windows of a
/// [`fixed_window`](tollgate_algorithms::algorithm::fixed_window)); the current window
/// keeps its end, and no past window opens again.
///
/// | clock | resolution | for |
/// |---|---|---|
/// | [`fastest`](Self::fastest) | 1 µs | the default: the fastest that is safe on this host |
/// | [`monotonic`](Self::monotonic) | 1 µs | the system's monotonic clock, always |
/// | [`coarse`](Self::coarse) | 1 to 10 ms | cheap, and needs no thread |
/// | [`ticked`](Self::ticked) | configurable | cheapest; a thread updates it |
/// | [`manual`](Self::manual) | 1 µs | tests |
///
/// A coarse or ticked clock is a monotonic clock that stands still between ticks; every guarantee holds with respect to it.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

#[derive(Clone, Debug)]
enum Kind {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    Tsc(Arc<tsc::TscClock>),
    Ticked(Arc<Ticked>),
    Manual(ManualClock),
    /// Those that are no cheaper for being read in place.
    Asked(Arc<SystemClock>),
}

#[derive(Debug)]
enum SystemClock {
    Monotonic(Anchor),
    Coarse(Coarse),
}

impl Default for Clock {
    fn default() -> Self {
        Self::fastest()
    }
}

/// The source of a [`Clock`]: see [`Clock::source`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ClockSource {
    /// The processor's time stamp counter, calibrated and checked against the system's monotonic clock.
    TimeStampCounter,
    /// The system's monotonic clock.
    Monotonic,
    /// The system's coarse monotonic clock.
    Coarse,
    /// A value in memory that a thread updates.
    Ticked,
    /// A clock for tests.
    Manual,
}

impl fmt::Display for ClockSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimeStampCounter => "time stamp counter",
            Self::Monotonic => "monotonic",
            Self::Coarse => "coarse",
            Self::Ticked => "ticked",
            Self::Manual => "manual",
        })
    }
}

impl Clock {
    /// The fastest clock that is safe on this host.
    ///
    /// Reads the processor's time stamp counter if the Linux kernel keeps time with it, otherwise the system's monotonic clock.
    /// The counter is calibrated against the monotonic clock during the first 10 ms, and checked against
    /// it once a second. If the two differ by more than 2 ms (and 1/1024 of the time since the last check), the clock
    /// switches to the monotonic clock permanently. Until then, a counter that jumps can put the clock at most
    /// one second ahead. It never runs back by more than 1 ms. [`source`](Self::source) returns the clock in use.
    #[must_use]
    pub fn fastest() -> Self {
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        if let Some(tsc) = tsc::TscClock::new() {
            return Self(Kind::Tsc(Arc::new(tsc)));
        }
        Self::monotonic()
    }

    /// The source that this clock currently reads.
    #[must_use]
    pub fn source(&self) -> ClockSource {
        match &self.0 {
            #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
            Kind::Tsc(tsc) if tsc.is_distrusted() => ClockSource::Monotonic,
            #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
            Kind::Tsc(_) => ClockSource::TimeStampCounter,
            Kind::Ticked(_) => ClockSource::Ticked,
            Kind::Manual(_) => ClockSource::Manual,
            Kind::Asked(asked) => match &**asked {
                SystemClock::Monotonic(_) => ClockSource::Monotonic,
                SystemClock::Coarse(_) => ClockSource::Coarse,
            },
        }
    }

    /// The system's monotonic clock.
    #[must_use]
    pub fn monotonic() -> Self {
        Self(Kind::Asked(Arc::new(SystemClock::Monotonic(Anchor::now()))))
    }

    /// The system's coarse monotonic clock (the time of its last timer tick), or the monotonic clock if there is none.
    #[must_use]
    pub fn coarse() -> Self {
        Self(Kind::Asked(Arc::new(SystemClock::Coarse(Coarse::now()))))
    }

    /// A clock that its own thread updates, so that reading it is a memory access. The thread ends when the last
    /// clone of the clock is dropped. The shortest interval is 50 µs. If no thread can be created, this is a
    /// [`coarse`](Self::coarse) clock.
    #[must_use]
    pub fn ticked(every: Duration) -> Self {
        let anchor = Anchor::now();
        let ticked = Arc::new(Ticked { micros: AtomicU64::new(anchor.micros()), anchor });
        let weak = Arc::downgrade(&ticked);
        let tick = move || {
            while let Some(ticked) = weak.upgrade() {
                ticked.micros.store(ticked.anchor.micros(), Ordering::Release);
                drop(ticked);
                std::thread::park_timeout(every.max(TICK_MIN));
            }
        };
        match std::thread::Builder::new().name("tollgate clock".into()).spawn(tick) {
            Ok(_) => Self(Kind::Ticked(ticked)),
            // Without a thread it would stand still for ever.
            Err(_) => Self::coarse(),
        }
    }

    /// A clock that you advance yourself, for tests.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Clock, Limit, Limiter, Micros};
    /// let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    /// let limiter = Limiter::builder().clock(clock.clock()).build()?;
    /// let logins = limiter.limit("logins", Limit::token_bucket(1, 1, Micros::SECOND)?);
    /// assert!(limiter.try_charge(&[logins.hit("ada")])?.is_granted());
    /// assert!(!limiter.try_charge(&[logins.hit("ada")])?.is_granted());
    /// clock.advance(Duration::from_secs(1));
    /// assert!(limiter.try_charge(&[logins.hit("ada")])?.is_granted());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn manual(now: Micros) -> ManualClock {
        ManualClock::new(now)
    }

    /// The current time.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Micros {
        #[cfg(test)]
        tests::READINGS.set(tests::READINGS.get() + 1);
        // Those whose reading is short stand here, and the others elsewhere: with all of them in one place the compiler jumps by a table.
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        if let Kind::Tsc(tsc) = &self.0 {
            return Micros::new(tsc.micros()).min(Micros::INSTANT_MAX);
        }
        if let Kind::Ticked(ticked) = &self.0 {
            return Micros::new(ticked.micros.load(Ordering::Acquire)).min(Micros::INSTANT_MAX);
        }
        Micros::new(self.asked()).min(Micros::INSTANT_MAX)
    }

    #[inline(never)]
    fn asked(&self) -> u64 {
        match &self.0 {
            #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
            Kind::Tsc(tsc) => tsc.micros(),
            Kind::Ticked(ticked) => ticked.micros.load(Ordering::Acquire),
            Kind::Manual(manual) => manual.now().get(),
            Kind::Asked(asked) => asked.micros(),
        }
    }

    /// Fires these timers whenever the clock is moved on, if that takes somebody who moves it.
    pub(crate) fn on_advance(&self, timers: Weak<Shared>) {
        if let Kind::Manual(manual) = &self.0 {
            manual.on_advance(timers);
        }
    }

    /// The sum of corrections of the wall clock since this clock was created, in microseconds.
    pub(crate) fn correction(&self) -> i64 {
        let anchor = match &self.0 {
            #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
            Kind::Tsc(tsc) => &tsc.anchor,
            Kind::Ticked(ticked) => &ticked.anchor,
            Kind::Asked(asked) => match &**asked {
                SystemClock::Monotonic(anchor) => anchor,
                SystemClock::Coarse(coarse) => &coarse.anchor,
            },
            Kind::Manual(manual) => return manual.correction(),
        };
        let (wall, ours) = (wall_micros(), anchor.micros());
        i64::try_from(i128::from(wall) - i128::from(ours)).unwrap_or(0)
    }
}

impl SystemClock {
    #[inline]
    fn micros(&self) -> u64 {
        match self {
            Self::Monotonic(anchor) => anchor.micros(),
            Self::Coarse(coarse) => coarse.micros(),
        }
    }
}

/// The wall clock in microseconds since the Unix epoch, and not before it.
fn wall_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| Micros::from_duration(since).get())
}

/// A monotonic instant, with the wall clock at that time.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    instant: Instant,
    wall: u64,
}

impl Anchor {
    fn now() -> Self {
        Self { instant: Instant::now(), wall: wall_micros() }
    }

    #[inline]
    fn micros(&self) -> u64 {
        self.wall.saturating_add(micros_of(self.instant.elapsed()))
    }
}

/// The whole microseconds of a duration that is shorter than half a million years.
#[inline]
fn micros_of(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1_000_000).saturating_add(u64::from(duration.subsec_micros()))
}

/// The clock of the system's last timer tick.
#[derive(Clone, Copy, Debug)]
struct Coarse {
    start: Duration,
    anchor: Anchor,
}

impl Coarse {
    fn now() -> Self {
        let anchor = Anchor::now();
        Self { start: Self::read(&anchor), anchor }
    }

    #[inline]
    fn micros(&self) -> u64 {
        self.anchor.wall.saturating_add(micros_of(Self::read(&self.anchor).saturating_sub(self.start)))
    }

    #[cfg(target_os = "linux")]
    #[inline]
    fn read(_anchor: &Anchor) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::from_secs(seconds)
            .saturating_add(Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0)))
    }

    #[cfg(not(target_os = "linux"))]
    fn read(anchor: &Anchor) -> Duration {
        anchor.instant.elapsed()
    }
}

#[derive(Debug)]
struct Ticked {
    micros: AtomicU64,
    anchor: Anchor,
}

/// The shortest interval of a ticked clock.
const TICK_MIN: Duration = Duration::from_micros(50);

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tollgate_algorithms::{Limit, Micros, Window};

    use crate::{Hit, Limiter};

    thread_local! {
        /// How often this thread has read a clock.
        pub(super) static READINGS: Cell<u64> = const { Cell::new(0) };
    }

    /// Known keys and new ones, words, windows and lists, one hit and several, with a receipt and without.
    #[test]
    fn the_clock_is_read_once_for_a_request() {
        let limiter = Limiter::new().unwrap();
        let limits = [
            Limit::token_bucket(1_000, 1, Micros::HOUR),
            Limit::gcra(1_000, 1_000_003, Micros::DAY),
            Limit::fixed_window(1_000, Window::Every(Micros::HOUR)),
            Limit::sliding_window_log(1_000, Micros::HOUR),
        ];
        let limits = limits.map(|limit| limiter.limit(&format!("{limit:?}"), limit.unwrap()));
        let once = |what: &str, ask: &dyn Fn()| {
            let before = READINGS.get();
            ask();
            assert_eq!(READINGS.get() - before, 1, "{what}");
        };
        for key in ["new", "known"].into_iter().chain(["new to some"; 3]) {
            let keys = |place: usize| if key.contains("some") && place > 0 { "known" } else { key };
            let hits: Vec<Hit<'_>> =
                limits.iter().enumerate().map(|(place, limit)| limit.hit(keys(place))).collect();
            let plain = [hits[0], limits[0].hit("known"), limits[0].hit("other")];
            for hits in [&hits[..1], &hits[1..2], &hits[2..3], &hits[3..], &hits[..2], &hits[..], &plain[..]]
            {
                once("charge", &|| assert!(limiter.try_charge(hits).unwrap().is_granted()));
                once("receipt", &|| drop(limiter.try_charge_for_receipt(hits).unwrap()));
                once("peek", &|| assert!(limiter.try_peek(hits).unwrap().is_granted()));
            }
            once("as much as fits", &|| drop(limiter.try_charge_up_to(&hits[0]).unwrap()));
            once("a pipeline", &|| limiter.try_charge_each(&hits, |_, _| ()).unwrap());
        }
    }
}
