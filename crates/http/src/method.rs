//! The method of a request, as a validated token. It maps nothing: HEAD stays HEAD.

use std::fmt;

/// Maximum length of a method. The longest registered one has 17 letters.
pub const METHOD_MAX: usize = 32;

/// Validates a method. Methods are case-sensitive, and all registered ones are upper case. `get` is rejected, because
/// servers disagree on whether it means `GET`. Unknown methods are valid.
///
/// ```
/// use tollgate_http::method::{MethodError, check};
/// assert_eq!(check(b"PROPFIND"), Ok("PROPFIND"));
/// assert_eq!(check(b"get"), Err(MethodError::LowerCase));
/// ```
///
/// # Errors
///
/// If it is empty, too long, not a token (RFC 9110), or has a lower-case letter.
pub fn check(raw: &[u8]) -> Result<&str, MethodError> {
    if raw.is_empty() {
        return Err(MethodError::Empty);
    }
    if raw.len() > METHOD_MAX {
        return Err(MethodError::TooLong(raw.len()));
    }
    if let Some(bad) = raw.iter().find(|byte| !is_token(**byte)) {
        return Err(MethodError::BadCharacter(*bad));
    }
    if raw.iter().any(u8::is_ascii_lowercase) {
        return Err(MethodError::LowerCase);
    }
    str::from_utf8(raw).map_err(|_| MethodError::BadCharacter(0x80))
}

/// Like [`check`] for text, with a fast path for a few upper-case letters.
#[inline]
pub fn check_text(method: &str) -> Result<&str, MethodError> {
    let plain =
        (1..=METHOD_MAX).contains(&method.len()) && method.bytes().all(|byte| byte.is_ascii_uppercase());
    if plain { Ok(method) } else { check(method.as_bytes()) }
}

/// Returns true if a byte is valid in a token (RFC 9110, 5.6.2).
#[must_use]
pub fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Why a method is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MethodError {
    /// It is empty.
    Empty,
    /// It has this many bytes, more than [`METHOD_MAX`].
    TooLong(usize),
    /// It has a byte that is not valid in a token.
    BadCharacter(u8),
    /// It has a lower-case letter.
    LowerCase,
}

impl fmt::Display for MethodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the method is empty: send one such as GET"),
            Self::TooLong(length) => {
                write!(f, "a method of {length} characters is too long: send at most {METHOD_MAX}")
            }
            Self::BadCharacter(byte) => {
                write!(f, "the method has the invalid byte 0x{byte:02x}: send one such as GET")
            }
            Self::LowerCase => f.write_str("methods are upper case: send GET, not get"),
        }
    }
}

impl std::error::Error for MethodError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_upper_case_tokens() {
        let (longest, longer) = ("A".repeat(METHOD_MAX), "A".repeat(METHOD_MAX + 1));
        let table: &[(&str, Result<&str, MethodError>)] = &[
            ("GET", Ok("GET")),
            ("BASELINE-CONTROL", Ok("BASELINE-CONTROL")),
            ("X_1!", Ok("X_1!")),
            (&longest, Ok(&longest)),
            (&longer, Err(MethodError::TooLong(METHOD_MAX + 1))),
            ("", Err(MethodError::Empty)),
            ("get", Err(MethodError::LowerCase)),
            ("Get", Err(MethodError::LowerCase)),
            ("foo", Err(MethodError::LowerCase)),
            (" GET", Err(MethodError::BadCharacter(b' '))),
            ("GET\r", Err(MethodError::BadCharacter(b'\r'))),
            ("GE\u{302}T", Err(MethodError::BadCharacter(0xcc))),
            ("G(T", Err(MethodError::BadCharacter(b'('))),
        ];
        for (raw, expected) in table {
            assert_eq!(check(raw.as_bytes()), *expected, "{raw:?}");
            assert_eq!(check_text(raw), *expected, "{raw:?}");
        }
    }

    #[test]
    fn errors_of_methods_say_what_to_send() {
        assert_eq!(MethodError::LowerCase.to_string(), "methods are upper case: send GET, not get");
        assert_eq!(
            MethodError::TooLong(40).to_string(),
            "a method of 40 characters is too long: send at most 32"
        );
        assert!(MethodError::BadCharacter(b'\n').to_string().contains("0x0a"));
        assert!(MethodError::Empty.to_string().contains("send one such as GET"));
    }
}
