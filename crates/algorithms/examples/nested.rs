//! Three limits on one request: all are charged or none is, the answer names the one that refused, and a limit on trial
//! in the shadow refuses nobody.
#![expect(clippy::print_stdout, reason = "an example that shows something")]

use tollgate_algorithms::{Hit, Limit, LimitError, Micros, Mode, State, Target, Window, decide_batch};

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
        let target = |slot: usize| Target { limit: &limits[slot], state: states[slot].as_ref() };
        let hit = |target: usize| Hit { target, cost: 1, mode: modes[target] };
        let batch = decide_batch(&[0, 1, 2].map(target), &[0, 1, 2].map(hit), now);
        for (slot, change) in batch.changes {
            change.apply(&mut states[slot]);
        }
        println!("request {request}: {}", if batch.granted { "granted" } else { "refused" });
        for (name, decision) in names.iter().zip(&batch.decisions) {
            let outcome = if decision.is_granted() { "fits" } else { "does not fit" };
            println!("  {name:28} {outcome:13} {} of {} left", decision.remaining, decision.limit);
        }
    }
    Ok(())
}
