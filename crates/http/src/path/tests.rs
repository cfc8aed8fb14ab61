//! The normaliser against a table of tricks, and against a slow reference.

use super::{PATH_BYTES_MAX, PathError, SEGMENTS_MAX, normalise, normalise_with_slashes};
use tollgate_testing::dice::Dice;

fn normal(raw: &str) -> Result<String, PathError> {
    normalise(raw, &mut String::from("left over")).map(str::to_string)
}

#[test]
fn paths_become_normal() {
    let table = [
        ("", "/"),
        ("/", "/"),
        ("/login", "/login"),
        ("/login/", "/login/"),
        ("/LOGIN", "/LOGIN"),
        ("/%6cogin", "/login"),
        ("/%6Cogin", "/login"),
        ("/./login", "/login"),
        ("/x/../login", "/login"),
        ("/login;x", "/login;x"),
        ("/login;x=1/", "/login;x=1/"),
        ("/login/.", "/login/"),
        ("/login/./", "/login/"),
        ("/login/x/..", "/login/"),
        ("/login/..", "/"),
        ("/login/../", "/"),
        ("/.", "/"),
        ("/a/b/../../c", "/c"),
        ("/...", "/..."),
        ("/.a/..b/c..", "/.a/..b/c.."),
        ("/%7euser/%2d%5F%7E", "/~user/-_~"),
        ("/caf%c3%a9", "/caf%C3%A9"),
        ("/caf%C3%A9", "/caf%C3%A9"),
        ("/%e2%82%ac%f0%9f%8e%89", "/%E2%82%AC%F0%9F%8E%89"),
        ("/a%3ab:%2c,", "/a%3Ab:%2C,"),
        ("/a%20b%22%3c%7c", "/a%20b%22%3C%7C"),
        ("/100%25", "/100%25"),
        ("/100%25/2f", "/100%25/2f"),
        ("/%2541%25zz", "/%2541%25zz"),
        ("/a!$&'()*+,;=:@-._~", "/a!$&'()*+,;=:@-._~"),
        ("/a;/b", "/a;/b"),
        ("/a%3b..", "/a%3B.."),
    ];
    for (raw, expected) in table {
        assert_eq!(normal(raw).as_deref(), Ok(expected), "{raw:?}");
    }
}

/// Each path is refused for its reason, which says where if it says so.
fn assert_refused(table: &[(&str, PathError)]) {
    for (raw, expected) in table {
        assert_eq!(normal(raw), Err(*expected), "{raw:?}");
        assert_eq!(expected.at().is_some(), expected.to_string().contains(" at byte "), "{expected}");
    }
}

