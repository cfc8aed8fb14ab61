//! A slow reference for finding the client: joins all lines and tries every comma.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{inside, ip};
use crate::address::{canonical, parse_node};
use crate::trusted::{AddressSource, ForwardHeader, TrustedProxies};
use tollgate_testing::dice::Dice;

const PEER: &str = "10.0.0.1";

fn is_inside(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.octets()[0] == 10,
        IpAddr::V6(v6) => v6.octets()[0] == 0xfd,
    }
}

/// All hops from right to left; `None` for one that cannot be read. Where a hop begins may be unclear from there on.
fn hops(lines: &[String], forwarded: bool) -> Vec<Option<IpAddr>> {
    let mut all = Vec::new();
    for line in lines.iter().rev() {
        if !forwarded {
            all.extend(line.rsplit(',').map(|hop| parse_node(hop.trim().as_bytes())));
            continue;
        }
        let mut rest = Some(line.as_str());
        while let Some(text) = rest {
            // The hop is what parses as one, from a comma (or from the start) to the end.
            let commas =
                text.rmatch_indices(',').map(|(place, _)| (Some(&text[..place]), &text[place + 1..]));
            let fits: Vec<_> = commas
                .chain([(None, text)])
                .filter_map(|(rest, hop)| Some((rest, forwarded_for(hop)?)))
                .collect();
            assert!(fits.len() <= 1, "the hop is not clear: {text:?}");
            let Some((before, node)) = fits.into_iter().next() else {
                all.push(None);
                return all;
            };
            all.push(node.filter(|node| node.trim() == node).and_then(|node| parse_node(node.as_bytes())));
            rest = before;
        }
    }
    all
}

/// `None` if it is not a well-formed hop; then what `for` is in it, if it is there once.
fn forwarded_for(hop: &str) -> Option<Option<String>> {
    let mut found = Vec::new();
    let mut letters = hop.trim_matches([' ', '\t']).chars().peekable();
    loop {
        while letters.next_if(|letter| " \t".contains(*letter)).is_some() {}
        if letters.peek().is_some_and(|letter| *letter != ';') {
            let is_token =
                |letter: &char| letter.is_ascii_graphic() && !"\"(),/:;<=>?@[\\]{}".contains(*letter);
            let token = |letters: &mut std::iter::Peekable<std::str::Chars<'_>>| {
                let mut text = String::new();
                while let Some(letter) = letters.next_if(is_token) {
                    text.push(letter);
                }
                Some(text).filter(|text| !text.is_empty())
            };
            let name = token(&mut letters)?;
            letters.next_if_eq(&'=')?;
            let mut value = String::new();
            if letters.next_if_eq(&'"').is_some() {
                loop {
                    match letters.next()? {
                        '"' => break,
                        // Escapes are legal; no address is taken from a text with one.
                        '\\' => value.extend(['\\', letters.next()?]),
                        letter => value.push(letter),
                    }
                }
            } else {
                value = token(&mut letters)?;
            }
            if name.eq_ignore_ascii_case("for") {
                found.push(value);
            }
        }
        while letters.next_if(|letter| " \t".contains(*letter)).is_some() {}
        match letters.next() {
            None => break,
            Some(';') => {}
            Some(_) => return None,
        }
    }
    let once = found.len() == 1;
    Some(found.pop().filter(|_| once))
}

/// The client as the document of `TrustedProxies` has it, over all hops at once.
fn walked(hops: &[Option<IpAddr>]) -> IpAddr {
    let good: Vec<IpAddr> = hops.iter().map_while(|hop| *hop).collect();
    let first_outside = good.iter().find(|hop| !is_inside(**hop));
    *first_outside.or(good.last()).unwrap_or(&ip(PEER))
}

fn counted(hops: &[Option<IpAddr>], count: u8) -> IpAddr {
    hops.get(usize::from(count) - 1).copied().flatten().unwrap_or(ip(PEER))
}

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "10.0.0.2", "203.0.113.9", "::ffff:10.0.0.3", "2001:db8::1", "fd00::1", "[fd00::1]:80", "10.0.0.4:80", "unknown",
    "", "\"[::1]\"", "\"10.0.0.5\"", "6.6.6.6\"", "1.2.3", ",", "\t",
];

#[rustfmt::skip]
const FORWARDED_PIECES: &[&str] = &[
    "for=10.0.0.2", "for=10.0.0.2", "For=\"[fd00::1]:80\"", "for=203.0.113.9", "for=\"2001:db8::1\"", "for=unknown",
    "for=10.0.0.2;proto=https", "x=\"a,b\";for=10.0.0.3", "for=10.0.0.4; host=\"\\\",for=6.6.6.6,\\\"\"", "for=\"",
    "\"", "\\", "x=\"\\\\\";for=10.0.0.6", "for=\"10.0.0.2\\\"", "proto=http", "for=6.6.6.6;for=6.6.6.6",
    ";for=10.0.0.7;", "", ",",
];

