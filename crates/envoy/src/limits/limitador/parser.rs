//! Parses the part of CEL that Limitador's files use: texts of descriptors, comparisons, `in`, `startsWith`, `&&`, `||` and `!`.

use super::condition::{Comparison, Condition, Text};

/// How deep parentheses and negations may be nested. A deeper expression is an error.
const DEPTH_MAX: usize = 32;
/// The largest index of a descriptor. A larger one is an error.
const INDEX_MAX: usize = 1_000;

/// What is wrong with an expression, and at which byte.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wrong {
    at: usize,
    what: String,
}

impl Wrong {
    /// A sentence with the place in the expression.
    pub(crate) fn message(&self, expression: &str) -> String {
        let column = expression.get(..self.at).unwrap_or(expression).chars().count().saturating_add(1);
        format!(
            "{} (character {column} of the expression). Write comparisons of texts such as `descriptors[0].key == 'value'`, \
             with `in`, `startsWith`, `&&`, `||` and `!`",
            self.what
        )
    }
}

type Parsed<T> = Result<T, Wrong>;

/// A condition.
pub(crate) fn condition(text: &str) -> Parsed<Condition> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let condition = parser.or()?;
    parser.end()?;
    Ok(condition)
}

/// A variable: the text of a descriptor.
pub(crate) fn variable(text: &str) -> Parsed<Text> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let (at, found) = (parser.skip(), parser.text()?);
    parser.end()?;
    match found {
        Text::Value(..) => Ok(found),
        Text::Literal(_) => Err(Wrong { at, what: "a variable has to be of a descriptor".into() }),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Skips blanks, and says where it stands then.
    fn skip(&mut self) -> usize {
        let rest = self.rest();
        let blanks = rest.len().saturating_sub(rest.trim_start().len());
        self.at = self.at.saturating_add(blanks);
        self.at
    }

    fn wrong<T>(&self, what: impl Into<String>) -> Parsed<T> {
        Err(Wrong { at: self.at, what: what.into() })
    }

    /// Takes a sign if it comes next.
    fn takes(&mut self, sign: &str) -> bool {
        self.skip();
        let is_next = self.rest().starts_with(sign);
        if is_next {
            self.at = self.at.saturating_add(sign.len());
        }
        is_next
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.takes(sign) { Ok(()) } else { self.wrong(format!("`{sign}` is missing here")) }
    }

    fn end(&mut self) -> Parsed<()> {
        self.skip();
        if self.rest().is_empty() { Ok(()) } else { self.wrong("this is not understood") }
    }

    /// The word that comes next, without taking it.
    fn word(&mut self) -> &'a str {
        self.skip();
        let rest = self.rest();
        let ends = |(at, letter): &(usize, char)| {
            !(letter.is_ascii_alphabetic() || *letter == '_' || (*at > 0 && letter.is_ascii_digit()))
        };
        let end = rest.char_indices().find(ends).map_or(rest.len(), |(at, _)| at);
        rest.get(..end).unwrap_or_default()
    }

    fn take_word(&mut self) -> &'a str {
        let word = self.word();
        self.at = self.at.saturating_add(word.len());
        word
    }

    fn or(&mut self) -> Parsed<Condition> {
        let mut all = vec![self.and()?];
        while self.takes("||") {
            all.push(self.and()?);
        }
        Ok(joined(all, Condition::Or))
    }

    fn and(&mut self) -> Parsed<Condition> {
        let mut all = vec![self.not()?];
        while self.takes("&&") {
            all.push(self.not()?);
        }
        Ok(joined(all, Condition::And))
    }

    fn not(&mut self) -> Parsed<Condition> {
        if self.depth >= DEPTH_MAX {
            return self.wrong(format!("this is nested more than {DEPTH_MAX} deep"));
        }
        self.depth = self.depth.saturating_add(1);
        self.skip();
        let condition = if self.rest().starts_with('!') && !self.rest().starts_with("!=") {
            self.at = self.at.saturating_add(1);
            Condition::Not(self.not()?.into())
        } else if self.takes("(") {
            let inner = self.or()?;
            self.expect(")")?;
            inner
        } else {
            self.comparison()?
        };
        self.depth = self.depth.saturating_sub(1);
        Ok(condition)
    }

    fn comparison(&mut self) -> Parsed<Condition> {
        match self.word() {
            word @ ("true" | "false") => {
                self.take_word();
                return Ok(Condition::Constant(word == "true"));
            }
            "has" => {
                self.take_word();
                self.expect("(")?;
                let text = self.text()?;
                self.expect(")")?;
                return match text {
                    Text::Value(descriptor, key) => Ok(Condition::Has(descriptor, key)),
                    Text::Literal(_) => self.wrong("`has` takes a value of a descriptor"),
                };
            }
            _ => {}
        }
        let left = self.text()?;
        if self.takes(".") {
            let at = self.at;
            let how = match self.take_word() {
                "startsWith" => Comparison::StartsWith,
                "endsWith" => Comparison::EndsWith,
                "contains" => Comparison::Contains,
                _ => return Err(Wrong { at, what: "this function is not supported".into() }),
            };
            self.expect("(")?;
            let right = self.text()?;
            self.expect(")")?;
            return Ok(Condition::Compare(left, how, right));
        }
        if self.word() == "in" {
            self.take_word();
            return self.one_of(left);
        }
        // The longer signs first.
        for (sign, how) in [
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ] {
            if self.takes(sign) {
                return Ok(Condition::Compare(left, how, self.text()?));
            }
        }
        self.wrong("a comparison is missing here")
    }

    fn one_of(&mut self, left: Text) -> Parsed<Condition> {
        if self.word() == "descriptors" {
            self.take_word();
            let descriptor = self.index()?;
            return match left {
                Text::Literal(key) => Ok(Condition::Has(descriptor, key)),
                Text::Value(..) => self.wrong("the key on the left of `in` has to be written out"),
            };
        }
        self.expect("[")?;
        let mut list = Vec::new();
        while !self.takes("]") {
            list.push(self.text()?);
            if !self.takes(",") {
                self.expect("]")?;
                break;
            }
        }
        Ok(Condition::In(left, list))
    }

    /// A text in quotes, or `descriptors[0].key`, or `descriptors[0]['key']`.
    fn text(&mut self) -> Parsed<Text> {
        self.skip();
        if self.rest().starts_with(['\'', '"']) {
            return Ok(Text::Literal(self.quoted()?.into()));
        }
        match self.word() {
            "descriptors" => {}
            "" if self.rest().starts_with(|sign: char| sign.is_ascii_digit() || sign == '-') => {
                return self.wrong("values of descriptors are texts: write numbers in quotes");
            }
            "" => return self.wrong("a value is missing here"),
            word => {
                let what =
                    format!("`{word}` is not known: values are `descriptors[0].{word}` and texts in quotes");
                return self.wrong(what);
            }
        }
        self.take_word();
        let descriptor = self.index()?;
        if self.takes("[") {
            self.skip();
            let key = self.quoted()?;
            self.expect("]")?;
            return Ok(Text::Value(descriptor, key.into()));
        }
        self.expect(".")?;
        match self.take_word() {
            "" => self.wrong("the name of a key is missing here"),
            key => Ok(Text::Value(descriptor, key.into())),
        }
    }

    fn index(&mut self) -> Parsed<usize> {
        self.expect("[")?;
        self.skip();
        let rest = self.rest();
        let digits =
            rest.len().saturating_sub(rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len());
        let index =
            rest.get(..digits).and_then(|digits| digits.parse().ok()).filter(|index| *index <= INDEX_MAX);
        let Some(index) = index else {
            return self.wrong(format!("the number of a descriptor is missing here: 0 to {INDEX_MAX}"));
        };
        self.at = self.at.saturating_add(digits);
        self.expect("]")?;
        Ok(index)
    }

    /// A text in quotes, with the escapes of CEL that stand for one sign.
    fn quoted(&mut self) -> Parsed<String> {
        let Some(quote) = self.rest().chars().next().filter(|quote| ['\'', '"'].contains(quote)) else {
            return self.wrong("a text in quotes is missing here");
        };
        let (mut text, mut escaped) = (String::new(), false);
        for (at, letter) in self.rest().char_indices().skip(1) {
            if escaped {
                text.push(match letter {
                    '\\' | '\'' | '"' | '`' | '?' => letter,
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    _ => return self.wrong(format!("the escape `\\{letter}` in this text is not supported")),
                });
                escaped = false;
            } else if letter == '\\' {
                escaped = true;
            } else if letter == quote {
                self.at = self.at.saturating_add(at).saturating_add(1);
                return Ok(text);
            } else {
                text.push(letter);
            }
        }
        self.wrong("this text has no end")
    }
}

fn joined(mut all: Vec<Condition>, join: fn(Vec<Condition>) -> Condition) -> Condition {
    match all.pop() {
        Some(only) if all.is_empty() => only,
        Some(last) => {
            all.push(last);
            join(all)
        }
        None => Condition::Constant(true),
    }
}

#[cfg(test)]
mod tests;
