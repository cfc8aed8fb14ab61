//! The value of a setting: parsed, and formatted so that a file can contain it.

use std::fmt;
use std::net::SocketAddr;

use tollgate_algorithms::Micros;

use super::origin::Origin;
use super::secret_parts::shown;

/// A value of a setting.
///
/// It is displayed as YAML has it: what [`Setting::parse`](super::Setting::parse) reads, in quotes where it has to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A number.
    Whole(u64),
    /// A size in bytes.
    Bytes(u64),
    /// A length of time.
    Time(Micros),
    /// One of a few words.
    Word(&'static str),
    /// A name or a file.
    Text(String),
    /// Where to listen.
    Address(SocketAddr),
    /// Where a server is.
    Origin(Origin),
    /// Where a shared store is. Its password is not displayed.
    Store(String),
    /// The word for "not at all" or "by itself".
    Off(&'static str),
    /// Several, at least one.
    List(Vec<Self>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Bytes(bytes) => {
                in_units(f, *bytes, &[(1 << 30, " GiB"), (1 << 20, " MiB"), (1 << 10, " KiB")], "")
            }
            Self::Time(time) => {
                let units = [(Micros::HOUR, "h"), (Micros::MINUTE, "m"), (Micros::SECOND, "s")];
                let units = units.map(|(unit, word)| (unit.get(), word));
                if time.get().is_multiple_of(Micros::SECOND.get()) {
                    in_units(f, time.get(), &units, "us")
                } else {
                    in_units(f, time.get(), &[(Micros::MILLISECOND.get(), "ms")], "us")
                }
            }
            Self::Word(word) | Self::Off(word) => f.write_str(word),
            Self::Text(text) => quoted(f, text),
            Self::Address(address) => quoted(f, &address.to_string()),
            Self::Origin(origin) => quoted(f, &origin.to_string()),
            Self::Store(text) => quoted(f, &shown(text)),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
        }
    }
}

/// In the largest unit of which it is a whole number.
fn in_units(f: &mut fmt::Formatter<'_>, number: u64, units: &[(u64, &str)], least: &str) -> fmt::Result {
    let fits = |(unit, _): &&(u64, &str)| number > 0 && number.is_multiple_of(*unit);
    match units.iter().find(fits) {
        Some((unit, word)) => write!(f, "{}{word}", number.checked_div(*unit).unwrap_or(0)),
        None => write!(f, "{number}{least}"),
    }
}

/// A text, in quotes if YAML would read it as something else.
fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:-".contains(&byte);
    let starts = text.starts_with(|first: char| first.is_ascii_alphanumeric() || matches!(first, '/' | '.'));
    let word = matches!(text, "null" | "Null" | "NULL");
    if starts && !word && !text.ends_with(':') && text.bytes().all(plain) {
        return f.write_str(text);
    }
    if text.contains(char::is_control) {
        // Only this kind of quotes knows escapes.
        f.write_str("\"")?;
        for char in text.chars() {
            match char {
                '"' | '\\' => write!(f, "\\{char}")?,
                char if char.is_control() => write!(f, "\\u{:04x}", u32::from(char))?,
                char => write!(f, "{char}")?,
            }
        }
        return f.write_str("\"");
    }
    write!(f, "'{}'", text.replace('\'', "''"))
}

#[test]
fn a_password_is_not_displayed() {
    for (text, shown) in [
        ("redis://127.0.0.1:6379/2", "redis://127.0.0.1:6379/2"),
        ("redis://:secret@host", "'redis://:***@host'"),
        ("rediss://ada:se:cr@et@host:1", "'rediss://ada:***@host:1'"),
        ("redis://:secret@host?db=2", "'redis://:***@host?***'"),
        ("redis://:se?cret@host", "'redis://:***@host'"),
        ("unix:///run/redis.sock?pass=x", "'unix:///run/redis.sock?***'"),
    ] {
        assert_eq!(Value::Store(text.into()).to_string(), shown);
    }
}
