//! Random texts, judged alike by a pattern and by the parser whose grammar it is. A failure says its seed.

use serde_json::{Value, json};
use tollgate_algorithms::UtcOffset;

use crate::Policy;
use crate::authoring::schema::patterns;
use crate::parse::cors::origin;
use crate::parse::cost::COST_BODY_MAX;
use crate::parse::identity::{header, key_place};
use crate::quantity::{duration, rate, size, utc_offset, window};
use tollgate_testing::dice::Dice;

/// A grammar: its name, its pattern, its parser, and the parts of which its texts are made more often than of others.
struct Grammar {
    name: &'static str,
    pattern: String,
    parser: fn(&str) -> bool,
    often: &'static [&'static str],
}

/// What other texts are made of.
const PARTS: &[&str] = &[
    "0",
    "1",
    "05",
    "1024",
    ".",
    "5",
    " ",
    "  ",
    "per",
    " per ",
    "s",
    "sec",
    "m",
    "h",
    "day",
    "week",
    "month",
    "calendar ",
    "+",
    "-",
    "18",
    "00",
    ":",
    "Z",
    "60",
    "B",
    "KiB",
    " MiB",
    "header:",
    "query:",
    "X-Key",
    "ip",
    "ä",
    "/",
    "\t",
];
const TIMES: &[&str] = &["0", "1", "10", " ", "s", "ms", "us", "seconds", "minute", "days", "w", "hour"];

fn check(grammar: &Grammar, seeds: u64) {
    let Grammar { name, pattern, parser, often } = grammar;
    let schema = jsonschema::draft202012::new(&json!({ "pattern": pattern })).unwrap();
    let mut good = 0;
    for seed in 0..seeds {
        let mut dice = Dice::new(seed);
        let part = |dice: &mut Dice| if dice.below(5) == 0 { dice.pick(PARTS) } else { dice.pick(often) };
        let text: String = (0..=dice.below(6)).map(|_| part(&mut dice)).collect();
        // Whether a product can still be counted is a sum, which no pattern sees.
        if text.split(|char: char| !char.is_ascii_digit()).any(|digits| digits.len() > 6) {
            continue;
        }
        let expected = parser(&text);
        assert_eq!(schema.is_valid(&Value::from(text.as_str())), expected, "{name}, seed {seed}: {text:?}");
        good += usize::from(expected);
    }
    assert!(good > 50, "{name}: only {good} good texts were tried");
}

/// A consumer key of one link, by the reader of documents.
fn is_link(text: &str) -> bool {
    let key = serde_json::to_string(text).unwrap();
    let limit = format!("{{ algorithm: concurrency, limit: 5, consumer_key: {key} }}");
    Policy::parse(
        "openapi.yaml",
        &format!("openapi: 3.1.0\npaths: {{}}\nx-tollgate: {{ header_names: any }}\nx-rate-limit: {limit}\n"),
    )
    .is_ok()
}

#[test]
fn patterns_and_parsers_agree_on_random_texts() {
    let table = [
        Grammar {
            name: "rate",
            pattern: patterns::rate(),
            // A number alone is not a text, and a period of 0 is no limit.
            parser: |text| text.contains(" per ") && rate(text).is_ok_and(|rate| rate.period.get() > 0),
            often: &["0", "1", "10", ".", "5", " per ", " per ", " ", "s", "second", "minute", "days", "1 s"],
        },
        Grammar {
            name: "duration",
            pattern: patterns::duration(),
            parser: |text| duration(text).is_ok(),
            often: TIMES,
        },
        Grammar {
            name: "window",
            pattern: patterns::window(),
            parser: |text| !text.starts_with('0') && window(text, UtcOffset::UTC).is_ok(),
            often: &["0", "1", "10", " ", "s", "days", "calendar ", "calendar ", "day", "week", "month"],
        },
        Grammar {
            name: "offset",
            pattern: patterns::OFFSET.into(),
            parser: |text| utc_offset(text).is_ok(),
            often: &["+", "-", "00", "02", "17", "18", "23", "59", "60", ":", ":", "Z", "UTC"],
        },
        Grammar {
            name: "size",
            pattern: patterns::SIZE.into(),
            parser: |text| {
                let number = text.bytes().all(|byte| byte.is_ascii_digit());
                !number && size(text).is_ok_and(|bytes| bytes <= COST_BODY_MAX)
            },
            often: &["0", "1", "2", "102", "10", "4", "5", " ", "B", "KiB", "MiB"],
        },
        Grammar {
            name: "key_place",
            pattern: patterns::key_place(),
            parser: |text| key_place(text).is_ok(),
            often: &["header:", "query:", "cookie:", " ", "X-Key", "a", ":"],
        },
        Grammar {
            name: "header",
            pattern: patterns::header(),
            parser: |text| header(text).is_ok(),
            often: &["X-Key", "a", ":", "_", "~", "é", "9", "\u{7f}"],
        },
    ];
    table.iter().for_each(|grammar| check(grammar, 40_000));
    let often = &[
        "api_key",
        "ip",
        "everyone",
        "header:",
        "query:",
        "jwt_unverified:",
        "cookie:",
        " + ",
        "+",
        " ",
        "a",
        "X-Key",
    ];
    check(&Grammar { name: "link", pattern: patterns::link(), parser: is_link, often }, 20_000);
}

#[test]
fn origins_of_scripts_agree() {
    let often =
        &["https://", "http", "a", "A", ".", ":", "443", "[", "]", "::1", "*", "/", "://", "-", "_", "+"];
    let pattern = patterns::BROWSER_ORIGIN.into();
    check(&Grammar { name: "browser_origin", pattern, parser: |text| origin(text).is_ok(), often }, 20_000);
}
