//! Spoofing attempts as a table, limits, and comparisons with a slow reference.

mod networks;
mod reference;

use http::HeaderValue;

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap_or_else(|_| panic!("{text} is no address"))
}

fn inside(header: ForwardHeader) -> TrustedProxies {
    let cidrs = ["10.0.0.0/8", "fd00::/8"].map(|text| parse_cidr(text).unwrap());
    TrustedProxies::networks(&cidrs, header).unwrap()
}

fn headers(name: &'static str, lines: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(name, HeaderValue::from_bytes(line.as_bytes()).unwrap());
    }
    headers
}

/// One row: the peer, the lines of the header, the client, and how it was found.
type Row<'a> = (&'a str, &'a [&'a str], &'a str, AddressSource);

fn check(trusted: &TrustedProxies, name: &'static str, table: &[Row<'_>]) {
    for (peer, lines, client, how) in table {
        let origin = trusted.client(ip(peer), &headers(name, lines));
        assert_eq!(origin, Origin { address: ip(client), how: *how }, "{peer} with {name}: {lines:?}");
    }
}

#[test]
fn nobody_is_believed_by_default() {
    let table: &[Row<'_>] = &[
        ("10.0.0.1", &["6.6.6.6"], "10.0.0.1", AddressSource::Peer),
        ("::ffff:1.2.3.4", &[], "1.2.3.4", AddressSource::Peer),
    ];
    check(&TrustedProxies::default(), "x-forwarded-for", table);
    check(&TrustedProxies::default(), "forwarded", table);
}

#[test]
fn a_stranger_cannot_choose_the_address_it_is_limited_by() {
    let (peer, walked) = ("10.0.0.1", |hops| AddressSource::Walked { hops });
    let bad = |hops| AddressSource::StoppedAtBadHop { hops };
    let table: &[Row<'_>] = &[
        // E1, E5: a peer that is not trusted names another.
        ("198.51.100.7", &["6.6.6.6"], "198.51.100.7", AddressSource::PeerNotTrusted),
        ("198.51.100.7", &["10.0.0.9"], "198.51.100.7", AddressSource::PeerNotTrusted),
        ("2002:a00:1::1", &["6.6.6.6"], "2002:a00:1::1", AddressSource::PeerNotTrusted),
        ("64:ff9b::10.0.0.1", &["6.6.6.6"], "64:ff9b::a00:1", AddressSource::PeerNotTrusted),
        // E2: what the stranger wrote stands to the left.
        (peer, &["6.6.6.6, 203.0.113.9"], "203.0.113.9", walked(1)),
        (peer, &["6.6.6.6, 203.0.113.9, 10.0.0.2"], "203.0.113.9", walked(2)),
        (peer, &["10.0.0.3, 203.0.113.9,10.0.0.2 ,\t10.1.1.1"], "203.0.113.9", walked(3)),
        (peer, &["6.6.6.6, 2002:a00:1::1"], "2002:a00:1::1", walked(1)),
        // E3: lines are one list, in order.
        (peer, &["6.6.6.6", "203.0.113.9"], "203.0.113.9", walked(1)),
        (peer, &["6.6.6.6, 203.0.113.9", "10.0.0.3", "10.0.0.2, 10.0.0.4"], "203.0.113.9", walked(4)),
        // E4: a bad hop ends the walk at the last good one.
        (peer, &["6.6.6.6, unknown"], peer, bad(0)),
        (peer, &["6.6.6.6, _hidden, 10.0.0.2"], "10.0.0.2", bad(1)),
        (peer, &["6.6.6.6,, 10.0.0.2"], "10.0.0.2", bad(1)),
        (peer, &["6.6.6.6, 10.0.0.2,"], peer, bad(0)),
        (peer, &["6.6.6.6", "", "10.0.0.2"], "10.0.0.2", bad(1)),
        (peer, &[" "], peer, bad(0)),
        (peer, &["6.6.6.6, 010.0.0.2"], peer, bad(0)),
        (peer, &["6.6.6.6, \"203.0.113.9, 10.0.0.2\""], peer, bad(0)),
        (peer, &["6.6.6.6, 203.0.113.9:80"], "203.0.113.9", walked(1)),
        (peer, &["6.6.6.6, [2001:db8::1]:443"], "2001:db8::1", walked(1)),
        (peer, &["6.6.6.6, \"[::1]\""], "::1", walked(1)),
        (peer, &["6.6.6.6, fe80::1%eth0, [fd00::1]:80"], "fe80::1", walked(2)),
        // E7: IPv4-mapped addresses are trusted, and limited, as IPv4.
        ("::ffff:10.0.0.1", &["203.0.113.9, ::ffff:10.0.0.2"], "203.0.113.9", walked(2)),
        (peer, &["6.6.6.6, ::ffff:203.0.113.9"], "203.0.113.9", walked(1)),
        (peer, &["6.6.6.6, 2002:cb00:7109::1"], "203.0.113.9", walked(1)),
        // Nobody outside.
        (peer, &[], peer, AddressSource::NoHeader),
        (peer, &["10.0.0.3, 10.0.0.2"], "10.0.0.3", AddressSource::AllTrusted { hops: 2 }),
        (peer, &["fd00::9", "10.0.0.2"], "fd00::9", AddressSource::AllTrusted { hops: 2 }),
    ];
    check(&inside(ForwardHeader::XForwardedFor), "x-forwarded-for", table);
    check(&inside(ForwardHeader::named("CF-Connecting-IP").unwrap()), "cf-connecting-ip", table);
}

