//! New connections: which address is used, and that hanging lookups do not pile up. Other tests use real servers for TLS and
//! passwords.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// As whoever connects bounds it.
const LIMIT: Duration = Duration::from_secs(4);

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

fn connector(limit: Duration) -> Connector {
    let address = "redis://a.host".parse().unwrap();
    Connector::new(address, &Settings { connect_timeout: limit, ..Settings::default() }).unwrap()
}

/// What a server says to `CLIENT SETNAME` and to `PING`.
const GOOD: &[u8] = b"+OK\r\n+PONG\r\n";

/// A server that answers whatever it is told with this.
async fn speaking(line: &'static [u8]) -> SocketAddr {
    let server = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = server.accept().await {
            let mut read = [0; 64];
            let _ = stream.read(&mut read).await;
            let _ = stream.write_all(line).await;
        }
    });
    address
}

/// A connection to the first address that speaks.
async fn first_of(addresses: &[SocketAddr], limit: Duration) -> Result<Stream, ConnectionFailure> {
    let time = (limit, Instant::now() + limit);
    connector(limit).first_of(("a.host", addresses), &LoadedSecrets::default(), time, Peer::Data).await
}

async fn tried(addresses: &[SocketAddr]) -> Result<(), Cause> {
    let tried = timeout(LIMIT, first_of(addresses, LIMIT)).await.expect("in time");
    tried.map(drop).map_err(|failed| failed.cause)
}

#[test]
fn an_address_where_nobody_answers_does_not_hide_the_next_one() {
    run(async {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        // It accepts nobody, and when as many wait as may the system does not answer any more.
        let silent = TcpSocket::new_v4().unwrap();
        silent.bind(local).unwrap();
        let silent = silent.listen(1).unwrap();
        let (full, short) = (silent.local_addr().unwrap(), Duration::from_millis(200));
        let mut waiting = Vec::new();
        while let Ok(stream) = timeout(short, TcpStream::connect(full)).await {
            waiting.push(stream.unwrap());
        }
        let good = speaking(GOOD).await;
        assert_eq!(tried(&[full, good]).await, Ok(()));
        let failed = first_of(&[full], short).await.map(drop).unwrap_err();
        assert_eq!(failed.cause, Cause::ConnectTimeout);
    });
}

#[test]
fn an_address_that_takes_connections_and_says_nothing_does_not_hide_the_next_one() {
    run(async {
        let mute = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let mute = (mute.local_addr().unwrap(), mute);
        let (good, closing) = (speaking(GOOD).await, speaking(b"").await);
        assert_eq!(tried(&[mute.0, closing, good]).await, Ok(()));
        assert_eq!(tried(&[mute.0, closing]).await, Err(Cause::Closed));
    });
}

#[test]
fn what_a_server_says_is_told_and_nobody_else_is_asked() {
    run(async {
        let (loading, good) = (speaking(b"-LOADING soon\r\n-LOADING soon\r\n").await, speaking(GOOD).await);
        assert_eq!(tried(&[loading, good]).await, Err(Cause::Loading));
        assert_eq!(tried(&[]).await, Err(Cause::Dns));
    });
}

/// A look-up that hangs until it is let go, how many were begun, and how many have ended.
fn hanging(server: SocketAddr) -> (Lookup, Arc<Semaphore>, [Arc<AtomicUsize>; 2]) {
    let (gate, counts) = (Arc::new(Semaphore::new(0)), [(); 2].map(|()| Arc::new(AtomicUsize::new(0))));
    let (let_go, [begun, ended]) = (Arc::clone(&gate), counts.clone());
    let lookup = Lookup::by(move || {
        begun.fetch_add(1, Ordering::SeqCst);
        let (gate, ended) = (Arc::clone(&let_go), Arc::clone(&ended));
        Box::pin(async move {
            gate.acquire().await.expect("it is open").forget();
            ended.fetch_add(1, Ordering::SeqCst);
            Ok(vec![server])
        })
    });
    (lookup, gate, counts)
}

/// Connects so often at the same time, as the lanes of a link do; and lets something go when all have begun.
async fn at_once(connector: &Arc<Connector>, times: usize, let_go: impl FnOnce()) -> Vec<Option<Cause>> {
    let connect = |connector: Arc<Connector>| async move { connector.connect().await.err() };
    let tries: Vec<_> = (0..times).map(|_| tokio::spawn(connect(Arc::clone(connector)))).collect();
    tokio::task::yield_now().await;
    let_go();
    let mut causes = Vec::new();
    for tried in tries {
        causes.push(tried.await.unwrap().map(|failed| failed.cause));
    }
    causes
}

#[test]
fn while_a_look_up_hangs_no_other_is_begun_and_what_it_finds_in_the_end_is_used() {
    run(async {
        let (lookup, gate, [begun, ended]) = hanging(speaking(GOOD).await);
        let count = |of: &AtomicUsize| of.load(Ordering::SeqCst);
        let way = Way::Hosts(vec![Host { name: "a.host".into(), lookup }]);
        let mut hurried = Arc::new(Connector { way, ..connector(Duration::from_millis(10)) });
        for _ in 0..5 {
            assert_eq!(at_once(&hurried, 3, || {}).await, [Some(Cause::Dns); 3]);
            assert_eq!((count(&begun), count(&ended)), (1, 0), "one is under way");
        }
        Arc::get_mut(&mut hurried).expect("all tries have ended").limit = LIMIT;
        let patient = hurried;
        assert_eq!(at_once(&patient, 3, || gate.add_permits(1)).await, [None; 3]);
        assert_eq!((count(&begun), count(&ended)), (1, 1), "all have what that one found");
        assert_eq!(at_once(&patient, 1, || gate.add_permits(1)).await, [None]);
        assert_eq!(count(&begun), 2, "the name may lead elsewhere by then");
    });
}

async fn told(line: &'static [u8]) -> (Cause, String) {
    let failed = first_of(&[speaking(line).await], LIMIT).await.map(drop).unwrap_err();
    (failed.cause, failed.message)
}

#[test]
fn another_protocol_on_the_port_is_named() {
    run(async {
        let http = (Cause::Garbled, "the server speaks HTTP".to_owned());
        assert_eq!(told(b"HTTP/1.1 400 Bad Request\r\n\r\n").await, http);
        assert_eq!(told(b"<!DOCTYPE HTML>").await, http, "without the end of a line");
        assert_eq!(told(b"<html>\n").await, http);
        let tls = (Cause::Garbled, "the server speaks TLS".to_owned());
        assert_eq!(told(&[0x15, 3, 3, 0, 2, 2, 40]).await, tls);
        assert_eq!(told(b"SSH-2.0-x\r\n").await, (Cause::Garbled, "an unknown type byte".to_owned()));
    });
}

#[test]
fn the_system_watches_an_idle_connection() {
    run(async {
        let stream = TcpStream::connect(speaking(GOOD).await).await.unwrap();
        assert!(!SockRef::from(&stream).keepalive().unwrap(), "the system does not by itself");
        tuned(&stream).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap() && stream.nodelay().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEPALIVE_AFTER);
    });
}

#[test]
fn a_server_that_turns_us_away_is_told_by_its_words_and_one_that_knows_no_names_is_used() {
    run(async {
        assert_eq!(
            told(b"-ERR max number of clients reached\r\n").await.1,
            "ERR max number of clients reached"
        );
        assert_eq!(told(b"-DENIED protected mode\r\n").await.1, "DENIED protected mode");
        let nameless = speaking(b"-ERR unknown command 'CLIENT'\r\n+PONG\r\n").await;
        assert_eq!(tried(&[nameless]).await, Ok(()));
    });
}
