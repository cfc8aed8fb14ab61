//! An axum service with one limit, served on a loopback port, and a client that uses it up. No document, no other file.

use std::net::SocketAddr;

use axum::{Router, routing::get};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tollgate::{Clock, Limit, Limiter, Micros};
use tollgate_tower::{Rule, Rules, TollgateLayer};

/// The lines that it takes: a limit, a layer. A service of your own would use `Limiter::new()`.
fn app(limiter: Limiter) -> Result<Router, Box<dyn std::error::Error>> {
    let per_client = Rule::new("per client", Limit::token_bucket(2, 1, Micros::from_secs(30))?);
    let limits = TollgateLayer::new(Rules::new(limiter, [per_client])?);
    Ok(Router::new().route("/", get(|| async { "hello" })).layer(limits))
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is what an example is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    // The clock stands still, so that what is printed is always the same.
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let app = app(Limiter::builder().clock(clock.clock()).build()?)?;
    // This is how the limits know who is asking.
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    let server = tokio::spawn(async move { axum::serve(listener, app).await });

    for number in 1..=3 {
        let response = get_root(address).await?;
        println!("request {number}");
        let told = response.lines().filter(|line| !line.is_empty() && !line.starts_with("date:"));
        told.for_each(|line| println!("  {line}"));
    }
    server.abort();
    Ok(())
}

/// A request as bytes, and what comes back.
async fn get_root(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    Ok(response)
}
