//! Spellings, prefixes and keys of addresses, as tables and properties.

use super::*;
use tollgate_testing::dice::Dice;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap_or_else(|_| panic!("{text} is no address"))
}

#[test]
fn every_spelling_of_an_address_is_read() {
    let table = [
        ("1.2.3.4", "1.2.3.4"),
        (" \t1.2.3.4 ", "1.2.3.4"),
        ("1.2.3.4:80", "1.2.3.4"),
        ("1.2.3.4:0", "1.2.3.4"),
        ("1.2.3.4:65535", "1.2.3.4"),
        ("1.2.3.4:_hidden", "1.2.3.4"),
        ("\"1.2.3.4:80\"", "1.2.3.4"),
        ("2001:db8::1", "2001:db8::1"),
        ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("2001:0db8::0001", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("\"[::1]\"", "::1"),
        ("\"[::1]:_p\"", "::1"),
        ("::", "::"),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        ("::ffff:102:304", "::ffff:1.2.3.4"),
        ("fe80::1%eth0", "fe80::1"),
        ("[fe80::1%25eth0.7]:80", "fe80::1"),
        ("fe80::1%25", "fe80::1"),
    ];
    for (text, expected) in table {
        assert_eq!(parse_node(text.as_bytes()), Some(ip(expected)), "{text:?}");
    }
}

#[test]
fn what_is_not_quite_an_address_is_none() {
    let table = [
        "",
        " ",
        "\"\"",
        "\"",
        "unknown",
        "_hidden",
        "localhost",
        "unix:",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.256",
        "010.1.1.1",
        "1.1.1.01",
        "::ffff:010.1.1.1",
        "0x7f.0.0.1",
        "2130706433",
        "1.2.3.4:",
        "1.2.3.4:65536",
        "1.2.3.4:000080",
        "1.2.3.4:+80",
        "1.2.3.4:-1",
        "1.2.3.4:_",
        "1.2.3.4 :80",
        "1.2.3.4%eth0",
        "1.2.3.4/32",
        "1.2.3.4,5.6.7.8",
        "[1.2.3.4]",
        "[::1",
        "::1]",
        "[::1]x",
        "[::1]:",
        "[::1]:99999",
        "[[::1]]",
        "[]",
        "\"[::1]",
        "[::1]\"",
        "\" ::1\"",
        "\"\"::1\"\"",
        "1::2::3",
        "12345::",
        "fe80::1%",
        "fe80::1%eth0%eth1",
        "fe80::1%eth0:80",
        "fe80::1% eth0",
        "\u{661}.2.3.4",
    ];
    for text in table {
        assert_eq!(parse_node(text.as_bytes()), None, "{text:?}");
    }
    assert_eq!(parse_node(b"1.2.3.4\xff"), None);
    assert_eq!(parse_node(b"1.2.3.4\n"), None);
}

#[test]
fn an_address_longer_than_any_is_none() {
    let padded = |length: usize| format!("1.2.3.4{}", " ".repeat(length - 7));
    assert_eq!(parse_node(padded(NODE_MAX).as_bytes()), Some(ip("1.2.3.4")));
    assert_eq!(parse_node(padded(NODE_MAX + 1).as_bytes()), None);
    let zoned = |length: usize| format!("fe80::1%{}", "e".repeat(length - 8));
    assert_eq!(parse_node(zoned(NODE_MAX).as_bytes()), Some(ip("fe80::1")));
    assert_eq!(parse_node(zoned(NODE_MAX + 1).as_bytes()), None);
}

#[test]
fn an_address_is_one_client_however_it_arrives() {
    let table = [
        ("1.2.3.4", "1.2.3.4"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("::ffff:102:304", "1.2.3.4"),
        ("64:ff9b::1.2.3.4", "1.2.3.4"),
        ("64:ff9b::102:304", "1.2.3.4"),
        ("2002:102:304::", "1.2.3.4"),
        ("2002:102:304:ffff:1:2:3:4", "1.2.3.4"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        // Nobody may pass for an address inside by writing it into a form that a stranger may use.
        ("2002:7f00:1::", "2002:7f00:1::"),
        ("2002:a00:1::1", "2002:a00:1::1"),
        ("2002:c0a8:101::1", "2002:c0a8:101::1"),
        ("2002:a9fe:a9fe::", "2002:a9fe:a9fe::"),
        ("2002:e000:1::", "2002:e000:1::"),
        ("2002:6440:1::", "2002:6440:1::"),
        ("64:ff9b::127.0.0.1", "64:ff9b::7f00:1"),
        ("64:ff9b::0.0.0.0", "64:ff9b::"),
        // Near misses, and forms that stay.
        ("64:ff9b:1::1.2.3.4", "64:ff9b:1::102:304"),
        ("64:ff9b::1:0:0", "64:ff9b::1:0:0"),
        ("::1.2.3.4", "::102:304"),
        ("::fffe:1.2.3.4", "::fffe:102:304"),
        ("0:0:0:0:1:ffff:102:304", "::1:ffff:102:304"),
        ("::1", "::1"),
        ("::", "::"),
        ("2001:db8::1", "2001:db8::1"),
    ];
    for (given, expected) in table {
        assert_eq!(canonical(ip(given)), ip(expected), "{given}");
        assert_eq!(canonical(ip(expected)), ip(expected), "{expected} is canonical");
    }
}

#[test]
fn a_prefix_is_one_client_and_the_next_prefix_is_another() {
    let lengths = |v4, v6, wide| Prefixes::new(v4, v6, wide).unwrap();
    let table = [
        ("203.0.113.9", lengths(32, 64, Some(48)), "203.0.113.9", None),
        ("203.0.113.9", lengths(24, 64, None), "203.0.113.0/24", None),
        ("203.0.113.9", lengths(1, 64, None), "128.0.0.0/1", None),
        ("2001:db8:1:2:3::4", lengths(32, 64, Some(48)), "2001:db8:1:2::/64", Some("2001:db8:1::/48")),
        ("2001:db8:1:2ff:3::4", lengths(32, 56, None), "2001:db8:1:200::/56", None),
        ("2001:db8::1", lengths(32, 128, Some(127)), "2001:db8::1", Some("2001:db8::/127")),
        ("ffff::1", lengths(32, 2, Some(1)), "c000::/2", Some("8000::/1")),
        ("::ffff:203.0.113.9", lengths(32, 56, Some(48)), "203.0.113.9", None),
    ];
    for (address, prefixes, narrow, wide) in table {
        let client = Client::of(ip(address), &prefixes);
        assert_eq!(client.to_string(), narrow);
        assert_eq!(client.wide(&prefixes).map(|client| client.to_string()).as_deref(), wide, "{address}");
        assert_eq!(Client::of(client.network(), &prefixes), client, "the first address is in it");
    }
}

#[test]
fn a_wide_prefix_is_never_narrower_than_its_client() {
    let client = Client::of(ip("2001:db8:1::1"), &Prefixes::new(32, 40, None).unwrap());
    assert_eq!(client.wide(&Prefixes::default()), None);
    assert_eq!((client.network(), client.length()), (ip("2001:db8::"), 40));
}

#[test]
fn the_default_is_one_address_and_a_64_within_a_48() {
    assert_eq!(Prefixes::new(32, 64, Some(48)), Ok(Prefixes::default()));
    let prefixes = Prefixes::default();
    assert_eq!((prefixes.ipv4(), prefixes.ipv6(), prefixes.ipv6_wide()), (32, 64, Some(48)));
}

#[test]
fn a_wide_prefix_has_as_many_limits_as_the_square_root_of_its_clients() {
    for (ipv6, wide, times) in [
        (64, 48, 256),
        (64, 56, 16),
        (64, 63, 1),
        (64, 32, 65_536),
        (128, 64, 65_536),
        (128, 1, 65_536),
        (56, 48, 16),
    ] {
        let prefixes = Prefixes::new(32, ipv6, Some(wide)).expect("it is wider");
        assert_eq!(prefixes.usual_multiple(), times, "a /{wide} of /{ipv6}s");
    }
    let usual = [(128, Some(48)), (64, Some(48)), (57, Some(48)), (56, None), (48, None), (1, None)];
    assert_eq!(usual.map(|(ipv6, _)| (ipv6, Prefixes::usual_wide(ipv6))), usual);
}

#[test]
fn a_multiple_that_can_never_be_reached_is_refused() {
    let check = |wide, multiple| Prefixes::new(32, 64, wide).expect("it is wider").check_multiple(multiple);
    assert_eq!(check(Some(48), 1), Ok(()));
    assert_eq!(check(Some(48), 65_535), Ok(()));
    assert_eq!(check(Some(1), 1 << 62), Ok(()));
    for (wide, multiple, part) in [
        (Some(48), 65_536, "a /48 holds 65536 clients"),
        (Some(56), 256, "give 1 to 255"),
        (Some(48), 0, "refuses everything"),
        (None, 4, "no effect without a wide prefix"),
    ] {
        let said = check(wide, multiple).expect_err("it is refused");
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_length_out_of_range_is_refused_with_its_range() {
    let table = [
        (Prefixes::new(0, 64, None), "leave the address out of the key"),
        (Prefixes::new(32, 0, None), "leave the address out of the key"),
        (Prefixes::new(33, 64, None), "an IPv4 prefix of 33 bits is too long: give 1 to 32"),
        (Prefixes::new(32, 129, None), "an IPv6 prefix of 129 bits is too long: give 1 to 128"),
        (Prefixes::new(32, 64, Some(64)), "of 64 bits is not wider than 64 bits: give 1 to 63, or none"),
        (Prefixes::new(32, 64, Some(0)), "of 0 bits is not wider than 64 bits: give 1 to 63"),
        (Prefixes::new(32, 1, Some(1)), "give no wide prefix"),
    ];
    for (result, expected) in table {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn keys_of_different_clients_never_meet() {
    let mut all = Vec::new();
    for address in ["0.0.0.0", "::", "1.2.3.4", "102:304::", "::1.2.3.4", "128.0.0.0", "8000::"] {
        for (v4, v6) in [(32, 128), (24, 64), (4, 6), (6, 4), (1, 1)] {
            all.push(Client::of(ip(address), &Prefixes::new(v4, v6, None).unwrap()));
        }
    }
    for one in &all {
        for other in &all {
            assert_eq!(one == other, one.key_bytes() == other.key_bytes(), "{one} and {other}");
        }
    }
    let client = Client::of(ip("1.2.3.4"), &Prefixes::default());
    assert_eq!(client.key_bytes(), [4, 32, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn any_address_comes_back_from_any_of_its_spellings() {
    for seed in 1..=20_000 {
        let mut dice = Dice::new(seed);
        let v4 = Ipv4Addr::from_bits(u32::try_from(dice.roll() >> 32).unwrap());
        let port = dice.below(65_536);
        // Runs of zeros are where spellings of IPv6 differ.
        let v6 = Ipv6Addr::from_bits(dice.wide() & dice.wide() & !(u128::MAX >> dice.below(128)));
        let [a, b, c, d, e, f, g, h] = v6.segments();
        let full = format!("{a:04x}:{b:x}:{c:04X}:{d:X}:{e:x}:{f:x}:{g:X}:{h:04x}");
        for text in [format!("{v4}"), format!("{v4}:{port}"), format!("\"{v4}\""), format!(" {v4}:_a ")] {
            assert_eq!(parse_node(text.as_bytes()), Some(IpAddr::V4(v4)), "seed {seed}: {text}");
        }
        for text in [
            format!("{v6}"),
            format!("[{v6}]:{port}"),
            format!("\"[{v6}]\""),
            format!("{v6}%en0").to_uppercase(),
            full.clone(),
            format!("[{full}%25lo]:{port}"),
        ] {
            assert_eq!(parse_node(text.as_bytes()), Some(IpAddr::V6(v6)), "seed {seed}: {text}");
        }
    }
}

#[test]
fn soup_is_an_address_only_if_it_holds_one_in_plain_sight() {
    let mut read = 0;
    for seed in 1..=200_000 {
        let mut dice = Dice::new(seed);
        let mut soup = dice.soup(b"0112359:::...[]\"%af_ ,\\x\xff\0", 14);
        if seed % 2 == 0 {
            let near = dice.pick(&["1.2.3.4", "[::1]:80", "\"[::1]\"", "fe80::1%eth0", "1.2.3.4:80"]);
            let place = dice.below(near.len());
            soup.truncate(2);
            soup = [&near.as_bytes()[..place], &soup, &near.as_bytes()[place..]].concat();
        }
        let Some(address) = parse_node(&soup) else { continue };
        read += 1;
        // What was read is there, word for word, between the things that may stand around an address.
        let text = String::from_utf8(soup).unwrap_or_else(|_| panic!("seed {seed}: not even text"));
        let words = text.split(['"', '[', ']', ' ', '%']).chain(text.split(['"', ' ', ':']));
        let found = words.filter_map(|word| word.parse::<IpAddr>().ok()).any(|word| word == address);
        assert!(found, "seed {seed}: {address} out of {text:?}");
    }
    assert!(read > 1_000, "the soup is too thin: {read}");
}
