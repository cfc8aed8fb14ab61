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
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            let help = "put the text in quotes if the colon belongs to it, or begin a new line";
            Some(text.error(at, 1, "this colon is the second of its line").help(help))
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation => Some(text.indentation(at)),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            let help = "write `name: value`, or `- value` in a list";
            Some(text.error(at, text.rest_of_line(at).len(), "this line has no colon").help(help))
        }
        ErrorKind::InvalidTrailingSingleQuotedScalar => {
            let message = "the text in quotes ends before this";
            Some(text.error(at, 1, message).help("write a single quote inside of single quotes twice: `''`"))
        }
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
        let open = self.open?;
        let between = self.text.get(open as usize..at as usize)?;
        let begins_line = self.line_before(at).trim().is_empty();
        if self.rest(at).trim().is_empty() {
            return Some(self.unclosed(open, None));
        }
        if between.contains('\n') && begins_line && self.line_before(at).len() <= self.indent(open) {
            return Some(self.unclosed(open, Some(at)));
        }
        let bracket = self.character(open);
        let end = closing(bracket.chars().next().unwrap_or('{'));
        let finding = self.error(at, 1, format!("before this a `,` or `{end}` is missing"));
        Some(finding.also(self.error(open, 1, "").place, format!("this `{bracket}` is still open")))
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
