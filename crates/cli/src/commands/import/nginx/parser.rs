//! The grammar of nginx's configuration: words, quotes, comments, `;` and blocks.

/// How deep blocks may be nested. A deeper file is an error.
const DEPTH_MAX: usize = 32;

/// A directive, with the directives in its block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Directive {
    pub(super) line: usize,
    pub(super) words: Vec<String>,
    pub(super) block: Vec<Self>,
}

impl Directive {
    /// Its name.
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// What stands behind its name.
    pub(super) fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// A piece of the text.
enum Token {
    Word(String),
    Semicolon,
    Open,
    Close,
}

/// Reads a configuration. An error has its line.
pub(super) fn parse(text: &str) -> Result<Vec<Directive>, (usize, String)> {
    let mut open: Vec<Directive> = Vec::new();
    let (mut root, mut words, mut begun) = (Vec::new(), Vec::new(), 1);
    let mut lexer = Lexer { rest: text.chars().peekable(), line: 1 };
    while let Some((line, token)) = lexer.next()? {
        match token {
            Token::Word(word) => {
                if words.is_empty() {
                    begun = line;
                }
                words.push(word);
            }
            Token::Semicolon | Token::Open if words.is_empty() => {
                return Err((line, "a directive is missing here".into()));
            }
            Token::Semicolon => {
                let directive =
                    Directive { line: begun, words: std::mem::take(&mut words), block: Vec::new() };
                open.last_mut().map_or(&mut root, |above| &mut above.block).push(directive);
            }
            Token::Open if open.len() >= DEPTH_MAX => {
                return Err((line, format!("blocks are nested more than {DEPTH_MAX} deep")));
            }
            Token::Open => {
                open.push(Directive { line: begun, words: std::mem::take(&mut words), block: Vec::new() });
            }
            Token::Close => {
                if !words.is_empty() {
                    return Err((line, "`;` is missing before `}`".into()));
                }
                let closed = open.pop().ok_or_else(|| (line, "`}` closes nothing".to_owned()))?;
                open.last_mut().map_or(&mut root, |above| &mut above.block).push(closed);
            }
        }
    }
    match (words.is_empty(), open.last()) {
        (_, Some(open)) => Err((open.line, format!("the block of `{}` has no end", open.name()))),
        (false, None) => Err((begun, "`;` is missing at the end".into())),
        (true, None) => Ok(root),
    }
}

struct Lexer<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    line: usize,
}

impl Lexer<'_> {
    fn take(&mut self) -> Option<char> {
        let letter = self.rest.next()?;
        self.line = self.line.saturating_add(usize::from(letter == '\n'));
        Some(letter)
    }

    fn next(&mut self) -> Result<Option<(usize, Token)>, (usize, String)> {
        while let Some(letter) = self.rest.peek().copied() {
            let line = self.line;
            match letter {
                '#' => {
                    while self.rest.peek().is_some_and(|letter| *letter != '\n') {
                        self.take();
                    }
                }
                letter if letter.is_whitespace() => drop(self.take()),
                ';' | '{' | '}' => {
                    self.take();
                    let token = match letter {
                        ';' => Token::Semicolon,
                        '{' => Token::Open,
                        _ => Token::Close,
                    };
                    return Ok(Some((line, token)));
                }
                '"' | '\'' => {
                    self.take();
                    return self.quoted(letter).map(|word| Some((line, Token::Word(word))));
                }
                _ => return Ok(Some((line, Token::Word(self.word())))),
            }
        }
        Ok(None)
    }

    fn quoted(&mut self, quote: char) -> Result<String, (usize, String)> {
        let (line, mut word) = (self.line, String::new());
        while let Some(letter) = self.take() {
            match letter {
                '\\' => word.extend(self.take()),
                letter if letter == quote => return Ok(word),
                letter => word.push(letter),
            }
        }
        Err((line, "this text has no end".into()))
    }

    /// A word without quotes: `${name}` belongs to it.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(letter) = self.rest.peek().copied() {
            let is_variable = letter == '{' && word.ends_with('$');
            if letter.is_whitespace() || letter == ';' || (letter == '{' && !is_variable) || letter == '}' {
                break;
            }
            self.take();
            word.push(letter);
            if is_variable {
                while let Some(letter) = self.take() {
                    word.push(letter);
                    if letter == '}' {
                        break;
                    }
                }
            } else if letter == '\\' {
                word.extend(self.take());
            }
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use tollgate_testing::dice::Dice;

    use super::*;

    #[test]
    fn directives_have_words_lines_and_blocks() {
        let text =
            "user www; # a comment;\nhttp {\n  map $a ${b} { \"x y\" 'it\\'s'; }\n  server{listen 80;}\n}\n";
        let parsed = parse(text).expect("it is valid");
        let shown: Vec<_> =
            parsed.iter().map(|directive| (directive.line, directive.words.join("|"))).collect();
        assert_eq!(shown, [(1, "user|www".into()), (2, "http".into())]);
        let map = &parsed[1].block[0];
        assert_eq!(
            (map.words.join("|"), map.block[0].words.join("|")),
            ("map|$a|${b}".into(), "x y|it's".into())
        );
        assert_eq!(parsed[1].block[1].block[0].arguments(), ["80"]);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        for (text, line, part) in [
            ("a;\n}", 2, "closes nothing"),
            ("a {\n b;\n", 1, "the block of `a` has no end"),
            ("a\n", 1, "`;` is missing at the end"),
            ("a { b }", 1, "`;` is missing before"),
            (";", 1, "a directive is missing"),
            ("a\n'b", 2, "no end"),
        ] {
            let (at, why) = parse(text).expect_err(text);
            assert!(at == line && why.contains(part), "{text}: {at}: {why}");
        }
        assert!(parse(&"a {".repeat(100_000)).is_err());
    }

    #[test]
    fn no_text_is_too_odd() {
        let mut dice = Dice::new(7);
        for _ in 0..5_000 {
            let text = dice.soup(b"ab ;{}'\"\\#$\n", 40);
            let _ = parse(&String::from_utf8(text).expect("it is ASCII"));
        }
    }
}
