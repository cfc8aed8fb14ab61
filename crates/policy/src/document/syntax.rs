//! What is wrong with the grammar of a text: the character, in the words of whoever typed it, and what to type in its place.

use granit_parser::{ErrorKind, ScanError};
use tollgate_http::text::shown;

use super::diagnostic::Diagnostic;
use super::read::DEPTH_MAX;
use super::sources::{FileId, Place};
use super::suggest;

/// What git leaves in a file whose merge has conflicts.
const CONFLICT: &str = "<<<<<<< ";

/// What may follow a backslash in quotes.
const ESCAPES: &str = "0abtnvfre \"/\\N_LPxuU\t\n\r";

/// A text whose grammar is wrong.
pub(super) struct Text<'a> {
    pub(super) file: FileId,
    /// Without its secrets, because parts of it are repeated.
    pub(super) text: &'a str,
    /// The innermost bracket that is open where reading ended, if there is one.
    pub(super) open: Option<u32>,
}

/// What is wrong at this byte.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser has eighty kinds of errors, and most of them nobody makes"
)]
pub(super) fn finding(error: &ScanError, at: u32, text: &Text<'_>) -> Diagnostic {
    if let Some(conflict) = text.conflict(at) {
        return conflict;
    }
    let told = match error.kind() {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInPlainScalar => text.tab(at),
        ErrorKind::UnclosedFlowCollection { .. } => Some(text.unclosed(at, None)),
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofImplicitFlowMapping => text.separator(at),
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            let help = format!("close it with `{}` first", closing(*open));
            Some(text.error(at, 1, format!("this `{open}` is closed by `{close}`")).help(help))
        }
        ErrorKind::MisplacedFlowCollectionEnd => {
            let message = format!("this `{}` closes nothing", text.character(at));
            Some(text.error(at, 1, message).help("take it out, or put a text with brackets in quotes"))
        }
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => Some(text.quote(at)),
        ErrorKind::UnknownAnchor => Some(text.anchor(at)),
        ErrorKind::UnexpectedCharacter { character } => Some(text.unexpected(at, *character)),
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => Some(text.colon(at)),
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation => Some(text.indentation(at)),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => Some(text.no_key(at)),
        ErrorKind::InvalidTrailingSingleQuotedScalar => {
            let message = "the text in quotes ends before this";
            Some(text.error(at, 1, message).help("write a single quote inside of single quotes twice: `''`"))
        }
        ErrorKind::InvalidTrailingDoubleQuotedScalar if text.is_beside_quotes(at) => text.separator(at),
        ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            let message = "the text in quotes ends before this";
            Some(text.error(at, 1, message).help("write a quote inside of quotes as `\\\"`"))
        }
        ErrorKind::UnknownQuotedScalarEscape => Some(text.escape(at)),
        ErrorKind::BlockEntryInFlowCollection => {
            let help = "separate what is between brackets with commas";
            Some(text.error(at, 1, "between brackets a dash begins no entry").help(help))
        }
        ErrorKind::CommentNotSeparated => {
            let help = "write a blank before it, or put the text in quotes";
            Some(text.error(at, 1, "a comment needs a blank before its `#`").help(help))
        }
        _ => None,
    };
    told.unwrap_or_else(|| text.error(at, 1, format!("this is neither YAML nor JSON: {}", error.info())))
}

/// A comment in JSON, if the scalar that stands here is the beginning of one.
pub(super) fn json_comment(scalar: &str, at: Place, text: &str) -> Option<Diagnostic> {
    let is_comment = scalar.starts_with("//") || scalar.starts_with("/*");
    let is_json = || text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with('{');
    if !is_comment || !is_json() {
        return None;
    }
    let place = Place { end: at.start.saturating_add(2), ..at };
    let finding = Diagnostic::error("grammar", place, "JSON has no comments");
    Some(finding.help("take the comment out, or write the document in YAML, where `#` begins one"))
}

