//! That keys are injective and can be read back; that an encoder that joins with a separator would be noticed.

use super::show::SHOWN_CHARS_MAX;
use super::*;
use tollgate_testing::dice::Dice;

/// A part as a test makes it: it owns its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Made {
    kind: usize,
    name: String,
    value: Vec<u8>,
}

impl Made {
    fn kind(&self) -> Kind<'_> {
        let name = self.name.as_str();
        let kinds = [
            Kind::ApiKey,
            Kind::Consumer,
            Kind::Header(name),
            Kind::Cookie(name),
            Kind::Query(name),
            Kind::JwtClaim(name),
            Kind::JwtClaimUnverified(name),
            Kind::Address,
            Kind::AddressWide,
            Kind::Organisation,
            Kind::Operation,
            Kind::Limit,
            Kind::Anonymous,
            Kind::Everyone,
        ];
        kinds[self.kind % kinds.len()]
    }
}

fn encode(parts: &[Made]) -> Vec<u8> {
    let mut key = Vec::new();
    parts.iter().for_each(|part| push(&mut key, part.kind(), &part.value));
    key
}

/// What everyone else does.
fn encode_joined(parts: &[Made]) -> Vec<u8> {
    let texts = parts.iter().map(|part| [part.name.as_bytes(), b"=", &part.value].concat());
    texts.collect::<Vec<_>>().join(&b':')
}

/// Two lists mean the same if their kinds, the names of those that have one, and their values are the same.
fn same(a: &[Made], b: &[Made]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.kind() == b.kind() && a.value == b.value)
}

fn draw_value(draw: &mut Dice) -> Vec<u8> {
    let pieces: [&[u8]; 12] =
        [b"", b"a", b"b", b":", b"=", b"\0", b"\x01", b"\x09\x01a", b"\x80", b"\xff", b"\r\n", b"a:b"];
    match draw.below(12) {
        0 => vec![b'x'; VALUE_BYTES_MAX - 1 + draw.below(3)],
        1 => Sha256::digest(vec![b'x'; VALUE_BYTES_MAX + 1]).to_vec(),
        // A value that is the encoding of other parts.
        2 => {
            let inner = draw_list(draw);
            encode(&inner)
        }
        _ => (0..draw.below(4)).flat_map(|_| draw.pick(&pieces).to_vec()).collect(),
    }
}

fn draw_list(draw: &mut Dice) -> Vec<Made> {
    let names = ["", "a", "b", "a:b", "x=", "\u{1}a"];
    let part = |draw: &mut Dice| {
        let name = (draw.pick(&names)).to_owned();
        // Two kinds are likely, so that lists differ in the rest.
        let kind = if draw.below(2) == 0 { 1 + draw.below(2) } else { draw.below(14) };
        Made { kind, name, value: if draw.below(40) == 0 { draw_value(draw) } else { draw_short(draw) } }
    };
    (0..draw.below(4)).map(|_| part(draw)).collect()
}

fn draw_short(draw: &mut Dice) -> Vec<u8> {
    (0..draw.below(4)).map(|_| draw.pick(b"ab:=\0\x01\x09")).collect()
}

/// A list that is nearly the same: a byte moved over a border, a border moved, a part emptied, taken out or joined.
fn nearly(draw: &mut Dice, list: &[Made]) -> Vec<Made> {
    let mut list = list.to_vec();
    let at = draw.below(list.len().max(1));
    match draw.below(6) {
        0 if at + 1 < list.len() => {
            let taken = list[at + 1].value.first().copied();
            list[at].value.extend(taken);
            list[at + 1].value = list[at + 1].value.iter().skip(1).copied().collect();
        }
        1 if at + 1 < list.len() => {
            let next = list.remove(at + 1);
            list[at].value.extend([b":", next.name.as_bytes(), b"=", &next.value].concat());
        }
        2 if at < list.len() => list[at].value.clear(),
        3 => list.insert(at, Made { kind: 1, name: String::new(), value: Vec::new() }),
        4 if at < list.len() => list[at].kind += 1,
        _ if at < list.len() => {
            let part = &mut list[at];
            let first = part.value.first().copied().filter(u8::is_ascii);
            part.name.extend(first.map(char::from));
        }
        _ => {}
    }
    list
}

