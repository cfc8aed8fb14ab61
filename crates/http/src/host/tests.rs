//! Hosts and patterns as tables, and random input.

use super::*;
use tollgate_testing::dice::Dice;

#[test]
fn every_spelling_of_a_host_is_one() {
    let long = format!("{}.org", ["a".repeat(LABEL_MAX).as_str(); 3].join(".") + &".b".repeat(29));
    assert_eq!(long.len(), NAME_MAX);
    let dotted = format!("{long}.");
    let table: &[(&str, &str, Option<u16>)] = &[
        ("api.example.org", "api.example.org", None),
        ("API.Example.ORG", "api.example.org", None),
        ("api.example.org.", "api.example.org", None),
        ("API.example.org.:8080", "api.example.org", Some(8080)),
        ("api.example.org:80", "api.example.org", Some(80)),
        ("api.example.org:", "api.example.org", None),
        ("api.example.org:00443", "api.example.org", Some(443)),
        ("localhost", "localhost", None),
        ("a_b-c.example", "a_b-c.example", None),
        ("xn--mnchen-3ya.example", "xn--mnchen-3ya.example", None),
        ("127.0.0.1:65535", "127.0.0.1", Some(65535)),
        ("127.0.0.1.", "127.0.0.1", None),
        ("1.2.3.4.example", "1.2.3.4.example", None),
        ("0xcafe.example", "0xcafe.example", None),
        ("[::1]", "[::1]", None),
        ("[2001:DB8:0:0::1]:443", "[2001:db8::1]", Some(443)),
        ("[::FFFF:1.2.3.4]:", "[::ffff:1.2.3.4]", None),
        (&long, &long, None),
        (&dotted, &long, None),
    ];
    for (raw, name, port) in table {
        let mut buffer = Vec::new();
        assert_eq!(canonical(raw.as_bytes(), &mut buffer), Ok(Host { name, port: *port }), "{raw}");
    }
}

#[test]
fn what_is_not_a_host_is_refused() {
    let label = format!("{}.org", "a".repeat(LABEL_MAX + 1));
    let long = "a.".repeat(126) + "bb";
    let table: &[(&str, HostError)] = &[
        ("", HostError::Empty),
        (".", HostError::Empty),
        (":80", HostError::Empty),
        ("a..b", HostError::EmptyLabel),
        (".a", HostError::EmptyLabel),
        ("a..", HostError::EmptyLabel),
        (&label, HostError::LabelTooLong(64)),
        (&long, HostError::TooLong(254)),
        ("m\u{fc}nchen.example", HostError::NotAscii),
        ("a b", HostError::BadCharacter(b' ')),
        (" a", HostError::BadCharacter(b' ')),
        ("user@a", HostError::BadCharacter(b'@')),
        ("a/b", HostError::BadCharacter(b'/')),
        ("a\\b", HostError::BadCharacter(b'\\')),
        ("%61.example", HostError::BadCharacter(b'%')),
        ("a,b", HostError::BadCharacter(b',')),
        ("a\0", HostError::BadCharacter(0)),
        ("*.example.org", HostError::BadCharacter(b'*')),
        ("a:0", HostError::BadPort),
        ("a:65536", HostError::BadPort),
        ("a:000080", HostError::BadPort),
        ("a:+1", HostError::BadPort),
        ("a:b", HostError::BadPort),
        ("a:80:80", HostError::BadPort),
        ("::1", HostError::BadPort),
        ("127.1", HostError::BadAddress),
        ("127.0.0.01", HostError::BadAddress),
        ("127.0.0.256", HostError::BadAddress),
        ("2130706433", HostError::BadAddress),
        ("0x7f000001", HostError::BadAddress),
        ("0X7F.0.0.0x1.", HostError::BadAddress),
        ("a.0x", HostError::BadAddress),
        ("a.1", HostError::BadAddress),
        ("[::1", HostError::BadAddress),
        ("[]", HostError::BadAddress),
        ("[1.2.3.4]", HostError::BadAddress),
        ("[fe80::1%25eth0]", HostError::BadAddress),
        ("[::1]80", HostError::BadAddress),
        ("[::1].", HostError::BadAddress),
        ("[v1.a]", HostError::BadAddress),
    ];
    for (raw, expected) in table {
        assert_eq!(canonical(raw.as_bytes(), &mut Vec::new()), Err(*expected), "{raw:?}");
    }
}

#[test]
fn a_default_port_goes_without_saying() {
    for (port, http, https) in [(80, None, Some(80)), (443, Some(443), None), (81, Some(81), Some(81))] {
        let host = Host { name: "a", port: Some(port) };
        assert_eq!(host.without_default_port(Scheme::Http).port, http);
        assert_eq!(host.without_default_port(Scheme::Https).port, https);
    }
}

#[test]
fn a_canonical_name_is_borrowed_and_a_warm_buffer_does_not_grow() {
    let mut buffer = Vec::new();
    let raw = b"api.example.org.:80";
    assert_eq!(canonical(raw, &mut buffer).unwrap().name, "api.example.org");
    assert_eq!(buffer.capacity(), 0, "nothing was written");
    buffer.reserve(64);
    let capacity = buffer.capacity();
    for raw in ["API.example.org", "[2001:DB8:1:2:3:4:5:6]:80"] {
        assert!(canonical(raw.as_bytes(), &mut buffer).is_ok());
        assert_eq!(buffer.capacity(), capacity);
    }
}

