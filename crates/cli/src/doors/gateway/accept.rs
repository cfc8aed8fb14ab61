//! Accepts connections, up to the maximum, and keeps going after errors of the system.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch::Receiver;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::{serve, stopping};
use super::worker::Worker;

/// How long no connection is taken after the system has no descriptor or no memory for one.
const BREATHER: Duration = Duration::from_millis(100);
/// Number of waiting connections still served at shutdown; the system's queue is no longer than this. Further ones are closed.
const WAITING_MAX: usize = 4096;

/// How many connections there may be, for all workers together.
#[derive(Debug)]
pub(crate) struct ConnectionLimiter {
    all: Arc<Semaphore>,
    per_address: Option<usize>,
    addresses: Mutex<HashMap<IpAddr, usize>>,
}

/// A connection's place, until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    places: Arc<ConnectionLimiter>,
    counted: Option<IpAddr>,
    worker: Arc<Worker>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionLimiter {
    pub(crate) fn new(connections: usize, per_address: Option<usize>) -> Self {
        let all = Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS)));
        Self { all, per_address, addresses: Mutex::new(HashMap::new()) }
    }

    /// A place for an address; `None` if it has as many as one may have.
    fn place(
        self: &Arc<Self>,
        address: IpAddr,
        permit: OwnedSemaphorePermit,
        worker: &Arc<Worker>,
    ) -> Option<ConnectionPermit> {
        let mut counted = None;
        if let Some(most) = self.per_address {
            let address = whose(address);
            let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
            let count = addresses.entry(address).or_insert(0);
            if *count >= most {
                return None;
            }
            *count = count.saturating_add(1);
            counted = Some(address);
        }
        worker.metrics.connections_total.inc();
        worker.metrics.connections_open.inc();
        Some(ConnectionPermit {
            places: Arc::clone(self),
            counted,
            worker: Arc::clone(worker),
            _permit: permit,
        })
    }
}

/// What connections are counted by: an IPv4 address, or an IPv6 /64, because a client with one address has all of its /64.
const fn whose(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.worker.metrics.connections_open.dec();
        let Some(address) = self.counted else { return };
        let mut addresses = self.places.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = addresses.get_mut(&address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                addresses.remove(&address);
            }
        }
    }
}

/// Takes connections until `stop` is said. Those that were waiting by then are still served, as places become free.
pub(crate) async fn accept(
    listener: TcpListener,
    worker: Arc<Worker>,
    places: Arc<ConnectionLimiter>,
    mut stop: Receiver<bool>,
) {
    let (mut short, mut last) = (false, None);
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopping(&mut stop) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((tcp, peer)) => {
                short = false;
                // Beyond the bound this one waits for a place, and further ones in the listener's queue.
                let permit = tokio::select! {
                    biased;
                    () = stopping(&mut stop) => {
                        last = Some((tcp, peer));
                        break;
                    }
                    permit = Arc::clone(&places.all).acquire_owned() => permit,
                };
                let Ok(permit) = permit else { break };
                begin(tcp, peer, (&worker, &places, &stop), permit);
            }
            Err(error) if is_shortage(&error) => {
                if !short {
                    worker.logs.within(|| tracing::warn!(why = %error, "cannot accept connections for now"));
                }
                short = true;
                // To ask again at once would only burn the processor: something has to be closed first.
                tokio::time::sleep(BREATHER).await;
            }
            Err(_) => {}
        }
    }
    worker.watches.wake_all();
    for (tcp, peer) in last.into_iter().chain(waiting(listener)) {
        let Ok(permit) = Arc::clone(&places.all).acquire_owned().await else { break };
        begin(tcp, peer, (&worker, &places, &stop), permit);
    }
}

/// The connections in a listener's queue: the system let them in before anybody said stop. It takes no more.
fn waiting(listener: TcpListener) -> Vec<(TcpStream, SocketAddr)> {
    // The listener itself is asked: the runtime may not have heard yet of what is in the queue.
    let Ok(listener) = listener.into_std() else { return Vec::new() };
    let accepted = std::iter::from_fn(|| listener.accept().ok()).take(WAITING_MAX);
    let unblocked = accepted.filter_map(|(tcp, peer)| {
        tcp.set_nonblocking(true).ok()?;
        Some((TcpStream::from_std(tcp).ok()?, peer))
    });
    unblocked.collect()
}

fn begin(
    tcp: TcpStream,
    peer: SocketAddr,
    (worker, places, stop): (&Arc<Worker>, &Arc<ConnectionLimiter>, &Receiver<bool>),
    permit: OwnedSemaphorePermit,
) {
    let Some(place) = places.place(peer.ip(), permit, worker) else {
        worker.metrics.connections_refused.inc();
        return;
    };
    let (worker, stop) = (Arc::clone(worker), stop.clone());
    tokio::spawn(async move {
        serve(tcp, peer, worker, stop).await;
        drop(place);
    });
}

/// Whether the system has run out of something, rather than the one connection having failed.
fn is_shortage(error: &io::Error) -> bool {
    // EMFILE, ENFILE, ENOBUFS, ENOMEM.
    matches!(error.raw_os_error(), Some(24 | 23 | 105 | 12))
}

#[test]
fn connections_are_counted_by_address_or_by_network() {
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    for (from, wanted) in [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::", "2001:db8:1:2::"),
        ("2001:db8:1:3::", "2001:db8:1:3::"),
    ] {
        assert_eq!(whose(address(from)), address(wanted), "{from}");
    }
}
