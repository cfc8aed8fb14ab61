//! The path normaliser (RFC 3986, 6.2.2), used for both matching and forwarding.

mod error;
mod escape;
pub mod plain;
#[cfg(test)]
mod tests;

pub use error::PathError;
pub use escape::{escape, write_escaped};

/// A longer path is refused with [`PathError::TooLong`]: 8 KiB is what common servers take for a whole request line.
pub const PATH_BYTES_MAX: usize = 8 * 1024;
/// A path of more segments is refused with [`PathError::TooManySegments`]. A trailing slash counts as one, as do dot
/// segments. The router's masks have a bit for each.
pub const SEGMENTS_MAX: usize = 64;

/// The normal form of a path: what is matched is what is forwarded, byte for byte.
///
/// `raw` is the path alone, without the query. A path that is normal already is returned as it came, after one scan
/// and without a copy. Otherwise the normal form is written into `buffer`, whose room is used again.
///
/// What is done:
/// - The empty path becomes `/`.
/// - Escapes of unreserved characters (`A-Z a-z 0-9 - _ ~`) are decoded; the hex digits of all others become upper
///   case.
/// - The segments `.` and `..` are removed (RFC 3986, 5.2.4).
/// - A trailing slash is kept: `/a/` and `/a` are two paths. So is `;` and what follows it.
///
/// What two servers could read differently is refused, not repaired: see [`PathError`].
///
/// ```
/// use tollgate_http::path::{PathError, normalise};
///
/// let mut buffer = String::new();
/// assert_eq!(normalise("/login", &mut buffer), Ok("/login"));
/// assert_eq!(normalise("/x/../%6cogin", &mut buffer), Ok("/login"));
/// assert_eq!(normalise("/caf%c3%a9/", &mut buffer), Ok("/caf%C3%A9/"));
/// assert_eq!(normalise("/a%2fb", &mut buffer), Err(PathError::EncodedSlash { at: 2 }));
/// ```
///
/// # Errors
/// With the first thing, from the left, for which the path is refused.
pub fn normalise<'a>(raw: &'a str, buffer: &'a mut String) -> Result<&'a str, PathError> {
    if plain::end(raw.as_bytes()) == Some(raw.len()) {
        return Ok(raw);
    }
    in_full(raw, buffer, EncodedSlashes::Refused)
}

/// As [`normalise`], but an encoded slash is a character of its segment and stays encoded, as `%2F`. For upstreams that decode a
/// path only after they have split it.
///
/// A segment that has an empty part or dots alone beside an encoded slash is refused all the same: whoever decodes first would
/// read another path.
///
/// ```
/// use tollgate_http::path::{PathError, normalise_with_slashes};
///
/// let mut buffer = String::new();
/// assert_eq!(normalise_with_slashes("/files/a%2fb", &mut buffer), Ok("/files/a%2Fb"));
/// assert_eq!(normalise_with_slashes("/files/..%2Fadmin", &mut buffer), Err(PathError::EncodedSlash { at: 9 }));
/// ```
///
/// # Errors
/// With the first thing, from the left, for which the path is refused.
pub fn normalise_with_slashes<'a>(raw: &'a str, buffer: &'a mut String) -> Result<&'a str, PathError> {
    in_full(raw, buffer, EncodedSlashes::Kept)
}

/// What becomes of `%2F`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EncodedSlashes {
    /// The path is refused.
    Refused,
    /// It is a character of its segment.
    Kept,
}

/// The normal form of a path that is not plainly normal, or why it has none. Right for every path.
fn in_full<'a>(raw: &'a str, buffer: &'a mut String, slashes: EncodedSlashes) -> Result<&'a str, PathError> {
    if raw.is_empty() {
        return Ok("/");
    }
    if raw.len() > PATH_BYTES_MAX {
        return Err(PathError::TooLong { bytes: raw.len() });
    }
    if !raw.starts_with('/') {
        return Err(PathError::NoLeadingSlash);
    }
    let mut writer = Writer { raw, buffer, copying: false, slashes };
    let mut slash = 0;
    let mut segments = 0;
    while slash < raw.len() {
        segments += 1;
        if segments > SEGMENTS_MAX {
            return Err(PathError::TooManySegments);
        }
        slash = writer.segment(slash)?;
    }
    Ok(if writer.copying { buffer } else { raw })
}

/// What a byte may do in a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It stands for itself.
    Plain,
    Slash,
    Percent,
    /// It has no place in a path.
    Refused,
}

/// What stands for itself in a path: unreserved characters, sub-delimiters, `:` and `@`.
const PLAIN: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@";

/// The kind of every byte.
const KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Refused; 256];
    let mut i = 0;
    while i < PLAIN.len() {
        kinds[PLAIN[i] as usize] = Kind::Plain;
        i += 1;
    }
    kinds[b'/' as usize] = Kind::Slash;
    kinds[b'%' as usize] = Kind::Percent;
    kinds
};

/// The path as it came, and the copy that is begun at the first difference.
struct Writer<'a> {
    raw: &'a str,
    buffer: &'a mut String,
    copying: bool,
    slashes: EncodedSlashes,
}

