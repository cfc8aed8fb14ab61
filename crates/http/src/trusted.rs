//! Finds the client's address: the peer's, or one that a trusted proxy wrote.

mod hops;
mod networks;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU8;

use http::header::{FORWARDED, HeaderMap, HeaderName};

use crate::address::canonical;
pub use hops::HOP_BYTES_MAX;
pub use networks::{CIDR_MAX, NETWORKS_MAX, Networks, parse_cidr};

/// The most hops that are walked from the right through trusted networks. Where more are trusted the walk ends there,
/// with the last one as the client: [`AddressSource::TooManyHops`].
pub const HOPS_MAX: u8 = 64;

/// Whose word is taken for the address of a client.
///
/// A forwarding header is a list to which each proxy adds, at the right, the address that it was called from. What a
/// stranger sent is at the left. So it is read from the right, and never further than the trust goes. Only the one
/// header that is named is read: a header that the proxy does not write is the stranger's own.
///
/// ```
/// use http::{HeaderMap, HeaderValue};
/// use tollgate_http::trusted::{ForwardHeader, TrustedProxies, parse_cidr};
/// let inside = [parse_cidr("10.0.0.0/8")?];
/// let trusted = TrustedProxies::networks(&inside, ForwardHeader::XForwardedFor)?;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("x-forwarded-for", HeaderValue::from_static("6.6.6.6, 203.0.113.9, 10.0.0.2"));
/// let from_inside = trusted.client("10.0.0.1".parse().unwrap(), &headers);
/// assert_eq!(from_inside.address.to_string(), "203.0.113.9");
/// let from_outside = trusted.client("198.51.100.7".parse().unwrap(), &headers);
/// assert_eq!(from_outside.address.to_string(), "198.51.100.7");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum TrustedProxies {
    /// Nobody's: the peer is the client, and no header is read.
    #[default]
    None,
    /// That of proxies in these networks.
    ///
    /// If the peer is in them the header is walked from right to left while its addresses are, and the first that is
    /// not is the client. If all are, the leftmost is. A hop that cannot be read ends the walk at the one before it.
    Networks {
        /// Where the proxies are.
        cidrs: Networks,
        /// The header that they write.
        header: ForwardHeader,
    },
    /// That of this many proxies, whatever their addresses: the client is the `count`th from the right.
    ///
    /// The peer is the client if there are fewer, or if that one cannot be read. Right only if nobody can connect but
    /// through all of these proxies, and each adds one entry.
    Hops {
        /// How many proxies there are.
        count: NonZeroU8,
        /// The header that they write.
        header: ForwardHeader,
    },
}

/// The header that the proxies write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ForwardHeader {
    /// `X-Forwarded-For: 203.0.113.9, 10.0.0.2`
    XForwardedFor,
    /// `Forwarded: for=203.0.113.9, for="[2001:db8::1]:443";proto=https` (RFC 7239)
    Forwarded,
    /// Another one, such as `CF-Connecting-IP`: one address, or a list as in `X-Forwarded-For`.
    Other(HeaderName),
}

/// The address of a client, and where it is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// In its [canonical form](canonical).
    pub address: IpAddr,
    /// For whoever asks why.
    pub how: AddressSource,
}

/// Why an address is the client's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressSource {
    /// The peer; no proxy is trusted.
    Peer,
    /// The peer, which is not a trusted proxy. A header was not looked at.
    PeerNotTrusted,
    /// The peer, a trusted proxy that did not send the header.
    NoHeader,
    /// The first that is not a trusted proxy, so many hops from the right.
    Walked {
        /// 1 is the rightmost.
        hops: u8,
    },
    /// The leftmost: all are trusted proxies.
    AllTrusted {
        /// How many there are.
        hops: u8,
    },
    /// The last trusted proxy (the peer, after 0 hops): what it wrote down cannot be read.
    StoppedAtBadHop {
        /// How many were read.
        hops: u8,
    },
    /// The last trusted proxy of the [`HOPS_MAX`] that are walked.
    TooManyHops,
    /// The one that was asked for, so many hops from the right.
    Counted {
        /// 1 is the rightmost.
        hops: u8,
    },
    /// The peer: the one that was asked for, or one to the right of it, cannot be read.
    CountedBadHop {
        /// Which one; 1 is the rightmost.
        hop: u8,
    },
    /// The peer: there are fewer hops than trusted proxies.
    TooFewHops {
        /// How many there are.
        hops: u8,
    },
}

impl TrustedProxies {
    /// Trusts the proxies in these networks.
    ///
    /// # Errors
    ///
    /// As [`Networks::new`]; also if there is no network, or one that holds every address: then whoever calls is
    /// believed, and chooses whom to be limited as.
    pub fn networks(cidrs: &[ipnet::IpNet], header: ForwardHeader) -> Result<Self, String> {
        if let Some(all) = cidrs.iter().find(|cidr| cidr.prefix_len() == 0) {
            return Err(format!(
                "{all} trusts everybody, so that any client can name the address it is limited by: list the networks \
                 of your proxies, or give the number of hops"
            ));
        }
        if cidrs.is_empty() {
            return Err("no network is given to trust: list those of your proxies, or trust none".into());
        }
        Ok(Self::Networks { cidrs: Networks::new(cidrs)?, header })
    }

