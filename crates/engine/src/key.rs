//! Keys of rules: tagged and length-prefixed, with the same bytes as the keys of a policy.

use tollgate_http::address::Client;

/// What a key identifies. The tags are stored in Redis: a tag never changes its meaning.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyKind<'a> {
    /// The client's address or network.
    Address,
    /// A wider network around the address.
    AddressWide,
    /// Which limit of a rule it is, if it is not the rule's own.
    Limit,
    /// The value of a header, by the header's name in lower case.
    Header(&'a str),
    /// A consumer that the server's own code identified.
    Consumer,
    /// Every client.
    Everyone,
}

/// Appends one part to a key: tag, name if the kind has one, value. Lengths are varints.
pub(crate) fn push(key: &mut Vec<u8>, kind: KeyKind<'_>, value: &[u8]) {
    match kind {
        KeyKind::Address => key.push(2),
        KeyKind::AddressWide => key.push(3),
        KeyKind::Header(name) => {
            key.push(4);
            push_bytes(key, name.as_bytes());
        }
        KeyKind::Consumer => key.push(9),
        KeyKind::Limit => key.push(12),
        KeyKind::Everyone => key.push(14),
    }
    push_bytes(key, value);
}

/// Appends the key of a client's address.
pub(crate) fn push_address(key: &mut Vec<u8>, client: &Client) {
    push(key, KeyKind::Address, &client.key_bytes());
}

/// Appends the key of the wide network around a client's address, on the wide limit of a rule.
pub(crate) fn push_wide(key: &mut Vec<u8>, network: &Client) {
    push(key, KeyKind::Limit, b"wide");
    push(key, KeyKind::AddressWide, &network.key_bytes());
}

fn push_bytes(key: &mut Vec<u8>, bytes: &[u8]) {
    let mut length = bytes.len();
    while length > 0x7f {
        key.push(0x80 | u8::try_from(length & 0x7f).unwrap_or(0));
        length >>= 7;
    }
    key.push(u8::try_from(length).unwrap_or(0));
    key.extend_from_slice(bytes);
}

#[cfg(all(test, feature = "policy"))]
mod tests {
    use super::*;
    use tollgate_policy::key::Kind;

    /// A limit may move from rules to a document, or be shared by both, without a second allowance for its keys.
    #[test]
    fn keys_are_those_of_a_policy() {
        let long = [b'x'; 256];
        for value in [&b""[..], b"a", &[0xff; 127], &[7; 128], &long] {
            let pairs = [
                (KeyKind::Address, Kind::Address),
                (KeyKind::AddressWide, Kind::AddressWide),
                (KeyKind::Limit, Kind::Limit),
                (KeyKind::Header("x-key"), Kind::Header("x-key")),
                (KeyKind::Consumer, Kind::Consumer),
                (KeyKind::Everyone, Kind::Everyone),
            ];
            for (own, policy) in pairs {
                let (mut ours, mut theirs) = (Vec::new(), Vec::new());
                push(&mut ours, own, value);
                tollgate_policy::key::push(&mut theirs, policy, value);
                assert_eq!(ours, theirs, "{own:?}, {} bytes", value.len());
            }
        }
    }
}
