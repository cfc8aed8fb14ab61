//! The settings of the connection to the store, with defaults.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Trusted CA certificates for `rediss://`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Roots {
    /// The operating system's, read when the link is opened.
    System,
    /// Only those in this PEM text.
    Pem(Vec<u8>),
    /// Only those in this PEM file, which is read when the link is opened and for each new connection.
    File(PathBuf),
}

/// A client certificate for `rediss://`, as PEM files, which are read when the link is opened and for each new connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The certificate chain, up to a CA that the server trusts.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The settings of a link, with defaults. Opening the link fails if one is out of range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Time budget of one call, after which it ends with `Timeout`. Default: 25 ms; from 1 ms to 1 minute.
    pub budget: Duration,
    /// Timeout for connecting, from DNS to the first reply of the server. All addresses of the host share it. Default: 1 s.
    pub connect_timeout: Duration,
    /// If a server that owes a reply is silent for this long, the link reconnects. Default: 250 ms; always at least two
    /// time budgets, so that no connection is closed on which a reply may still arrive in time.
    pub stall_timeout: Duration,
    /// After this idle time, the link sends a `PING`, to detect a dead connection before a call needs it. Default: 10 s.
    pub ping_after: Duration,
    /// Number of connections to the server. Default: 1, because the server runs one script at a time, and calls on one
    /// connection share round trips. More help if TLS saturates a core. At most 16.
    pub connections: usize,
    /// Maximum number of calls in flight, including those whose callers were cancelled. Further calls end at once with
    /// `TooManyInFlight`. Default: 4096; at most 1,000,000.
    pub in_flight_max: usize,
    /// Minimum wait before the next connection attempt or probe. Default: 20 ms.
    pub backoff_min: Duration,
    /// Maximum wait before the next connection attempt or probe, which bounds the time to recover. Default: 1 s.
    pub backoff_max: Duration,
    /// Number of consecutive failures that open the circuit breaker. Default: 5.
    pub breaker_failures: u32,
    /// Time within which consecutive failures count. Default: 10 s.
    pub breaker_span: Duration,
    /// Trusted CA certificates for `rediss://`.
    pub roots: Roots,
    /// The client certificate for `rediss://`. Default: none.
    pub identity: Option<Identity>,
    /// A file with the password, if it is not in the address. Surrounding white space is ignored. The file is read when the link is opened
    /// and for each new connection, so that a password can change at run time. Default: none.
    pub password: Option<PathBuf>,
}

/// Maximum number of connections.
pub const CONNECTIONS_MAX: usize = 16;

/// Maximum of [`Settings::in_flight_max`]. A call takes a few hundred bytes.
pub const IN_FLIGHT_MAX: usize = 1_000_000;

/// Maximum of all durations.
pub const TIME_MAX: Duration = Duration::from_secs(60);

/// Minimum of all durations: the resolution of timers.
pub const TIME_MIN: Duration = Duration::from_millis(1);

impl Default for Settings {
    fn default() -> Self {
        Self {
            budget: Duration::from_millis(25),
            connect_timeout: Duration::from_secs(1),
            stall_timeout: Duration::from_millis(250),
            ping_after: Duration::from_secs(10),
            connections: 1,
            in_flight_max: 4096,
            backoff_min: Duration::from_millis(20),
            backoff_max: Duration::from_secs(1),
            breaker_failures: 5,
            breaker_span: Duration::from_secs(10),
            roots: Roots::System,
            identity: None,
            password: None,
        }
    }
}

impl Settings {
    /// How long a server that owes a reply may be silent.
    pub(crate) fn patience(&self) -> Duration {
        self.stall_timeout.max(self.budget.saturating_mul(2))
    }

    /// Checks the ranges. The error is a message.
    pub(crate) fn check(&self) -> Result<(), String> {
        let times = [
            ("budget", self.budget),
            ("connect_timeout", self.connect_timeout),
            ("stall_timeout", self.stall_timeout),
            ("ping_after", self.ping_after),
            ("backoff_min", self.backoff_min),
            ("backoff_max", self.backoff_max),
            ("breaker_span", self.breaker_span),
        ];
        for (name, time) in times {
            if time < TIME_MIN || time > TIME_MAX {
                return Err(format!("`{name}` is {time:?}: it must be from {TIME_MIN:?} to {TIME_MAX:?}"));
            }
        }
        if self.backoff_min > self.backoff_max {
            let (min, max) = (self.backoff_min, self.backoff_max);
            return Err(format!("`backoff_min` is {min:?}, longer than `backoff_max`, {max:?}"));
        }
        let failures = usize::try_from(self.breaker_failures).unwrap_or(usize::MAX);
        let counts = [
            ("connections", self.connections, CONNECTIONS_MAX),
            ("in_flight_max", self.in_flight_max, IN_FLIGHT_MAX),
            ("breaker_failures", failures, IN_FLIGHT_MAX),
        ];
        for (name, count, max) in counts {
            if count == 0 || count > max {
                return Err(format!("`{name}` is {count}: it must be from 1 to {max}"));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("System"),
            Self::Pem(text) => write!(f, "Pem({} bytes)", text.len()),
            Self::File(path) => write!(f, "File({})", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_named_with_its_range() {
        let good = Settings::default();
        assert_eq!(good.check(), Ok(()));
        let bad = [
            (
                Settings { budget: Duration::ZERO, ..good.clone() },
                "`budget` is 0ns: it must be from 1ms to 60s",
            ),
            (Settings { connections: 17, ..good.clone() }, "`connections` is 17: it must be from 1 to 16"),
            (
                Settings { in_flight_max: 0, ..good.clone() },
                "`in_flight_max` is 0: it must be from 1 to 1000000",
            ),
            (
                Settings { backoff_min: Duration::from_secs(2), ..good.clone() },
                "`backoff_min` is 2s, longer than `backoff_max`, 1s",
            ),
            (
                Settings { breaker_failures: 0, ..good },
                "`breaker_failures` is 0: it must be from 1 to 1000000",
            ),
        ];
        for (settings, sentence) in bad {
            assert_eq!(settings.check().unwrap_err(), sentence);
        }
    }
}