/// Looks for two lists that differ and are written alike.
fn find_collision(seed: u64, encoder: fn(&[Made]) -> Vec<u8>) -> Option<(Vec<Made>, Vec<Made>)> {
    let mut draw = Dice::new(seed);
    let mut pairs = (0..20_000).map(|_| {
        let list = draw_list(&mut draw);
        let other = if draw.below(4) == 0 { draw_list(&mut draw) } else { nearly(&mut draw, &list) };
        (list, other)
    });
    pairs.find(|(a, b)| !same(a, b) && encoder(a) == encoder(b))
}

#[test]
fn lists_that_differ_are_written_differently() {
    for seed in 0..20 {
        let found = find_collision(seed, encode);
        assert!(found.is_none(), "seed {seed}: {found:?} are written alike");
    }
}

#[test]
fn the_same_property_catches_an_encoder_that_joins_with_a_separator() {
    assert!((0..20).all(|seed| find_collision(seed, encode_joined).is_some()));
}

#[test]
fn what_was_written_is_read_back() {
    for seed in 0..20 {
        let mut draw = Dice::new(seed);
        for _ in 0..2_000 {
            let list = draw_list(&mut draw);
            let key = encode(&list);
            let read: Vec<_> = parts(&key).expect("it was written here").collect();
            assert_eq!(read.len(), list.len(), "seed {seed}");
            for (read, made) in read.iter().zip(&list) {
                assert_eq!(read.kind, made.kind(), "seed {seed}");
                let hash = Sha256::digest(&made.value).into();
                let long = made.value.len() > VALUE_BYTES_MAX;
                let value = if long { Value::Sha256(&hash) } else { Value::Clear(&made.value) };
                assert_eq!(read.value, value, "seed {seed}");
            }
        }
    }
}

/// Any bytes: never a panic, and what can be read is exactly what would be written.
#[test]
fn bytes_that_can_be_read_are_the_bytes_that_would_be_written() {
    let mut readable = 0;
    for seed in 0..20 {
        let mut draw = Dice::new(seed);
        for _ in 0..5_000 {
            let mut key = encode(&draw_list(&mut draw));
            if !key.is_empty() {
                let at = draw.below(key.len());
                match draw.below(4) {
                    0 => key.truncate(at),
                    1 => key[at] ^= 1 << draw.below(8),
                    2 => key.insert(at, draw.pick(&[0, 1, 0x7f, 0x80, 0x81, 0xff])),
                    _ => {}
                }
            }
            let Some(read) = parts(&key) else { continue };
            readable += 1;
            let mut again = Vec::new();
            for part in read {
                match part.value {
                    Value::Clear(value) => push(&mut again, part.kind, value),
                    Value::Sha256(hash) => {
                        let before = again.len();
                        push(&mut again, part.kind, &[0; VALUE_BYTES_MAX + 1]);
                        assert!(again.len() >= before + 32);
                        again.truncate(again.len() - 32);
                        again.extend_from_slice(hash);
                    }
                }
            }
            assert_eq!(again, key, "seed {seed}");
        }
    }
    assert!(readable > 10_000, "{readable}");
}

