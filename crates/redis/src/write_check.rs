//! Whether a script's reply shows that it wrote something.
//!
//! A server that takes no writes answers a refusal, and whatever else writes nothing. One that has no memory left also deletes. So
//! only what was charged counts, and neither a refund nor a reset, which may have deleted a key and no more.

use crate::script::Driver;
use crate::state::number;
use crate::{Value, Writes};

impl Driver {
    /// What a call of it changes, given that it asks for so much all in all.
    pub(crate) const fn writes(self, asked: u64) -> Writes {
        match self {
            Self::Peek => Writes::Nothing,
            // What costs nothing is granted, and puts no key in.
            Self::Charge | Self::Few(_) | Self::Many if asked == 0 => Writes::Nothing,
            Self::Charge | Self::Few(_) => Writes::If(is_granted),
            Self::Batch => Writes::If(is_charged),
            Self::Verbs => Writes::If(is_taken),
            // Of several calls, each is told its own answer, by which that call is judged.
            Self::Many | Self::Reset => Writes::If(|_| false),
            Self::Exchange => Writes::If(crate::exchange::is_recorded),
            Self::Reserve => Writes::If(crate::reserve::is_reserved),
        }
    }
}

/// Whether it was granted, and what comes after that in the answer.
fn head(answer: &Value) -> Option<(bool, &[u8])> {
    let Value::BulkString(bytes) = answer else { return None };
    let mut rest = bytes.as_slice();
    let head = number::<7>(&mut rest)?;
    Some((head & 1 == 1, rest))
}

/// `charge.lua` and `few.lua`: all is charged, or nothing.
fn is_granted(answer: &Value) -> bool {
    head(answer).is_some_and(|(granted, _)| granted)
}

/// `verbs.lua`: how it was taken, and so much was charged.
fn is_taken(answer: &Value) -> bool {
    let taken = |(_, mut rest): (bool, &[u8])| {
        number::<1>(&mut rest)?;
        number::<7>(&mut rest)
    };
    head(answer).and_then(taken).is_some_and(|taken| taken > 0)
}

/// `batch.lua`: if it was granted, so much was charged to each key; shadow hits may not have fitted.
fn is_charged(answer: &Value) -> bool {
    let Some((true, mut rest)) = head(answer) else { return false };
    while let (Some(length), Some(charged)) = (number::<4>(&mut rest), number::<7>(&mut rest)) {
        if charged > 0 {
            return true;
        }
        let state = usize::try_from(length).unwrap_or(usize::MAX);
        rest = rest.get(state..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(numbers: &[(usize, u64)]) -> Value {
        let bytes = numbers.iter().flat_map(|(size, number)| number.to_be_bytes()[8 - size..].to_vec());
        Value::BulkString(bytes.collect())
    }

    fn wrote(driver: Driver, numbers: &[(usize, u64)]) -> bool {
        driver.writes(1).is_shown_by(&answer(numbers))
    }

    #[test]
    fn a_charge_wrote_if_it_was_granted_and_asked_for_something() {
        for driver in [Driver::Charge, Driver::Few(2)] {
            assert!(wrote(driver, &[(7, 15)]));
            assert!(!wrote(driver, &[(7, 14)]), "refused");
            assert!(!driver.writes(0).may_be(), "it costs nothing");
        }
        assert!(!Driver::Charge.writes(1).is_shown_by(&Value::Int(-1)), "a key that is not ours");
        assert!(!wrote(Driver::Charge, &[(4, 15)]), "cut short");
    }

    #[test]
    fn a_verb_wrote_if_it_took_something() {
        assert!(wrote(Driver::Verbs, &[(7, 15), (1, 0), (7, 1)]));
        assert!(!wrote(Driver::Verbs, &[(7, 14), (1, 0), (7, 0)]), "nothing fits");
        assert!(!wrote(Driver::Verbs, &[(7, 15), (1, 1), (7, 0)]), "a refund, which may have deleted a key");
    }

    #[test]
    fn a_batch_wrote_if_something_was_charged_to_any_key() {
        let keys = |head, charged: [u64; 2]| {
            let [one, other] = charged;
            wrote(Driver::Batch, &[(7, head), (4, 2), (7, one), (2, 0xffff), (4, 0), (7, other)])
        };
        assert!(keys(15, [0, 3]) && keys(15, [3, 0]));
        assert!(!keys(15, [0, 0]), "no shadow hit fitted");
        assert!(!keys(14, [3, 3]), "that much was asked for, and refused");
        assert!(!wrote(Driver::Batch, &[(7, 15)]), "no key");
    }

    #[test]
    fn nothing_is_known_by_a_peek_or_a_reset() {
        assert!(!Driver::Peek.writes(1).may_be());
        assert!(Driver::Reset.writes(0).may_be() && !wrote(Driver::Reset, &[(7, 15)]));
    }
}
