//! Access to one field of the settings, to set it and to print it. `table` lists the fields.

use std::net::SocketAddr;
use std::time::Duration;

use tollgate_algorithms::Micros;
use tollgate_policy::numbers::MethodName;
use tollgate_tower::{HeaderFormats, ResetFormat};

use super::origin::Origin;
use super::value::Value;
use super::{Protocol, Readiness, StoreFails};

/// A place for a value, by what it holds.
#[derive(Debug)]
pub(super) enum FieldSlot<'d> {
    Text(&'d mut String),
    MaybeText(&'d mut Option<String>),
    Origin(&'d mut Option<Origin>),
    Store(&'d mut Option<String>),
    Addresses(&'d mut Vec<SocketAddr>),
    MaybeAddress(&'d mut Option<SocketAddr>),
    Flag(&'d mut bool),
    /// Whether the log is JSON.
    Format(&'d mut bool),
    Count(&'d mut usize),
    MaybeCount(&'d mut Option<usize>),
    ShortCount(&'d mut u32),
    Bytes(&'d mut usize),
    MaybeBytes(&'d mut Option<u64>),
    Time(&'d mut Duration),
    MaybeTime(&'d mut Option<Duration>),
    /// A time of which 0 is none.
    Jitter(&'d mut Micros),
    Fields(&'d mut HeaderFormats),
    Reset(&'d mut ResetFormat),
    Protocol(&'d mut Protocol),
    Method(&'d mut Option<MethodName>),
    Readiness(&'d mut Readiness),
    Texts(&'d mut Vec<String>),
    StoreFails(&'d mut StoreFails),
}

impl FieldSlot<'_> {
    /// Puts a value there.
    ///
    /// # Errors
    /// When the number is larger than this machine counts; or the value is of another kind, which a test excludes.
    pub(super) fn put(self, value: Value) -> Result<(), String> {
        let small =
            |number: u64| usize::try_from(number).map_err(|_| "is more than is counted here".to_owned());
        match (self, value) {
            (Self::Text(slot), Value::Text(text)) => *slot = text,
            (Self::MaybeText(slot), Value::Text(text)) => *slot = Some(text),
            (Self::MaybeText(slot), Value::Off(_)) => *slot = None,
            (Self::Origin(slot), Value::Origin(origin)) => *slot = Some(origin),
            (Self::Store(slot), Value::Store(text)) => *slot = Some(text),
            (Self::Store(slot), Value::Off(_)) => *slot = None,
            (Self::Addresses(slot), Value::Address(address)) => *slot = vec![address],
            (Self::Addresses(slot), Value::List(items)) => *slot = addresses(&items)?,
            (Self::MaybeAddress(slot), Value::Address(address)) => *slot = Some(address),
            (Self::MaybeAddress(slot), Value::Off(_)) => *slot = None,
            (Self::Flag(slot), Value::Flag(flag)) => *slot = flag,
            (Self::Format(slot), Value::Word(word)) => *slot = word == "json",
            (Self::Count(slot), Value::Whole(number)) | (Self::Bytes(slot), Value::Bytes(number)) => {
                *slot = small(number)?;
            }
            (Self::MaybeCount(slot), Value::Whole(number)) => *slot = Some(small(number)?),
            (Self::MaybeCount(slot), Value::Off(_)) => *slot = None,
            (Self::ShortCount(slot), Value::Whole(number)) => {
                *slot = u32::try_from(number).map_err(|_| "is more than is counted here")?;
            }
            (Self::MaybeBytes(slot), Value::Bytes(number)) => *slot = Some(number),
            (Self::MaybeBytes(slot), Value::Off(_)) => *slot = None,
            (Self::Time(slot), Value::Time(time)) => *slot = time.into(),
            (Self::MaybeTime(slot), Value::Time(time)) => *slot = Some(time.into()),
            (Self::MaybeTime(slot), Value::Off(_)) => *slot = None,
            (Self::Jitter(slot), Value::Time(time)) => *slot = time,
            (Self::Jitter(slot), Value::Off(_)) => *slot = Micros::ZERO,
            (Self::Fields(slot), value) => *slot = generations(&value),
            (Self::Reset(slot), Value::Word(word)) => {
                *slot = if word == "delta" { ResetFormat::Delta } else { ResetFormat::Epoch };
            }
            (Self::Protocol(slot), Value::Word(word)) => {
                *slot = if word == "http1" { Protocol::Http1 } else { Protocol::Auto };
            }
            (Self::Method(slot), Value::Word(word)) => {
                *slot = MethodName::ALL.into_iter().find(|method| method.name() == word);
            }
            (Self::Method(slot), Value::Off(_)) => *slot = None,
            (Self::Readiness(slot), value) => *slot = readiness(&value),
            (Self::Texts(slot), Value::Text(text)) => *slot = vec![text],
            (Self::Texts(slot), Value::Off(_)) => slot.clear(),
            (Self::Texts(slot), Value::List(items)) => *slot = texts(items),
            (Self::StoreFails(slot), Value::Word(word)) => {
                *slot = match word {
                    "allow" => StoreFails::Allow,
                    "deny" => StoreFails::Deny,
                    _ => StoreFails::Local,
                };
            }
            (_, value) => return Err(format!("is no value of its kind: {value}")),
        }
        Ok(())
    }

    /// What is there; nothing if it is switched off or not given.
    pub(super) fn get(self) -> Option<Value> {
        let long = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let time = |time: Duration| Value::Time(Micros::from_duration(time));
        match self {
            Self::Text(slot) => Some(Value::Text(slot.clone())),
            Self::MaybeText(slot) => slot.clone().map(Value::Text),
            Self::Origin(slot) => slot.clone().map(Value::Origin),
            Self::Store(slot) => slot.clone().map(Value::Store),
            Self::Addresses(slot) => Some(Value::List(slot.iter().copied().map(Value::Address).collect())),
            Self::MaybeAddress(slot) => slot.map(Value::Address),
            Self::Flag(slot) => Some(Value::Flag(*slot)),
            Self::Format(slot) => Some(Value::Word(if *slot { "json" } else { "text" })),
            Self::Count(slot) => Some(Value::Whole(long(*slot))),
            Self::MaybeCount(slot) => slot.map(|count| Value::Whole(long(count))),
            Self::ShortCount(slot) => Some(Value::Whole(u64::from(*slot))),
            Self::Bytes(slot) => Some(Value::Bytes(long(*slot))),
            Self::MaybeBytes(slot) => slot.map(Value::Bytes),
            Self::Time(slot) => Some(time(*slot)),
            Self::MaybeTime(slot) => slot.map(time),
            Self::Jitter(slot) => (*slot != Micros::ZERO).then_some(Value::Time(*slot)),
            Self::Fields(slot) => {
                words(&[(slot.draft, "draft"), (slot.x_ratelimit, "x_ratelimit"), (slot.triple, "triple")])
            }
            Self::Reset(slot) => Some(Value::Word(match slot {
                ResetFormat::Epoch => "epoch",
                ResetFormat::Delta => "delta",
            })),
            Self::Protocol(slot) => Some(Value::Word(match slot {
                // The scheme says the third, and not this setting.
                Protocol::Auto | Protocol::Http2 => "auto",
                Protocol::Http1 => "http1",
            })),
            Self::Method(slot) => slot.map(|method| Value::Word(method.name())),
            Self::Texts(slot) => {
                let texts: Vec<_> = slot.iter().cloned().map(Value::Text).collect();
                (!texts.is_empty()).then_some(Value::List(texts))
            }
            Self::StoreFails(slot) => Some(Value::Word(match slot {
                StoreFails::Allow => "allow",
                StoreFails::Deny => "deny",
                StoreFails::Local => "local",
            })),
            Self::Readiness(slot) => {
                words(&[(slot.policy, "policy"), (slot.store, "store"), (slot.upstream, "upstream")])
            }
        }
    }
}

fn texts(items: Vec<Value>) -> Vec<String> {
    items
        .into_iter()
        .filter_map(|item| if let Value::Text(text) = item { Some(text) } else { None })
        .collect()
}

fn addresses(items: &[Value]) -> Result<Vec<SocketAddr>, String> {
    let address = |item: &Value| if let Value::Address(address) = item { Some(*address) } else { None };
    items.iter().map(|item| address(item).ok_or_else(|| "is no address".to_owned())).collect()
}

/// The generations that are named by words; none by the word for that.
fn generations(value: &Value) -> HeaderFormats {
    HeaderFormats {
        draft: names(value, "draft"),
        x_ratelimit: names(value, "x_ratelimit"),
        triple: names(value, "triple"),
    }
}

/// The checks that are named by words; none by the word for that.
fn readiness(value: &Value) -> Readiness {
    Readiness {
        policy: names(value, "policy"),
        store: names(value, "store"),
        upstream: names(value, "upstream"),
    }
}

/// Whether a list, or one word in place of one, names this word.
fn names(value: &Value, word: &'static str) -> bool {
    let items = if let Value::List(items) = value { items.as_slice() } else { std::slice::from_ref(value) };
    items.contains(&Value::Word(word))
}

/// A list of the words that are meant; nothing if none is.
fn words(all: &[(bool, &'static str)]) -> Option<Value> {
    let words: Vec<_> = all.iter().filter(|(meant, _)| *meant).map(|(_, word)| Value::Word(word)).collect();
    (!words.is_empty()).then_some(Value::List(words))
}
