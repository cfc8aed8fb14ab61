//! Templates that are taken and what they are made of; templates that are not, and where they go wrong.

use super::pattern::{Case, Pattern};
use super::{
    PARAMETERS_MAX, Segment, TEMPLATE_BYTES_MAX, TEXT_BYTES_MAX, Tail, Template, TemplateProblem as P,
};
use tollgate_http::path::{PathError, SEGMENTS_MAX};
use tollgate_testing::dice::Dice;

#[test]
fn templates_have_a_shape_and_parameters() {
    let table = [
        ("/", "/", ""),
        ("/reports", "/reports", ""),
        ("/reports/", "/reports/", ""),
        ("/reports/{id}", "/reports/{}", "id"),
        ("/reports/{id}/", "/reports/{}/", "id"),
        ("/files/{name}.json", "/files/{}.json", "name"),
        ("/v1/{name}:cancel", "/v1/{}:cancel", "name"),
        ("/a/{x}-{y}", "/a/{}-{}", "x y"),
        ("/a/b{x}.{y}c", "/a/b{}.{}c", "x y"),
        ("/café/{größe}", "/caf%C3%A9/{}", "größe"),
        ("/a%2Cb;v=1/{user-id}", "/a%2Cb;v=1/{}", "user-id"),
        ("/.well-known/{x}..", "/.well-known/{}..", "x"),
        ("/.{x}", "/.{}", "x"),
        ("/files/{rest*}", "/files/{*}", "rest"),
        ("/{rest*}", "/{*}", "rest"),
    ];
    for (text, shape, names) in table {
        let template = Template::parse(text, Tail::Allowed).unwrap_or_else(|error| panic!("{text}: {error}"));
        let found: Vec<_> = template.names().collect();
        assert_eq!((template.text(), template.shape(), found.join(" ")), (text, shape, names.into()));
        assert_eq!(template.parameters(), found.len());
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let table = [
        ("", 0..0, P::NoLeadingSlash),
        ("reports", 0..1, P::NoLeadingSlash),
        ("é", 0..2, P::NoLeadingSlash),
        ("/{id", 1..4, P::NotClosed),
        ("/{a/b}", 1..3, P::NotClosed),
        ("/{a{b}", 1..6, P::NotClosed),
        ("/id}", 3..4, P::NotOpened),
        ("/{}", 1..3, P::NoName),
        ("/{*}", 1..4, P::NoName),
        ("/{a b}", 1..6, P::BadName { found: ' ' }),
        ("/{?q}", 1..5, P::BadName { found: '?' }),
        ("/{a**}", 1..6, P::BadName { found: '*' }),
        ("/{a}/{a}", 5..8, P::SameName { name: "a".into() }),
        ("/{a}{b}", 4..7, P::NoTextBetween),
        ("/a?b=1", 2..6, P::NotThePath { found: '?' }),
        ("/a#b", 2..4, P::NotThePath { found: '#' }),
        ("/{rest*}/a", 1..8, P::TailNotLast),
        ("/{rest*}/", 1..8, P::TailNotLast),
        ("/a{rest*}", 2..9, P::TailNotLast),
        ("/{rest*}.x", 1..8, P::TailNotLast),
        ("/a/./b", 3..4, P::DotSegment),
        ("/../b", 1..3, P::DotSegment),
        ("/%6cogin", 1..4, P::NotNormal { write: "l".into() }),
        ("/%c3%a9", 1..7, P::NotNormal { write: "%C3%A9".into() }),
        ("/%2c", 1..4, P::NotNormal { write: "%2C".into() }),
        ("/a b", 2..3, P::Refused(PathError::NotAllowed { at: 2, found: ' ' })),
        ("/é b", 3..4, P::Refused(PathError::NotAllowed { at: 7, found: ' ' })),
        ("/a//b", 3..4, P::Refused(PathError::EmptySegment { at: 3 })),
        ("/{a}//b", 5..6, P::Refused(PathError::EmptySegment { at: 3 })),
        ("/a%2Fb", 2..5, P::Refused(PathError::EncodedSlash { at: 2 })),
        ("/a%2{x}", 2..3, P::Refused(PathError::BadEscape { at: 2 })),
        ("/a%é", 2..3, P::Refused(PathError::BadEscape { at: 2 })),
        ("/a%252f", 2..3, P::Refused(PathError::DoublyEncoded { at: 2 })),
        ("/a\\b", 2..3, P::Refused(PathError::Backslash { at: 2 })),
        ("/a\u{85}", 2..4, P::Refused(PathError::Control { at: 2 })),
    ];
    for (text, range, problem) in table {
        let error = Template::parse(text, Tail::Allowed).unwrap_err();
        assert_eq!((&error.range, &error.problem), (&range, &problem), "{text}");
        assert!(text.get(range).is_some(), "{text}: the range cuts a letter");
        assert!(error.to_string().contains(": "), "{error}");
    }
    let error = Template::parse("/a/{rest*}", Tail::Refused).unwrap_err();
    assert_eq!((error.range, error.problem), (3..10, P::TailRefused));
}

#[test]
fn every_limit_is_taken_and_one_more_is_not() {
    let problem = |text: &str| Template::parse(text, Tail::Allowed).err().map(|error| error.problem);
    let long = format!("/{}", "a".repeat(TEMPLATE_BYTES_MAX - 1));
    assert_eq!((problem(&long), problem(&format!("{long}a"))), (None, Some(P::TooLong)));
    let three_bytes = format!("/{}", "€".repeat((TEMPLATE_BYTES_MAX - 1) / 3));
    assert_eq!(problem(&three_bytes), None);

    let parameters = |count| (0..count).map(|i| format!("/{{p{i}}}")).collect::<String>();
    assert_eq!(problem(&parameters(PARAMETERS_MAX)), None);
    assert_eq!(problem(&parameters(PARAMETERS_MAX + 1)), Some(P::TooManyParameters));

    let text = "a".repeat(TEXT_BYTES_MAX);
    assert_eq!(problem(&format!("/{text}{{x}}{text}")), None);
    assert_eq!(problem(&format!("/{text}{{x}}{text}a")), Some(P::TextTooLong));

    let segments = "/a".repeat(SEGMENTS_MAX);
    assert_eq!(problem(&segments), None);
    assert_eq!(problem(&format!("{segments}/")), Some(P::Refused(PathError::TooManySegments)));
}

fn pattern(text: &str) -> Pattern {
    let template = Template::parse(&format!("/{text}"), Tail::Refused).unwrap();
    match &template.segments()[0] {
        Segment::Pattern(pattern) => pattern.clone(),
        Segment::Literal(_) | Segment::Parameter | Segment::Tail => panic!("{text} is no pattern"),
    }
}

#[test]
fn a_parameter_takes_whole_characters_and_at_least_one() {
    let table = [
        ("{x}.json", "a.json", true),
        ("{x}.json", ".json", false),
        ("{x}.json", "a.json.json", true),
        ("{x}.json", "a.JSON", false),
        ("a{x}", "a", false),
        ("a{x}", "ab", true),
        ("a{x}a", "aa", false),
        ("a{x}a", "aba", true),
        ("{x}-{y}", "-", false),
        ("{x}-{y}", "a-", false),
        ("{x}-{y}", "-a", false),
        ("{x}-{y}", "--", false),
        ("{x}-{y}", "---", true),
        ("{x}-{y}", "a-b-c", true),
        ("{x}ab{y}ab{z}", "1abab2ab3", true),
        ("{x}ab{y}ab{z}", "1abab2", false),
        ("{x}9", "%C3%A9", false),
        ("{x}9", "%C3%A99", true),
        ("{x}A{y}", "%AA%BB", false),
        ("{x}A{y}", "%C3%A9A%C3%A9", true),
        ("{x}é", "aé", false),
        ("{x}é", "a%C3%A9", true),
    ];
    for (text, segment, expected) in table {
        assert_eq!(pattern(text).matches(segment.as_bytes(), Case::Kept), expected, "{text} and {segment}");
    }
    assert!(pattern("{x}.json").matches(b"a.JSON", Case::Ignored));
    assert!(pattern("A{x}-b{y}c").matches(b"a1-B2C", Case::Ignored));
}

#[test]
fn an_escape_is_one_character() {
    for (text, expected) in [("{x}.json", 5), ("é{x}", 1), ("€%2C{x}a{y}b", 4), ("{x}🎉", 1)] {
        assert_eq!(pattern(text).characters(), expected, "{text}");
    }
}

/// Every segment of up to nine of three characters, one of which is an escape that ends like another.
fn short_segments() -> Vec<String> {
    let mut all = vec![String::new()];
    let mut from = 0;
    for _ in 0..9 {
        let until = all.len();
        for i in from..until {
            all.extend(["a", "9", "%C3%A9"].map(|next| format!("{}{next}", all[i])));
        }
        from = until;
    }
    all
}

#[test]
fn two_patterns_meet_exactly_when_a_segment_matches_both() {
    let segments = short_segments();
    let texts = ["", "a", "9", "é", "a9", "9a"];
    let mut met = 0;
    for seed in 0..400 {
        let mut chance = Dice::new(seed);
        let mut made = || loop {
            let (prefix, suffix) = (chance.pick(&texts), chance.pick(&texts));
            let middle = chance.pick(&["", "", "a", "9", "é"]);
            let between = if middle.is_empty() { String::new() } else { format!("{middle}{{y}}") };
            if !(prefix.is_empty() && suffix.is_empty() && between.is_empty()) {
                return pattern(&format!("{prefix}{{x}}{between}{suffix}"));
            }
        };
        let (a, b) = (made(), made());
        // Nine characters are enough: two of prefix, two of suffix, a middle of each, and three between.
        let both = |segment: &&String| {
            a.matches(segment.as_bytes(), Case::Kept) && b.matches(segment.as_bytes(), Case::Kept)
        };
        let found = segments.iter().find(both);
        assert_eq!(a.meets(&b), found.is_some(), "seed {seed}: {a:?} {b:?} {found:?}");
        assert_eq!(a.meets(&b), b.meets(&a), "seed {seed}: {a:?} {b:?}");
        met += usize::from(a.meets(&b));
    }
    assert!((100..300).contains(&met), "{met} of 400 meet");
}