#[test]
fn bytes_that_were_not_written_here_are_refused() {
    let cases: [(&str, &[u8]); 11] = [
        ("an unknown tag", &[0]),
        ("an unknown tag with a name", &[16, 1, b'a', 0]),
        ("an unknown tag that says hashed", &[0x80]),
        ("no value", &[9]),
        ("a value that is too short", &[9, 2, b'a']),
        ("a length in two bytes that fits one", &[9, 0x81, 0x00, b'a']),
        ("a length without an end", &[9, 0xff, 0xff, 0xff, 0xff, 0xff]),
        ("a length that no memory holds", &[9, 0xff, 0xff, 0xff, 0x7f]),
        ("a name that is not text", &[4, 1, 0xff, 0]),
        ("half a hash", &[0x89, 1, 2, 3]),
        ("a value that should stand as its hash", &[&[9, 0x81, 0x02][..], &[b'x'; 257]].concat()),
    ];
    for (what, bytes) in cases {
        assert!(parts(bytes).is_none(), "{what}");
    }
    assert_eq!(parts(&[]).expect("no parts are a list too").count(), 0);
}

#[test]
fn a_long_value_costs_32_bytes_and_is_not_its_own_hash() {
    let written = |value: &[u8]| {
        let mut key = Vec::new();
        push(&mut key, Kind::ApiKey, value);
        key
    };
    let long = vec![b'k'; 1 << 20];
    assert_eq!(written(&long).len(), 33);
    assert_ne!(written(&long), written(&Sha256::digest(&long)));
    assert_eq!(written(&[b'k'; VALUE_BYTES_MAX]).len(), 3 + VALUE_BYTES_MAX);
    assert_eq!(written(&[b'k'; VALUE_BYTES_MAX + 1]).len(), 33);
}

#[test]
fn parts_are_shown_escaped_and_shortened_and_secrets_are_not_shown() {
    let secret = "s3cr3t-value";
    let digits = "#1f3fa74b";
    let cases: &[(Kind<'_>, &[u8], String)] = &[
        (Kind::ApiKey, secret.as_bytes(), format!("api-key {digits}")),
        (Kind::Header("x-key"), secret.as_bytes(), format!("header \"x-key\" {digits}")),
        (Kind::Cookie("sid"), secret.as_bytes(), format!("cookie \"sid\" {digits}")),
        (Kind::Query("key"), secret.as_bytes(), format!("query \"key\" {digits}")),
        (Kind::JwtClaimUnverified("sub"), secret.as_bytes(), format!("unverified claim \"sub\" {digits}")),
        (Kind::JwtClaim("sub"), b"ann", "claim \"sub\" ann".into()),
        (Kind::Address, &client("192.0.2.1").key_bytes(), "address 192.0.2.1".into()),
        (Kind::AddressWide, &client("2001:db8::1").key_bytes(), "wide address 2001:db8::/64".into()),
        (Kind::Address, b"odd", "address odd".into()),
        (Kind::Everyone, b"", "everyone".into()),
        (Kind::Consumer, "a\r\n\u{202e}é\0".as_bytes(), "consumer a\\r\\n\\u{202e}é\\0".into()),
        (Kind::Consumer, b"\xff\xfe", "consumer \\xff\\xfe".into()),
        (Kind::Consumer, &[b'x'; 200], format!("consumer {}…", "x".repeat(SHOWN_CHARS_MAX))),
        (Kind::Consumer, &[0xff; 200], format!("consumer {}…", "\\xff".repeat(SHOWN_CHARS_MAX))),
        (Kind::Consumer, &[b'x'; 300], "consumer #0d4e2ca9".into()),
        (Kind::Header("a\"\n"), b"", "header \"a\\\"\\n\" #e3b0c442".into()),
    ];
    for (kind, value, shown) in cases {
        let mut key = Vec::new();
        push(&mut key, *kind, value);
        let part = parts(&key).and_then(|mut parts| parts.next()).expect("one part");
        assert_eq!(part.to_string(), *shown);
        assert_eq!(format!("{part:?}"), *shown, "the debugging form says no more");
        assert!(!format!("{:?}", part.value).contains("s3cr3t"));
    }
}

fn client(text: &str) -> tollgate_http::address::Client {
    tollgate_http::address::Client::of(
        text.parse().expect("an address"),
        &tollgate_http::address::Prefixes::default(),
    )
}
