//! The calls about shared queues, `reserve.lua`, as data: what is sent, what comes back, and what the store keeps.

use smallvec::SmallVec;
use tollgate_algorithms::slots::{Reserved, Slot, Slots};
use tollgate_algorithms::{Micros, Quota};

use crate::call::Argument;
use crate::exchange::foreign;
use crate::script::{Clock, Driver, KindSet, script};
use crate::state::{number, numbered};
use crate::{Call, KeyName, StateKind, StoreError, Value};

/// What is asked about the schedule of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotAsk {
    /// The next slot, if it is within this time.
    Reserve(Option<Micros>),
    /// A slot is given back.
    GiveBack(Slot),
}

/// The answer to a [`SlotAsk`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotReply {
    /// To a reservation: when it was decided, by the server's clock, and what came of it.
    Reserved(Micros, Reserved),
    /// To a slot given back: whether it was the last one, so that somebody else can have it.
    GivenBack(bool),
}

impl SlotAsk {
    /// The call that asks it, at the server's time.
    #[must_use]
    pub fn call(&self, name: KeyName, quota: &Quota) -> Call {
        self.call_by(name, quota, Clock::Server)
    }

    /// The call that asks it at an instant that the caller says: for tests.
    #[cfg(feature = "given-time")]
    #[doc(hidden)]
    #[must_use]
    pub fn call_at(&self, name: KeyName, quota: &Quota, now: Micros) -> Call {
        let mut call = self.call_by(name, quota, Clock::Given);
        let mut argument = Argument::new();
        numbered(&mut argument, now.get().min(Micros::INSTANT_MAX.get()));
        call.arguments.push(argument);
        call
    }

    fn call_by(&self, name: KeyName, quota: &Quota, clock: Clock) -> Call {
        let (verb, most, slot) = match self {
            Self::Reserve(most) => (0, most.unwrap_or(Micros::INSTANT_MAX), Slot::default()),
            Self::GiveBack(slot) => (1, Micros::ZERO, *slot),
        };
        // A slot of other numbers is given back by a call that no schedule agrees with.
        let at = if verb == 1 && slot.count != quota.count() { Micros::INSTANT_MAX } else { slot.at };
        let mut argument = Argument::new();
        argument.push(verb);
        let most = most.min(Micros::INSTANT_MAX);
        for part in [quota.burst(), quota.count(), quota.period(), most.get(), at.get(), slot.fraction] {
            numbered(&mut argument, part);
        }
        Call {
            script: script(Driver::Reserve, KindSet::default(), clock),
            names: SmallVec::from_iter([name]),
            arguments: SmallVec::from_iter([argument]),
            writes: Driver::Reserve.writes(u64::from(verb == 0)),
        }
    }

    /// Reads what the server answered.
    ///
    /// # Errors
    /// If the key holds something that is not ours, or the answer is none of the script.
    pub fn read(&self, name: KeyName, quota: &Quota, value: &Value) -> Result<SlotReply, StoreError> {
        if let Some(error) = foreign(value, &[name]) {
            return Err(error);
        }
        let parsed = self.parse(quota, value.as_bytes().unwrap_or_default());
        parsed.ok_or_else(|| StoreError::Disagrees(format!("{value:?} is not about a queue")))
    }

    fn parse(&self, quota: &Quota, mut bytes: &[u8]) -> Option<SlotReply> {
        let now = Micros::new(number::<7>(&mut bytes)?);
        let what = number::<1>(&mut bytes)?;
        if matches!(self, Self::GiveBack(_)) {
            return Some(SlotReply::GivenBack(what == 1));
        }
        let micros = Micros::new(number::<7>(&mut bytes)?);
        let reserved = match what {
            0 => {
                Reserved::Slot(Slot { at: micros, fraction: number::<7>(&mut bytes)?, count: quota.count() })
            }
            1 => Reserved::Full(micros),
            2 => Reserved::TooLong(micros),
            _ => return None,
        };
        Some(SlotReply::Reserved(now, reserved))
    }
}

/// Whether an answer shows that something was written: a slot was reserved.
pub(crate) fn is_reserved(value: &Value) -> bool {
    value.as_bytes().is_some_and(|bytes| bytes.len() == 22 && bytes.get(7) == Some(&0))
}

/// What stands under the key of a schedule.
#[must_use]
pub fn slots_value(slots: &Slots) -> Vec<u8> {
    let mut bytes = Argument::new();
    bytes.push(StateKind::Queue.tag());
    for part in [slots.at.get(), slots.fraction, slots.count] {
        numbered(&mut bytes, part);
    }
    bytes.into_vec()
}
