//! New connections: which address is used, and that hanging lookups do not pile up.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tollgate_redis::Lookup;

use super::*;
use crate::doors::gateway::upstream::addresses::tests::named;

/// Nothing here takes long.
const PATIENCE: Duration = Duration::from_secs(20);

fn connector(addresses: Arc<Addresses>) -> Connector {
    let upstream = Upstream {
        tls: false,
        host: "upstream.example".into(),
        port: 80,
        protocol: Protocol::Http1,
        ca: None,
        idle_max: 1,
        lookup: None,
        adaptive: crate::settings::UpstreamLimit::default(),
    };
    Connector::new(&Settings::new("t.yaml", upstream), addresses, Arc::default()).unwrap()
}

/// An address where nobody answers: it accepts nobody, and its queue is full. What is returned beside it keeps it so.
async fn silent() -> (SocketAddr, (TcpListener, Vec<TcpStream>)) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = timeout(Duration::from_millis(200), TcpStream::connect(address)).await {
        waiting.push(stream.unwrap());
    }
    (address, (listener, waiting))
}

async fn listening() -> (SocketAddr, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    (listener.local_addr().unwrap(), listener)
}

async fn refusing() -> SocketAddr {
    listening().await.0
}

#[tokio::test]
async fn an_address_that_does_not_respond_or_refuses_does_not_hide_the_next_one() {
    let ((silent, _kept), (good, _listener)) = (silent().await, listening().await);
    let refusing = refusing().await;
    for addresses in [&[silent, good][..], &[refusing, good], &[silent, refusing, good], &[good, silent]] {
        let connector = connector(named(addresses).0);
        let (wire, http2) = timeout(PATIENCE, connector.connect()).await.expect("in time").unwrap();
        assert_eq!((wire.peer(), http2), (good, false), "{addresses:?}");
    }
}

#[tokio::test]
async fn the_reason_is_told_if_no_address_takes_a_connection() {
    let connector = connector(named(&[refusing().await, refusing().await]).0);
    let failed = connector.connect().await.map(drop).unwrap_err();
    assert!(failed.to_string().contains("refused"), "{failed}");
    let (nowhere, name) = named(&[]);
    assert_eq!(nowhere.now().await.unwrap_err().to_string(), "the host name has no address");
    *name.lock().unwrap() = Err("no such name");
    assert_eq!(nowhere.now().await.unwrap_err().to_string(), "no such name");
}

#[tokio::test]
async fn while_a_lookup_hangs_no_other_is_begun() {
    let (good, _listener) = listening().await;
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (let_go, count) = (Arc::clone(&gate), Arc::clone(&begun));
    let lookup = Lookup::by(move || {
        count.fetch_add(1, Ordering::SeqCst);
        let gate = Arc::clone(&let_go);
        Box::pin(async move {
            gate.acquire().await.expect("it is open").forget();
            Ok(vec![good])
        })
    });
    let connector = Arc::new(connector(Arc::new(Addresses::by(lookup))));
    // Those who give up leave nothing behind.
    for _ in 0..10 {
        assert!(timeout(Duration::from_millis(1), connector.connect()).await.is_err());
    }
    let waiting: Vec<_> = (0..10)
        .map(|_| {
            let connector = Arc::clone(&connector);
            tokio::spawn(async move { connector.connect().await.is_ok() })
        })
        .collect();
    tokio::task::yield_now().await;
    assert_eq!(begun.load(Ordering::SeqCst), 1);
    gate.add_permits(1);
    for connected in waiting {
        assert!(connected.await.unwrap(), "all have what the one lookup found");
    }
    assert_eq!(begun.load(Ordering::SeqCst), 1);
}
