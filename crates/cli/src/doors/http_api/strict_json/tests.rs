//! Odd JSON: what is no number, no object and no single member.

use super::*;

fn object(text: &str) -> Object {
    Object::new(parse(text.as_bytes()).expect(text), String::new()).expect(text)
}

#[test]
fn only_whole_numbers_are_numbers() {
    for good in ["0", "1", "9007199254740991"] {
        let text = format!("{{\"cost\":{good}}}");
        assert_eq!(object(&text).number("cost", (0, NUMBER_MAX)), Ok(good.parse().ok()), "{good}");
    }
    for odd in [
        "1e3",
        "1.0",
        "1.5",
        "-1",
        "-0",
        "-9223372036854775808",
        "9007199254740992",
        "18446744073709551616",
        "1E0",
    ] {
        let problem = object(&format!("{{\"cost\":{odd}}}")).number("cost", (0, NUMBER_MAX)).expect_err(odd);
        assert_eq!(problem.pointer(), Some("/cost"), "{odd}");
        assert!(problem.detail().contains("whole number"), "{}", problem.detail());
    }
    for none in ["NaN", "Infinity", "0x10", "+1", "01", "1_000", ".5", "1.", "1e999", "\"1\"x", "'1'"] {
        assert!(parse(format!("{{\"cost\":{none}}}").as_bytes()).is_err(), "{none}");
    }
    for other in ["\"1\"", "null", "true", "[1]", "{}"] {
        assert!(object(&format!("{{\"cost\":{other}}}")).number("cost", (0, 9)).is_err(), "{other}");
    }
}

#[test]
fn no_member_is_there_twice_and_none_is_ignored() {
    assert!(parse(br#"{"a":1,"a":1}"#).expect_err("twice").detail().contains("`a` is there twice"));
    assert!(parse(br#"{"x":{"a":1,"\u0061":1}}"#).is_err());
    let problem = object(r#"{"a/b~":1}"#).end().expect_err("it is not known");
    assert_eq!(problem.pointer(), Some("/a~1b~0"));
    let many: Vec<_> = (0..=MEMBERS_MAX).map(|number| format!("\"{number}\":0")).collect();
    assert!(parse(format!("{{{}}}", many.join(",")).as_bytes()).is_err());
}

#[test]
fn what_nests_deeply_or_is_no_json_is_an_error() {
    for text in
        ["", "{", "[1,]", "{\"a\"}", "{} {}", "\u{feff}{}", "{\"a\":1,}", "// a\n{}", "{\"a\":\"\t\"}"]
    {
        assert!(parse(text.as_bytes()).is_err(), "{text:?}");
    }
    assert!(parse(&[b'{', 0xff, b'}']).is_err());
    for deep in [200, 60_000] {
        let (open, close) = ("[".repeat(deep), "]".repeat(deep));
        assert!(parse(format!("{open}{close}").as_bytes()).is_err());
    }
}
