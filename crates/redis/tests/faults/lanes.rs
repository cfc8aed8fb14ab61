//! Several connections of one link: a call takes the first that is there, whichever it is. Faults at full load are elsewhere.

use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::time::Instant;
use tollgate_redis::{Link, Settings};

use crate::load::count;
use crate::server::Server;
use crate::support::run;

/// One call over a link with two connections, of which one is taken and never answered.
async fn call_beside_a_silent_connection(silent: usize) {
    let server = Server::started(&[]).await;
    let path = server.directory().join("two");
    let listener = UnixListener::bind(&path).unwrap();
    let socket = server.socket();
    tokio::spawn(async move {
        let mut kept = Vec::new();
        for number in 0.. {
            let (mut client, _) = listener.accept().await.unwrap();
            if number == silent {
                kept.push(client);
                continue;
            }
            let mut server = UnixStream::connect(&socket).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
        }
    });
    let patience = Duration::from_secs(20);
    let settings =
        Settings { connections: 2, budget: patience, connect_timeout: 2 * patience, ..Settings::default() };
    let link = Link::open(format!("unix://{}", path.display()).parse().unwrap(), settings).unwrap();
    // It is asked before there is any connection.
    assert_eq!(link.health().connections, 0);
    link.call(&count("a")).await.unwrap_or_else(|error| panic!("connection {silent} is silent: {error}"));
    assert_eq!(link.health().connections, 1, "the other one is still being made");
}

#[test]
fn a_call_does_not_wait_for_a_connection_that_is_being_made_when_another_is_there() {
    run(call_beside_a_silent_connection(0));
    run(call_beside_a_silent_connection(1));
}

#[test]
fn what_a_silent_server_took_is_not_waited_for_once_more() {
    run(async {
        let server = Server::new(&[]);
        let listener = UnixListener::bind(server.socket()).unwrap();
        let [backoff_min, connect_timeout, backoff_max] = [2, 40, 48].map(Duration::from_millis);
        let settings = Settings { backoff_min, backoff_max, connect_timeout, ..Settings::default() };
        let _link = Link::open(server.address(), settings).unwrap();
        let (mut kept, mut tries) = (Vec::new(), Vec::new());
        while tries.len() < 20 {
            kept.push(listener.accept().await.unwrap());
            tries.push(Instant::now());
        }
        // By the seventh try the waits are as long as they get: half of 48 ms, at least. A machine that is busy now and then does
        // not make all gaps longer, so the shortest is the one to judge by.
        let gaps = tries[7..].windows(2).map(|pair| pair[1] - pair[0]);
        let shortest = gaps.min().expect("there are gaps");
        assert!(shortest < connect_timeout + backoff_max / 2, "{shortest:?}");
    });
}