#[test]
fn the_forwarded_header_is_read_from_the_right_whatever_stands_to_the_left() {
    let (peer, walked) = ("10.0.0.1", |hops| AddressSource::Walked { hops });
    let bad = |hops| AddressSource::StoppedAtBadHop { hops };
    let table: &[Row<'_>] = &[
        ("198.51.100.7", &["for=6.6.6.6"], "198.51.100.7", AddressSource::PeerNotTrusted),
        (peer, &["for=6.6.6.6, for=203.0.113.9"], "203.0.113.9", walked(1)),
        (peer, &["for=6.6.6.6", "For=203.0.113.9;proto=https, FOR=10.0.0.2"], "203.0.113.9", walked(2)),
        (peer, &["for=\"[2001:db8:cafe::17]:4711\""], "2001:db8:cafe::17", walked(1)),
        (peer, &["for=\"203.0.113.9:80\";by=_gw; host=\"a,b;c\\\", for=6.6.6.6\""], "203.0.113.9", walked(1)),
        (peer, &["by=10.0.0.1;;for=203.0.113.9;"], "203.0.113.9", walked(1)),
        (peer, &["host=\"\\\\\";for=203.0.113.9"], "203.0.113.9", walked(1)),
        // An open quote of the stranger's cannot swallow what the proxy wrote.
        (peer, &["for=\"6.6.6.6, for=203.0.113.9"], "203.0.113.9", walked(1)),
        (peer, &["for=6.6.6.6;x=\", for=\"[2001:db8::1]\""], "2001:db8::1", walked(1)),
        (peer, &["for=6.6.6.6;x=\"\\, for=\"10.0.0.2\""], "10.0.0.2", bad(1)),
        // Bad hops.
        (peer, &["for=6.6.6.6, for=unknown"], peer, bad(0)),
        (peer, &["for=6.6.6.6, for=_hidden, for=10.0.0.2"], "10.0.0.2", bad(1)),
        (peer, &["for=6.6.6.6, proto=https"], peer, bad(0)),
        (peer, &["for=6.6.6.6, "], peer, bad(0)),
        (peer, &["6.6.6.6"], peer, bad(0)),
        (peer, &["for=6.6.6.6;for=7.7.7.7"], peer, bad(0)),
        (peer, &["for=[2001:db8::1]"], peer, bad(0)),
        (peer, &["for=6.6.6.6:80"], peer, bad(0)),
        (peer, &["for=\"\\6.6.6.6\""], peer, bad(0)),
        (peer, &["for=\" 6.6.6.6\""], peer, bad(0)),
        (peer, &["for=\"6.6.6.6"], peer, bad(0)),
        (peer, &["for=6.6.6.6\""], peer, bad(0)),
        (peer, &["for=\"6.6.6.6\\\""], peer, bad(0)),
        (peer, &["for=\"6.6.6.6\"x"], peer, bad(0)),
        (peer, &["for =6.6.6.6"], peer, bad(0)),
        (peer, &["for= 6.6.6.6"], peer, bad(0)),
        (peer, &["for="], peer, bad(0)),
        (peer, &["for"], peer, bad(0)),
        (peer, &["xfor=6.6.6.6"], peer, bad(0)),
        (peer, &["for=6.6.6.6 proto=https"], peer, bad(0)),
    ];
    check(&inside(ForwardHeader::Forwarded), "forwarded", table);
}

