//! The server's clock against ours. Decisions go by the server's alone; this is about everything that is told or compared.

use std::time::Duration;

use super::super::finding::Finding;
use super::super::observations::Found;
use super::shown;

const CLOCK: &str = "clock";

/// Clocks that are kept by NTP differ by less. They are good or apart only where that holds for all that the reading allows.
const APART_MAX: Duration = Duration::from_millis(500);

pub(super) fn clock(found: &Found) -> Finding {
    let clock = match &found.clock {
        Ok(clock) => clock,
        Err(why) => {
            let user = found.user.as_deref().unwrap_or("default");
            let why = format!("it cannot be told without `TIME`: {why}");
            return Finding::unknown(CLOCK, why, format!("`ACL SETUSER {user} +time`"));
        }
    };
    let time = |micros: u64| Duration::from_micros(micros);
    let (apart, error) = (time(clock.ahead.unsigned_abs()), time(clock.error.unsigned_abs()));
    if apart.saturating_add(error) <= APART_MAX {
        let sentence = if apart <= error {
            format!("as ours, as far as can be told ({} either way)", shown(error))
        } else {
            format!("{} from ours (give or take {})", shown(apart), shown(error))
        };
        return Finding::good(CLOCK, sentence);
    }
    if apart.saturating_sub(error) <= APART_MAX {
        let found = format!(
            "it cannot be told whether it is within {} of ours: it reads {} from it, give or take {}, because answers take so long",
            shown(APART_MAX),
            shown(apart),
            shown(error)
        );
        return Finding::unknown(
            CLOCK,
            found,
            "ask again from a machine that is nearer, or when the server is less busy",
        );
    }
    let way = if clock.ahead > 0 { "ahead of" } else { "behind" };
    let found = format!(
        "the server's clock is {} {way} ours (give or take {}): limits are counted by the server's, so that windows of the \
         calendar turn early or late, and the instants that clients are told are off by so much",
        shown(apart),
        shown(error)
    );
    Finding::warning(
        CLOCK,
        found,
        "let NTP set the clocks of both machines: `timedatectl set-ntp true`, or chrony",
    )
}
