//! A path as OpenAPI documents write it, as templates: without its query and fragment, its parameters of several segments as tails.

/// A path in the forms in which templates know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OpenApiPath {
    /// Each parameter is part of one segment.
    pub(crate) ordinary: String,
    /// The same where a parameter may take several segments.
    pub(crate) long: Option<LongPath>,
    /// Whether `ordinary` is how the path begins in the document, byte by byte.
    pub(crate) is_verbatim: bool,
}

/// A path with a parameter that takes several segments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LongPath {
    /// Up to that parameter: `/repos/{repo}/contents/{path*}`.
    pub(crate) head: String,
    /// What comes after it, such as `/history`; empty if nothing does.
    pub(crate) rest: String,
}

/// What a segment consists of.
#[derive(Clone, Debug)]
enum SegmentPart {
    Text(String),
    Parameter { name: String, is_long: bool },
}

/// The part of a path that is matched: what stands before its query or fragment. In braces, neither begins.
pub(crate) fn matched_part(written: &str) -> &str {
    let mut depth = 0_u32;
    let end = written.find(|character| {
        match character {
            '{' => depth = depth.saturating_add(1),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(character, '?' | '#')
    });
    written.get(..end.unwrap_or(written.len())).unwrap_or(written)
}

/// Reads a path. `multi` names the parameters of which the document says that they take several segments.
///
/// - `{path*}` and `{path+}` take several segments.
/// - `{name=projects/*/files/**}`, as in Google's APIs, is a text with parameters: `*` is a segment, `**` several.
/// - Parameters that touch, as in `{id}{format}`, are one parameter: nothing tells where one ends.
pub(crate) fn read(written: &str, multi: &[String]) -> OpenApiPath {
    let path = matched_part(written);
    let Some(behind) = path.strip_prefix('/') else {
        // No path: the template's reader says so.
        return OpenApiPath { ordinary: path.to_owned(), long: None, is_verbatim: true };
    };
    let segments = segments(behind, multi);
    let ordinary = joined(&segments);
    let is_long = |pieces: &Vec<SegmentPart>| {
        pieces.iter().any(|piece| matches!(piece, SegmentPart::Parameter { is_long: true, .. }))
    };
    let first = segments.iter().position(is_long);
    let long = first.zip(segments.iter().rposition(is_long)).and_then(|(first, last)| {
        let head = joined(segments.get(..first)?);
        // What follows the parameter in its own segment, as `:cancel` in `{name=**}:cancel`.
        let behind = match segments.get(last)?.last() {
            Some(SegmentPart::Text(text)) => format!("/{{..end}}{text}"),
            Some(SegmentPart::Parameter { .. }) | None => String::new(),
        };
        let rest = format!("{behind}{}", joined(segments.get(last.saturating_add(1)..)?));
        Some(LongPath { head: format!("{head}/{{..rest*}}"), rest })
    });
    OpenApiPath { is_verbatim: ordinary == path, ordinary, long }
}

fn joined(segments: &[Vec<SegmentPart>]) -> String {
    let mut text = String::new();
    for pieces in segments {
        text.push('/');
        for piece in pieces {
            match piece {
                SegmentPart::Text(part) => text.push_str(part),
                SegmentPart::Parameter { name, .. } => {
                    text.push('{');
                    text.push_str(name);
                    text.push('}');
                }
            }
        }
    }
    text
}

/// The segments behind a path's first slash. What is wrong with them comes out as it went in: the template's reader says so.
fn segments(mut rest: &str, multi: &[String]) -> Vec<Vec<SegmentPart>> {
    let mut segments = vec![Vec::new()];
    while let Some(at) = rest.find(['/', '{']) {
        let (before, after) = (rest.get(..at).unwrap_or(""), rest.get(at..).unwrap_or(""));
        text(&mut segments, before);
        let content = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        match content {
            Some((content, after)) if !content.contains('{') => {
                parameter(&mut segments, content, multi);
                rest = after;
            }
            _ if after.starts_with('/') => {
                segments.push(Vec::new());
                rest = after.get(1..).unwrap_or("");
            }
            // A brace that is not closed.
            _ => {
                text(&mut segments, "{");
                rest = after.get(1..).unwrap_or("");
            }
        }
    }
    text(&mut segments, rest);
    segments
}

fn text(segments: &mut [Vec<SegmentPart>], more: &str) {
    let Some(pieces) = segments.last_mut().filter(|_| !more.is_empty()) else { return };
    match pieces.last_mut() {
        Some(SegmentPart::Text(text)) => text.push_str(more),
        Some(SegmentPart::Parameter { .. }) | None => pieces.push(SegmentPart::Text(more.to_owned())),
    }
}

fn parameter(segments: &mut Vec<Vec<SegmentPart>>, content: &str, multi: &[String]) {
    if let Some((name, pattern)) = content.split_once('=') {
        for (at, part) in pattern.split('/').enumerate() {
            if at > 0 {
                segments.push(Vec::new());
            }
            match part {
                "*" | "**" => one(segments, format!("{name}.{}", at.saturating_add(1)), part == "**"),
                literal => text(segments, literal),
            }
        }
        return;
    }
    let starred = content.strip_suffix(['*', '+']).filter(|name| !name.is_empty());
    let name = starred.unwrap_or(content);
    one(segments, name.to_owned(), starred.is_some() || multi.iter().any(|known| known == name));
}

fn one(segments: &mut [Vec<SegmentPart>], name: String, is_long: bool) {
    let Some(pieces) = segments.last_mut() else { return };
    match pieces.last_mut() {
        Some(SegmentPart::Parameter { is_long: known, .. }) => *known |= is_long,
        Some(SegmentPart::Text(_)) | None => pieces.push(SegmentPart::Parameter { name, is_long }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path, the parameters that take several segments, its ordinary form and its long one.
    type Case<'a> = (&'a str, &'a [&'a str], &'a str, Option<(&'a str, &'a str)>);

    #[test]
    fn paths_are_read_as_their_authors_mean_them() {
        let table: [Case<'_>; 16] = [
            ("/a/{b}/c", &[], "/a/{b}/c", None),
            ("/", &[], "/", None),
            ("/a/", &[], "/a/", None),
            ("/jobs?op=LIST", &[], "/jobs", None),
            ("/#X-Amz-Target=A.B", &[], "/", None),
            ("/a/{b}#c?d", &[], "/a/{b}", None),
            ("/a/{b*}", &[], "/a/{b}", Some(("/a/{..rest*}", ""))),
            ("/a/{b+}", &[], "/a/{b}", Some(("/a/{..rest*}", ""))),
            ("/a/{b}/c", &["b"], "/a/{b}/c", Some(("/a/{..rest*}", "/c"))),
            ("/a/{b}/c/{d}/e", &["b", "d"], "/a/{b}/c/{d}/e", Some(("/a/{..rest*}", "/e"))),
            ("/a/{b}...{c}", &["b", "c"], "/a/{b}...{c}", Some(("/a/{..rest*}", ""))),
            ("/v1/{name=p/*/l/*}:go", &[], "/v1/p/{name.2}/l/{name.4}:go", None),
            (
                "/v1/{n=p/*/**}:go",
                &[],
                "/v1/p/{n.2}/{n.3}:go",
                Some(("/v1/p/{n.2}/{..rest*}", "/{..end}:go")),
            ),
            ("/u{a}{b}", &[], "/u{a}", None),
            ("/a/{b", &[], "/a/{b", None),
            ("a", &[], "a", None),
        ];
        for (written, multi, ordinary, long) in table {
            let multi: Vec<String> = multi.iter().map(|name| (*name).to_owned()).collect();
            let read = read(written, &multi);
            assert_eq!(read.ordinary, ordinary, "{written}");
            let found = read.long.as_ref().map(|long| (long.head.as_str(), long.rest.as_str()));
            assert_eq!(found, long, "{written}");
        }
    }
}