#[test]
fn a_number_of_hops_is_counted_from_the_right() {
    let two = |header| TrustedProxies::hops(2, header).unwrap();
    let counted = AddressSource::Counted { hops: 2 };
    let table: &[Row<'_>] = &[
        ("10.0.0.1", &["6.6.6.6, 203.0.113.9, 10.0.0.2"], "203.0.113.9", counted),
        ("198.51.100.7", &["6.6.6.6", "203.0.113.9", "10.0.0.2"], "203.0.113.9", counted),
        ("10.0.0.1", &["203.0.113.9, unix:"], "203.0.113.9", counted),
        ("10.0.0.1", &["203.0.113.9, 8.8.8.8"], "203.0.113.9", counted),
        ("10.0.0.1", &["10.0.0.2"], "10.0.0.1", AddressSource::TooFewHops { hops: 1 }),
        ("10.0.0.1", &[], "10.0.0.1", AddressSource::NoHeader),
        ("10.0.0.1", &["6.6.6.6, unknown, 10.0.0.2"], "10.0.0.1", AddressSource::CountedBadHop { hop: 2 }),
        ("10.0.0.1", &["6.6.6.6,, 10.0.0.2"], "10.0.0.1", AddressSource::CountedBadHop { hop: 2 }),
    ];
    check(&two(ForwardHeader::XForwardedFor), "x-forwarded-for", table);
    let table: &[Row<'_>] = &[
        ("10.0.0.1", &["for=6.6.6.6, for=203.0.113.9, for=10.0.0.2"], "203.0.113.9", counted),
        ("10.0.0.1", &["for=203.0.113.9, for=\"a,b\""], "203.0.113.9", counted),
        ("10.0.0.1", &["for=203.0.113.9, for=b\""], "10.0.0.1", AddressSource::CountedBadHop { hop: 1 }),
    ];
    check(&two(ForwardHeader::Forwarded), "forwarded", table);
    assert!(TrustedProxies::hops(0, ForwardHeader::Forwarded).unwrap_err().contains("trust none"));
}

#[test]
fn only_the_header_that_is_named_is_read() {
    let spoof = headers("x-real-ip", &["6.6.6.6"]);
    let spoof_too = headers("forwarded", &["for=6.6.6.6"]);
    for headers in [spoof, spoof_too] {
        let origin = inside(ForwardHeader::XForwardedFor).client(ip("10.0.0.1"), &headers);
        assert_eq!(origin, Origin { address: ip("10.0.0.1"), how: AddressSource::NoHeader });
    }
}

