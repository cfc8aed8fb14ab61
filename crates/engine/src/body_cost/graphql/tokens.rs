//! Splits a GraphQL document into tokens: names, punctuation and values.

/// A token. Numbers, strings and the like are all values: it does not matter here which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    Name(&'a str),
    /// One of `! $ & ( ) : = @ [ ] { | }`.
    Sign(u8),
    /// `...`
    Spread,
    Value,
    /// A byte that begins no token, or a string without an end.
    Wrong,
}

/// Takes a document apart, from the left.
#[derive(Clone, Debug)]
pub(super) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Steps over blanks, commas and comments.
    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', ',', '\u{feff}']);
            let Some(comment) = self.rest.strip_prefix('#') else { return };
            self.rest = comment.trim_start_matches(|char| !matches!(char, '\n' | '\r'));
        }
    }

    /// Takes what fits from the front, if the rest begins like this.
    fn take(&mut self, fits: impl Fn(u8) -> bool) -> &'a str {
        let end = self.rest.bytes().position(|byte| !fits(byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Steps over a string of any kind, whose first quote is next. Whether it has an end.
    fn string(&mut self) -> bool {
        if let Some(block) = self.rest.strip_prefix("\"\"\"") {
            return self.block(block);
        }
        let mut bytes = self.rest.bytes().enumerate().skip(1);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    self.rest = self.rest.get(at.saturating_add(1)..).unwrap_or("");
                    return true;
                }
                b'\n' | b'\r' => return false,
                b'\\' => {
                    bytes.next();
                }
                _ => {}
            }
        }
        false
    }

    /// Steps over what is left of a block string. Only `\"""` is an escape in it.
    fn block(&mut self, mut rest: &'a str) -> bool {
        while let Some(at) = rest.find("\"\"\"") {
            let escaped = rest.get(..at).is_some_and(|before| before.ends_with('\\'));
            rest = rest.get(at.saturating_add(3)..).unwrap_or("");
            if !escaped {
                self.rest = rest;
                return true;
            }
        }
        false
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip();
        let first = *self.rest.as_bytes().first()?;
        let token = match first {
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => {
                return Some(Token::Name(self.take(|byte| byte.is_ascii_alphanumeric() || byte == b'_')));
            }
            b'0'..=b'9' | b'-' => {
                self.take(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.'));
                return Some(Token::Value);
            }
            b'"' => return Some(if self.string() { Token::Value } else { Token::Wrong }),
            b'.' => {
                let Some(rest) = self.rest.strip_prefix("...") else { return Some(Token::Wrong) };
                self.rest = rest;
                return Some(Token::Spread);
            }
            b'!' | b'$' | b'&' | b'(' | b')' | b':' | b'=' | b'@' | b'[' | b']' | b'{' | b'|' | b'}' => {
                Token::Sign(first)
            }
            _ => return Some(Token::Wrong),
        };
        self.rest = self.rest.get(1..).unwrap_or("");
        Some(token)
    }
}

#[test]
fn a_document_is_taken_apart() {
    use Token::{Name, Sign, Spread, Value, Wrong};
    let table: &[(&str, &[Token<'_>])] = &[
        ("{a, b}", &[Sign(b'{'), Name("a"), Name("b"), Sign(b'}')]),
        ("\u{feff}_a1#}{\n...F", &[Name("_a1"), Spread, Name("F")]),
        (r#""}{\"" "" -1.5e+3 true"#, &[Value, Value, Value, Name("true")]),
        ("\"\"\"a \"b\" \\\"\"\" }\n{ c\"\"\" x", &[Value, Name("x")]),
        ("\"\"\"\"\"\" x", &[Value, Name("x")]),
    ];
    for (text, wanted) in table {
        assert_eq!(Tokens::new(text).collect::<Vec<_>>(), *wanted, "{text}");
    }
    for text in ["\"a\nb\"", "\"a", "\"\"\"a", "\"a\\\"", "..", "?", "é", "\u{0}"] {
        assert_eq!(Tokens::new(text).next(), Some(Wrong), "{text}");
    }
}
