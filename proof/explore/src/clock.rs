//! A clock that says what it was made with, and a calendar that follows it. Not the ones that ship: an instant is an argument of
//! all that is explored.

use tollgate_algorithms::Micros;

#[derive(Debug)]
pub(crate) struct Clock(pub(crate) Micros);

impl Clock {
    pub(crate) fn now(&self) -> Micros {
        self.0
    }
}

#[derive(Debug, Default)]
pub(crate) struct Calendar;

impl Calendar {
    pub(crate) fn known(&self) -> i64 {
        0
    }

    pub(crate) fn ahead(&self, _clock: &Clock, _now: Micros) -> i64 {
        0
    }
}
