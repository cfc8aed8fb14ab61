//! An axum service with one limit, served on a loopback port, and a client that uses it up. No document, no other file.

use std::net::SocketAddr;

use axum::{Router, routing::get};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tollgate::{Limit, Limiter, Micros};
use tollgate_tower::{Rule, Rules, TollgateLayer};

/// The five lines: a limit, the layer, and the address of clients.
fn app() -> Result<Router, Box<dyn std::error::Error>> {
    let per_client = Rule::new("per client", Limit::token_bucket(2, 1, Micros::from_secs(30))?);
    let limits = TollgateLayer::new(Rules::new(Limiter::new()?, [per_client])?);
    Ok(Router::new().route("/", get(|| async { "hello" })).layer(limits))
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is what an example is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = app()?.into_make_service_with_connect_info::<SocketAddr>();
    let server = tokio::spawn(async move { axum::serve(listener, app).await });

    for number in 1..=3 {
        let response = get_root(address).await?;
        println!("request {number}");
        // The date, and an instant of a reset, are other ones each time.
        let told =
            response.lines().filter(|line| !line.starts_with("date:") && !line.contains("ratelimit-reset"));
        told.filter(|line| !line.is_empty()).for_each(|line| println!("  {line}"));
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