#[test]
fn escapes_that_servers_read_differently_are_refused() {
    use PathError as E;
    assert_refused(&[
        ("/a%2fb", E::EncodedSlash { at: 2 }),
        ("/a%2Fb", E::EncodedSlash { at: 2 }),
        ("/a/%2e%2e/b", E::EncodedDot { at: 3 }),
        ("/a/.%2E/b", E::EncodedDot { at: 4 }),
        ("/a%5cb", E::EncodedBackslash { at: 2 }),
        ("/a\\b", E::Backslash { at: 2 }),
        ("/a/..\\b", E::Backslash { at: 5 }),
        ("/a%00", E::Control { at: 2 }),
        ("/a\0", E::Control { at: 2 }),
        ("/a%0d%0aSet:1", E::Control { at: 2 }),
        ("/a\r\n", E::Control { at: 2 }),
        ("/a\tb", E::Control { at: 2 }),
        ("/a%7f", E::Control { at: 2 }),
        ("/a\u{7f}", E::Control { at: 2 }),
        ("/a%c2%85", E::Control { at: 2 }),
        ("/%c0%af", E::NotUtf8 { at: 1 }),
        ("/%c0%ae%c0%ae/", E::NotUtf8 { at: 1 }),
        ("/%e0%80%af", E::NotUtf8 { at: 1 }),
        ("/%f0%80%80%af", E::NotUtf8 { at: 1 }),
        ("/%ed%a0%80", E::NotUtf8 { at: 1 }),
        ("/%f4%90%80%80", E::NotUtf8 { at: 1 }),
        ("/%f5%80%80%80", E::NotUtf8 { at: 1 }),
        ("/%80", E::NotUtf8 { at: 1 }),
        ("/%ff", E::NotUtf8 { at: 1 }),
        ("/a%c3", E::NotUtf8 { at: 2 }),
        ("/a%c3A9", E::NotUtf8 { at: 2 }),
        ("/a%c3/%a9", E::NotUtf8 { at: 2 }),
        ("/%u002f", E::BadEscape { at: 1 }),
        ("/a%", E::BadEscape { at: 2 }),
        ("/a%2", E::BadEscape { at: 2 }),
        ("/a%2/f", E::BadEscape { at: 2 }),
        ("/a%%32f", E::BadEscape { at: 2 }),
        ("/a%+2", E::BadEscape { at: 2 }),
        ("/a%252fb", E::DoublyEncoded { at: 2 }),
        ("/a/%252e%252e/b", E::DoublyEncoded { at: 3 }),
        ("/a%255Cb", E::DoublyEncoded { at: 2 }),
        ("/a%2500", E::DoublyEncoded { at: 2 }),
        ("/a%25252f", E::DoublyEncoded { at: 2 }),
        ("/a%2525252f", E::DoublyEncoded { at: 2 }),
        ("/a%25%32%66", E::DoublyEncoded { at: 2 }),
        ("/a%252%46", E::DoublyEncoded { at: 2 }),
        ("/a%%32%35%32%66", E::BadEscape { at: 2 }),
        ("/x/../a%25%32e", E::DoublyEncoded { at: 7 }),
    ]);
    assert_eq!(
        PathError::EncodedDot { at: 7 }.to_string(),
        "the path has an encoded dot (%2E) at byte 7: write it as ."
    );
}

#[test]
fn characters_and_segments_that_servers_read_differently_are_refused() {
    use PathError as E;
    assert_refused(&[
        ("login", E::NoLeadingSlash),
        ("*", E::NoLeadingSlash),
        ("%2flogin", E::NoLeadingSlash),
        ("//login", E::EmptySegment { at: 1 }),
        ("//", E::EmptySegment { at: 1 }),
        ("/a//", E::EmptySegment { at: 3 }),
        ("/a/..//b", E::EmptySegment { at: 6 }),
        ("/caf\u{e9}", E::NotAscii { at: 4 }),
        ("/\u{ff0f}", E::NotAscii { at: 1 }),
        ("/a b", E::NotAllowed { at: 2, found: ' ' }),
        ("/a\"", E::NotAllowed { at: 2, found: '"' }),
        ("/<a>", E::NotAllowed { at: 1, found: '<' }),
        ("/a>", E::NotAllowed { at: 2, found: '>' }),
        ("/^", E::NotAllowed { at: 1, found: '^' }),
        ("/`", E::NotAllowed { at: 1, found: '`' }),
        ("/{a", E::NotAllowed { at: 1, found: '{' }),
        ("/|", E::NotAllowed { at: 1, found: '|' }),
        ("/a}", E::NotAllowed { at: 2, found: '}' }),
        ("/[", E::NotAllowed { at: 1, found: '[' }),
        ("/]", E::NotAllowed { at: 1, found: ']' }),
        ("/a?b", E::NotThePath { at: 2, found: '?' }),
        ("/a#b", E::NotThePath { at: 2, found: '#' }),
        ("/..", E::AboveRoot { at: 1 }),
        ("/../a", E::AboveRoot { at: 1 }),
        ("/a/../../b", E::AboveRoot { at: 6 }),
        ("/./../b", E::AboveRoot { at: 3 }),
        ("/a/..;/b", E::DotsWithParameters { at: 3 }),
        ("/a/.;x/b", E::DotsWithParameters { at: 3 }),
        ("/a/..%3bx", E::DotsWithParameters { at: 3 }),
    ]);
}

