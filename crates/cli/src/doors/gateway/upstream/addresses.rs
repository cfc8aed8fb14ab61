//! The upstream's addresses: those to connect to, and those whose connections are still used.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tollgate_redis::Lookup;

use crate::settings::Upstream;

/// An address is gone when this many lookups in a row did not find it: a name server may return only some of many addresses.
const MISSES_MAX: u32 = 3;

/// The most addresses that are remembered. Of more, the oldest are forgotten, and their connections given up.
const KNOWN_MAX: usize = 256;

/// The upstream's addresses, for all workers together.
#[derive(Debug)]
pub struct Addresses(Kind);

#[derive(Debug)]
enum Kind {
    /// The settings name an address.
    Fixed(Arc<[SocketAddr]>),
    /// The settings name a host.
    Named { lookup: Lookup, known: Mutex<Vec<KnownAddress>> },
}

/// An address that a lookup has found.
#[derive(Clone, Copy, Debug)]
struct KnownAddress {
    address: SocketAddr,
    /// How many lookups in a row have not found it.
    misses: u32,
}

/// What a lookup changed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct AddressChanges {
    /// Addresses that are new.
    pub came: Vec<SocketAddr>,
    /// Addresses that are gone.
    pub gone: Vec<SocketAddr>,
}

impl Addresses {
    /// The addresses of an upstream. A name is looked up later.
    #[must_use]
    pub fn new(upstream: &Upstream) -> Self {
        let host = upstream.host.trim_start_matches('[').trim_end_matches(']');
        match host.parse::<IpAddr>() {
            Ok(address) => Self(Kind::Fixed([SocketAddr::new(address, upstream.port)].into())),
            Err(_) => Self::by(Lookup::new(host, upstream.port)),
        }
    }

    /// The addresses that a lookup finds.
    pub(crate) const fn by(lookup: Lookup) -> Self {
        Self(Kind::Named { lookup, known: Mutex::new(Vec::new()) })
    }

    /// Whether they can change.
    #[must_use]
    pub const fn can_change(&self) -> bool {
        matches!(self.0, Kind::Named { .. })
    }

    /// The addresses to connect to now, the preferred one first.
    ///
    /// # Errors
    /// When the name cannot be looked up, or has no address.
    pub(crate) async fn now(&self) -> io::Result<Arc<[SocketAddr]>> {
        let (lookup, known) = match &self.0 {
            Kind::Fixed(addresses) => return Ok(Arc::clone(addresses)),
            Kind::Named { lookup, known } => (lookup, known),
        };
        let found = lookup.addresses().await.map_err(|why| io::Error::other(&*why))?;
        if found.is_empty() {
            return Err(io::Error::other("the host name has no address"));
        }
        // Only `refresh` counts misses: there may be many connections, and name servers rotate their answers.
        note(&mut known.lock().unwrap_or_else(PoisonError::into_inner), &found);
        Ok(found)
    }

    /// Looks the name up, and says what has changed. If the lookup fails, nothing has.
    ///
    /// The first lookup changes nothing either: there was nothing to compare it with.
    pub async fn refresh(&self) -> AddressChanges {
        let Kind::Named { lookup, known } = &self.0 else { return AddressChanges::default() };
        let found = lookup.addresses().await;
        let Some(found) = found.ok().filter(|found| !found.is_empty()) else {
            return AddressChanges::default();
        };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let first = known.is_empty();
        let came = note(&mut known, &found);
        let missing = known.iter_mut().filter(|known| !found.contains(&known.address));
        missing.for_each(|known| known.misses = known.misses.saturating_add(1));
        let gone =
            known.extract_if(.., |known| known.misses >= MISSES_MAX).map(|known| known.address).collect();
        AddressChanges { came: if first { Vec::new() } else { came }, gone }
    }

