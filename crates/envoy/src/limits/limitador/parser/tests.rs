//! What conditions mean, and that no text is too odd for the parser.

use tollgate_testing::dice::Dice;

use super::*;
use crate::limits::limitador::condition::Descriptors;

struct Request(&'static [&'static [(&'static str, &'static str)]]);

impl Descriptors for Request {
    fn value(&self, descriptor: usize, key: &str) -> Option<&str> {
        self.0.get(descriptor)?.iter().rev().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }
}

const REQUEST: Request = Request(&[&[("method", "GET"), ("path", "/a/b")], &[("user.id", "it's")]]);

#[test]
fn conditions_mean_what_they_mean_in_cel() {
    for (text, holds) in [
        ("descriptors[0].method == 'GET'", Some(true)),
        ("descriptors[0]['method'] != \"GET\"", Some(false)),
        ("'GET' == descriptors[0].method", Some(true)),
        ("descriptors[0].path.startsWith('/a')", Some(true)),
        ("descriptors[0].path.endsWith('/a')", Some(false)),
        ("descriptors[0].path.contains('/')", Some(true)),
        ("descriptors[0].method in ['POST', 'GET']", Some(true)),
        ("descriptors[0].method in []", Some(false)),
        ("'method' in descriptors[0]", Some(true)),
        ("has(descriptors[0].user)", Some(false)),
        ("descriptors[1]['user.id'] == 'it\\'s'", Some(true)),
        ("descriptors[0].missing == 'x'", None),
        ("!(descriptors[0].missing == 'x')", None),
        ("descriptors[0].missing == 'x' || descriptors[0].method == 'GET'", Some(true)),
        ("descriptors[0].missing == 'x' && descriptors[0].method == 'POST'", Some(false)),
        ("descriptors[0].missing == 'x' && true", None),
        ("descriptors[7].method == 'GET'", None),
        ("false || !false && descriptors[0].method >= 'G'", Some(true)),
        ("descriptors[0].method<'H'", Some(true)),
    ] {
        let condition = condition(text).unwrap_or_else(|wrong| panic!("{text}: {}", wrong.message(text)));
        assert_eq!(condition.evaluate(&REQUEST), holds, "{text}");
    }
}

#[test]
fn everything_else_is_an_error_with_its_place() {
    for (text, part) in [
        ("", "a value is missing here (character 1 "),
        ("method == 'GET'", "`method` is not known: values are `descriptors[0].method`"),
        ("descriptors[0].size > 5", "write numbers in quotes (character 23 "),
        ("descriptors[0].a == 'b' &&", "a value is missing here (character 27 "),
        ("descriptors[0].a.matches('b')", "this function is not supported (character 18 "),
        ("descriptors[0].a == 'b' ? true : false", "this is not understood (character 25 "),
        ("descriptors[0].a", "a comparison is missing here (character 17 "),
        ("descriptors[-1].a == 'b'", "the number of a descriptor is missing here"),
        ("descriptors[99999].a == 'b'", "0 to 1000"),
        ("descriptors[0].a == 'b", "this text has no end (character 21 "),
        ("descriptors[0].a == '\\x41'", "the escape `\\x`"),
        ("(descriptors[0].a == 'b'", "`)` is missing here"),
    ] {
        let wrong = condition(text).expect_err(text).message(text);
        assert!(wrong.contains(part), "{text}: {wrong}");
    }
    assert!(variable("'a'").is_err() && variable("descriptors[0].a == 'b'").is_err());
    assert_eq!(variable(" descriptors[1].a "), Ok(Text::Value(1, "a".into())));
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    for open in ["(", "!", "!(", "[", "has("] {
        let text = open.repeat(100_000);
        assert!(condition(&text).is_err());
    }
    let text = format!("{}true{}", "(".repeat(DEPTH_MAX - 1), ")".repeat(DEPTH_MAX - 1));
    assert_eq!(condition(&text), Ok(Condition::Constant(true)));
}

#[test]
fn no_text_is_too_odd() {
    let pieces = [
        "descriptors[0].a == 'x'",
        "true",
        "descriptors",
        "[0]",
        ".a",
        "'x'",
        "==",
        " in ",
        "&&",
        "||",
        "!",
        "(",
        ")",
        "[",
        "]",
        ",",
        "é",
        "\\",
        "\"",
        "9",
    ];
    let mut dice = Dice::new(26);
    let mut conditions = 0;
    for _ in 0..20_000 {
        let text: String = (0..dice.below(12)).map(|_| dice.pick(&pieces)).collect();
        conditions += usize::from(condition(&text).is_ok());
    }
    assert!(conditions > 0, "some are conditions");
}
