//! One line of a consumers file, by itself: is it well-formed, and what are its cells? Not whether it fits other lines.

use super::error::Errors;
use super::header::{Header, Role};
use super::line::{Cell, Cells, column};

/// The longest name of a consumer, a tier or an organisation, in bytes. A longer one is an error.
pub const NAME_BYTES_MAX: usize = 256;

pub(super) type Hash = [u8; 32];

/// A line that is well-formed: its cells, and the hash of its key. A cell that is not there is empty.
#[derive(Default)]
pub(super) struct RowText<'a> {
    pub(super) hash: Hash,
    pub(super) key: Cell<'a>,
    pub(super) name: Cell<'a>,
    pub(super) tier: Cell<'a>,
    pub(super) organisation: Cell<'a>,
    pub(super) overrides: Cell<'a>,
}

const KEY: &str = "This is not a SHA-256 in 64 hexadecimal digits. Keys never stand here in clear: hash each with \
                   `printf %s KEY | sha256sum` and write the first word that it prints.";

impl<'a> RowText<'a> {
    /// Reads a line; `None` if something is wrong with it, and then `errors` has it all.
    pub(super) fn read(line: &'a str, number: u32, header: &Header, errors: &mut Errors) -> Option<Self> {
        let mut row = Self::cut(line, number, header, errors)?;
        let mut good = true;
        let mut wrong = |cell: &Cell<'_>, message: String| {
            errors.add((number, column(line, cell.at)), || message);
            good = false;
        };
        if let Some(hash) = parse_hash(&row.key.text) {
            row.hash = hash;
        } else {
            wrong(&row.key, KEY.to_owned());
        }
        if row.name.text.is_empty() {
            wrong(&row.name, "The name of the consumer is empty. Say whose key this is.".to_owned());
        }
        for cell in [&row.name, &row.tier, &row.organisation] {
            if cell.text.len() > NAME_BYTES_MAX {
                wrong(cell, format!("This name is longer than {NAME_BYTES_MAX} bytes. Shorten it."));
            }
        }
        good.then_some(row)
    }

    fn cut(line: &'a str, number: u32, header: &Header, errors: &mut Errors) -> Option<Self> {
        let mut row = Self::default();
        let mut count = 0;
        for cell in Cells::new(line) {
            let cell = match cell {
                Ok(cell) => cell,
                Err((at, sentence)) => {
                    errors.add((number, column(line, at)), || sentence.to_owned());
                    return None;
                }
            };
            match header.roles.get(count).copied().flatten() {
                Some(Role::Key) => row.key = cell,
                Some(Role::Consumer) => row.name = cell,
                Some(Role::Tier) => row.tier = cell,
                Some(Role::Organisation) => row.organisation = cell,
                Some(Role::Overrides) => row.overrides = cell,
                None => {}
            }
            count += 1;
        }
        let wanted = header.roles.len();
        if count != wanted {
            let message = || {
                format!(
                    "This line has {count} cells, but the header line names {wanted} columns. Leave a cell empty, but write its comma; put a text with commas in quotes."
                )
            };
            errors.add((number, 1), message);
            return None;
        }
        Some(row)
    }

    /// The sentence for a consumer that is described in two ways.
    pub(super) fn conflict(&self, what: &str, line: u32) -> String {
        let name: String = self.name.text.chars().take(64).collect();
        format!(
            "The consumer {name:?} has another {what} on line {line}. All keys of a consumer share one budget: write the same on each of its lines."
        )
    }
}

/// A SHA-256 as `sha256sum` prints it: 64 hexadecimal digits, and perhaps the name of its standard input behind them.
fn parse_hash(text: &str) -> Option<Hash> {
    let digits = text.strip_suffix("  -").or_else(|| text.strip_suffix(" *-")).unwrap_or(text);
    let pairs: &[[u8; 2]; 32] =
        digits.as_bytes().as_chunks().0.try_into().ok().filter(|_| digits.len() == 64)?;
    let mut hash = [0; 32];
    for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(hash)
}

/// A table, not comparisons: a million lines have 64 million digits, and no branch can guess them.
fn digit(digit: u8) -> Option<u8> {
    DIGITS.get(usize::from(digit)).copied().filter(|value| *value < 16)
}

static DIGITS: [u8; 256] = {
    let mut digits = [u8::MAX; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value as usize] as usize] = value;
        digits[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    digits
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_64_digits_as_sha256sum_prints_them() {
        let digits = "0123456789abcdefABCDEF00".to_owned() + &"9".repeat(40);
        let hash = parse_hash(&digits).expect("64 digits");
        assert_eq!(hash[..12], [1, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xab, 0xcd, 0xef, 0]);
        assert_eq!(parse_hash(&format!("{digits}  -")), Some(hash));
        assert_eq!(parse_hash(&format!("{digits} *-")), Some(hash));
        for bad in
            ["", &digits[1..], &digits[2..], &format!("{digits}0"), &format!("{digits}00"), &"g".repeat(64)]
        {
            assert_eq!(parse_hash(bad), None, "{bad}");
        }
    }
}
