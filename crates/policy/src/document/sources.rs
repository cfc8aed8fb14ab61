//! The files that a policy was read from: their names, their texts, and where a line begins. They are given, not opened here.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Which file of a policy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub(crate) u32);

/// A stretch of one file, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The file.
    pub file: FileId,
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

impl Place {
    /// The bytes of the file's text that it covers.
    #[must_use]
    pub const fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A place as people count: lines and columns from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LineColumn {
    /// The line, from 1.
    pub line: u32,
    /// The character in the line, from 1.
    pub column: u32,
}

impl fmt::Display for LineColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// One text and the name by which messages speak of it.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    /// Where each line begins.
    lines: Vec<u32>,
    /// How many characters begin before each multiple of [`STEP`], once a place on a long line was asked for.
    characters: OnceLock<Vec<u32>>,
    /// The text without its secrets, once somebody has asked for it and if it has any.
    drawable: OnceLock<Option<String>>,
}

impl Source {
    /// A text with a name. Texts beyond 4 GiB are cut by whoever reads them: see
    /// [`DOCUMENT_BYTES_MAX`](crate::DOCUMENT_BYTES_MAX).
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = breaks.filter_map(|(at, _)| u32::try_from(at.saturating_add(1)).ok());
        let lines = std::iter::once(0).chain(starts).collect();
        Self { name: name.into(), text, lines, characters: OnceLock::new(), drawable: OnceLock::new() }
    }

    /// What it is called in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text if messages may repeat parts of it, and an empty text if it may contain secrets: settings of `serve`, URLs with
    /// a password, or PEM. Only the program that shows messages knows how to conceal those.
    pub(crate) fn repeatable(&self) -> &str {
        let is_setting = |line: &str| line.trim_start_matches([' ', '{', '"', '\'']).starts_with("serve");
        let is_servers = |line: &str| line.trim_start_matches([' ', '{', '"', '\'']).starts_with("servers");
        let has_settings = self.text.lines().any(|line| is_setting(line) && !is_servers(line));
        let has_password = self.text.split("://").skip(1).any(|rest| {
            let authority = rest.split(['/', ' ', '\n', '"', '\'']).next().unwrap_or_default();
            authority.contains('@')
        });
        if has_settings || has_password || self.text.contains("-----BEGIN") { "" } else { &self.text }
    }

    /// The text as it may be shown, which the given function makes of the text once. It has to keep every place.
    #[must_use]
    pub fn drawable(&self, conceal: fn(&str) -> Cow<'_, str>) -> &str {
        let concealed = self.drawable.get_or_init(|| match conceal(&self.text) {
            Cow::Owned(text) => Some(text),
            Cow::Borrowed(_) => None,
        });
        concealed.as_deref().unwrap_or(&self.text)
    }

    /// The line and column of a byte.
    #[must_use]
    pub fn line_column(&self, byte: u32) -> LineColumn {
        let line = self.lines.partition_point(|start| *start <= byte).max(1);
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.characters_between(start, byte);
        LineColumn { line: u32::try_from(line).unwrap_or(u32::MAX), column: column.saturating_add(1) }
    }

    /// The line of a byte, without its break.
    #[must_use]
    pub fn line(&self, byte: u32) -> Range<usize> {
        let next = self.lines.partition_point(|start| *start <= byte).max(1);
        let start = self.lines.get(next.saturating_sub(1)).copied().unwrap_or(0) as usize;
        let end = self.lines.get(next).map_or(self.text.len(), |next| (*next as usize).saturating_sub(1));
        let line = self.text.get(start..end).unwrap_or("");
        start..start.saturating_add(line.strip_suffix('\r').unwrap_or(line).len())
    }

    /// How many characters begin in a stretch of the text.
    fn characters_between(&self, start: u32, end: u32) -> u32 {
        let text = self.text.as_bytes();
        let count = |range: Range<usize>| {
            let begins = text.get(range).unwrap_or(&[]).iter().filter(|byte| begins_character(**byte));
            u32::try_from(begins.count()).unwrap_or(u32::MAX)
        };
        let (start, end) = (start as usize, (end as usize).min(text.len()));
        if end.saturating_sub(start) < STEP.saturating_mul(4) {
            return count(start..end.max(start));
        }
        let sums = self.characters.get_or_init(|| {
            let pieces = text.chunks(STEP).scan(0_u32, |sum, piece| {
                let before = *sum;
                let begins = piece.iter().filter(|byte| begins_character(**byte)).count();
                *sum = sum.saturating_add(u32::try_from(begins).unwrap_or(u32::MAX));
                Some(before)
            });
            pieces.collect()
        });
        let before = |at: usize| {
            let piece = at.checked_div(STEP).unwrap_or(0);
            let sum = sums.get(piece).copied().unwrap_or(0);
            sum.saturating_add(count(piece.saturating_mul(STEP)..at))
        };
        before(end).saturating_sub(before(start))
    }
}

