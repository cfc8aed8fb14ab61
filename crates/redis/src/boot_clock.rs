//! The clock of leases: it goes on while the process or the machine is stopped.

use tollgate_algorithms::Micros;

/// The time since the machine was started, with the time for which it was suspended (`CLOCK_BOOTTIME`).
#[cfg(target_os = "linux")]
pub(crate) fn now() -> Micros {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let (seconds, nanos) =
        (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    Micros::new(seconds.saturating_mul(1_000_000).saturating_add(nanos / 1_000))
}

/// The time since the first call. On other systems it may stand still while the machine is suspended.
#[cfg(not(target_os = "linux"))]
pub(crate) fn now() -> Micros {
    static BEGIN: std::sync::LazyLock<tokio::time::Instant> =
        std::sync::LazyLock::new(tokio::time::Instant::now);
    Micros::from_secs(1).saturating_add(Micros::from_duration(BEGIN.elapsed()))
}