#[test]
fn the_longest_path_is_taken_and_one_byte_more_is_not() {
    let longest = format!("/{}", "a".repeat(PATH_BYTES_MAX - 1));
    assert_eq!(normal(&longest).as_ref(), Ok(&longest));
    assert_eq!(normal(&format!("{longest}a")), Err(PathError::TooLong { bytes: PATH_BYTES_MAX + 1 }));
}

#[test]
fn the_most_segments_are_taken_and_one_more_is_not() {
    let most = "/a".repeat(SEGMENTS_MAX);
    assert_eq!(normal(&most).as_ref(), Ok(&most));
    assert_eq!(normal(&format!("{most}/")), Err(PathError::TooManySegments));
    assert_eq!(normal(&"/.".repeat(SEGMENTS_MAX + 1)), Err(PathError::TooManySegments));
}

#[test]
fn a_normal_path_is_not_copied() {
    let mut buffer = String::new();
    for raw in ["/", "/a/b/", "/caf%C3%A9;x=%2C/.well-known/...", "/100%25"] {
        let found = normalise(raw, &mut buffer).unwrap();
        assert_eq!((found.as_ptr(), found.len()), (raw.as_ptr(), raw.len()), "{raw}");
    }
    assert_eq!(buffer.capacity(), 0);
}

/// Decodes as often as there is something to decode, one character at a time.
fn hides_something(segment: &str) -> bool {
    let Some((_, rest)) = segment.split_once("%25") else { return false };
    let decoded = format!("%{rest}").to_lowercase();
    ["%2f", "%2e", "%5c", "%00"].iter().any(|hidden| decoded.starts_with(hidden))
        || hides_something(&decoded)
        || hides_something(rest)
}

/// Each rule as a pass of its own, slowly.
fn reference(raw: &str) -> Option<String> {
    if raw.is_empty() {
        return Some("/".into());
    }
    let mut decoded = Vec::new();
    let mut written = String::new();
    let mut rest = raw.strip_prefix('/').map(|_| raw)?;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        if next != '%' {
            let allowed = next.is_ascii_alphanumeric() || "/-._~!$&'()*+,;=:@".contains(next);
            decoded.push(u8::try_from(next).ok().filter(|_| allowed)?);
            written.push(next);
            continue;
        }
        let hex = rest.get(..2).filter(|hex| hex.chars().all(|digit| digit.is_ascii_hexdigit()))?;
        rest = &rest[2..];
        let byte = u8::from_str_radix(hex, 16).ok()?;
        if byte.is_ascii_control() || b"/.\\".contains(&byte) {
            return None;
        }
        decoded.push(byte);
        if byte.is_ascii_alphanumeric() || b"-_~".contains(&byte) {
            written.push(char::from(byte));
        } else {
            written.push_str(&format!("%{byte:02X}"));
        }
    }
    if String::from_utf8(decoded).ok()?.chars().any(char::is_control) {
        return None;
    }
    let segments: Vec<&str> = written.split('/').skip(1).collect();
    let (last, before) = segments.split_last()?;
    let dots_with_parameters =
        |segment: &&str| [".;", "..;", ".%3B", "..%3B"].iter().any(|trick| segment.starts_with(trick));
    if before.contains(&"") || segments.iter().any(dots_with_parameters) || segments.len() > SEGMENTS_MAX {
        return None;
    }
    if segments.iter().any(|segment| hides_something(segment)) {
        return None;
    }
    let mut kept: Vec<&str> = Vec::new();
    for segment in &segments {
        match *segment {
            "." => {}
            ".." => drop(kept.pop()?),
            other => kept.push(other),
        }
    }
    if [".", ".."].contains(last) {
        kept.push("");
    }
    Some(format!("/{}", kept.join("/")))
}

