//! Lists of networks, and whether an address is in one of thousands.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

/// Maximum length of a network's text.
pub const CIDR_MAX: usize = 64;

/// Maximum number of networks in a list. The largest lists that clouds publish have about ten thousand.
pub const NETWORKS_MAX: usize = 65_536;

/// A set of networks. A lookup takes at most two binary searches.
///
/// An IPv4 address equals its IPv4-mapped form. Other IPv6 forms with an embedded IPv4 address do not count: anybody
/// can use them, so they must not be trusted.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Networks {
    /// First and last addresses, sorted and disjoint.
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u128)>,
}

impl Networks {
    /// Creates a set. Bits beyond the prefix length are ignored. Networks may overlap.
    ///
    /// # Errors
    ///
    /// If there are more than [`NETWORKS_MAX`], or one is written as IPv4-mapped IPv6, in which no address is found.
    pub fn new(networks: &[IpNet]) -> Result<Self, String> {
        if networks.len() > NETWORKS_MAX {
            return Err(format!(
                "a list of {} networks is too long: give at most {NETWORKS_MAX}, joining neighbours into one",
                networks.len()
            ));
        }
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for network in networks {
            if let Some(meant) = unmapped(*network) {
                return Err(written_as_mapped(&network.to_string(), &meant.to_string()));
            }
            match network {
                IpNet::V4(net) => v4.push((net.network().to_bits(), net.broadcast().to_bits())),
                IpNet::V6(net) => v6.push((net.network().to_bits(), net.broadcast().to_bits())),
            }
        }
        Ok(Self { v4: joined(v4), v6: joined(v6) })
    }

    /// Returns true if the address is in one of the networks.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(v4) => is_within(&self.v4, v4.to_bits()),
            IpAddr::V6(v6) => is_within(&self.v6, v6.to_bits()),
        }
    }
}

/// In order, and those that overlap as one. So the last that begins before an address is the only one to look at.
fn joined<T: Ord + Copy>(mut ranges: Vec<(T, T)>) -> Vec<(T, T)> {
    ranges.sort_unstable();
    let mut joined: Vec<(T, T)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match joined.last_mut() {
            Some((_, end)) if first <= *end => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    joined
}

fn is_within<T: Ord + Copy>(ranges: &[(T, T)], address: T) -> bool {
    let begun = ranges.partition_point(|(first, _)| *first <= address);
    begun.checked_sub(1).and_then(|place| ranges.get(place)).is_some_and(|(_, last)| address <= *last)
}

/// Parses a network: `10.0.0.0/8`, `2001:db8::/32`, or one address.
///
/// Bits beyond the prefix are an error: `10.1.2.3/8` could mean one machine or sixteen million, and trust must
/// not be guessed. The message gives the syntax for both.
///
/// ```
/// use tollgate_http::trusted::parse_cidr;
/// assert_eq!(parse_cidr("10.0.0.1")?.to_string(), "10.0.0.1/32");
/// assert!(parse_cidr("10.0.0.1/8").unwrap_err().contains("10.0.0.0/8"));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// If the text is not a network; the message says why and what to write.
pub fn parse_cidr(text: &str) -> Result<IpNet, String> {
    if text.len() > CIDR_MAX {
        return Err(format!("a network of {} characters is too long: it has at most {CIDR_MAX}", text.len()));
    }
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else {
        return Err(format!(
            "{text:?} is not a network: write one such as 10.0.0.0/8, 2001:db8::/32 or 10.0.0.1"
        ));
    };
    let whole = if address.is_ipv4() { 32 } else { 128 };
    let length = match length {
        None => whole,
        Some(digits) => prefix_length(digits).filter(|length| *length <= whole).ok_or_else(|| {
            format!("{digits:?} in {text:?} is not the length of a prefix: write a number from 0 to {whole}")
        })?,
    };
    let network = IpNet::new(address, length).map_err(|_| format!("{text:?} is not a network"))?;
    if let Some(meant) = unmapped(network) {
        return Err(written_as_mapped(text, &meant.to_string()));
    }
    if network != network.trunc() {
        return Err(format!(
            "{text} has bits beyond its first {length}: write {} for the network, or {address} for that address alone",
            network.trunc()
        ));
    }
    Ok(network)
}

/// Digits without a sign and without leading zeros.
fn prefix_length(digits: &str) -> Option<u8> {
    let plain =
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if plain { digits.parse().ok() } else { None }
}

/// The IPv4 network that an IPv4-mapped one means, without bits beyond its prefix.
fn unmapped(network: IpNet) -> Option<IpNet> {
    let IpNet::V6(net) = network else {
        return None;
    };
    let address = net.addr().to_ipv4_mapped()?;
    let length = net.prefix_len().checked_sub(96)?;
    Ipv4Net::new(address, length).ok().map(|net| IpNet::V4(net.trunc()))
}

fn written_as_mapped(text: &str, meant: &str) -> String {
    format!(
        "{text} is an IPv4 network written as IPv6: write {meant}, which covers both spellings of its addresses"
    )
}
