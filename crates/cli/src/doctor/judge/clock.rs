//! Checks the server's clock against the local one. Decisions use the server's clock only; times shown to clients use both.

use std::time::Duration;

use super::super::finding::Finding;
use super::super::observations::Observations;
use super::shown;

const CLOCK: &str = "clock";

/// Clocks synchronised by NTP differ by less. The check is certain only if the whole error range is on one side.
const APART_MAX: Duration = Duration::from_millis(500);

pub(super) fn clock(found: &Observations) -> Finding {
    let clock = match &found.clock {
        Ok(clock) => clock,
        Err(why) => {
            let user = found.user.as_deref().unwrap_or("default");
            let why = format!("needs `TIME`: {why}");
            return Finding::unknown(CLOCK, why, format!("`ACL SETUSER {user} +time`"));
        }
    };
    let time = |micros: u64| Duration::from_micros(micros);
    let (apart, error) = (time(clock.ahead.unsigned_abs()), time(clock.error.unsigned_abs()));
    if apart.saturating_add(error) <= APART_MAX {
        let sentence = if apart <= error {
            format!("equal to the local clock (± {})", shown(error))
        } else {
            format!("{} from the local clock (± {})", shown(apart), shown(error))
        };
        return Finding::good(CLOCK, sentence);
    }
    if apart.saturating_sub(error) <= APART_MAX {
        let found = format!(
            "the round trip is too long to tell whether it is within {} of the local clock: it is {} away, ± {}",
            shown(APART_MAX),
            shown(apart),
            shown(error)
        );
        return Finding::unknown(
            CLOCK,
            found,
            "run doctor from a machine nearer to the server, or when the server is less busy",
        );
    }
    let way = if clock.ahead > 0 { "ahead of" } else { "behind" };
    let found = format!(
        "the server's clock is {} {way} the local clock (± {}): calendar windows follow the server's clock and change too early or \
         too late, and reset times shown to clients are off",
        shown(apart),
        shown(error)
    );
    Finding::warning(
        CLOCK,
        found,
        "synchronise both machines with NTP: `timedatectl set-ntp true`, or chrony",
    )
}