/// Characters are counted in pieces of so many bytes, so that a place on a line of megabytes is found at once.
const STEP: usize = 1 << 10;

/// Whether a byte of UTF-8 is the first of a character.
const fn begins_character(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

/// Every file that was read, in the order in which they were.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<Arc<Source>>);

impl Sources {
    /// Adds a file.
    pub(crate) fn add(&mut self, source: Source) -> FileId {
        self.0.push(Arc::new(source));
        FileId(u32::try_from(self.0.len().saturating_sub(1)).unwrap_or(u32::MAX))
    }

    /// The file with this number.
    #[must_use]
    pub fn get(&self, file: FileId) -> Option<&Source> {
        self.0.get(file.0 as usize).map(Arc::as_ref)
    }

    /// The file with this number, to be kept.
    pub(crate) fn shared(&self, file: FileId) -> Option<&Arc<Source>> {
        self.0.get(file.0 as usize)
    }

    /// Every file.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &Source)> {
        (0..).map(FileId).zip(self.0.iter().map(Arc::as_ref))
    }

    /// The file with this name.
    pub(crate) fn by_name(&self, name: &str) -> Option<FileId> {
        self.iter().find(|(_, source)| source.name == name).map(|(id, _)| id)
    }

    /// A place as `openapi.yaml:12:7`.
    #[must_use]
    pub fn locate(&self, place: Place) -> String {
        self.get(place.file)
            .map_or_else(String::new, |source| format!("{}:{}", source.name, source.line_column(place.start)))
    }

    /// The text at a place.
    #[must_use]
    pub fn slice(&self, place: Place) -> &str {
        self.get(place.file).and_then(|source| source.text.get(place.range())).unwrap_or("")
    }
}

#[test]
fn lines_and_columns_are_counted_as_people_count_them() {
    let source = Source::new("a.yaml", "one\nzwei: ä!\n");
    for (byte, at) in [(0, "1:1"), (3, "1:4"), (4, "2:1"), (10, "2:7"), (12, "2:8"), (14, "3:1")] {
        assert_eq!(source.line_column(byte).to_string(), at, "byte {byte}");
    }
}

#[test]
fn columns_of_a_long_line_are_those_of_a_short_one() {
    let text = format!("a\n{}\r\nend", "xä漢".repeat(5_000));
    let source = Source::new("a.json", text.clone());
    for (at, _) in text.char_indices().step_by(97) {
        let line_start = text[..at].rfind('\n').map_or(0, |at| at + 1);
        let column = u32::try_from(text[line_start..at].chars().count() + 1).expect("it is small");
        assert_eq!(source.line_column(u32::try_from(at).expect("it is small")).column, column, "byte {at}");
    }
    assert_eq!(source.line(0), 0..1);
    assert_eq!(source.line(7_000), 2..30_002);
    assert_eq!(&text[source.line(30_005)], "end");
}
