//! The calls about shared permits, `exchange.lua`, as data: what is sent, what comes back, and what the store keeps.

use smallvec::SmallVec;
use tollgate_algorithms::Micros;
use tollgate_algorithms::permits::{Exchanged, Ledger, Record, Request, Result as Outcome};

use crate::call::Argument;
use crate::script::{Clock, Driver, KindSet, script};
use crate::state::{number, numbered};
use crate::{Call, KeyName, StateKind, StoreError, Value};

/// The most keys of one call. More go in several.
pub const EXCHANGES_MAX: usize = 128;

/// What a process asks about the permits of some keys, at most [`EXCHANGES_MAX`], in one call.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The key that says since when there are data.
    pub marker: KeyName,
    /// The process.
    pub id: u128,
    /// How long its records last.
    pub lease: Micros,
    /// A request for each key: of this process, with this lease.
    pub asks: Vec<(KeyName, Request)>,
}

/// The answer to an [`Exchange`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExchangeReply {
    /// The instant at which it was decided, by the server's clock.
    pub now: Micros,
    /// Whether data may have been lost within the last lease, so that nothing new is granted.
    pub is_recovering: bool,
    /// One for each key, in order.
    pub answers: Vec<Exchanged>,
}

impl Exchange {
    /// The call that asks it, at the server's time.
    #[must_use]
    pub fn call(&self) -> Call {
        self.call_by(Clock::Server)
    }

    /// The call that asks it at an instant that the caller says: for tests.
    #[cfg(feature = "given-time")]
    #[doc(hidden)]
    #[must_use]
    pub fn call_at(&self, now: Micros) -> Call {
        let mut call = self.call_by(Clock::Given);
        let mut argument = Argument::new();
        numbered(&mut argument, now.get().min(Micros::INSTANT_MAX.get()));
        call.arguments.push(argument);
        call
    }

    fn call_by(&self, clock: Clock) -> Call {
        let mut argument = Argument::new();
        argument.extend_from_slice(&self.id.to_be_bytes());
        numbered(&mut argument, self.lease.get());
        for (_, request) in &self.asks {
            short(&mut argument, request.seq, 6);
            for number in [request.keep, request.want, request.limit] {
                short(&mut argument, number.into(), 3);
            }
        }
        let names = self.asks.iter().map(|(name, _)| *name);
        Call {
            script: script(Driver::Exchange, KindSet::default(), clock),
            names: std::iter::once(self.marker).chain(names).collect(),
            arguments: SmallVec::from_iter([argument]),
            writes: Driver::Exchange.writes(1),
        }
    }

    /// Reads what the server answered.
    ///
    /// # Errors
    /// If a key holds something that is not ours, or the answer is none of the script: then nobody knows what was recorded.
    pub fn read(&self, value: &Value) -> Result<ExchangeReply, StoreError> {
        let names: Vec<_> = std::iter::once(self.marker).chain(self.asks.iter().map(|ask| ask.0)).collect();
        if let Some(error) = foreign(value, &names) {
            return Err(error);
        }
        let bytes = value.as_bytes().unwrap_or_default();
        self.parse(bytes).ok_or_else(|| StoreError::Disagrees(format!("{value:?} is not about permits")))
    }

    fn parse(&self, mut bytes: &[u8]) -> Option<ExchangeReply> {
        let now = Micros::new(number::<7>(&mut bytes)?);
        let is_recovering = number::<1>(&mut bytes)? == 1;
        let answers: Option<Vec<_>> = self.asks.iter().map(|_| answer(&mut bytes)).collect();
        answers.filter(|_| bytes.is_empty()).map(|answers| ExchangeReply { now, is_recovering, answers })
    }
}

/// The error if a key holds something that is not ours: its place, from -1 downwards.
pub(crate) fn foreign(value: &Value, names: &[KeyName]) -> Option<StoreError> {
    let place = value.as_int()?.checked_neg()?.checked_sub(1)?;
    let name = usize::try_from(place).ok().and_then(|place| names.get(place));
    Some(match name {
        Some(name) => StoreError::Foreign(format!(
            "`{name}` was not written by this version of Tollgate. If nothing else uses that name, delete it; if something \
             does, give Tollgate a database of its own"
        )),
        None => StoreError::Disagrees(format!("there is no key {place}")),
    })
}

fn answer(bytes: &mut &[u8]) -> Option<Exchanged> {
    let result = match number::<1>(bytes)? {
        0 => Outcome::Recorded,
        1 => Outcome::Gone,
        2 => Outcome::Stale,
        3 => Outcome::Full,
        _ => return None,
    };
    Some(Exchanged {
        result,
        level: narrow(number::<3>(bytes)?),
        fence: number::<7>(bytes)?,
        contenders: narrow(number::<2>(bytes)?),
        is_short: number::<1>(bytes)? == 1,
        others: number::<5>(bytes)?,
    })
}

/// Whether an answer shows that something was written: some level that is not 0 was recorded.
pub(crate) fn is_recorded(value: &Value) -> bool {
    let Some(mut bytes) = value.as_bytes().and_then(|bytes| bytes.get(8..)) else { return false };
    while let Some(answer) = answer(&mut bytes) {
        if answer.result == Outcome::Recorded && answer.level > 0 {
            return true;
        }
    }
    false
}

/// What stands under the key of a ledger. `None` for one without records, which has no key.
#[must_use]
pub fn ledger_value(ledger: &Ledger) -> Option<Vec<u8>> {
    let mut bytes = Argument::new();
    bytes.push(StateKind::Permits.tag());
    numbered(&mut bytes, ledger.fence);
    for record in &ledger.records {
        bytes.extend_from_slice(&record.id.to_be_bytes());
        short(&mut bytes, record.seq, 6);
        short(&mut bytes, record.level.into(), 3);
        short(&mut bytes, record.want.into(), 3);
        numbered(&mut bytes, record.until.get());
    }
    (!ledger.records.is_empty()).then(|| bytes.into_vec())
}

/// Reads what stands under the key of a ledger. `None` if it is none.
#[must_use]
pub fn ledger_of(bytes: &[u8]) -> Option<Ledger> {
    let (first, mut rest) = bytes.split_first()?;
    let fence = number::<7>(&mut rest)?;
    let mut records = Vec::new();
    while !rest.is_empty() {
        let (id, after) = rest.split_first_chunk::<16>()?;
        rest = after;
        records.push(Record {
            id: u128::from_be_bytes(*id),
            seq: number::<6>(&mut rest)?,
            level: narrow(number::<3>(&mut rest)?),
            want: narrow(number::<3>(&mut rest)?),
            until: Micros::new(number::<7>(&mut rest)?),
        });
    }
    (*first == StateKind::Permits.tag()).then_some(Ledger { fence, records })
}

/// A number in its last few bytes.
fn short(argument: &mut Argument, number: u64, bytes: usize) {
    let all = number.to_be_bytes();
    argument.extend_from_slice(all.get(all.len().saturating_sub(bytes)..).unwrap_or_default());
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