fn line(dice: &mut Dice, pieces: &[&str]) -> String {
    let mut line = String::new();
    for place in 0..dice.below(6) {
        if place > 0 {
            line.push_str(dice.pick(&[",", ", ", " ,", ",\t", "", ";"]));
        }
        line.push_str(dice.pick(pieces));
    }
    if dice.below(4) == 0 {
        let soup = dice.soup(b"\"\\,;=for10. :[]", 3);
        let place = dice.below(line.len() + 1);
        line.insert_str(place, &String::from_utf8(soup).unwrap());
    }
    line
}

#[test]
fn walkers_find_what_the_slow_reference_finds() {
    let mut seen = [0; 4];
    for seed in 1..=100_000 {
        let mut dice = Dice::new(seed);
        let forwarded = dice.below(2) == 0;
        let (header, name, pieces) = match forwarded {
            true => (ForwardHeader::Forwarded, "forwarded", FORWARDED_PIECES),
            false => (ForwardHeader::XForwardedFor, "x-forwarded-for", PIECES),
        };
        let lines: Vec<String> = (0..dice.below(4)).map(|_| line(&mut dice, pieces)).collect();
        let mut headers = HeaderMap::new();
        for line in &lines {
            headers.append(name, HeaderValue::from_str(line).unwrap());
        }
        let hops = hops(&lines, forwarded);
        let origin = inside(header.clone()).client(ip(PEER), &headers);
        assert_eq!(origin.address, canonical(walked(&hops)), "seed {seed}: {:?} of {lines:?}", origin.how);
        match origin.how {
            AddressSource::Walked { .. } => seen[0] += 1,
            AddressSource::StoppedAtBadHop { .. } => seen[1] += 1,
            AddressSource::AllTrusted { .. } => seen[2] += 1,
            AddressSource::NoHeader => seen[3] += 1,
            how @ (AddressSource::Peer
            | AddressSource::PeerNotTrusted
            | AddressSource::TooManyHops
            | AddressSource::Counted { .. }
            | AddressSource::CountedBadHop { .. }
            | AddressSource::TooFewHops { .. }) => panic!("seed {seed}: {how:?} is not an end of this walk"),
        }
        let count = u8::try_from(1 + dice.below(4)).unwrap();
        let origin = TrustedProxies::hops(count, header).unwrap().client(ip(PEER), &headers);
        let expected = canonical(counted(&hops, count));
        assert_eq!(origin.address, expected, "seed {seed}: {count} hops, {:?} of {lines:?}", origin.how);
    }
    assert!(seen.iter().all(|count| *count > 2_000), "some end is hardly ever reached: {seen:?}");
}

/// Whatever is not an address, in the place that counts, leaves the peer: none of its bytes become one.
#[test]
fn nothing_of_a_bad_hop_becomes_an_address() {
    let mut tried = 0;
    for seed in 1..=50_000 {
        let mut dice = Dice::new(seed);
        let near = dice.pick(&["203.0.113.9", "[2001:db8::1]:443", "10.0.0.2:80", "fd00::1", "\"[::1]\""]);
        let mut bad = near.as_bytes().to_vec();
        for _ in 0..=dice.below(2) {
            let place = dice.below(bad.len());
            let byte = dice.pick(b"0.:[]\"\\ ;=%_x\xff");
            if dice.below(2) == 0 { bad.insert(place, byte) } else { bad[place] = byte }
        }
        if parse_node(&bad).is_some() {
            continue;
        }
        tried += 1;
        let around = [
            ("x-forwarded-for", "6.6.6.6, ", ""),
            ("forwarded", "for=6.6.6.6, for=", ""),
            ("forwarded", "for=\"", "\""),
        ];
        for (name, start, end) in around {
            // Without quotes a semicolon ends the hop, and what follows may be a good parameter: `for=10.0.0.2;8=0`.
            if start.ends_with("for=") && bad.contains(&b';') {
                continue;
            }
            let line = [start.as_bytes(), &bad, end.as_bytes()].concat();
            let value = HeaderValue::from_bytes(&line).unwrap();
            let headers = HeaderMap::from_iter([(HeaderName::from_static(name), value)]);
            let header = ForwardHeader::named(name).unwrap();
            for trusted in [inside(header.clone()), TrustedProxies::hops(1, header).unwrap()] {
                let origin = trusted.client(ip(PEER), &headers);
                assert_eq!(origin.address, ip(PEER), "seed {seed}: {}", line.escape_ascii());
            }
        }
    }
    assert!(tried > 10_000, "hardly any hop is bad: {tried}");
}
