//! Limits in configuration files, as the text that people write: `"10 per second, burst 20"`. Feature `serde`.
//!
//! For a field of the type [`Limit`], name this module; anywhere else, as in a map or an option, use [`LimitText`]:
//!
//! ```
//! use std::collections::HashMap;
//! use serde::{Deserialize, Serialize};
//! use tollgate::Limit;
//! use tollgate::serde::LimitText;
//!
//! #[derive(Serialize, Deserialize)]
//! struct Config {
//!     #[serde(with = "tollgate::serde")]
//!     logins: Limit,
//!     tenants: HashMap<String, LimitText>,
//! }
//!
//! let text = r#"{"logins": "6 per minute, burst 5", "tenants": {"acme": "sliding_window_log: 100 per 5 minutes"}}"#;
//! let config: Config = serde_json::from_str(text)?;
//! assert_eq!(config.logins, Limit::per_minute(6).burst(5)?);
//! assert_eq!(config.tenants["acme"].0.capacity(), 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use ::serde::de::{Error, Visitor};
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};
use tollgate_algorithms::Limit;

/// A [`Limit`] that serde reads and writes as text: see the [module](self).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LimitText(pub Limit);

impl From<Limit> for LimitText {
    fn from(limit: Limit) -> Self {
        Self(limit)
    }
}

impl From<LimitText> for Limit {
    fn from(text: LimitText) -> Self {
        text.0
    }
}

/// Writes a limit as text, such as `token_bucket: 10 per second, burst 20`.
///
/// # Errors
/// When the serializer fails.
pub fn serialize<S: Serializer>(limit: &Limit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(limit)
}

/// Reads a limit from text, such as `10 per second, burst 20`.
///
/// # Errors
/// When it is not text, or not that of a limit; the message says what was expected, and where in the text.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Limit, D::Error> {
    deserializer.deserialize_str(Text)
}

impl Serialize for LimitText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for LimitText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Self)
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = Limit;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a limit as text, such as `10 per second, burst 20`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Limit, E> {
        text.parse().map_err(|error| E::custom(format_args!("`{text}` is not a limit: {error}")))
    }
}
