//! Three limits on one request: all are charged or none is, the answer names the one that refused, and a limit on trial
//! in the shadow refuses nobody.
#![expect(clippy::print_stdout, reason = "an example that shows something")]

use tollgate_core::{Hit, Key, Limit, LimitError, Micros, Mode, State, Window, decide_batch};

fn main() -> Result<(), LimitError> {
    let names = ["per address", "per key", "per organisation (on trial)"];
    let limits = [
        Limit::token_bucket(4, 1, Micros::SECOND)?,
        Limit::sliding_window_log(3, Micros::MINUTE)?,
        Limit::fixed_window(2, Window::Every(Micros::HOUR))?,
    ];
    let modes = [Mode::Enforced, Mode::Enforced, Mode::Shadow];
    let mut states: [Option<State>; 3] = [None, None, None];
    let now = Micros::from_secs(1_763_208_000);

    for request in 1..=4 {
        let key = |key: usize| Key { limit: &limits[key], state: states[key].as_ref() };
        let hit = |key: usize| Hit { key, cost: 1, mode: modes[key] };
        let batch = decide_batch(&[key(0), key(1), key(2)], &[hit(0), hit(1), hit(2)], now);
        for (key, change) in batch.changes {
            change.apply(&mut states[key]);
        }
        println!("request {request}: {}", if batch.granted { "granted" } else { "refused" });
        for (name, decision) in names.iter().zip(&batch.decisions) {
            let verdict = if decision.granted() { "fits" } else { "does not fit" };
            println!("  {name:28} {verdict:13} {} of {} left", decision.remaining, decision.limit);
        }
    }
    Ok(())
}