/// Byte soup, mostly of what tricks are made of.
fn soup(chance: &mut Dice) -> String {
    let tricks = [
        "/",
        "/",
        "/",
        ".",
        "..",
        "/..",
        "/.",
        ";",
        "\\",
        "%",
        "%2",
        "%2e",
        "%2F",
        "%5c",
        "%00",
        "%25",
        "%252f",
        "25",
        "2f",
        "2E",
        "5c",
        "00",
        "%32",
        "%66",
        "%65",
        "%c3%a9",
        "%C3",
        "%a9",
        "%C0%AF",
        "%e2%82%ac",
        "%7f",
        "%c2%80",
        "a",
        "b",
        "Z",
        "%41",
        "%2d",
        "%2c",
        "%3b",
        "x",
        "é",
        "?",
        "#",
        " ",
        "{",
        "\n",
        "\u{7f}",
    ];
    // Most of the time only what may be taken, or hardly any soup would be.
    let harmless =
        ["/", "/a", "/.", "/..", "/b", "%25", "2", "f", "%41", "%c3%a9", "%2c", "/%7E", ";x", ".", "/"];
    let mut made = String::from(if chance.below(20) > 0 { "/" } else { "" });
    let from: &[&str] = if chance.below(3) > 0 { &harmless } else { &tricks };
    for _ in 0..chance.below(12) {
        made.push_str(chance.pick(from));
    }
    made
}

#[test]
fn soup_is_what_the_reference_says_and_normal_paths_stay() {
    let (mut taken, mut changed) = (0, 0);
    for seed in 0..200_000 {
        let raw = soup(&mut Dice::new(seed));
        let found = normal(&raw).ok();
        assert_eq!(found, reference(&raw), "seed {seed}: {raw:?}");
        let Some(found) = found else { continue };
        assert_eq!(normal(&found).as_ref(), Ok(&found), "seed {seed}: {raw:?}");
        let mut buffer = String::new();
        let again = normalise(&found, &mut buffer).unwrap();
        assert_eq!(again.as_ptr(), found.as_ptr(), "seed {seed}: {raw:?} is copied when normal");
        assert_normal(&found);
        taken += 1;
        changed += u32::from(found != raw);
    }
    assert!(taken > 20_000 && changed > 10_000, "the soup has too few that are taken: {taken}, {changed}");
}

/// The output has only ever this form.
fn assert_normal(path: &str) {
    assert!(path.starts_with('/') && path.is_ascii() && !path.contains("//"), "{path}");
    assert!(!path.split('/').any(|segment| [".", ".."].contains(&segment)), "{path}");
    for escape in path.split('%').skip(1) {
        let value = u8::from_str_radix(&escape[..2], 16).unwrap();
        assert!(!escape[..2].contains(|digit: char| digit.is_ascii_lowercase()), "{path}");
        assert!(!value.is_ascii_alphanumeric() && !b"-_~./\\".contains(&value) && value > 31, "{path}");
    }
}

#[test]
fn a_kept_slash_is_a_character_of_its_segment() {
    use PathError as E;
    let table = [
        ("/a%2fb", Ok("/a%2Fb")),
        ("/a%2Fb/../c%2Fd", Ok("/c%2Fd")),
        ("/a%2Fb%2Fc/d", Ok("/a%2Fb%2Fc/d")),
        ("/a/b", Ok("/a/b")),
        ("/..%2Fb", Err(E::EncodedSlash { at: 3 })),
        ("/a%2F..", Err(E::EncodedSlash { at: 2 })),
        ("/a%2F.%2Fb", Err(E::EncodedSlash { at: 2 })),
        ("/a%2F..;x%2Fb", Err(E::EncodedSlash { at: 2 })),
        ("/a%2F%2Fb", Err(E::EncodedSlash { at: 2 })),
        ("/%2Fa", Err(E::EncodedSlash { at: 1 })),
        ("/a%2F", Err(E::EncodedSlash { at: 2 })),
        ("/a%252Fb", Err(E::DoublyEncoded { at: 2 })),
        ("/a%5Cb", Err(E::EncodedBackslash { at: 2 })),
        ("/a%2Fb%2e", Err(E::EncodedDot { at: 6 })),
    ];
    let mut buffer = String::new();
    for (raw, expected) in table {
        assert_eq!(normalise_with_slashes(raw, &mut buffer), expected, "{raw}");
    }
}
