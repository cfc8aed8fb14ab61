//! Percent escapes: decoding, and their normal form.

use super::PathError;

/// An escape, or the sequence of escapes of one character.
#[derive(Debug)]
pub struct Escape {
    /// The decoded character.
    pub value: char,
    /// The length in bytes of the path.
    pub bytes: usize,
    /// Whether the normal form differs: decoded, or with upper-case hex digits.
    pub changes: bool,
}

/// Returns true if a character means the same whether escaped or not. So does the dot, but an escaped dot is rejected.
const fn unreserved(value: char) -> bool {
    value.is_ascii_alphanumeric() || matches!(value, '-' | '_' | '~')
}

/// Parses the escape at a percent sign.
pub fn escape(bytes: &[u8], at: usize) -> Result<Escape, PathError> {
    let first = pair(bytes, at).ok_or(PathError::BadEscape { at })?;
    let length = match first {
        0..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return Err(PathError::NotUtf8 { at }),
    };
    let mut decoded = [first, 0, 0, 0];
    for (i, byte) in decoded.iter_mut().enumerate().take(length).skip(1) {
        *byte = pair(bytes, at + 3 * i).ok_or(PathError::NotUtf8 { at })?;
    }
    let text = decoded.get(..length).and_then(|bytes| core::str::from_utf8(bytes).ok());
    let value = text.and_then(|text| text.chars().next()).ok_or(PathError::NotUtf8 { at })?;
    match value {
        '/' => return Err(PathError::EncodedSlash { at }),
        '.' => return Err(PathError::EncodedDot { at }),
        '\\' => return Err(PathError::EncodedBackslash { at }),
        _ if value.is_control() => return Err(PathError::Control { at }),
        _ => {}
    }
    let taken = bytes.get(at..at + 3 * length).unwrap_or_default();
    let lower = taken.iter().any(u8::is_ascii_lowercase);
    Ok(Escape { value, bytes: 3 * length, changes: lower || unreserved(value) })
}

/// Appends text whose escapes are all valid, in normal form.
pub(super) fn write(text: &str, into: &mut String) {
    let mut pieces = text.split('%');
    into.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (hex, rest) = piece.split_at_checked(2).unwrap_or((piece, ""));
        match u8::from_str_radix(hex, 16).map(char::from) {
            Ok(value) if unreserved(value) => into.push(value),
            _ => {
                into.push('%');
                into.extend(hex.chars().map(|digit| digit.to_ascii_uppercase()));
            }
        }
        into.push_str(rest);
    }
}

/// Appends text, escaping every byte that is not ASCII.
pub fn write_escaped(value: char, into: &mut String) {
    for byte in value.encode_utf8(&mut [0; 4]).bytes() {
        into.push('%');
        into.extend([byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])));
    }
}

/// The value of `%HH`.
fn pair(bytes: &[u8], at: usize) -> Option<u8> {
    let &[b'%', high, low] = bytes.get(at..at + 3)? else { return None };
    let digit = |hex: u8| char::from(hex).to_digit(16).and_then(|value| u8::try_from(value).ok());
    Some(digit(high)? << 4 | digit(low)?)
}
