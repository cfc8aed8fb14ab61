//! Reads a template, character by character, and says where it goes wrong. Not what it matches.

use core::ops::Range;

use super::{
    PARAMETERS_MAX, Pattern, Segment, TEMPLATE_BYTES_MAX, TEXT_BYTES_MAX, Tail, Template, TemplateError,
    TemplateProblem as Problem,
};
use tollgate_http::path::{PathError, escape, normalise, write_escaped};

pub(super) fn parse(text: &str, tail: Tail) -> Result<Template, TemplateError> {
    if text.len() > TEMPLATE_BYTES_MAX {
        return Err(TemplateError { range: TEMPLATE_BYTES_MAX..text.len(), problem: Problem::TooLong });
    }
    let Some(after_slash) = text.strip_prefix('/') else {
        let first = text.chars().next().map_or(0, char::len_utf8);
        return Err(TemplateError { range: 0..first, problem: Problem::NoLeadingSlash });
    };
    let mut reader =
        Reader { text, tail, names: Vec::new(), shape: String::new(), sample: Sample::default() };
    let mut segments = Vec::new();
    let mut begin = 1;
    for part in after_slash.split('/') {
        segments.push(reader.segment(part, begin)?);
        begin += part.len() + 1;
    }
    reader.sample.check(text)?;
    let Reader { names, shape, .. } = reader;
    Ok(Template { text: text.into(), shape, names, segments: segments.into() })
}

struct Reader<'a> {
    text: &'a str,
    tail: Tail,
    names: Vec<String>,
    shape: String,
    sample: Sample,
}

/// A path that the template matches, with `x` for every parameter; and from which byte of the template each of its
/// bytes is.
#[derive(Default)]
struct Sample {
    path: String,
    origins: Vec<usize>,
}

impl Reader<'_> {
    fn segment(&mut self, part: &str, begin: usize) -> Result<Segment, TemplateError> {
        let wrong = |range: Range<usize>, problem| Err(TemplateError { range, problem });
        let end = begin + part.len();
        if part == "." || part == ".." {
            return wrong(begin..end, Problem::DotSegment);
        }
        self.shape.push('/');
        self.sample.push("/", begin.saturating_sub(1));
        // The text before the first parameter, and after each.
        let mut texts = vec![String::new()];
        let mut rest = part;
        while let Some(next) = rest.chars().next() {
            let at = end - rest.len();
            let mut taken = next.len_utf8();
            let mut text = String::new();
            match next {
                '{' => {
                    let Some(name) = name(rest) else { return wrong(at..end, Problem::NotClosed) };
                    taken = name.len() + 2;
                    if self.parameter(name, at)? {
                        let whole = part.len() == taken && end == self.text.len();
                        return if whole {
                            Ok(Segment::Tail)
                        } else {
                            wrong(at..at + taken, Problem::TailNotLast)
                        };
                    }
                    if texts.len() > 1 && texts.last().is_some_and(String::is_empty) {
                        return wrong(at..at + taken, Problem::NoTextBetween);
                    }
                    texts.push(String::new());
                }
                '}' => return wrong(at..at + 1, Problem::NotOpened),
                '?' | '#' => return wrong(at..self.text.len(), Problem::NotThePath { found: next }),
                '%' => {
                    text = self.escape(at)?;
                    taken = text.len();
                }
                _ if next.is_ascii() => text.push(next),
                _ if next.is_control() => {
                    return wrong(at..at + taken, Problem::Refused(PathError::Control { at }));
                }
                _ => write_escaped(next, &mut text),
            }
            self.sample.push(&text, at);
            self.shape.push_str(&text);
            if let Some(last) = texts.last_mut() {
                last.push_str(&text);
            }
            rest = rest.get(taken..).unwrap_or_default();
        }
        if texts.len() > 1 && texts.iter().any(|text| text.len() > TEXT_BYTES_MAX) {
            return wrong(begin..end, Problem::TextTooLong);
        }
        Ok(segment(texts))
    }

    /// Takes a parameter's name, at its brace; returns whether it is a tail.
    fn parameter(&mut self, written: &str, at: usize) -> Result<bool, TemplateError> {
        let wrong = |problem| Err(TemplateError { range: at..at + written.len() + 2, problem });
        let (name, is_tail) = written.strip_suffix('*').map_or((written, false), |name| (name, true));
        let bad = |c: char| c.is_control() || c.is_whitespace() || "?#*=+;&,|".contains(c);
        if name.is_empty() {
            return wrong(Problem::NoName);
        } else if let Some(found) = name.chars().find(|c| bad(*c)) {
            return wrong(Problem::BadName { found });
        } else if is_tail && self.tail == Tail::Refused {
            return wrong(Problem::TailRefused);
        } else if self.names.iter().any(|other| other == name) {
            return wrong(Problem::SameName { name: name.into() });
        } else if self.names.len() == PARAMETERS_MAX {
            return wrong(Problem::TooManyParameters);
        }
        self.names.push(name.into());
        self.shape.push_str(if is_tail { "{*}" } else { "{}" });
        self.sample.push("x", at);
        Ok(is_tail)
    }

    /// Takes the escape at a percent sign, which must be in normal form.
    fn escape(&self, at: usize) -> Result<String, TemplateError> {
        let wrong = |end: usize, problem| Err(TemplateError { range: at..end, problem });
        let found = match escape(self.text.as_bytes(), at) {
            Ok(found) => found,
            Err(error) => {
                // The percent sign, and what should be its digits, but no part of a character.
                let digits =
                    self.text.get(at + 1..at + 3).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
                return wrong(at + 1 + digits.map_or(0, str::len), Problem::Refused(error));
            }
        };
        let end = at + found.bytes;
        let written = self.text.get(at..end).unwrap_or_default();
        if !found.changes {
            return Ok(written.into());
        }
        let decoded = found.value.is_ascii_alphanumeric() || "-_~".contains(found.value);
        let write = if decoded { found.value.to_string() } else { written.to_ascii_uppercase() };
        wrong(end, Problem::NotNormal { write })
    }
}

/// The name after a brace, if there is another brace to close it.
fn name(rest: &str) -> Option<&str> {
    let (name, _) = rest.strip_prefix('{')?.split_once('}')?;
    (!name.contains('{')).then_some(name)
}

/// A segment from the texts before, between and after its parameters.
fn segment(mut texts: Vec<String>) -> Segment {
    let suffix = texts.pop().unwrap_or_default();
    if texts.is_empty() {
        return Segment::Literal(suffix.into());
    }
    let prefix = texts.remove(0);
    if texts.is_empty() && prefix.is_empty() && suffix.is_empty() {
        return Segment::Parameter;
    }
    let middles = texts.into_iter().map(String::into_boxed_str).collect();
    Segment::Pattern(Pattern { prefix: prefix.into(), suffix: suffix.into(), middles })
}

impl Sample {
    fn push(&mut self, text: &str, origin: usize) {
        self.path.push_str(text);
        self.origins.resize(self.path.len(), origin);
    }

    /// Whether the normaliser takes it as it is.
    fn check(&self, text: &str) -> Result<(), TemplateError> {
        match normalise(&self.path, &mut String::new()) {
            Ok(normal) if normal == self.path => Ok(()),
            Ok(normal) => Err(TemplateError {
                range: 0..text.len(),
                problem: Problem::NotNormal { write: normal.into() },
            }),
            Err(error) => {
                let origin = error.at().and_then(|at| self.origins.get(at).copied());
                let range = origin.map_or(0..text.len(), |at| at..at + 1);
                Err(TemplateError { range, problem: Problem::Refused(error) })
            }
        }
    }
}
