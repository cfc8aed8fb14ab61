//! Our charges through the library, on keys in memory with a manual clock: one limit, with a receipt, and three limits at once.

use std::hint::black_box;
use std::time::Duration;

use tollgate::{Clock, Limit, Limiter, Micros, NamedLimit};

use crate::Done;

/// A limit of n is n in so many microseconds each.
const EACH: u64 = 1_000;
/// Hits come at four fifths of that rate: all are granted.
const STEP: Duration = Duration::from_micros(1_250);

/// What is charged: `one` limit, `one` with a `receipt`, or `three` limits all or none.
pub(crate) fn run(what: &str, granting: bool, limit: u64, n: u64) -> Result<Done, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let hands = Clock::manual(Micros::new(1_763_208_000_000_000));
    let limiter = Limiter::builder().clock(hands.clock()).build().map_err(|error| said(&error))?;
    let rule = Limit::token_bucket(limit, limit, Micros::new(limit * EACH)).map_err(|error| said(&error))?;
    let limits: Vec<NamedLimit> = ["a", "b", "c"].map(|name| limiter.limit(name, rule)).into();
    let (mut granted, mut refused, mut warm) = (0, 0, 2 * limit);
    loop {
        if granting {
            hands.advance(STEP);
        }
        let key = black_box("user-42");
        let verdict = match what {
            "one" => limiter.try_charge(&[limits[0].hit(key)]),
            "receipt" => limiter.try_charge_for_receipt(&[limits[0].hit(key)]).map(|(verdict, _)| verdict),
            "three" => limiter.try_charge(&[limits[0].hit(key), limits[1].hit(key), limits[2].hit(key)]),
            other => return Err(format!("`{other}` is none of `one`, `receipt` and `three`")),
        };
        let is_granted = verdict.map_err(|error| said(&error))?.is_granted();
        if warm > 0 {
            warm -= 1;
            continue;
        }
        *(if is_granted { &mut granted } else { &mut refused }) += 1;
        if granted + refused >= n {
            return Ok((granted, refused));
        }
    }
}