#[test]
fn a_walk_ends_at_the_most_hops_and_at_the_longest_hop() {
    let trusted = inside(ForwardHeader::XForwardedFor);
    let walk = |line: &str| {
        let origin = trusted.client(ip("10.0.0.1"), &headers("x-forwarded-for", &[line]));
        (origin.address.to_string(), origin.how)
    };
    let chain = |hops: usize| format!("203.0.113.9{}", ", 10.0.0.2".repeat(hops));
    let most = usize::from(HOPS_MAX);
    assert_eq!(walk(&chain(most - 1)), ("203.0.113.9".into(), AddressSource::Walked { hops: HOPS_MAX }));
    assert_eq!(walk(&chain(most)), ("10.0.0.2".into(), AddressSource::TooManyHops));
    assert_eq!(walk(&chain(100_000)), ("10.0.0.2".into(), AddressSource::TooManyHops));

    let padded = |length: usize| format!("6.6.6.6,{}203.0.113.9", " ".repeat(length - 11));
    assert_eq!(walk(&padded(HOP_BYTES_MAX)), ("203.0.113.9".into(), AddressSource::Walked { hops: 1 }));
    assert_eq!(
        walk(&padded(HOP_BYTES_MAX + 1)),
        ("10.0.0.1".into(), AddressSource::StoppedAtBadHop { hops: 0 })
    );
    assert_eq!(walk(&padded(HOP_BYTES_MAX)[8..]), ("203.0.113.9".into(), AddressSource::Walked { hops: 1 }));
    assert_eq!(
        walk(&padded(HOP_BYTES_MAX + 1)[8..]),
        ("10.0.0.1".into(), AddressSource::StoppedAtBadHop { hops: 0 })
    );
    let garbage = "x".repeat(100_000);
    assert_eq!(walk(&garbage), ("10.0.0.1".into(), AddressSource::StoppedAtBadHop { hops: 0 }));
    assert_eq!(
        walk(&format!("{garbage}, 203.0.113.9")),
        ("203.0.113.9".into(), AddressSource::Walked { hops: 1 })
    );
    // A quoted text without end, and escapes without end.
    let forwarded = inside(ForwardHeader::Forwarded);
    for filling in [",", "\\", "\\\"", "x"] {
        let line = format!("for=6.6.6.6, for=10.0.0.3;x=\"{}\", for=10.0.0.2", filling.repeat(50_000));
        let origin = forwarded.client(ip("10.0.0.1"), &headers("forwarded", &[&line]));
        assert_eq!(
            origin,
            Origin { address: ip("10.0.0.2"), how: AddressSource::StoppedAtBadHop { hops: 1 } },
            "{filling}"
        );
    }
    let far = TrustedProxies::hops(255, ForwardHeader::XForwardedFor).unwrap();
    let origin = far.client(ip("10.0.0.1"), &headers("x-forwarded-for", &[&chain(300)]));
    assert_eq!(origin.how, AddressSource::Counted { hops: 255 });
}

#[test]
fn a_peer_is_trusted_as_the_walk_trusts_it() {
    let (none, some) = (TrustedProxies::None, inside(ForwardHeader::Forwarded));
    let hops = TrustedProxies::hops(1, ForwardHeader::Forwarded).unwrap();
    for (peer, expected) in
        [("10.0.0.1", true), ("::ffff:10.0.0.1", true), ("1.1.1.1", false), ("fd00::1", true)]
    {
        let answers = [&none, &some, &hops].map(|trusted| trusted.peer_is_trusted(ip(peer)));
        assert_eq!(answers, [false, expected, true], "{peer}");
    }
}

#[test]
fn a_header_is_known_by_its_name_in_any_case() {
    assert_eq!(ForwardHeader::named("X-Forwarded-FOR"), Ok(ForwardHeader::XForwardedFor));
    assert_eq!(ForwardHeader::named("forwarded"), Ok(ForwardHeader::Forwarded));
    let other = ForwardHeader::named("True-Client-IP").unwrap();
    assert_eq!(other.name(), "true-client-ip");
    assert_eq!(ForwardHeader::Forwarded.name(), "forwarded");
    assert!(ForwardHeader::named("a b").unwrap_err().contains("is not the name of a header"));
    assert!(ForwardHeader::named("").is_err());
}

#[test]
fn each_reason_reads_as_the_end_of_a_sentence() {
    let table = [
        (AddressSource::Peer, "the peer, because no proxy is trusted"),
        (AddressSource::PeerNotTrusted, "the peer, because it is not a trusted proxy"),
        (AddressSource::NoHeader, "the peer, a trusted proxy that did not send the header"),
        (AddressSource::Walked { hops: 2 }, "hop 2 from the right, the first that is not a trusted proxy"),
        (AddressSource::AllTrusted { hops: 2 }, "the leftmost of 2 hops, because all are trusted proxies"),
        (
            AddressSource::StoppedAtBadHop { hops: 0 },
            "the peer, because hop 1 from the right is not an address",
        ),
        (
            AddressSource::StoppedAtBadHop { hops: 2 },
            "the last good one, because hop 3 from the right is not an address",
        ),
        (AddressSource::TooManyHops, "hop 64 from the right, beyond which none is read"),
        (AddressSource::Counted { hops: 2 }, "hop 2 from the right, as many as proxies are trusted"),
        (AddressSource::CountedBadHop { hop: 2 }, "the peer, because hop 2 from the right is not an address"),
        (
            AddressSource::TooFewHops { hops: 1 },
            "the peer, because there are only 1 hops, fewer than trusted proxies",
        ),
    ];
    for (how, expected) in table {
        assert_eq!(how.to_string(), expected);
    }
}
