//! A tonic service with one limit by client address, and a client that is refused. No document, no other file.

use tokio::net::TcpListener;
use tollgate::{Clock, Limit, Limiter, Micros};
use tollgate_tower::{Rule, Rules, TollgateLayer};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is what an example is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The clock stands still, so that what is printed is always the same. A service of your own has `Limiter::new()`.
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let limiter = Limiter::builder().clock(clock.clock()).build()?;

    let per_client = Rule::new("calls", Limit::per_second(2).burst(2)?);
    let limits = TollgateLayer::new(Rules::new(limiter, [per_client])?);
    let (_reporter, health) = tonic_health::server::health_reporter();
    let server = Server::builder().layer(limits).add_service(health);

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.local_addr()?);
    let serving = tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    let mut client = HealthClient::new(Channel::from_shared(address)?.connect().await?);
    for _ in 0..3 {
        match client.check(HealthCheckRequest::default()).await {
            Ok(response) => println!("ok, {:?}", response.metadata().get("ratelimit")),
            Err(status) => {
                println!("{:?}: {}", status.code(), status.message());
                println!("retry after {:?} ms", status.metadata().get("grpc-retry-pushback-ms"));
            }
        }
    }
    serving.abort();
    Ok(())
}