impl Text<'_> {
    fn error(&self, at: u32, length: usize, message: impl Into<String>) -> Diagnostic {
        let most = offset(self.text.len());
        let at = at.min(most);
        let wide =
            self.text.get(at as usize..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let end = at.saturating_add(offset(length.max(wide))).min(most);
        Diagnostic::error("grammar", Place { file: self.file, start: at, end }, message)
    }

    fn rest(&self, at: u32) -> &str {
        self.text.get(at as usize..).unwrap_or_default()
    }

    fn rest_of_line(&self, at: u32) -> &str {
        self.rest(at).lines().next().unwrap_or_default()
    }

    fn character(&self, at: u32) -> String {
        self.rest(at).chars().next().map_or_else(String::new, |char| shown(char.encode_utf8(&mut [0; 4])))
    }

    /// The line before a byte.
    fn line_before(&self, at: u32) -> &str {
        let before = self.text.get(..at as usize).unwrap_or_default();
        before.rsplit('\n').next().unwrap_or_default()
    }

    /// How far the line of a byte is indented.
    fn indent(&self, at: u32) -> usize {
        let before = self.line_before(at);
        let line = self.text.get((at as usize).saturating_sub(before.len())..).unwrap_or_default();
        line.len().saturating_sub(line.trim_start_matches(' ').len())
    }

    fn conflict(&self, at: u32) -> Option<Diagnostic> {
        let start = at.saturating_sub(offset(self.line_before(at).len()));
        self.rest(start).starts_with(CONFLICT).then(|| {
            let finding = self.error(start, CONFLICT.len().saturating_sub(1), "git left a conflict here");
            finding.help("keep one of the two versions, and take out the lines with `<<<<<<<`, `=======` and `>>>>>>>`")
        })
    }

    /// The first tab in the indentation of the line, or where reading ended.
    fn tab(&self, at: u32) -> Option<Diagnostic> {
        let before = self.line_before(at);
        let start = at.saturating_sub(offset(before.len()));
        let tab = start.saturating_add(offset(self.rest_of_line(start).find('\t')?));
        let rest = self.rest(tab);
        let tabs = rest.len().saturating_sub(rest.trim_start_matches('\t').len());
        let message = if tabs == 1 { "this is a tab" } else { "these are tabs" };
        Some(self.error(tab, tabs, message).help("YAML is indented with spaces: write spaces in its place"))
    }

    fn unclosed(&self, open: u32, next: Option<u32>) -> Diagnostic {
        let bracket = self.character(open);
        let help = format!("write `{}` where it ends", closing(bracket.chars().next().unwrap_or('{')));
        let finding = self.error(open, 1, format!("this `{bracket}` is not closed")).help(help);
        match next {
            Some(next) => finding.also(self.error(next, 1, "").place, "this cannot be a part of it"),
            None => finding,
        }
    }

    /// Something stands in brackets where a comma or the closing bracket would. What begins a line no further to the right than
    /// that of the bracket is no part of it.
    fn separator(&self, at: u32) -> Option<Diagnostic> {
        let open = self.innermost(at)?;
        let between = self.text.get(open as usize..at as usize)?;
        let begins_line = self.line_before(at).trim().is_empty();
        if self.rest(at).trim().is_empty() {
            return Some(self.unclosed(open, None));
        }
        // Where the whole document is in brackets, indentation means nothing.
        if !self.is_json()
            && between.contains('\n')
            && begins_line
            && self.line_before(at).len() <= self.indent(open)
        {
            return Some(self.unclosed(open, Some(at)));
        }
        if self.is_after_key(at, open) {
            return Some(self.error(at, 1, "before this a `:` is missing"));
        }
        let bracket = self.character(open);
        let end = closing(bracket.chars().next().unwrap_or('{'));
        let finding = self.error(at, 1, format!("before this a `,` or `{end}` is missing"));
        Some(finding.also(self.error(open, 1, "").place, format!("this `{bracket}` is still open")))
    }

    /// Whether the whole document is a map in brackets.
    fn is_json(&self) -> bool {
        self.text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
    }

    /// The innermost bracket that is open at a byte.
    fn innermost(&self, at: u32) -> Option<u32> {
        if !self.is_json() {
            return self.open;
        }
        // The parser reads ahead of what it has told.
        let (mut open, mut in_quotes, mut escaped) = (Vec::new(), false, false);
        for (at, byte) in self.text.get(..at as usize)?.bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_quotes => escaped = true,
                b'"' => in_quotes = !in_quotes,
                b'{' | b'[' if !in_quotes => open.push(offset(at)),
                b'}' | b']' if !in_quotes => drop(open.pop()),
                _ => {}
            }
        }
        open.pop()
    }

    /// Whether a text in quotes begins here, and another one ended before it.
    fn is_beside_quotes(&self, at: u32) -> bool {
        let before = self.text.get(..at as usize).unwrap_or_default();
        let blank = before.len() > before.trim_end().len();
        blank
            && self.innermost(at).is_some()
            && before.trim_end().ends_with('"')
            && self.rest(at).starts_with('"')
    }

    /// Whether what stands before a byte is a key in quotes: the text after a comma, or at the beginning of its map.
    fn is_after_key(&self, at: u32, open: u32) -> bool {
        let before = self.text.get(open as usize..at as usize).unwrap_or_default().trim_end();
        let text = before.strip_suffix('"').and_then(|text| text.rsplit_once('"'));
        self.rest(open).starts_with('{')
            && text.is_some_and(|(before, _)| before.trim_end().ends_with([',', '{']))
    }

    /// A colon where none can be: in the text of another one's value, or on a line that is indented too deep.
    fn colon(&self, at: u32) -> Diagnostic {
        let before = self.line_before(at);
        let key = before.trim_start_matches([' ', '-']);
        let column = |line: &str| line.len().saturating_sub(line.trim_start_matches([' ', '-']).len());
        let start = (at as usize).saturating_sub(before.len());
        let mut above = self.text.get(..start).unwrap_or_default().lines().rev();
        let outer = above.find(|line| !line.trim().is_empty() && column(line) < column(before));
        let is_first = !key.contains([':', '{', '[', '"', '\'']);
        if let Some(outer) = outer.filter(|outer| is_first && outer.contains(": ")) {
            let message = "this is indented deeper than a line above that has a value already";
            let spaces = match column(outer) {
                0 => "do not indent it".to_owned(),
                1 => "indent it by 1 space".to_owned(),
                spaces => format!("indent it by {spaces} spaces"),
            };
            let help = format!("{spaces}, as that line, or take the value from that line");
            return self.error(at.saturating_sub(offset(key.len())), key.len(), message).help(help);
        }
        let help = "put the text in quotes if the colon belongs to it, or begin a new line";
        self.error(at, 1, "this colon is the second of its line").help(help)
    }

    /// A line that should be `name: value`.
    fn no_key(&self, at: u32) -> Diagnostic {
        let line = self.rest_of_line(at);
        let name = line.split(':').next().unwrap_or_default();
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        if is_name && name.len() < line.trim_end().len() {
            let colon = at.saturating_add(offset(name.len()));
            let finding = self.error(colon, 1, "there is no space behind this colon");
            return finding.help("write one between a name and its value");
        }
        let finding = self.error(at, line.len(), "this line has no colon");
        finding.help("write `name: value`, or `- value` in a list")
    }

    fn quote(&self, at: u32) -> Diagnostic {
        // Where an indentation is wrong, reading ended after the quote was opened.
        let before = self.text.get(..at as usize).unwrap_or_default();
        let is_quote = |char: char| matches!(char, '"' | '\'');
        let open =
            if self.rest(at).starts_with(is_quote) { at } else { before.rfind(is_quote).map_or(at, offset) };
        let quote = self.character(open);
        self.error(open, 1, "this quote is not closed").help(format!("write `{quote}` where the text ends"))
    }

    fn anchor(&self, at: u32) -> Diagnostic {
        let name = |text: &str| -> String {
            let ends = |char: char| char.is_whitespace() || ",[]{}".contains(char);
            text.chars().take_while(|char| !ends(*char)).collect()
        };
        let alias = name(self.rest(at).trim_start_matches('*'));
        let known: Vec<_> = self
            .text
            .match_indices(" &")
            .filter_map(|(at, _)| {
                Some(name(self.text.get(at.saturating_add(2)..)?)).filter(|name| !name.is_empty())
            })
            .collect();
        let length = alias.len().saturating_add(1);
        // In a Tollgate file it may be a secret that begins with a star.
        let begins = |line: &str| line.trim_start_matches(['{', ' ', '"', '\'']).starts_with("tollgate");
        if alias.is_empty() || self.text.lines().any(begins) {
            let help = "put a text that begins with `*` in quotes";
            return self.error(at, length, "there is no such anchor above this").help(help);
        }
        let finding = self.error(at, length, format!("there is no anchor `{}` above this", shown(&alias)));
        match suggest::nearest(&alias, known.iter().map(String::as_str)) {
            Some(near) if near != alias => finding.help(format!("did you mean `*{}`?", shown(near))),
            Some(near) => finding.help(format!("`&{}` stands below: move it up", shown(near))),
            None => finding.help(format!("write `&{}` before the value that it stands for", shown(&alias))),
        }
    }

    fn unexpected(&self, at: u32, character: char) -> Diagnostic {
        let text = shown(character.encode_utf8(&mut [0; 4]));
        if character.is_control() {
            return self.error(at, 1, format!("the character {text} cannot stand in a document"));
        }
        let finding = self.error(at, 1, format!("no text begins with `{text}`"));
        finding.help("put the text in quotes")
    }

    fn indentation(&self, at: u32) -> Diagnostic {
        let (rest, column) = (self.rest_of_line(at).len(), self.line_before(at).len());
        let spaces = if column == 1 { "1 space".into() } else { format!("{column} spaces") };
        let message = format!("this is indented by {spaces}, and no line above that it could belong to is");
        self.error(at, rest, message).help("indent it as the lines it belongs to")
    }

    fn escape(&self, at: u32) -> Diagnostic {
        // Reading ends at the quote, or at the escape.
        let mut rest = self.rest(at).char_indices().peekable();
        let mut start = at;
        while let Some((offset_of, char)) = rest.next() {
            let next = rest.peek().map(|(_, next)| *next);
            if char == '\\' && next.is_some_and(|next| !ESCAPES.contains(next)) {
                start = at.saturating_add(offset(offset_of));
                break;
            }
            if char == '\\' {
                rest.next();
            }
        }
        let escape: String = self.rest(start).chars().take(2).collect();
        let message = format!("`{}` is no escape", shown(&escape));
        self.error(start, escape.len(), message)
            .help("write a backslash as `\\\\`, or put the text in single quotes")
    }
}

/// The bracket that closes this one.
const fn closing(open: char) -> char {
    if open == '[' { ']' } else { '}' }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Lists and maps stand in one another deeper than is read.
pub(super) fn too_deep(at: Place) -> Diagnostic {
    Diagnostic::error(
        "too-deep",
        at,
        format!("lists and maps stand more than {DEPTH_MAX} deep in one another"),
    )
}