    /// Trusts so many proxies.
    ///
    /// # Errors
    ///
    /// If the count is 0.
    pub fn hops(count: u8, header: ForwardHeader) -> Result<Self, String> {
        let count = NonZeroU8::new(count).ok_or(
            "0 hops trust no proxy: give the number of your proxies, or trust none and leave the header out",
        )?;
        Ok(Self::Hops { count, header })
    }

    /// The header that the proxies write; `None` if no proxy is trusted.
    #[must_use]
    pub const fn header(&self) -> Option<&ForwardHeader> {
        match self {
            Self::None => None,
            Self::Networks { header, .. } | Self::Hops { header, .. } => Some(header),
        }
    }

    /// The client's address. Never one that a stranger could choose, if what is trusted deserves it.
    #[must_use]
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Origin {
        let (address, how) = match self {
            Self::None => (peer, AddressSource::Peer),
            Self::Networks { cidrs, header } => walk(cidrs, header, peer, headers),
            Self::Hops { count, header } => count_back(*count, header, peer, headers),
        };
        Origin { address: canonical(address), how }
    }

    /// Whether what the peer says of a client (its tier, its user) may be believed.
    ///
    /// With a count of hops every peer is one of the proxies: that nobody else connects is what the count assumes.
    #[must_use]
    pub fn peer_is_trusted(&self, peer: IpAddr) -> bool {
        match self {
            Self::None => false,
            Self::Networks { cidrs, .. } => cidrs.contains(peer),
            Self::Hops { .. } => true,
        }
    }
}

fn walk(
    cidrs: &Networks,
    header: &ForwardHeader,
    peer: IpAddr,
    headers: &HeaderMap,
) -> (IpAddr, AddressSource) {
    if !cidrs.contains(peer) {
        return (peer, AddressSource::PeerNotTrusted);
    }
    let (mut client, mut hops) = (peer, 0);
    for hop in hops::from_the_right(header, headers) {
        if hops == HOPS_MAX {
            return (client, AddressSource::TooManyHops);
        }
        let Some(address) = hop.and_then(|hop| hops::address(header, hop)) else {
            return (client, AddressSource::StoppedAtBadHop { hops });
        };
        client = address;
        hops += 1;
        if !cidrs.contains(address) {
            return (client, AddressSource::Walked { hops });
        }
    }
    (client, if hops == 0 { AddressSource::NoHeader } else { AddressSource::AllTrusted { hops } })
}

fn count_back(
    count: NonZeroU8,
    header: &ForwardHeader,
    peer: IpAddr,
    headers: &HeaderMap,
) -> (IpAddr, AddressSource) {
    let mut hops = 0;
    for hop in hops::from_the_right(header, headers) {
        let Some(hop) = hop else {
            return (peer, AddressSource::CountedBadHop { hop: hops + 1 });
        };
        // As Envoy does: what stands to the right of the one asked for is counted and not read.
        if hops + 1 == count.get() {
            return match hops::address(header, hop) {
                Some(address) => (address, AddressSource::Counted { hops: hops + 1 }),
                None => (peer, AddressSource::CountedBadHop { hop: hops + 1 }),
            };
        }
        hops += 1;
    }
    (peer, if hops == 0 { AddressSource::NoHeader } else { AddressSource::TooFewHops { hops } })
}

impl ForwardHeader {
    /// The header of that name, in any case.
    ///
    /// # Errors
    ///
    /// If it cannot be the name of a header.
    pub fn named(name: &str) -> Result<Self, String> {
        let refused = |_| format!("{name:?} is not the name of a header: give one such as X-Forwarded-For");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(refused)?;
        if name == FORWARDED {
            return Ok(Self::Forwarded);
        }
        if name == X_FORWARDED_FOR {
            return Ok(Self::XForwardedFor);
        }
        Ok(Self::Other(name))
    }

    /// The name, in lower case.
    #[must_use]
    pub fn name(&self) -> &HeaderName {
        match self {
            Self::XForwardedFor => &X_FORWARDED_FOR,
            Self::Forwarded => &FORWARDED_NAME,
            Self::Other(name) => name,
        }
    }
}

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static FORWARDED_NAME: HeaderName = FORWARDED;

impl fmt::Display for AddressSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Peer => f.write_str("the peer, because no proxy is trusted"),
            Self::PeerNotTrusted => f.write_str("the peer, because it is not a trusted proxy"),
            Self::NoHeader => f.write_str("the peer, a trusted proxy that did not send the header"),
            Self::Walked { hops } => {
                write!(f, "hop {hops} from the right, the first that is not a trusted proxy")
            }
            Self::AllTrusted { hops } => {
                write!(f, "the leftmost of {hops} hops, because all are trusted proxies")
            }
            Self::StoppedAtBadHop { hops: 0 } => {
                f.write_str("the peer, because hop 1 from the right is not an address")
            }
            Self::StoppedAtBadHop { hops } => {
                write!(f, "the last good one, because hop {} from the right is not an address", hops + 1)
            }
            Self::TooManyHops => write!(f, "hop {HOPS_MAX} from the right, beyond which none is read"),
            Self::Counted { hops } => write!(f, "hop {hops} from the right, as many as proxies are trusted"),
            Self::CountedBadHop { hop } => {
                write!(f, "the peer, because hop {hop} from the right is not an address")
            }
            Self::TooFewHops { hops } => {
                write!(f, "the peer, because there are only {hops} hops, fewer than trusted proxies")
            }
        }
    }
}
