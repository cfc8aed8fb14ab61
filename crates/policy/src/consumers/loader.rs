//! Reads a consumers file as it comes, in pieces cut anywhere, into a table. It opens no file and keeps none in memory.

use sha2::{Digest, Sha256};

use super::error::{ConsumerError, ERRORS_LISTED, ERRORS_MAX, Errors};
use super::header::{Header, MISSING};
use super::key_table::{DuplicateKey, KeyRows, KeyTable, Row};
use super::line::column;
use super::names::{Index, Names};
use super::row::{Hash, RowText};
use super::{Consumers, NO_TIER, NONE, Record};

/// The most keys in one file. One more is an error, and nothing after it is read.
pub const CONSUMERS_MAX: usize = 10_000_000;
/// The longest line, in bytes, without its line break. A longer one is an error, and is skipped without being kept.
pub const LINE_BYTES_MAX: usize = 4_096;
/// The most different tiers. One more is an error: each tier stands in the policy, so more are a mistaken column.
pub const TIERS_MAX: usize = 1_000;

/// How much a loader takes. The limits that are not here are named at the functions that keep them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoaderLimits {
    /// The most keys: [`CONSUMERS_MAX`], or fewer.
    pub keys: usize,
    /// The longest line: [`LINE_BYTES_MAX`], or less.
    pub line_bytes: usize,
    /// The most different tiers: [`TIERS_MAX`], or fewer.
    pub tiers: usize,
    /// The most problems listed: [`ERRORS_LISTED`], or any number up to [`ERRORS_MAX`].
    pub errors: usize,
}

impl Default for LoaderLimits {
    fn default() -> Self {
        Self { keys: CONSUMERS_MAX, line_bytes: LINE_BYTES_MAX, tiers: TIERS_MAX, errors: ERRORS_LISTED }
    }
}

/// Reads a consumers file. Feed it the file in pieces of any size, then finish.
///
/// ```
/// use tollgate_policy::consumers::{LoaderLimits, Loader};
/// let mut loader = Loader::new(LoaderLimits::default());
/// loader.feed(b"key_sha256,consumer,tier\n2c70e12b7a0646f92279f427c7b38e7334d8");
/// loader.feed(b"e5389cff167a1dc30e73f826b683,acme,gold\n"); // the SHA-256 of `key`
/// let consumers = loader.finish().expect("nothing is wrong with it");
/// let acme = consumers.find(b"key").expect("it is there");
/// assert_eq!((acme.name, acme.tier), ("acme", Some("gold")));
/// assert!(consumers.find(b"another key").is_none());
/// ```
pub struct Loader {
    limits: LoaderLimits,
    errors: Errors,
    stage: Stage,
    /// The number of the last line that was read. It stands still at the largest number there is.
    line: u32,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    /// The line that has begun is too long already.
    too_long: bool,
    hash_of_nothing: Hash,
    keys: KeyRows,
    names: TextBuilder,
    tiers: TextBuilder,
    organisations: TextBuilder,
    overrides: TextBuilder,
    records: Vec<Record>,
}

/// Texts while they are added.
#[derive(Default)]
struct TextBuilder {
    names: Names,
    index: Index,
}

enum Stage {
    BeforeHeader,
    Rows(Header),
    /// The rest cannot be read.
    Over,
}

impl Loader {
    /// A loader that has read nothing. A limit above the constant of its name counts as that constant.
    #[must_use]
    pub fn new(limits: LoaderLimits) -> Self {
        let most = LoaderLimits::default();
        let limits = LoaderLimits {
            keys: limits.keys.min(most.keys),
            line_bytes: limits.line_bytes.min(most.line_bytes),
            tiers: limits.tiers.min(most.tiers),
            errors: limits.errors.min(ERRORS_MAX),
        };
        Self {
            limits,
            errors: Errors::new(limits.errors),
            stage: Stage::BeforeHeader,
            line: 0,
            begun: Vec::new(),
            too_long: false,
            hash_of_nothing: Sha256::digest(b"").into(),
            keys: KeyRows::default(),
            names: TextBuilder::default(),
            tiers: TextBuilder::default(),
            organisations: TextBuilder::default(),
            overrides: TextBuilder::default(),
            records: Vec::new(),
        }
    }

