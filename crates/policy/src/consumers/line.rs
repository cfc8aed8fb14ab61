//! One line of comma-separated values, cut into cells after RFC 4180. It knows nothing of what the cells mean.

use std::borrow::Cow;

/// One cell: its text, without quotes, and where it begins.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Cell<'a> {
    pub(super) text: Cow<'a, str>,
    /// The byte of the line at which the text begins; for a quoted cell, its first quote.
    pub(super) at: usize,
}

/// What is wrong with the quotes of a line: at which byte, and a sentence.
pub(super) type Fault = (usize, &'static str);

const OPEN: &str = "A quote is opened here and not closed on the same line. Close it; line breaks inside quotes are not \
                    supported.";
const INSIDE: &str = "A quote stands inside a cell that does not begin with one. Put the whole cell in quotes, and double \
                      the quotes inside.";
const BEHIND: &str =
    "Text follows a closing quote. Put a comma between cells, or double the quotes inside a quoted cell.";

/// The cells of a line, from left to right. Spaces around a cell do not belong to it; inside quotes they do.
pub(super) struct Cells<'a> {
    line: &'a str,
    /// Where the next cell begins; `None` at the end.
    next: Option<usize>,
}

impl<'a> Cells<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self { line, next: Some(0) }
    }

    fn quoted(&mut self, at: usize) -> Result<Cell<'a>, Fault> {
        let inside = self.line.get(at + 1..).unwrap_or_default();
        let bytes = inside.as_bytes();
        let (mut end, mut doubled) = (0, false);
        loop {
            match (bytes.get(end), bytes.get(end + 1)) {
                (None, _) => return Err((at, OPEN)),
                (Some(b'"'), Some(b'"')) => (end, doubled) = (end + 2, true),
                (Some(b'"'), _) => break,
                _ => end += 1,
            }
        }
        let text = inside.get(..end).unwrap_or_default();
        let behind = inside.get(end + 1..).unwrap_or_default();
        let rest = behind.trim_start_matches(' ');
        self.next = match rest.as_bytes().first() {
            None => None,
            Some(b',') => Some(self.line.len() - rest.len() + 1),
            Some(_) => return Err((self.line.len() - rest.len(), BEHIND)),
        };
        let text = if doubled { text.replace("\"\"", "\"").into() } else { text.into() };
        Ok(Cell { text, at })
    }

    fn plain(&mut self, at: usize) -> Result<Cell<'a>, Fault> {
        let rest = self.line.get(at..).unwrap_or_default();
        let end = rest.bytes().position(|byte| byte == b',');
        self.next = end.map(|end| at + end + 1);
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        match text.bytes().position(|byte| byte == b'"') {
            Some(quote) => Err((at + quote, INSIDE)),
            None => Ok(Cell { text: text.trim_end_matches(' ').into(), at }),
        }
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = Result<Cell<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.next.take()?;
        let rest = self.line.get(start..)?;
        let at = start + rest.bytes().take_while(|byte| *byte == b' ').count();
        let quoted = self.line.as_bytes().get(at) == Some(&b'"');
        Some(if quoted { self.quoted(at) } else { self.plain(at) })
    }
}

/// The column of a byte of the line, from 1, in characters.
pub(super) fn column(line: &str, at: usize) -> u32 {
    let before = line.get(..at).unwrap_or(line).chars().count();
    u32::try_from(before + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_into_cells() {
        let cases: &[(&str, &[(&str, usize)])] = &[
            ("", &[("", 0)]),
            (",", &[("", 0), ("", 1)]),
            ("a,b", &[("a", 0), ("b", 2)]),
            (" a b , c ", &[("a b", 1), ("c", 7)]),
            ("\"a,b\",c", &[("a,b", 0), ("c", 6)]),
            ("\"a\"\"b\"\"\",", &[("a\"b\"", 0), ("", 9)]),
            ("\"\",\"\"", &[("", 0), ("", 3)]),
            (" \" a \" , b", &[(" a ", 1), ("b", 9)]),
            ("\"\"\"\"", &[("\"", 0)]),
            ("é,\"ü,\"", &[("é", 0), ("ü,", 3)]),
        ];
        for (line, wanted) in cases {
            let cells: Vec<_> = Cells::new(line).map(|cell| cell.expect("no fault")).collect();
            let cells: Vec<_> = cells.iter().map(|cell| (cell.text.as_ref(), cell.at)).collect();
            assert_eq!(cells, *wanted, "{line}");
        }
    }

    #[test]
    fn wrong_quotes_are_refused_where_they_are() {
        let cases = [
            ("a,\"b", 2, OPEN),
            ("\"", 0, OPEN),
            ("\"a\"\"", 0, OPEN),
            ("a\"b,c", 1, INSIDE),
            ("\"a\" b,c", 4, BEHIND),
        ];
        for (line, at, sentence) in cases {
            let fault = Cells::new(line).find_map(Result::err);
            assert_eq!(fault, Some((at, sentence)), "{line}");
        }
    }

    #[test]
    fn columns_are_counted_in_characters() {
        assert_eq!([column("éa", 0), column("éa", 2), column("éa", 3), column("éa", 99)], [1, 2, 3, 3]);
    }
}