#[test]
fn errors_of_hosts_say_what_to_write() {
    let table = [
        (HostError::Empty, "send its name"),
        (HostError::TooLong(300), "a host of 300 characters is too long: a name has at most 253"),
        (HostError::LabelTooLong(64), "a label of 64 characters in the host is too long: at most 63"),
        (HostError::EmptyLabel, "write a name such as api.example.org"),
        (HostError::NotAscii, "A-label form"),
        (HostError::BadCharacter(b'\n'), "the character '\\n'"),
        (HostError::BadPort, "from 1 to 65535"),
        (HostError::BadAddress, "write IPv4 as 192.0.2.1"),
    ];
    for (error, expected) in table {
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn what_comes_out_of_soup_stays_as_it_is() {
    let mut read = 0;
    for seed in 1..=100_000 {
        let mut dice = Dice::new(seed);
        let soup = dice.soup(b"aZ09x.:[]f-_ \xc3%", 8);
        let (mut buffer, mut again) = (Vec::new(), Vec::new());
        let Ok(host) = canonical(&soup, &mut buffer) else { continue };
        read += 1;
        let text = host.name.to_owned();
        assert!(!text.bytes().any(|byte| byte.is_ascii_uppercase()), "seed {seed}: {text}");
        let twice = canonical(text.as_bytes(), &mut again);
        assert_eq!(twice, Ok(Host { name: &text, port: None }), "seed {seed}: {soup:?}");
    }
    assert!(read > 1_000, "the soup is too thin: {read}");
}

#[test]
fn a_pattern_is_for_one_host_or_all_below_one_or_all() {
    let table = [
        ("api.example.org", "api.example.org", true),
        ("API.Example.org.", "api.example.org", true),
        ("api.example.org", "b.api.example.org", false),
        ("*.example.org", "api.example.org", true),
        ("*.example.org", "a.b.c.example.org", true),
        ("*.example.org", "example.org", false),
        ("*.example.org", "notexample.org", false),
        ("*.example.org", "example.org.evil", false),
        ("*.org", "example.org", true),
        ("[::1]", "[::1]", true),
        ("*", "api.example.org", true),
        ("*", "[::1]", true),
    ];
    for (pattern, name, expected) in table {
        assert_eq!(HostPattern::parse(pattern).unwrap().matches(name), expected, "{pattern} for {name}");
    }
}

#[test]
fn of_all_patterns_for_a_host_the_most_specific_counts() {
    let texts = ["*", "*.org", "*.example.org", "*.api.example.org", "v1.api.example.org", "*.com"];
    let patterns = texts.map(|text| HostPattern::parse(text).unwrap());
    let table = [
        ("v1.api.example.org", "v1.api.example.org"),
        ("v2.api.example.org", "*.api.example.org"),
        ("api.example.org", "*.example.org"),
        ("example.org", "*.org"),
        ("org", "*"),
    ];
    for (name, expected) in table {
        let matching = patterns.iter().filter(|pattern| pattern.matches(name));
        let best = matching.max_by_key(|pattern| pattern.specificity()).unwrap();
        assert_eq!(best.to_string(), expected, "for {name}");
    }
}

#[test]
fn what_is_not_a_pattern_is_refused_with_what_to_write() {
    let table = [
        ("", "the host is empty"),
        ("*.", "the host is empty"),
        ("a.*.org", "a * must stand alone or be the whole first label"),
        ("*.*.org", "a * must stand alone"),
        ("*a.org", "a * must stand alone"),
        ("**", "a * must stand alone"),
        ("example.org:80", "remove the port"),
        ("example.org:", "remove the port"),
        ("*.10.0.0.1", "an address has no subdomains"),
        ("*.[::1]", "an address has no subdomains"),
        ("ex ample.org", "the character ' '"),
    ];
    for (text, expected) in table {
        let message = HostPattern::parse(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text:?}: {message}");
    }
}

#[test]
fn the_quick_look_agrees_with_the_thorough_one() {
    let long = "a".repeat(LABEL_MAX + 1);
    let names = [
        "a",
        "api.example.org",
        "a-b.c",
        "a..b",
        ".a",
        "a.",
        "1",
        "a.1",
        "1.a",
        "0x1f",
        "a.0x1",
        "127.0.0.1",
        "-",
        "a_b",
        "A",
        "a.b.",
        "xn--e1a",
        "",
        ".",
        "a.-",
        "é",
        &long,
        &format!("b.{long}"),
        &format!("{long}.b"),
    ];
    for name in names {
        let quick = is_plain(name.as_bytes());
        assert!(!quick || check_name(name.as_bytes()).is_ok(), "{name}");
    }
    let addresses = [
        ("127.0.0.1", true),
        ("0.0.0.0", true),
        ("255.255.255.255", true),
        ("256.0.0.1", false),
        ("1.2.3", false),
        ("1.2.3.4.5", false),
        ("01.2.3.4", false),
        ("1.2.3.00", false),
        ("1..2.3", false),
        ("1.2.3.", false),
        ("1.2.3.4a", false),
        ("999999999999999", false),
    ];
    for (name, is) in addresses {
        assert_eq!(is_address(name.as_bytes()), is, "{name}");
        assert_eq!(name.parse::<Ipv4Addr>().is_ok(), is, "{name}, by the standard library");
    }
    assert!(
        is_plain(b"api.example.org") && !is_plain(b"127.0.0.1"),
        "the quick look is taken, and not for addresses"
    );
}
