//! Networks: parsing, and the search compared with a linear scan.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::ip;
use crate::trusted::{CIDR_MAX, ForwardHeader, NETWORKS_MAX, Networks, TrustedProxies, parse_cidr};
use tollgate_testing::dice::Dice;

#[test]
fn networks_are_read_as_they_are_commonly_written() {
    let table = [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.1", "10.0.0.1/32"),
        ("10.0.0.1/32", "10.0.0.1/32"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("2001:DB8::/32", "2001:db8::/32"),
        ("2001:db8::1", "2001:db8::1/128"),
        ("::/0", "::/0"),
        ("::1", "::1/128"),
    ];
    for (text, expected) in table {
        assert_eq!(parse_cidr(text).map(|network| network.to_string()), Ok(expected.into()), "{text}");
    }
}

#[test]
fn what_is_not_a_network_is_refused_with_what_to_write() {
    let long = "1".repeat(CIDR_MAX + 1);
    let table = [
        ("", "is not a network: write one such as 10.0.0.0/8"),
        (" 10.0.0.0/8", "is not a network"),
        ("10.0.0/8", "is not a network"),
        ("010.0.0.0/8", "is not a network"),
        ("10.0.0.0:80", "is not a network"),
        ("proxy.example.org", "is not a network"),
        ("[::1]", "is not a network"),
        ("10.0.0.0/", "is not the length of a prefix: write a number from 0 to 32"),
        ("10.0.0.0/33", "from 0 to 32"),
        ("10.0.0.0/08", "from 0 to 32"),
        ("10.0.0.0/+8", "from 0 to 32"),
        ("10.0.0.0/8/8", "from 0 to 32"),
        ("10.0.0.0/256", "from 0 to 32"),
        ("10.0.0.0/255.0.0.0", "from 0 to 32"),
        ("2001:db8::/129", "from 0 to 128"),
        ("10.1.2.3/8", "has bits beyond its first 8: write 10.0.0.0/8 for the network, or 10.1.2.3 for"),
        ("2001:db8::1/32", "write 2001:db8::/32 for the network"),
        ("::ffff:10.0.0.0/104", "an IPv4 network written as IPv6: write 10.0.0.0/8"),
        ("::ffff:10.1.0.0/104", "an IPv4 network written as IPv6: write 10.0.0.0/8"),
        ("::ffff:a00:1", "write 10.0.0.1/32"),
        (&long, "a network of 65 characters is too long: it has at most 64"),
    ];
    for (text, expected) in table {
        let message = parse_cidr(text).unwrap_err();
        assert!(message.contains(expected), "{text:?}: {message}");
    }
}

#[test]
fn trust_in_everybody_or_nobody_is_refused() {
    let trust = |text: &[&str]| {
        let cidrs: Vec<_> = text.iter().map(|text| parse_cidr(text).unwrap()).collect();
        TrustedProxies::networks(&cidrs, ForwardHeader::XForwardedFor)
    };
    assert!(trust(&["10.0.0.0/8", "0.0.0.0/0"]).unwrap_err().starts_with("0.0.0.0/0 trusts everybody"));
    assert!(trust(&["::/0"]).unwrap_err().contains("give the number of hops"));
    assert!(trust(&[]).unwrap_err().contains("no network is given"));
}

#[test]
fn a_list_has_a_longest_length_and_no_mapped_networks() {
    let one = parse_cidr("10.0.0.1").unwrap();
    assert!(Networks::new(&vec![one; NETWORKS_MAX]).is_ok());
    assert!(Networks::new(&vec![one; NETWORKS_MAX + 1]).unwrap_err().contains("give at most 65536"));
    let mapped: IpNet = "::ffff:10.0.0.0/104".parse().unwrap();
    assert!(Networks::new(&[mapped]).unwrap_err().contains("write 10.0.0.0/8"));
}

#[test]
fn edges_of_networks_are_within_and_their_neighbours_are_not() {
    let cidrs = ["10.0.0.0/8", "10.2.0.0/16", "192.0.2.1", "255.255.255.255", "2001:db8::/32", "ffff::/16"];
    let networks = Networks::new(&cidrs.map(|text| parse_cidr(text).unwrap())).unwrap();
    let within =
        ["10.0.0.0", "10.255.255.255", "10.3.0.0", "192.0.2.1", "255.255.255.255", "::ffff:10.0.0.0"];
    let outside =
        ["9.255.255.255", "11.0.0.0", "192.0.2.0", "192.0.2.2", "0.0.0.0", "255.255.255.254", "::10.0.0.1"];
    let within_too = ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff::"];
    let outside_too = ["2001:db7:ffff::", "2001:db9::", "::", "2002:a00:1::", "64:ff9b::10.0.0.1"];
    for text in within.iter().chain(&within_too) {
        assert!(networks.contains(ip(text)), "{text}");
    }
    for text in outside.iter().chain(&outside_too) {
        assert!(!networks.contains(ip(text)), "{text}");
    }
    assert!(!Networks::default().contains(ip("10.0.0.1")));
}

/// Anybody may send from a 6to4 address that carries the address of a public proxy.
#[test]
fn an_address_that_only_carries_a_trusted_one_is_not_trusted() {
    let networks = Networks::new(&[parse_cidr("203.0.113.0/24").unwrap()]).unwrap();
    assert!(networks.contains(ip("203.0.113.9")));
    assert!(!networks.contains(ip("2002:cb00:7109::1")));
    assert!(!networks.contains(ip("64:ff9b::203.0.113.9")));
}

#[test]
fn the_search_among_many_finds_what_a_plain_scan_finds() {
    let mut found = [0, 0];
    for seed in 1..=300 {
        let mut dice = Dice::new(seed);
        // Few leading bits, so that networks overlap, touch and are hit.
        let v4 = |dice: &mut Dice| Ipv4Addr::from_bits(u32::try_from(dice.roll() >> 55).unwrap() << 23);
        let v6 = |dice: &mut Dice| Ipv6Addr::from_bits(u128::from(dice.roll() >> 55) << 119);
        let cidrs: Vec<IpNet> = (0..dice.below(200))
            .map(|_| match dice.below(2) {
                0 => IpNet::new(v4(&mut dice).into(), u8::try_from(6 + dice.below(27)).unwrap()).unwrap(),
                _ => IpNet::new(v6(&mut dice).into(), u8::try_from(6 + dice.below(123)).unwrap()).unwrap(),
            })
            .collect();
        let networks = Networks::new(&cidrs).unwrap();
        for _ in 0..200 {
            let address: IpAddr = match dice.below(3) {
                0 => v4(&mut dice).into(),
                1 => v4(&mut dice).to_ipv6_mapped().into(),
                _ => v6(&mut dice).into(),
            };
            let expected = cidrs.iter().any(|cidr| cidr.contains(&address.to_canonical()));
            found[usize::from(expected)] += 1;
            assert_eq!(networks.contains(address), expected, "seed {seed}: {address} in {cidrs:?}");
        }
    }
    assert!(found.iter().all(|count| *count > 5_000), "one answer is hardly ever tried: {found:?}");
}
