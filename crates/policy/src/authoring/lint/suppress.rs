//! Comments that accept one piece of advice, with a reason. They never hide an error.
//!
//! ```yaml
//! /health:
//!   get: {}   # tollgate-allow no-limit: the load balancer asks every second
//! ```

use crate::document::diagnostic::{Diagnostic, DiagnosticParts, Severity};
use crate::document::sources::{FileId, Place, Source, Sources};

/// The word with which such a comment begins.
const WORD: &str = "tollgate-allow";
/// What the help of findings about these comments shows.
const EXAMPLE: &str = "write it as `# tollgate-allow CODE: REASON`";

/// A finding that a comment accepts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suppressed {
    /// The finding.
    pub finding: Diagnostic,
    /// Why it is accepted, in the words of the comment.
    pub reason: String,
}

/// One code of one comment.
#[derive(Clone, Debug)]
struct Comment {
    /// Where the comment is.
    at: Place,
    code: String,
    reason: String,
    /// The lines that it is about.
    covered: Place,
}

/// The comments of all files of a policy.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    comments: Vec<Comment>,
    /// Comments that suppress nothing because of how they are written.
    wrong: Vec<Diagnostic>,
}

impl Suppressions {
    /// The comments in these files.
    #[must_use]
    pub fn of(sources: &Sources) -> Self {
        let mut all = Self::default();
        for (file, source) in sources.iter() {
            for (at, _) in source.text().match_indices(WORD) {
                all.read(file, source, at);
            }
        }
        all
    }

    /// Reads the comment that has [`WORD`] at this byte, if it is one.
    fn read(&mut self, file: FileId, source: &Source, at: usize) {
        let text = source.text();
        let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
        let line_start = before.rfind('\n').map_or(0, |at| at.saturating_add(1));
        let before = before.get(line_start..).unwrap_or_default();
        let Some(content) = before.trim_end().strip_suffix('#') else { return };
        // Without a blank before it, `#` begins no comment.
        if !content.is_empty() && !content.ends_with([' ', '\t']) {
            return;
        }
        let rest = rest.lines().next().unwrap_or_default();
        let place = |start: usize, end: usize| Place { file, start: offset(start), end: offset(end) };
        let comment_at = place(line_start.saturating_add(content.len()), at.saturating_add(rest.len()));
        let said = rest.get(WORD.len()..).unwrap_or_default();
        let (codes, reason) = said.split_once(':').unwrap_or((said, ""));
        let codes: Vec<_> = codes.split([',', ' ', '\t']).filter(|code| !code.is_empty()).collect();
        let fault = match (codes.is_empty(), reason.trim().is_empty()) {
            (true, _) => Some("this comment names no code"),
            (false, true) => Some("this comment gives no reason"),
            (false, false) => None,
        };
        if let Some(fault) = fault {
            let message = format!("{fault}, so it suppresses nothing");
            self.wrong.push(Diagnostic::warning("suppression", comment_at, message).help(EXAMPLE));
            return;
        }
        let first = if content.trim().is_empty() {
            next_line(text, at).map(|(start, _)| start)
        } else {
            Some(line_start)
        };
        // A comment at the end of a file is about nothing.
        let covered = first.map_or(comment_at, |start| place(start, covered_end(text, start)));
        for code in codes {
            let (code, reason) = (code.to_owned(), reason.trim().to_owned());
            self.comments.push(Comment { at: comment_at, code, reason, covered });
        }
    }

    /// Takes out the findings that a comment accepts, and says which comments accept nothing.
    #[must_use]
    pub fn apply(&self, findings: Vec<Diagnostic>) -> Applied {
        let mut used = vec![false; self.comments.len()];
        let mut applied = self.taken(findings, &mut used);
        let unused = self.comments.iter().zip(used).filter(|(_, used)| !used);
        applied.kept.extend(self.wrong.iter().cloned());
        applied.kept.extend(unused.map(|(comment, _)| {
            let code = tollgate_http::text::shown(&comment.code);
            let message = format!("there is no advice `{code}` here, so this comment suppresses nothing");
            let help = "remove it, or put it on the line of the finding or on a line of its own above that";
            Diagnostic::warning("suppression", comment.at, message).help(help)
        }));
        applied
    }

