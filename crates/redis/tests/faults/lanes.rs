//! Several connections of one link: a call takes the first that is there, whichever it is. Faults at full load are elsewhere.

use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
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
