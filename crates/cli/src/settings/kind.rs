//! What may stand in a setting, and how it is read: one strict grammar for files, variables and flags. Which settings there
//! are is said in `definitions`.

use tollgate_algorithms::Micros;
use tollgate_policy::quantity::{duration, size, spoken, whole};
use tollgate_policy::section::{PATH_CHARS_MAX, check_token};

use super::origin;
use super::secret_parts::is_pasted;
use super::value::Value;

/// The longest time. A longer one is refused as a slip.
const TIME_MAX: Micros = Micros::new(7 * Micros::DAY.get());
/// The longest name of a file. A longer one is refused.
pub(crate) const FILE_CHARS_MAX: usize = PATH_CHARS_MAX;

/// What may stand in a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// Bytes from the first to the second: `65536`, `64 KiB`.
    Bytes(u64, u64),
    /// A length of time that is not 0: `10s`.
    Time,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A word that may stand in a header.
    Token,
    /// The name of a file.
    File,
    /// The name of a file with a secret. By mistake it may be the secret itself, so it is not repeated.
    Secret,
    /// An address and a port to listen on: `127.0.0.1:8080`.
    Address,
    /// Where a server is: `http://host:port`.
    Origin,
    /// Where a shared store is: `redis://host:port`, with a password if it has one.
    Store,
    /// This word, or what follows.
    Or(&'static str, &'static Self),
    /// At least one of these and at most so many; one alone needs no brackets.
    List(&'static Self, usize),
}

impl Kind {
    /// What it is made of.
    const fn form(self) -> KindForm {
        match self {
            Self::Or(off, kind) => KindForm::Or(off, *kind),
            Self::List(item, most) => KindForm::List(*item, most),
            Self::Flag
            | Self::Whole(..)
            | Self::Bytes(..)
            | Self::Time
            | Self::Word(_)
            | Self::Token
            | Self::File
            | Self::Secret
            | Self::Address
            | Self::Origin
            | Self::Store => KindForm::One,
        }
    }

    /// The kind of one value: without the word for none, and without the list.
    pub(crate) const fn one(self) -> Self {
        match self.form() {
            KindForm::Or(_, kind) | KindForm::List(kind, _) => kind.one(),
            KindForm::One => self,
        }
    }

    /// If it is a list: the kind of what is in it, and how much of that there may be.
    pub(crate) const fn listed(self) -> Option<(Self, usize)> {
        match self.form() {
            KindForm::List(item, most) => Some((item, most)),
            KindForm::Or(_, kind) => kind.listed(),
            KindForm::One => None,
        }
    }

    /// The word for "not at all" or "by itself", if it has one.
    pub(crate) const fn off(self) -> Option<&'static str> {
        match self.form() {
            KindForm::Or(off, _) => Some(off),
            KindForm::List(..) | KindForm::One => None,
        }
    }
}

