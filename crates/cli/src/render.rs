//! Draws findings for people: the underlined source, related places, and help.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use anstream::adapter::strip_str;
use tollgate_policy::{Diagnostic, Place, Severity, Source, Sources};

use crate::finding::{Finding, printable};
use crate::settings::conceal;

/// Places on lines so close together are drawn in one piece of the text.
const CLOSE_LINES: usize = 8;
/// Of a line of more characters than this (a document on one line), only what is around the place is drawn.
const LINE_CHARS_MAX: usize = 200;
/// Maximum characters drawn of a long line, and how many of them precede the place.
const AROUND_CHARS: usize = 80;
const BEFORE_CHARS: usize = 25;
/// Lines of more bytes than this are not looked through for their length.
const PIECE_BYTES_MAX: usize = 64 << 10;
/// So many places beside the first are drawn. Of further ones the number is told.
const ALSO_MAX: usize = 10;
/// What stands for the rest of such a line.
const CUT: char = '…';

/// A finding, drawn with colours. A stream that shows none takes them out.
#[must_use]
pub fn draw(finding: &Diagnostic, sources: &Sources) -> String {
    let mut group =
        Group::with_title(level(finding.severity).primary_title(&finding.message).id(finding.code));
    for piece in pieces(finding, sources) {
        group = group.elements(piece.elements());
    }
    let hidden = finding.also.len().saturating_sub(ALSO_MAX);
    if hidden > 0 {
        group = group.element(Level::NOTE.message(format!("and {hidden} more, which `--format json` lists")));
    }
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(help));
    }
    let drawn = Renderer::styled().render(&[group]);
    // Between a place and its text the drawing marks another file, which is not there.
    let mark = |line: &&str| strip_str(line).to_string().trim() == ":::";
    if drawn.lines().any(|line| mark(&line)) {
        return drawn.lines().filter(|line| !mark(line)).collect::<Vec<_>>().join("\n");
    }
    drawn
}

/// A finding in a file whose text is not kept: its place is given as numbers.
pub(crate) fn without_text(finding: &Finding) -> String {
    let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let mut origin = Origin::path(printable(&finding.span.file)).line(number(finding.span.line));
    if let Some(column) = finding.span.column {
        origin = origin.char_column(number(column));
    }
    let title = level(finding.severity).primary_title(printable(&finding.message)).id(finding.code);
    let mut group = Group::with_title(title).element(origin);
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(printable(help)));
    }
    Renderer::styled().render(&[group])
}

const fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    }
}

/// Something to underline.
struct Underline<'a> {
    kind: AnnotationKind,
    range: Range<usize>,
    label: &'a str,
}

/// Some lines of a file, and what is underlined in them.
struct Excerpt<'a> {
    source: &'a Source,
    lines: Range<usize>,
    marks: Vec<Underline<'a>>,
}

/// The places of a finding, its own first, those close to each other together.
fn pieces<'a>(finding: &'a Diagnostic, sources: &'a Sources) -> Vec<Excerpt<'a>> {
    let own = std::iter::once((AnnotationKind::Primary, finding.place, finding.label.as_str()));
    let others = finding
        .also
        .iter()
        .take(ALSO_MAX)
        .map(|(place, label)| (AnnotationKind::Context, *place, label.as_str()));
    let mut pieces: Vec<Excerpt<'a>> = Vec::new();
    for (kind, place, label) in own.chain(others) {
        let Some(source) = sources.get(place.file) else { continue };
        let (range, line) = first_line(source, place);
        let mark = Underline { kind, range, label };
        let near = |piece: &&mut Excerpt<'a>| {
            let close =
                piece.lines.start.saturating_sub(CLOSE_LINES)..=piece.lines.end.saturating_add(CLOSE_LINES);
            std::ptr::eq(piece.source, source) && close.contains(&line)
        };
        if let Some(piece) = pieces.iter_mut().find(near) {
            piece.lines = piece.lines.start.min(line)..piece.lines.end.max(line.saturating_add(1));
            piece.marks.push(mark);
        } else {
            pieces.push(Excerpt { source, lines: line..line.saturating_add(1), marks: vec![mark] });
        }
    }
    pieces
}

/// The part of a place that stands on its first line, and that line's number from 0.
///
/// A place can be a whole document. Its first line says where it is.
fn first_line(source: &Source, place: Place) -> (Range<usize>, usize) {
    let text = source.drawable(conceal);
    let Range { start, end } = place.range();
    let line = source.line(place.start);
    let start = start.min(text.len());
    // The end of a line, and what is after it, is drawn as its end.
    let line_end = line.end.max(start);
    let number = source.line_column(place.start).line.saturating_sub(1);
    (start..end.clamp(start, line_end), usize::try_from(number).unwrap_or(0))
}

