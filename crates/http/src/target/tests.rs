//! Targets as tables, and random input reassembled from its parts.

use super::*;
use tollgate_testing::dice::Dice;

fn target<'a>(form: Form, host: Option<&'a str>, path: &'a str, query: Option<&'a str>) -> Target<'a> {
    let scheme = (form == Form::Absolute).then_some(Scheme::Http);
    Target { form, scheme, host, path, query }
}

#[test]
fn each_form_is_cut_into_its_parts() {
    let origin = |path, query| target(Form::Origin, None, path, query);
    let absolute = |path, query| target(Form::Absolute, Some("h"), path, query);
    let authority = |host| target(Form::Authority, Some(host), "", None);
    let table = [
        ("GET", "/", origin("/", None)),
        ("GET", "/login?x=1", origin("/login", Some("x=1"))),
        ("GET", "/a?", origin("/a", Some(""))),
        ("GET", "/a?b?c", origin("/a", Some("b?c"))),
        ("GET", "//a/./%2e;p", origin("//a/./%2e;p", None)),
        ("GET", "/http://h/p", origin("/http://h/p", None)),
        ("GET", "/*", origin("/*", None)),
        ("CONNECT", "/chat", origin("/chat", None)),
        ("GET", "http://h/p?q", absolute("/p", Some("q"))),
        ("GET", "HTTP://h/p", absolute("/p", None)),
        ("GET", "http://h", absolute("/", None)),
        ("GET", "http://h?q/r", absolute("/", Some("q/r"))),
        ("GET", "http://h/p@x", absolute("/p@x", None)),
        ("OPTIONS", "http://h", absolute("*", None)),
        ("OPTIONS", "http://h/", absolute("/", None)),
        ("OPTIONS", "http://h?", absolute("/", Some(""))),
        ("OPTIONS", "*", target(Form::Asterisk, None, "*", None)),
        ("CONNECT", "h:443", authority("h:443")),
        ("CONNECT", "[::1]:443", authority("[::1]:443")),
    ];
    for (method, raw, expected) in table {
        assert_eq!(parse(method, raw.as_bytes()), Ok(expected), "{method} {raw}");
    }
    assert_eq!(parse("GET", b"hTTps://h:1/p").unwrap().scheme, Some(Scheme::Https));
    assert_eq!(parse("GET", b"https://h:1/p").unwrap().host, Some("h:1"));
}

#[test]
fn what_has_no_form_is_refused() {
    let (longest, longer) = ("/".repeat(TARGET_MAX), "/".repeat(TARGET_MAX + 1));
    assert!(parse("GET", longest.as_bytes()).is_ok());
    let table: &[(&str, &str, TargetError)] = &[
        ("GET", "", TargetError::Empty),
        ("GET", &longer, TargetError::TooLong(TARGET_MAX + 1)),
        ("GET", "/a#b", TargetError::Fragment),
        ("GET", "/a?b#", TargetError::Fragment),
        ("GET", "http://h#/p", TargetError::Fragment),
        ("GET", "/a b", TargetError::BadByte(b' ')),
        ("GET", "/a\r\nX: y", TargetError::BadByte(b'\r')),
        ("GET", "/\0", TargetError::BadByte(0)),
        ("GET", "/\u{e9}", TargetError::BadByte(0xc3)),
        ("GET", "/\u{7f}", TargetError::BadByte(0x7f)),
        ("GET", "*", TargetError::AsteriskNotOptions),
        ("OPTIONS", "**", TargetError::NotATarget),
        ("OPTIONS", "*?q", TargetError::NotATarget),
        ("GET", "login", TargetError::NotATarget),
        ("GET", "h:443", TargetError::NotATarget),
        ("GET", "?q", TargetError::NotATarget),
        ("GET", "\\login", TargetError::NotATarget),
        ("GET", "http:/p", TargetError::NotATarget),
        ("GET", "ftp://h/p", TargetError::OtherScheme),
        ("GET", "://h/p", TargetError::OtherScheme),
        ("GET", "x?http://h/p", TargetError::OtherScheme),
        ("GET", "http:///p", TargetError::NoHost),
        ("GET", "http://", TargetError::NoHost),
        ("GET", "http://u@h/p", TargetError::UserInfo),
        ("GET", "http://h\\@evil/p", TargetError::UserInfo),
        ("GET", "http://h\\.evil/p", TargetError::UserInfo),
        ("CONNECT", "h", TargetError::NotAuthority),
        ("CONNECT", "h:", TargetError::NotAuthority),
        ("CONNECT", "h:x", TargetError::NotAuthority),
        ("CONNECT", "[::a]", TargetError::NotAuthority),
        ("CONNECT", "u@h:443", TargetError::NotAuthority),
        ("CONNECT", "http://h:443", TargetError::NotAuthority),
        ("CONNECT", "*", TargetError::AsteriskNotOptions),
    ];
    for (method, raw, expected) in table {
        assert_eq!(parse(method, raw.as_bytes()), Err(*expected), "{method} {raw:?}");
    }
}

#[test]
fn errors_of_targets_say_what_to_send() {
    let table = [
        (TargetError::Empty, "send / for the root"),
        (TargetError::TooLong(9000), "a target of 9000 bytes is too long: send at most 8192"),
        (TargetError::BadByte(0xe9), "the target has the byte 0xe9: send it as %E9"),
        (TargetError::Fragment, "send a literal # as %23"),
        (TargetError::NotATarget, "send /path or http://host/path"),
        (TargetError::AsteriskNotOptions, "for OPTIONS only"),
        (TargetError::NotAuthority, "send host:443"),
        (TargetError::OtherScheme, "neither http nor https"),
        (TargetError::UserInfo, "credentials in a header"),
        (TargetError::NoHost, "a scheme and no host"),
    ];
    for (error, expected) in table {
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn the_parts_of_a_target_make_it_again() {
    let mut read = 0;
    for seed in 1..=100_000 {
        let mut dice = Dice::new(seed);
        let start = dice.pick(&["", "/", "http://", "HTTPS://h"]);
        let raw = [start.as_bytes(), &dice.soup(b"/?#*:@ah.%\\ \xff", 6)].concat();
        let method = dice.pick(&["GET", "OPTIONS", "CONNECT"]);
        let Ok(target) = parse(method, &raw) else { continue };
        read += 1;
        let raw = str::from_utf8(&raw).unwrap();
        let scheme = target.scheme.map(|_| &raw[..=raw.find("//").unwrap() + 1]).unwrap_or_default();
        let query = target.query.map(|query| format!("?{query}")).unwrap_or_default();
        let again = |path| format!("{scheme}{}{path}{query}", target.host.unwrap_or_default());
        let empty_path = target.form == Form::Absolute && again("") == raw;
        assert!(again(target.path) == raw || empty_path, "seed {seed}: {raw} became {target:?}");
        assert!(target.path.starts_with('/') || matches!(target.path, "*" | ""), "seed {seed}: {target:?}");
    }
    assert!(read > 10_000, "the soup is too thin: {read}");
}