    /// The addresses whose connections are still used; `None` if they cannot change.
    pub(crate) fn current(&self) -> Option<Vec<SocketAddr>> {
        let Kind::Named { known, .. } = &self.0 else { return None };
        let known = known.lock().unwrap_or_else(PoisonError::into_inner);
        Some(known.iter().map(|known| known.address).collect())
    }
}

/// Notes that a lookup found these addresses, and gives the new ones.
fn note(known: &mut Vec<KnownAddress>, found: &[SocketAddr]) -> Vec<SocketAddr> {
    let mut came = Vec::new();
    for address in found {
        match known.iter_mut().find(|known| known.address == *address) {
            Some(known) => known.misses = 0,
            None => {
                known.push(KnownAddress { address: *address, misses: 0 });
                came.push(*address);
            }
        }
    }
    let more = known.len().saturating_sub(KNOWN_MAX);
    known.drain(..more);
    came
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What a name leads to, and can be made to lead to.
    pub(crate) type Name = Arc<Mutex<Result<Vec<SocketAddr>, &'static str>>>;

    /// The addresses of a name that a test controls.
    pub(crate) fn named(found: &[SocketAddr]) -> (Arc<Addresses>, Name) {
        let name: Name = Arc::new(Mutex::new(Ok(found.to_vec())));
        let asked = Arc::clone(&name);
        let lookup = Lookup::by(move || {
            let found = asked.lock().unwrap().clone().map_err(io::Error::other);
            Box::pin(async move { found })
        });
        (Arc::new(Addresses::by(lookup)), name)
    }

    fn addresses(last: &[u8]) -> Vec<SocketAddr> {
        last.iter().map(|last| SocketAddr::from(([192, 0, 2, *last], 80))).collect()
    }

    fn changed(came: &[u8], gone: &[u8]) -> AddressChanges {
        AddressChanges { came: addresses(came), gone: addresses(gone) }
    }

    #[tokio::test]
    async fn an_address_is_gone_when_three_lookups_in_a_row_miss_it() {
        let (all, name) = named(&addresses(&[1, 2]));
        let set = |last: &[u8]| *name.lock().unwrap() = Ok(addresses(last));
        assert_eq!(all.refresh().await, changed(&[], &[]));
        set(&[2, 3]);
        assert_eq!(all.refresh().await, changed(&[3], &[]));
        assert_eq!(all.refresh().await, changed(&[], &[]));
        set(&[1, 2]);
        assert_eq!(all.refresh().await, changed(&[], &[]), "it is back");
        set(&[3]);
        for _ in 0..2 {
            assert_eq!(all.refresh().await, changed(&[], &[]));
        }
        assert_eq!(all.current(), Some(addresses(&[1, 2, 3])));
        assert_eq!(all.refresh().await, changed(&[], &[1, 2]));
        assert_eq!(all.current(), Some(addresses(&[3])));
    }

    #[tokio::test]
    async fn a_lookup_that_fails_or_finds_nothing_changes_nothing() {
        let (all, name) = named(&addresses(&[1]));
        assert_eq!(*all.now().await.unwrap(), addresses(&[1]));
        for wrong in [Err("no answer"), Ok(Vec::new())] {
            *name.lock().unwrap() = wrong;
            for _ in 0..2 * MISSES_MAX {
                assert_eq!(all.refresh().await, AddressChanges::default());
            }
            assert!(all.now().await.is_err());
            assert_eq!(all.current(), Some(addresses(&[1])));
        }
    }

    #[tokio::test]
    async fn connections_count_no_misses_and_find_new_addresses() {
        let (all, name) = named(&addresses(&[1]));
        assert_eq!(*all.now().await.unwrap(), addresses(&[1]));
        *name.lock().unwrap() = Ok(addresses(&[2]));
        for _ in 0..2 * MISSES_MAX {
            assert_eq!(*all.now().await.unwrap(), addresses(&[2]));
        }
        assert_eq!(all.current(), Some(addresses(&[1, 2])));
    }
}
