//! A part of a key as people see it: escaped, shortened, and without its secrets. It is not for machines: nothing reads it.

use std::fmt::{self, Display, Formatter, Write};

use sha2::{Digest, Sha256};

use tollgate_http::address::Client;

use super::{Kind, Part, Value};

/// The most characters of a value or a name that are shown. What follows is shown as `…`.
pub(super) const SHOWN_CHARS_MAX: usize = 64;

impl Display for Part<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (word, name, secret) = word(self.kind);
        f.write_str(word)?;
        if let Some(name) = name {
            f.write_str(" \"")?;
            show_text(f, name.as_bytes())?;
            f.write_char('"')?;
        }
        match self.value {
            Value::Sha256(hash) => show_hash(f, hash),
            Value::Clear(value) if secret => show_hash(f, &Sha256::digest(value)),
            Value::Clear([]) => Ok(()),
            Value::Clear(value) => {
                f.write_char(' ')?;
                if matches!(self.kind, Kind::Address | Kind::AddressWide) {
                    show_address(f, value)
                } else {
                    show_text(f, value)
                }
            }
        }
    }
}

/// As [`Display`], so that no log of a part says more than it should.
impl fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// Without the value: it may be a secret, and only its part knows.
impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clear(value) => write!(f, "Clear({} bytes)", value.len()),
            Self::Sha256(_) => f.write_str("Sha256"),
        }
    }
}

/// The word for a kind, its name, and whether its values may be secrets.
const fn word(kind: Kind<'_>) -> (&'static str, Option<&str>, bool) {
    match kind {
        Kind::ApiKey => ("api-key", None, true),
        Kind::Address => ("address", None, false),
        Kind::AddressWide => ("wide address", None, false),
        Kind::Header(name) => ("header", Some(name), true),
        Kind::Cookie(name) => ("cookie", Some(name), true),
        // `?api_key=…` is no rarity.
        Kind::Query(name) => ("query", Some(name), true),
        Kind::Body(name) => ("body", Some(name), true),
        Kind::JwtClaim(name) => ("claim", Some(name), false),
        Kind::JwtClaimUnverified(name) => ("unverified claim", Some(name), true),
        Kind::Consumer => ("consumer", None, false),
        Kind::Organisation => ("organisation", None, false),
        Kind::Operation => ("operation", None, false),
        Kind::Limit => ("limit", None, false),
        Kind::Anonymous => ("anonymous", None, false),
        Kind::Everyone => ("everyone", None, false),
    }
}

fn show_hash(f: &mut Formatter<'_>, hash: &[u8]) -> fmt::Result {
    f.write_str(" #")?;
    hash.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))
}

fn show_address(f: &mut Formatter<'_>, value: &[u8]) -> fmt::Result {
    match Client::from_key_bytes(value) {
        Some(client) => client.fmt(f),
        None => show_text(f, value),
    }
}

fn show_text(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    let mut room = SHOWN_CHARS_MAX;
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            if room == 0 {
                return f.write_char('…');
            }
            room -= 1;
            write!(f, "{}", char.escape_debug())?;
        }
        for byte in chunk.invalid() {
            if room == 0 {
                return f.write_char('…');
            }
            room -= 1;
            write!(f, "\\x{byte:02x}")?;
        }
    }
    Ok(())
}
