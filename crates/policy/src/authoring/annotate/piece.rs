//! Prints small constant trees as YAML or JSON. `layout` finds the style to use.

/// A tree to print. Its texts are constants of this crate: short printable ASCII without quotes or backslashes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// A sentence or a URI.
    Text(&'static str),
    /// A word that needs no quotes in YAML.
    Word(&'static str),
    /// Entries, in order.
    Map(Vec<(&'static str, Self)>),
}

/// The layout of entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// YAML block style.
    Block,
    /// Braces on one line.
    Inline,
    /// Braces over several lines.
    Pretty,
}

/// The style used in one place of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Style {
    pub(super) shape: Shape,
    /// Indentation of the entry.
    pub(super) indent: String,
    /// Additional indentation of nested entries.
    pub(super) unit: String,
    /// `"\n"` or `"\r\n"`.
    pub(super) newline: &'static str,
    /// Whether all keys and strings are in double quotes.
    pub(super) json: bool,
    /// The quote character for YAML strings.
    pub(super) quote: char,
    /// White space after colons and commas on one line.
    pub(super) blank: &'static str,
    /// White space inside braces on one line.
    pub(super) pad: &'static str,
}

impl Style {
    /// Prints an entry, without the indentation of its first line.
    pub(super) fn entry(&self, key: &str, piece: &Piece) -> String {
        let key = self.key(key);
        let Piece::Map(entries) = piece else {
            let between = if self.shape == Shape::Block { " " } else { self.blank };
            return format!("{key}:{between}{}", self.scalar(piece));
        };
        let inner = Self { indent: format!("{}{}", self.indent, self.unit), ..self.clone() };
        let printed = entries.iter().map(|(key, piece)| inner.entry(key, piece));
        let line = format!("{}{}", self.newline, inner.indent);
        match self.shape {
            Shape::Block => {
                let lines: Vec<_> = printed.map(|entry| format!("{line}{entry}")).collect();
                format!("{key}:{}", lines.concat())
            }
            Shape::Inline => {
                let entries: Vec<_> = printed.collect();
                let entries = entries.join(&format!(",{}", self.blank));
                format!("{key}:{}{{{}{entries}{}}}", self.blank, self.pad, self.pad)
            }
            Shape::Pretty => {
                let entries: Vec<_> = printed.map(|entry| format!("{line}{entry}")).collect();
                let (entries, newline, indent) = (entries.join(","), self.newline, &self.indent);
                format!("{key}:{}{{{entries}{newline}{indent}}}", self.blank)
            }
        }
    }

    fn key(&self, key: &str) -> String {
        let digits = key.bytes().all(|byte| byte.is_ascii_digit());
        match (self.json, digits) {
            (true, _) => format!("\"{key}\""),
            (false, true) => format!("{0}{key}{0}", self.quote),
            (false, false) => key.to_owned(),
        }
    }

    fn scalar(&self, piece: &Piece) -> String {
        match piece {
            Piece::Text(text) | Piece::Word(text) if self.json => format!("\"{text}\""),
            Piece::Text(text) if self.shape == Shape::Block && is_plain(text) => (*text).to_owned(),
            Piece::Text(text) => format!("{0}{text}{0}", self.quote),
            Piece::Word(word) => (*word).to_owned(),
            Piece::Map(_) => String::new(),
        }
    }
}

/// Returns true if a text needs no quotes in block style.
fn is_plain(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !text.contains(": ")
        && !text.contains(" #")
}
