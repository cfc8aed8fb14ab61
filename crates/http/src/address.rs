//! The identity of a client's address for limits: an IPv4 address or an IPv6 prefix, however it was written. `trusted` finds the
//! address.

mod node;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use node::parse_bare;
pub use node::{NODE_MAX, parse_node};

/// The length of [`Client::key_bytes`].
pub const KEY_BYTES: usize = 18;

/// A client as limits see it: an IPv4 address or an IPv6 prefix (or an IPv4 prefix, where that is asked for).
///
/// Two addresses are the same client if and only if they have the same [canonical] form up to the length of
/// the prefix. Nobody is issued a single IPv6 address: whoever has one has the 2^64 of its `/64`, and a limit on single
/// addresses is none.
///
/// ```
/// use tollgate_http::address::{Client, Prefixes};
/// let prefixes = Prefixes::new(32, 64, Some(48)).unwrap();
/// let client = |text: &str| Client::of(text.parse().unwrap(), &prefixes);
///
/// assert_eq!(client("203.0.113.9").to_string(), "203.0.113.9");
/// assert_eq!(client("::ffff:203.0.113.9"), client("203.0.113.9"));
/// assert_eq!(client("2001:db8::1"), client("2001:DB8::ffff"));
/// assert_eq!(client("2001:db8::1").to_string(), "2001:db8::/64");
/// assert_eq!(client("2001:db8::1").wide(&prefixes).unwrap().to_string(), "2001:db8::/48");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Client {
    /// The canonical address, with nothing but zeros beyond the prefix.
    network: IpAddr,
    length: u8,
}

impl Client {
    /// The client that has this address.
    #[must_use]
    pub fn of(address: IpAddr, prefixes: &Prefixes) -> Self {
        match canonical(address) {
            IpAddr::V4(v4) => {
                Self { network: IpAddr::V4(masked_v4(v4, prefixes.ipv4)), length: prefixes.ipv4 }
            }
            IpAddr::V6(v6) => {
                Self { network: IpAddr::V6(masked_v6(v6, prefixes.ipv6)), length: prefixes.ipv6 }
            }
        }
    }

    /// The wider prefix around an IPv6 client, for a second limit on those who hold many prefixes. `None` for IPv4, and
    /// where no wider prefix is asked for.
    #[must_use]
    pub fn wide(self, prefixes: &Prefixes) -> Option<Self> {
        let length = prefixes.ipv6_wide.filter(|length| *length < self.length)?;
        match self.network {
            IpAddr::V4(_) => None,
            IpAddr::V6(v6) => Some(Self { network: IpAddr::V6(masked_v6(v6, length)), length }),
        }
    }

    /// The first address of the prefix.
    #[must_use]
    pub fn network(self) -> IpAddr {
        self.network
    }

    /// How many leading bits are the client's.
    #[must_use]
    pub fn length(self) -> u8 {
        self.length
    }

    /// The client that [`key_bytes`](Self::key_bytes) stands for; `None` for other bytes.
    #[must_use]
    pub fn from_key_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; KEY_BYTES] = bytes.try_into().ok()?;
        let [kind, length, address @ ..] = bytes;
        let network = match (kind, address) {
            (4, [a, b, c, d, ..]) => IpAddr::from([a, b, c, d]),
            (6, octets) => IpAddr::from(octets),
            _ => return None,
        };
        let client = Self { network, length };
        (client.key_bytes() == bytes).then_some(client)
    }

    /// The client as bytes for a key: the kind (4 or 6), the length of the prefix, and the address, filled up with
    /// zeros. Equal for equal clients and different for different ones, also across kinds and lengths.
    #[must_use]
    pub fn key_bytes(self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        let [kind, length, address @ ..] = &mut bytes;
        *length = self.length;
        match self.network {
            IpAddr::V4(v4) => {
                *kind = 4;
                address.iter_mut().zip(v4.octets()).for_each(|(to, from)| *to = from);
            }
            IpAddr::V6(v6) => {
                *kind = 6;
                *address = v6.octets();
            }
        }
        bytes
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = if self.network.is_ipv4() { 32 } else { 128 };
        if self.length == whole {
            return write!(f, "{}", self.network);
        }
        write!(f, "{}/{}", self.network, self.length)
    }
}

/// How much of an address makes a client. By default an IPv4 address and an IPv6 `/64`, with a second budget for the IPv6
/// `/48` around it.
///
/// A site is commonly given a `/48` or a `/56`, so that whoever has one could act as 65,536 or 256 clients. The second
/// budget is [so many times](Self::usual_multiple) the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefixes {
    ipv4: u8,
    ipv6: u8,
    ipv6_wide: Option<u8>,
}

impl Prefixes {
    /// Each length counts leading bits: 1 to 32 for IPv4, 1 to 128 for IPv6; the wide one is shorter than the other.
    ///
    /// # Errors
    ///
    /// If a length is out of its range. A length of 0 would make all clients one.
    pub fn new(ipv4: u8, ipv6: u8, ipv6_wide: Option<u8>) -> Result<Self, PrefixError> {
        if !(1..=32).contains(&ipv4) {
            return Err(PrefixError::Ipv4(ipv4));
        }
        if !(1..=128).contains(&ipv6) {
            return Err(PrefixError::Ipv6(ipv6));
        }
        match ipv6_wide {
            Some(wide) if !(1..ipv6).contains(&wide) => Err(PrefixError::Wide { wide, ipv6 }),
            _ => Ok(Self { ipv4, ipv6, ipv6_wide }),
        }
    }