/// What a kind is made of: one value, or other kinds.
#[derive(Clone, Copy)]
enum KindForm {
    /// One value.
    One,
    /// This word, or the other kind.
    Or(&'static str, Kind),
    /// At most so many of the other kind.
    List(Kind, usize),
}

/// Reads a value. Why it is none goes on from the value, or begins with a capital and stands alone.
pub(crate) fn parse(kind: Kind, text: &str) -> Result<Value, String> {
    match kind {
        Kind::Flag => match text {
            "true" => Ok(Value::Flag(true)),
            "false" => Ok(Value::Flag(false)),
            _ => Err("is neither `true` nor `false`".into()),
        },
        Kind::Whole(least, most) => Ok(Value::Whole(within(whole(text)?, least, most, |n| n.to_string())?)),
        Kind::Bytes(least, most) => {
            let bytes = |bytes| Value::Bytes(bytes).to_string();
            Ok(Value::Bytes(within(size(text)?, least, most, bytes)?))
        }
        Kind::Time => match duration(text)? {
            Micros::ZERO => Err("is no time at all: nothing could be done in it".into()),
            time if time > TIME_MAX => Err(format!("is longer than {}", spoken(TIME_MAX))),
            time => Ok(Value::Time(time)),
        },
        Kind::Word(words) => word(words, text),
        Kind::Token => check_token(text).map(|()| Value::Text(text.into())),
        Kind::File | Kind::Secret => file(text),
        Kind::Address => origin::address(text).map(Value::Address),
        Kind::Origin => origin::origin(text).map(Value::Origin),
        Kind::Store => store(text),
        Kind::Or(off, _) if text == off => Ok(Value::Off(off)),
        Kind::Or(off, kind) => parse(*kind, text).map_err(|why| {
            // A word that was meant to switch it off.
            let meant =
                matches!(text, "off" | "no" | "never" | "unlimited" | "false" | "null" | "none" | "auto");
            if meant { format!("is not known here: write `{off}`") } else { why }
        }),
        Kind::List(item, _) => {
            let items: Result<_, _> = text.split(',').map(|text| parse(*item, text.trim())).collect();
            list(kind, items?)
        }
    }
}

/// A list of its items.
pub(crate) fn list(kind: Kind, items: Vec<Value>) -> Result<Value, String> {
    let Some((_, most)) = kind.listed() else {
        let mut items = items.into_iter();
        return match (items.next(), items.next()) {
            (Some(one), None) => Ok(one),
            _ => Err("is one value, and no list".into()),
        };
    };
    if items.is_empty() {
        return Err("names nothing: write at least one".into());
    }
    if items.len() > most {
        return Err(format!("has {} entries, and may have at most {most}", items.len()));
    }
    let mut rest = items.as_slice();
    while let Some((first, others)) = rest.split_first() {
        if others.contains(first) {
            return Err(format!("has `{first}` twice"));
        }
        rest = others;
    }
    Ok(Value::List(items))
}

fn within(number: u64, least: u64, most: u64, shown: impl Fn(u64) -> String) -> Result<u64, String> {
    if number < least {
        Err(format!("is too little: write at least {}", shown(least)))
    } else if number > most {
        Err(format!("is too much: write at most {}", shown(most)))
    } else {
        Ok(number)
    }
}

fn word(words: &'static [&'static str], text: &str) -> Result<Value, String> {
    // All of them, because there are few, and the nearest is not always the one that was meant.
    let found = words.iter().find(|word| **word == text);
    found
        .map(|word| Value::Word(word))
        .ok_or_else(|| format!("is not known here: write one of {}", words.join(", ")))
}

fn file(text: &str) -> Result<Value, String> {
    if text.is_empty() {
        return Err("is not the name of a file".into());
    }
    if is_pasted(text) || text.contains('\0') {
        // It may be a key: it is not repeated.
        return Err(format!(
            "This is not the name of a file: write the content into a file, and its name here, in one line of at most {FILE_CHARS_MAX} characters"
        ));
    }
    Ok(Value::Text(text.into()))
}

/// The schemes of a store's address: those that `tollgate_redis::Address` reads.
const STORE_SCHEMES: [&str; 13] = [
    "redis://",
    "rediss://",
    "valkey://",
    "valkeys://",
    "unix://",
    "redis+sentinel://",
    "rediss+sentinel://",
    "valkey+sentinel://",
    "valkeys+sentinel://",
    "redis+cluster://",
    "rediss+cluster://",
    "valkey+cluster://",
    "valkeys+cluster://",
];

/// Checks only the scheme, and that it is one line. Whoever connects reads the rest, which may hold a password that no message repeats.
fn store(text: &str) -> Result<Value, String> {
    let known = STORE_SCHEMES.iter().any(|scheme| text.starts_with(scheme));
    if !known {
        return Err("The address of a store begins with `redis://`, `rediss://`, `valkey://`, `valkeys://`, `unix://`, \
                    `redis+sentinel://` or `redis+cluster://`, or is `memory`"
            .into());
    }
    if text.chars().count() > FILE_CHARS_MAX || text.contains(char::is_control) {
        return Err(format!("The address of a store is one line of at most {FILE_CHARS_MAX} characters"));
    }
    Ok(Value::Store(text.into()))
}

#[cfg(test)]
mod tests;