    /// Reads the next piece of the file.
    pub fn feed(&mut self, chunk: &[u8]) {
        let mut pieces = chunk.split(|byte| *byte == b'\n');
        let last = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            self.end_line(piece);
        }
        self.begin_line(last);
    }

    /// The table, or everything that is wrong with the file, by line.
    ///
    /// # Errors
    ///
    /// If anything is wrong, there is no table: half of the consumers would be strangers.
    pub fn finish(mut self) -> Result<Consumers, Vec<ConsumerError>> {
        if self.too_long || !self.begun.is_empty() {
            self.end_line(b"");
        }
        if matches!(self.stage, Stage::BeforeHeader) {
            self.errors.add((self.line.max(1), 1), || format!("The file has no lines to read. {MISSING}"));
        }
        // What only loading needs goes before the table is made.
        let mut names = self.names.names;
        drop(self.names.index);
        names.forget_lines();
        let table = make_table(self.keys, &mut self.errors);
        self.errors.into_result()?;
        let mut consumers = Consumers {
            table,
            names,
            records: self.records,
            tiers: self.tiers.names,
            organisations: self.organisations.names,
            overrides: self.overrides.names,
        };
        consumers.shrink();
        Ok(consumers)
    }

    /// How many bytes of the file it holds.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.begun.capacity()
    }

    fn begin_line(&mut self, piece: &[u8]) {
        if self.begun.len() + piece.len() > self.limits.line_bytes {
            self.too_long = true;
            self.begun.clear();
        }
        if !self.too_long {
            self.begun.extend_from_slice(piece);
        }
    }

    fn end_line(&mut self, piece: &[u8]) {
        self.line = self.line.saturating_add(1);
        if self.too_long || self.begun.len() + piece.len() > self.limits.line_bytes {
            let most = self.limits.line_bytes;
            let message = || format!("This line is longer than {most} bytes. Is a line break missing?");
            self.errors.add((self.line, 1), message);
        } else if self.begun.is_empty() {
            self.read_bytes(piece);
        } else {
            let mut line = std::mem::take(&mut self.begun);
            line.extend_from_slice(piece);
            self.read_bytes(&line);
            self.begun = line;
        }
        self.begun.clear();
        self.too_long = false;
    }

    fn read_bytes(&mut self, line: &[u8]) {
        let line = if self.line == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.first() == Some(&b'#') || line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match str::from_utf8(line) {
            Ok(line) => self.read_line(line),
            Err(error) => {
                let good = line.get(..error.valid_up_to()).unwrap_or_default();
                let column =
                    u32::try_from(String::from_utf8_lossy(good).chars().count() + 1).unwrap_or(u32::MAX);
                let message = || "This is not UTF-8. Save the file as UTF-8.".to_owned();
                self.errors.add((self.line, column), message);
            }
        }
    }

    fn read_line(&mut self, line: &str) {
        // Names are shown, and written to logs and headers: nothing in them may break a line.
        let plain = line.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if !plain && let Some((at, _)) = line.char_indices().find(|(_, char)| char.is_control()) {
            let message = || "A tab or another control character is not allowed here. Remove it.".to_owned();
            return self.errors.add((self.line, column(line, at)), message);
        }
        match &self.stage {
            Stage::Over => {}
            Stage::BeforeHeader => {
                self.stage = Header::read(line, self.line, &mut self.errors).map_or(Stage::Over, Stage::Rows);
            }
            Stage::Rows(header) => {
                let row = RowText::read(line, self.line, header, &mut self.errors);
                if let Some(row) = row {
                    self.take(line, &row);
                }
            }
        }
    }

    /// Takes in a line that is well-formed by itself.
    fn take(&mut self, line: &str, row: &RowText<'_>) {
        let place = (self.line, column(line, row.key.at));
        if row.hash == self.hash_of_nothing {
            let message =
                "This is the SHA-256 of nothing: the key was empty when it was hashed. Hash the key itself.";
            return self.errors.add(place, || message.to_owned());
        }
        if self.keys.len() >= self.limits.keys {
            let most = self.limits.keys;
            self.errors.add(place, || {
                format!("There are more than {most} keys. The rest of the file was not read.")
            });
            self.stage = Stage::Over;
            return;
        }
        let Some(consumer) = self.consumer(line, row) else {
            let message =
                "The names before this line take more than 4 GiB. The rest of the file was not read.";
            self.errors.add((self.line, 1), || message.to_owned());
            self.stage = Stage::Over;
            return;
        };
        let column = u16::try_from(place.1).unwrap_or(u16::MAX);
        self.keys.push(Row { hash: row.hash, line: self.line, consumer, column });
    }

    /// The number of the consumer of this line. `None` if the names are full.
    fn consumer(&mut self, line: &str, row: &RowText<'_>) -> Option<u32> {
        let tier = self.tiers.number(&row.tier.text, self.line)?;
        if self.tiers.names.len() > self.limits.tiers && self.tiers.names.line(tier) == self.line {
            let most = self.limits.tiers;
            let message = || format!("There are more than {most} tiers. Is this the right column?");
            self.errors.add((self.line, column(line, row.tier.at)), message);
        }
        let record = Record {
            tier: u16::try_from(tier).unwrap_or(NO_TIER),
            organisation: self.organisations.number(&row.organisation.text, self.line)?,
            overrides: self.overrides.number(&row.overrides.text, self.line)?,
        };
        let (consumer, new) = self.names.index.number(&mut self.names.names, &row.name.text, self.line)?;
        if new {
            self.records.push(record);
        } else if let Some(first) = self.records.get(consumer as usize).copied() {
            let before = self.names.names.line(consumer);
            let mut differs = |what: &str, at: usize| {
                self.errors.add((self.line, column(line, at)), || row.conflict(what, before));
            };
            if first.tier != record.tier {
                differs("tier", row.tier.at);
            }
            if first.organisation != record.organisation {
                differs("organisation", row.organisation.at);
            }
            if first.overrides != record.overrides {
                differs("text of overrides", row.overrides.at);
            }
        }
        Some(consumer)
    }
}

impl TextBuilder {
    /// The number of a text that may be missing.
    fn number(&mut self, text: &str, line: u32) -> Option<u32> {
        if text.is_empty() {
            return Some(NONE);
        }
        self.index.number(&mut self.names, text, line).map(|(number, _)| number)
    }
}

fn make_table(keys: KeyRows, errors: &mut Errors) -> KeyTable {
    keys.into_table(|DuplicateKey { first, again }| {
        let place = (again.line, u32::from(again.column));
        let line = first.line;
        errors.add(place, || {
            if first.hash == again.hash {
                format!("Line {line} has the same key. Remove one of them.")
            } else {
                format!("Line {line} has a hash with the same first half. No two keys have such hashes: write each as `sha256sum` prints it.")
            }
        });
    })
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader")
            .field("line", &self.line)
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}
