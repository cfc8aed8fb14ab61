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
        Self { name: name.into(), text, lines, drawable: OnceLock::new() }
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
        let before = self.text.get(start as usize..byte as usize).unwrap_or("");
        let column = u32::try_from(before.chars().count()).unwrap_or(u32::MAX);
        LineColumn { line: u32::try_from(line).unwrap_or(u32::MAX), column: column.saturating_add(1) }
    }
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