/// What a look at a raw segment found.
struct Scan {
    /// Where it ends: at the next slash, or at the end of the path.
    end: usize,
    /// Whether an escape in it is not in normal form.
    changes: bool,
    /// Where a percent sign is encoded in it, first.
    percent_sign: Option<usize>,
}

impl Writer<'_> {
    /// Takes the segment after the slash, and returns where the next slash is, or the end.
    fn segment(&mut self, slash: usize) -> Result<usize, PathError> {
        let begin = slash + 1;
        let scan = scan(self.raw.as_bytes(), begin, self.slashes)?;
        let last = scan.end == self.raw.len();
        if scan.end == begin && !last {
            return Err(PathError::EmptySegment { at: begin });
        }
        let segment = self.raw.get(begin..scan.end).unwrap_or_default();
        if self.slashes == EncodedSlashes::Kept {
            refuse_hidden_dots(segment, begin)?;
        }
        if segment.starts_with('.') && self.dots(segment, slash, last)? {
            return Ok(scan.end);
        }
        if scan.changes {
            self.copy_from(slash);
        }
        if self.copying {
            let written = self.buffer.len();
            self.buffer.push('/');
            escape::write(segment, self.buffer);
            let written = self.buffer.get(written..).unwrap_or_default();
            refuse_double(written, scan.percent_sign)?;
        } else {
            refuse_double(segment, scan.percent_sign)?;
        }
        Ok(scan.end)
    }

    /// Removes a dot segment; returns whether it was one.
    fn dots(&mut self, segment: &str, slash: usize, last: bool) -> Result<bool, PathError> {
        let after = segment.strip_prefix("..").or_else(|| segment.strip_prefix('.')).unwrap_or(segment);
        // Some servers drop the parameters first and then see a dot segment.
        if after.starts_with(';') || after.starts_with("%3B") || after.starts_with("%3b") {
            return Err(PathError::DotsWithParameters { at: slash + 1 });
        }
        if !after.is_empty() {
            return Ok(false);
        }
        self.copy_from(slash);
        if segment == ".." {
            let parent = self.buffer.rfind('/').ok_or(PathError::AboveRoot { at: slash + 1 })?;
            self.buffer.truncate(parent);
        }
        if last {
            self.buffer.push('/');
        }
        Ok(true)
    }

    /// Begins the copy, unless it is begun: everything before the slash is normal.
    fn copy_from(&mut self, slash: usize) {
        if !self.copying {
            self.copying = true;
            self.buffer.clear();
            self.buffer.push_str(self.raw.get(..slash).unwrap_or_default());
        }
    }
}

/// Looks at every byte of a segment once.
fn scan(bytes: &[u8], begin: usize, slashes: EncodedSlashes) -> Result<Scan, PathError> {
    let mut found = Scan { end: begin, changes: false, percent_sign: None };
    while let Some(&byte) = bytes.get(found.end) {
        match KINDS[usize::from(byte)] {
            Kind::Plain => found.end += 1,
            Kind::Slash => break,
            Kind::Percent => {
                if slashes == EncodedSlashes::Kept
                    && let Some([b'%', b'2', digit @ (b'F' | b'f')]) = bytes.get(found.end..found.end + 3)
                {
                    found.changes |= *digit == b'f';
                    found.end += 3;
                    continue;
                }
                let escape = escape(bytes, found.end)?;
                if escape.value == '%' {
                    found.percent_sign = found.percent_sign.or(Some(found.end));
                }
                found.changes |= escape.changes;
                found.end += escape.bytes;
            }
            Kind::Refused => return Err(PathError::refused(byte, found.end)),
        }
    }
    Ok(found)
}

/// Refuses a segment that has an empty part or dots alone beside an encoded slash.
fn refuse_hidden_dots(segment: &str, begin: usize) -> Result<(), PathError> {
    let lower = segment.replace("%2F", "%2f");
    let Some(at) = lower.find("%2f") else { return Ok(()) };
    // Parameters may be dropped before the dots are seen.
    let is_hidden = |part: &str| matches!(part.split(';').next(), Some("" | "." | ".."));
    if lower.split("%2f").any(is_hidden) { Err(PathError::EncodedSlash { at: begin + at }) } else { Ok(()) }
}

/// Refuses a segment in normal form that becomes a slash, a dot, a backslash or a NUL when it is decoded twice, or more
/// often.
fn refuse_double(segment: &str, percent_sign: Option<usize>) -> Result<(), PathError> {
    let Some(at) = percent_sign else { return Ok(()) };
    for mut rest in segment.split("%25").skip(1) {
        while let Some(deeper) = rest.strip_prefix("25") {
            rest = deeper;
        }
        let hidden = ["2f", "2e", "5c", "00"];
        if rest.get(..2).is_some_and(|two| hidden.iter().any(|hex| two.eq_ignore_ascii_case(hex))) {
            return Err(PathError::DoublyEncoded { at });
        }
    }
    Ok(())
}
