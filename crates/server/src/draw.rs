//! Findings drawn for people: the file, the line, what is wrong underlined, other places, what to do. Nothing is found here.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use tollgate_policy::{Diagnostic, Place, Severity, Source, Sources};

use crate::report::{Finding, printable};

/// Places on lines so close together are drawn in one piece of the text.
const CLOSE_LINES: usize = 8;
/// A line of more bytes than this (a document on one line) is not drawn; its place is given as numbers.
const LINE_BYTES_MAX: usize = 2_000;

/// A finding, drawn with colours. A stream that shows none takes them out.
#[must_use]
pub fn draw(finding: &Diagnostic, sources: &Sources) -> String {
    let mut group =
        Group::with_title(level(finding.severity).primary_title(&finding.message).id(finding.code));
    for piece in pieces(finding, sources) {
        group = group.element(piece.element());
    }
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(help));
    }
    Renderer::styled().render(&[group])
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
struct Mark<'a> {
    kind: AnnotationKind,
    range: Range<usize>,
    label: &'a str,
}

/// Some lines of a file, and what is underlined in them.
struct Piece<'a> {
    source: &'a Source,
    lines: Range<usize>,
    marks: Vec<Mark<'a>>,
}

/// The places of a finding, its own first, those close to each other together.
fn pieces<'a>(finding: &'a Diagnostic, sources: &'a Sources) -> Vec<Piece<'a>> {
    let own = std::iter::once((AnnotationKind::Primary, finding.place, finding.label.as_str()));
    let others = finding.also.iter().map(|(place, label)| (AnnotationKind::Context, *place, label.as_str()));
    let mut pieces: Vec<Piece<'a>> = Vec::new();
    for (kind, place, label) in own.chain(others) {
        let Some(source) = sources.get(place.file) else { continue };
        let (range, line) = first_line(source, place);
        let mark = Mark { kind, range, label };
        let near = |piece: &&mut Piece<'a>| {
            let close =
                piece.lines.start.saturating_sub(CLOSE_LINES)..=piece.lines.end.saturating_add(CLOSE_LINES);
            std::ptr::eq(piece.source, source) && close.contains(&line)
        };
        if let Some(piece) = pieces.iter_mut().find(near) {
            piece.lines = piece.lines.start.min(line)..piece.lines.end.max(line.saturating_add(1));
            piece.marks.push(mark);
        } else {
            pieces.push(Piece { source, lines: line..line.saturating_add(1), marks: vec![mark] });
        }
    }
    pieces
}

/// The part of a place that stands on its first line, and that line's number from 0.
///
/// A place can be a whole document. Its first line says where it is.
fn first_line(source: &Source, place: Place) -> (Range<usize>, usize) {
    let text = source.text();
    let Range { start, end } = place.range();
    let start = start.min(text.len());
    let line_end =
        text.get(start..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| start.saturating_add(at));
    let line = source.line_column(place.start).line.saturating_sub(1);
    (start..end.clamp(start, line_end), usize::try_from(line).unwrap_or(0))
}

impl<'a> Piece<'a> {
    fn element(self) -> Element<'a> {
        let first = self.marks.first().map_or(0, |mark| mark.range.start);
        let Some((start, text)) = self.text() else {
            let at = self.source.line_column(u32::try_from(first).unwrap_or(u32::MAX));
            let (line, column) = (usize::try_from(at.line), usize::try_from(at.column));
            let origin = Origin::path(printable(self.source.name())).line(line.unwrap_or(1));
            return origin.char_column(column.unwrap_or(1)).into();
        };
        let snippet: Snippet<'a, Annotation<'a>> =
            Snippet::source(tame(text)).path(printable(self.source.name()));
        let marks = self.marks.into_iter().map(|mark| {
            let range = mark.range.start.saturating_sub(start)..mark.range.end.saturating_sub(start);
            mark.kind.span(range).label(Some(mark.label).filter(|label| !label.is_empty()))
        });
        snippet.line_start(self.lines.start.saturating_add(1)).annotations(marks).into()
    }

    /// The lines' text and where it begins. `None` if one is too long to be shown.
    ///
    /// Only these lines are given to be drawn: a large document is not looked through once for each finding.
    fn text(&self) -> Option<(usize, &'a str)> {
        let text = self.source.text();
        let mark = self.marks.first()?;
        // From the first mark's line, whose number is known, back and forth to the others.
        let before = text.get(..mark.range.start)?;
        let mut start = before.rfind('\n').map_or(0, |at| at.saturating_add(1));
        let mut end = start;
        for mark in &self.marks {
            let before = text.get(..mark.range.start)?;
            start = start.min(before.rfind('\n').map_or(0, |at| at.saturating_add(1)));
            let after = text.get(mark.range.end..)?;
            end = end.max(mark.range.end.saturating_add(after.find('\n').unwrap_or(after.len())));
        }
        let lines = text.get(start..end)?;
        lines.lines().all(|line| line.len() <= LINE_BYTES_MAX).then_some((start, lines))
    }
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
