//! Small trees of constants, printed in the styles of YAML and JSON. Which style fits is found by `layout`.

/// What is written. The texts are constants of this crate: short, printable ASCII, without quotes or backslashes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// A sentence or an address.
    Text(&'static str),
    /// A word that needs no quotes in YAML.
    Word(&'static str),
    /// Entries, in their order.
    Map(Vec<(&'static str, Self)>),
}

/// How entries stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// YAML in lines.
    Block,
    /// In braces, on one line.
    Inline,
    /// In braces, in lines.
    Pretty,
}

/// How things are written in one place of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Style {
    pub(super) shape: Shape,
    /// What stands before the entry on its line.
    pub(super) indent: String,
    /// How much more stands before what is in it.
    pub(super) unit: String,
    /// `"\n"` or `"\r\n"`.
    pub(super) newline: &'static str,
    /// Whether everything is in double quotes.
    pub(super) json: bool,
    /// The quotes that YAML is written with here.
    pub(super) quote: char,
    /// What stands after colons and commas on one line.
    pub(super) blank: &'static str,
    /// What stands inside of braces on one line.
    pub(super) pad: &'static str,
}

impl Style {
    /// An entry, without what stands before it on its first line.
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

/// Whether a text can stand in a block without quotes.
fn is_plain(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !text.contains(": ")
        && !text.contains(" #")
}
