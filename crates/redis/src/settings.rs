//! The settings of the connection to the store, with defaults.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Whose certificates are trusted, for `rediss://`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Roots {
    /// Those of the operating system, read when the link is opened.
    System,
    /// Those in this text, in PEM, and no others.
    Pem(Vec<u8>),
    /// Those in this file, in PEM, and no others. It is read when the link is opened, and anew for each connection.
    File(PathBuf),
}

/// Who we are to a server that wants a certificate of its clients, for `rediss://`: files in PEM. They are read when the link is opened, and
/// anew for each connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The certificate, and those between it and the authority that the server trusts.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// What can be set about a link. Each has a default; what is out of range is refused when the link is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How long one call may take, all in all. Then it ends in `Timeout`. 25 ms; at least 1 ms, at most 1 minute.
    pub budget: Duration,
    /// How long a new connection may take, from the name to the first word of the server. Then another is tried. 1 s. If the name
    /// leads to several addresses, they share it.
    pub connect_timeout: Duration,
    /// A server that owes an answer and says nothing for so long has its connection closed and made anew. 250 ms; always at least two
    /// budgets, so that no connection is closed on which an answer may still come in time.
    pub stall_timeout: Duration,
    /// A connection on which nothing was heard for so long is asked with a `PING`, so that one that is dead is found, and made anew,
    /// before a call needs it. The default is 10 s.
    pub ping_after: Duration,
    /// How many connections there are to the server. 1: the server runs one script at a time, and calls that share a
    /// connection share round trips. More help where TLS keeps one core busy. At most 16.
    pub connections: usize,
    /// How many calls may be in flight, those whose callers have gone among them. Beyond it a call ends at once in
    /// `TooManyInFlight`. 4096; at most 1,000,000.
    pub in_flight_max: usize,
    /// The shortest wait before another connection or another probe is tried. 20 ms.
    pub backoff_min: Duration,
    /// The longest wait before another connection or another probe is tried: how long recovery may take. 1 s.
    pub backoff_max: Duration,
    /// After so many failures in a row the breaker opens. 5.
    pub breaker_failures: u32,
    /// Failures in a row count only if they lie within so long. 10 s.
    pub breaker_span: Duration,
    /// Whose certificates are trusted, for `rediss://`.
    pub roots: Roots,
    /// Who we are, for `rediss://` and a server that wants to know. None.
    pub identity: Option<Identity>,
    /// A file with the password, if it is not in the address; space around it does not count. It is read when the link is opened,
    /// and anew for each connection: so a password can change while we serve. None.
    pub password: Option<PathBuf>,
}

/// The most connections that can be set: more than a server's cores gain nothing.
pub const CONNECTIONS_MAX: usize = 16;

/// The most calls in flight that can be set: a few hundred bytes each.
pub const IN_FLIGHT_MAX: usize = 1_000_000;

/// The longest time that can be set.
pub const TIME_MAX: Duration = Duration::from_secs(60);

/// The shortest time that can be set: the timers' own grain.
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
    /// How long a server that owes an answer may say nothing.
    pub(crate) fn patience(&self) -> Duration {
        self.stall_timeout.max(self.budget.saturating_mul(2))
    }

    /// What is out of range, as a sentence.
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