impl<'a> Excerpt<'a> {
    fn elements(self) -> Vec<Element<'a>> {
        let Some((start, text)) = self.text() else {
            // Each place for itself: on a line as long as this one they may be far from each other.
            return self.marks.iter().flat_map(|mark| around(self.source, mark)).collect();
        };
        let snippet: Snippet<'a, Annotation<'a>> =
            Snippet::source(tame(text)).path(printable(self.source.name()));
        let marks = self.marks.into_iter().map(|mark| {
            let range = mark.range.start.saturating_sub(start)..mark.range.end.saturating_sub(start);
            mark.kind.span(range).label(Some(mark.label).filter(|label| !label.is_empty()))
        });
        vec![snippet.line_start(self.lines.start.saturating_add(1)).annotations(marks).into()]
    }

    /// The lines' text and where it begins. `None` if one is too long to be shown.
    ///
    /// Only these lines are given to be drawn: a large document is not looked through once for each finding.
    fn text(&self) -> Option<(usize, &'a str)> {
        let lines = self.marks.iter().map(|mark| self.source.line(offset(mark.range.start)));
        let (start, end) =
            lines.fold((usize::MAX, 0), |(start, end), line| (start.min(line.start), end.max(line.end)));
        let lines = self.source.drawable(conceal).get(start..end.max(start))?;
        if lines.len() > PIECE_BYTES_MAX {
            return None;
        }
        let short =
            |line: &str| line.chars().take(LINE_CHARS_MAX.saturating_add(1)).count() <= LINE_CHARS_MAX;
        lines.lines().all(short).then_some((start, lines))
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A place, and what stands around it on a line that is too long to be shown.
fn around<'a>(source: &'a Source, mark: &Underline<'a>) -> [Element<'a>; 2] {
    let text = source.drawable(conceal);
    let Range { start, end } = mark.range;
    let line = source.line(offset(start));
    let line_before = text.get(line.start..start).unwrap_or_default();
    let length = |chars: &mut dyn Iterator<Item = char>| chars.map(char::len_utf8).sum::<usize>();
    let kept_before = length(&mut line_before.chars().rev().take(BEFORE_CHARS));
    let line_after = text.get(start..line.end).unwrap_or_default();
    let kept_after = length(&mut line_after.chars().take(AROUND_CHARS.saturating_sub(BEFORE_CHARS)));
    let mut drawn = String::new();
    if kept_before < line_before.len() {
        drawn.push(CUT);
    }
    drawn.push_str(&tame(
        line_before.get(line_before.len().saturating_sub(kept_before)..).unwrap_or_default(),
    ));
    let from = drawn.len();
    drawn.push_str(&tame(line_after.get(..kept_after).unwrap_or_default()));
    let to = from.saturating_add(end.saturating_sub(start)).min(drawn.len());
    if kept_after < line_after.len() {
        drawn.push(CUT);
    }
    let at = source.line_column(offset(start));
    let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    // The column is that of the document, not of what is left of its line.
    let origin = Origin::path(printable(source.name())).line(number(at.line)).char_column(number(at.column));
    let mark = mark.kind.span(from..to).label(Some(mark.label).filter(|label| !label.is_empty()));
    [origin.into(), Snippet::source(drawn).line_start(number(at.line)).annotation(mark).into()]
}

/// Lines in which nothing speaks to the terminal.
///
/// The drawing takes care of escape and its like, and not of those that a terminal may read as escape and a bracket in one
/// (U+0080 to U+009F). Each becomes a dot of as many bytes, so that places stay what they are.
fn tame(text: &str) -> Cow<'_, str> {
    const HIGH: std::ops::RangeInclusive<char> = '\u{80}'..='\u{9f}';
    if text.contains(|char| HIGH.contains(&char)) {
        return Cow::Owned(text.replace(|char| HIGH.contains(&char), "·"));
    }
    Cow::Borrowed(text)
}

#[test]
fn tame_lines_have_the_same_length_and_no_controls_of_two_bytes() {
    assert_eq!(tame("a\u{9b}31m\u{85}ä"), "a·31m·ä");
    assert_eq!(tame("a\u{9b}b").len(), "a\u{9b}b".len());
    assert!(matches!(tame("plain ä"), Cow::Borrowed(_)));
}
