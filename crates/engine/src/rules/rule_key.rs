//! Builds keys of rules from an operator's input, to inspect and reset them.

use std::fmt;
use std::net::IpAddr;

use tollgate::{HitError, Key, KeyStatus, NamedLimit};
use tollgate_algorithms::Limit;
use tollgate_http::address::Client;

use super::Rules;
use crate::key::{KeyKind, push, push_address};
use crate::rule::Extraction;

/// A key of a rule as an operator names it: a client's address, the value of the rule's header, or what the rule's function
/// returns. A number or a tuple of [`from_fn`](crate::KeyExtractor::from_fn) becomes a [`Key`] first: `&Key::new(42)`.
///
/// Text is read as the rule says: as an address for [`KeyExtractor::address`](crate::KeyExtractor::address), as the header's
/// value for [`header`](crate::KeyExtractor::header), as the function's result for
/// [`from_fn`](crate::KeyExtractor::from_fn), and it is empty for [`everyone`](crate::KeyExtractor::everyone). An [`IpAddr`] is
/// always the address of a client, also of one that sent no header.
#[derive(Clone, Copy, Debug)]
pub struct RuleKey<'a> {
    value: Value<'a>,
    limit: Option<Limit>,
}

#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    Bytes(&'a [u8]),
    Address(IpAddr),
}

impl RuleKey<'_> {
    /// Reads the key under these numbers, for rules that [compute them](crate::Rule::limit_for). Default: the rule's own.
    #[must_use]
    pub const fn with_limit(self, limit: Limit) -> Self {
        Self { limit: Some(limit), ..self }
    }
}

impl<'a> From<&'a str> for RuleKey<'a> {
    fn from(text: &'a str) -> Self {
        Self { value: Value::Bytes(text.as_bytes()), limit: None }
    }
}

impl<'a> From<&'a String> for RuleKey<'a> {
    fn from(text: &'a String) -> Self {
        text.as_str().into()
    }
}

impl<'a> From<&'a [u8]> for RuleKey<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { value: Value::Bytes(bytes), limit: None }
    }
}

impl<'a> From<&'a Key> for RuleKey<'a> {
    fn from(key: &'a Key) -> Self {
        key.as_ref().into()
    }
}

impl From<IpAddr> for RuleKey<'_> {
    fn from(address: IpAddr) -> Self {
        Self { value: Value::Address(address), limit: None }
    }
}

/// Why a key of a rule cannot be inspected or reset.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RuleKeyError {
    /// The limits in force come from a policy document.
    NoRules,
    /// No rule has this name.
    UnknownRule {
        /// The name.
        rule: String,
        /// The names of the rules.
        known: Vec<String>,
    },
    /// The rule counts by address, and the key is not an address.
    NotAnAddress {
        /// The rule.
        rule: String,
        /// The key, as it may be shown.
        key: String,
    },
    /// The key is empty: a request without a key is counted by its address.
    Empty {
        /// The rule.
        rule: String,
    },
    /// The rule counts all clients together, so it has no key of this name.
    OneKey {
        /// The rule.
        rule: String,
    },
    /// The limiter rejects the key, or the shared store does not answer.
    Hit(HitError),
}

impl fmt::Display for RuleKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRules => f.write_str(
                "the limits in force come from a policy document: only keys of limits written in Rust can be named",
            ),
            Self::UnknownRule { rule, known } => {
                write!(f, "no rule is named `{rule}`; the rules are ")?;
                for (place, name) in known.iter().enumerate() {
                    write!(f, "{}`{name}`", if place > 0 { ", " } else { "" })?;
                }
                if known.is_empty() { f.write_str("none") } else { Ok(()) }
            }
            Self::NotAnAddress { rule, key } => {
                write!(f, "the rule `{rule}` counts by client address, and `{key}` is not an IP address")
            }
            Self::Empty { rule } => write!(
                f,
                "an empty key of the rule `{rule}` is counted by the client's address: give the address, as an `IpAddr`"
            ),
            Self::OneKey { rule } => {
                write!(
                    f,
                    "the rule `{rule}` counts all clients together: its only key is the empty one, `\"\"`"
                )
            }
            Self::Hit(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for RuleKeyError {}

impl From<HitError> for RuleKeyError {
    fn from(error: HitError) -> Self {
        Self::Hit(error)
    }
}

impl Rules {
    /// Reports the status of a key of the rule with this name, without charging it. The future is ready at once unless the rule
    /// is counted in a shared store.
    ///
    /// # Errors
    /// When no rule has this name, when the key cannot be a key of the rule, or when the shared store does not answer.
    pub async fn inspect<'a>(
        &self,
        rule: &str,
        key: impl Into<RuleKey<'a>>,
    ) -> Result<KeyStatus, RuleKeyError> {
        let (limit, key) = self.limit_and_key(rule, key.into())?;
        Ok(self.limiter.inspect(&limit, &key).await?)
    }

    /// Removes the state of a key of the rule with this name, as if it had never been charged. Returns whether there was a state.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect).
    pub async fn reset<'a>(&self, rule: &str, key: impl Into<RuleKey<'a>>) -> Result<bool, RuleKeyError> {
        let (limit, key) = self.limit_and_key(rule, key.into())?;
        Ok(self.limiter.reset(&limit, &key).await?)
    }

    /// The limit and the bytes of a key.
    fn limit_and_key(&self, rule: &str, key: RuleKey<'_>) -> Result<(NamedLimit, Vec<u8>), RuleKeyError> {
        let found = self.rules.iter().find(|registered| registered.rule.name == rule);
        let registered = found.ok_or_else(|| RuleKeyError::UnknownRule {
            rule: tollgate_http::text::shown(rule),
            known: self.rules.iter().map(|registered| registered.rule.name.clone()).collect(),
        })?;
        let limit = match key.limit {
            None => registered.limit.clone(),
            Some(numbers) => registered.rule.limit_on(&self.limiter, numbers),
        };
        let (mut bytes, rule) = (Vec::new(), || rule.to_owned());
        let address =
            |bytes: &mut Vec<u8>, address| push_address(bytes, &Client::of(address, &self.prefixes));
        match (&registered.rule.key.0, key.value) {
            (Extraction::Everyone, Value::Bytes(b"")) => push(&mut bytes, KeyKind::Everyone, b""),
            (Extraction::Everyone, _) => return Err(RuleKeyError::OneKey { rule: rule() }),
            (_, Value::Address(given)) => address(&mut bytes, given),
            (Extraction::Address, Value::Bytes(text)) => {
                let text = String::from_utf8_lossy(text);
                let parsed = text.parse().map_err(|_| RuleKeyError::NotAnAddress {
                    rule: rule(),
                    key: tollgate_http::text::shown(&text),
                })?;
                address(&mut bytes, parsed);
            }
            (Extraction::Header(_) | Extraction::Fn(_), Value::Bytes(b"")) => {
                return Err(RuleKeyError::Empty { rule: rule() });
            }
            (Extraction::Header(name), Value::Bytes(value)) => {
                push(&mut bytes, KeyKind::Header(name.as_str()), value);
            }
            (Extraction::Fn(_), Value::Bytes(value)) => push(&mut bytes, KeyKind::Consumer, value),
        }
        Ok((limit, bytes))
    }
}