    /// The wide prefix that goes with an IPv6 prefix, when nothing is said: `/48`, the smallest network that is announced on
    /// the Internet. `None` where so few clients share it that they may all use their limit: a `/24`, the smallest such
    /// network of IPv4, has 256.
    #[must_use]
    pub const fn usual_wide(ipv6: u8) -> Option<u8> {
        if ipv6 > 56 { Some(48) } else { None }
    }

    /// How many times the limit the wide prefix has, when nothing is said: the square root of how many clients share it, and at
    /// most 65,536. So a `/48` of `/64`s has 256 times the limit. That is as much as a `/24` of IPv4 has, and once the limit
    /// for each of the 256 `/56`s that a provider delegates from it to homes.
    #[must_use]
    pub fn usual_multiple(&self) -> u64 {
        let bits = self.ipv6_wide.map_or(0, |wide| self.ipv6.saturating_sub(wide) / 2);
        1_u64 << bits.min(16)
    }

    /// Whether the wide prefix can have a multiple of the limit.
    ///
    /// # Errors
    ///
    /// A sentence, if that is nothing, or as much as its clients have already, or if there is no wide prefix.
    pub fn check_multiple(&self, multiple: u64) -> Result<(), String> {
        let Some(wide) = self.ipv6_wide else {
            return Err("`ipv6_wide_multiple` has no effect without a wide prefix: leave it out, or give `ipv6_wide_prefix`"
                .into());
        };
        if multiple == 0 {
            return Err("a wide budget of 0 times the limit refuses everything: give at least 1".into());
        }
        let clients = 1_u64.checked_shl(u32::from(self.ipv6.saturating_sub(wide))).unwrap_or(u64::MAX);
        if multiple >= clients {
            return Err(format!(
                "a /{wide} holds {clients} clients, so {multiple} times the limit are never used up: give 1 to {}, or \
                 `ipv6_wide_prefix: none`",
                clients.saturating_sub(1)
            ));
        }
        Ok(())
    }

    /// Leading bits of an IPv4 address.
    #[must_use]
    pub fn ipv4(&self) -> u8 {
        self.ipv4
    }

    /// Leading bits of an IPv6 address.
    #[must_use]
    pub fn ipv6(&self) -> u8 {
        self.ipv6
    }

    /// Leading bits of an IPv6 address for the second, wider limit.
    #[must_use]
    pub fn ipv6_wide(&self) -> Option<u8> {
        self.ipv6_wide
    }
}

impl Default for Prefixes {
    fn default() -> Self {
        Self { ipv4: 32, ipv6: 64, ipv6_wide: Self::usual_wide(64) }
    }
}

/// Why a length of a prefix is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PrefixError {
    /// Not 1 to 32.
    Ipv4(u8),
    /// Not 1 to 128.
    Ipv6(u8),
    /// Not shorter than the other one.
    Wide {
        /// What was given for the wide one.
        wide: u8,
        /// What the other one is.
        ipv6: u8,
    },
}

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ipv4(0) | Self::Ipv6(0) => f.write_str(
                "a prefix of 0 bits makes all clients one: leave the address out of the key instead, or give at least 1",
            ),
            Self::Ipv4(given) => write!(f, "an IPv4 prefix of {given} bits is too long: give 1 to 32"),
            Self::Ipv6(given) => write!(f, "an IPv6 prefix of {given} bits is too long: give 1 to 128"),
            Self::Wide { wide, ipv6: 1 } => {
                write!(f, "no prefix is wider than 1 bit, so {wide} cannot be: give no wide prefix")
            }
            Self::Wide { wide, ipv6 } => write!(
                f,
                "a wide IPv6 prefix of {wide} bits is not wider than {ipv6} bits: give 1 to {}, or none",
                ipv6.saturating_sub(1)
            ),
        }
    }
}

impl std::error::Error for PrefixError {}

/// The one form of an address, decided by its bits.
///
/// - IPv4-mapped `::ffff:1.2.3.4` is `1.2.3.4`: a socket that takes both kinds shows IPv4 peers so.
/// - NAT64 `64:ff9b::1.2.3.4` (RFC 6052) and 6to4 `2002:102:304::…` (RFC 3056) are `1.2.3.4`: whoever has the IPv4
///   address has all of these. But only if that is an address of the public Internet: the RFCs forbid others, and
///   `2002:7f00:1::` must not pass for the loopback address in a list of exceptions.
/// - Everything else stays: `::1` is loopback, and IPv4-compatible `::1.2.3.4` has been out of use since 2006.
#[must_use]
pub fn canonical(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let carried = match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(joined(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            Some(joined(high, low)).filter(|carried| is_public(*carried))
        }
        _ => None,
    };
    carried.map_or(address, IpAddr::V4)
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

fn is_public(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        [0 | 127 | 224..=255, ..] | [100, 64..=127, ..] => true,
        _ => address.is_private() || address.is_link_local(),
    };
    !special
}

fn masked_v4(address: Ipv4Addr, length: u8) -> Ipv4Addr {
    let beyond = u32::MAX.checked_shr(u32::from(length)).unwrap_or(0);
    Ipv4Addr::from_bits(address.to_bits() & !beyond)
}

fn masked_v6(address: Ipv6Addr, length: u8) -> Ipv6Addr {
    let beyond = u128::MAX.checked_shr(u32::from(length)).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & !beyond)
}