    /// Takes out the findings that a comment accepts. Comments may be about findings that are not among these.
    #[must_use]
    pub fn accept(&self, findings: Vec<Diagnostic>) -> Applied {
        self.taken(findings, &mut vec![false; self.comments.len()])
    }

    fn taken(&self, findings: Vec<Diagnostic>, used: &mut [bool]) -> Applied {
        let mut applied = Applied { kept: Vec::new(), suppressed: Vec::new() };
        for finding in findings {
            self.take(finding, used, &mut applied);
        }
        applied
    }

    fn take(&self, finding: Diagnostic, used: &mut [bool], applied: &mut Applied) {
        let mut reason = |place: Place| {
            let covers = |comment: &Comment| comment.code == finding.code && comment.covers(place);
            let (at, comment) = self.comments.iter().enumerate().find(|(_, comment)| covers(comment))?;
            if let Some(used) = used.get_mut(at) {
                *used = true;
            }
            Some(comment.reason.clone())
        };
        if finding.severity == Severity::Error {
            applied.kept.push(finding);
            return;
        }
        let Some(parts) = &finding.parts else {
            match reason(finding.place) {
                Some(reason) => applied.suppressed.push(Suppressed { finding, reason }),
                None => applied.kept.push(finding),
            }
            return;
        };
        let mut left = Vec::new();
        for part in &parts.each {
            let alone = || DiagnosticParts { each: vec![part.clone()], ..(**parts).clone() };
            match reason(part.0).and_then(|reason| Some((finding.of_parts(alone())?, reason))) {
                Some((finding, reason)) => applied.suppressed.push(Suppressed { finding, reason }),
                None => left.push(part.clone()),
            }
        }
        if left.len() == parts.each.len() {
            applied.kept.push(finding);
        } else {
            applied.kept.extend(finding.of_parts(DiagnosticParts { each: left, ..(**parts).clone() }));
        }
    }
}

/// Findings, after the comments were applied.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Those that no comment accepts, and what is wrong with comments.
    pub kept: Vec<Diagnostic>,
    /// Those that a comment accepts.
    pub suppressed: Vec<Suppressed>,
}

impl Comment {
    fn covers(&self, place: Place) -> bool {
        place.file == self.covered.file && (self.covered.start..self.covered.end).contains(&place.start)
    }
}

/// The next line after a byte that has more than a comment in it: where it begins and ends.
fn next_line(text: &str, after: usize) -> Option<(usize, usize)> {
    let mut start = after.saturating_add(text.get(after..)?.find('\n')?).saturating_add(1);
    loop {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let line = rest.split_inclusive('\n').next().unwrap_or_default();
        let end = start.saturating_add(line.len());
        if !without_comment(line).is_empty() {
            return Some((start, end));
        }
        start = end;
    }
}

/// Where the lines end that a comment on the line at `start` is about: with a key or a dash alone, the value's first line is
/// one of them.
fn covered_end(text: &str, start: usize) -> usize {
    let line = text.get(start..).and_then(|rest| rest.split_inclusive('\n').next()).unwrap_or_default();
    let content = without_comment(line);
    let opens = content.ends_with(':') || content.ends_with('-');
    let next = if opens { next_line(text, start) } else { None };
    next.map_or(start.saturating_add(line.len()), |(_, end)| end)
}

/// A line without the blanks around it and a comment at its end.
fn without_comment(line: &str) -> &str {
    let line = line.trim();
    if line.starts_with('#') {
        return "";
    }
    line.split_once(" #").map_or(line, |(content, _)| content.trim_end())
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
