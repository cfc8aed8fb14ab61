//! A service of tonic's behind the layer, asked by a client of tonic's, over a socket: limited like any other.

use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tollgate::{Limit, Micros};
use tollgate_tower::{Rule, Rules, TollgateLayer};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::support::limiter;

/// One call: what remains, as its response says.
async fn call(client: &mut HealthClient<Channel>) -> Result<String, Status> {
    let answer = client.check(HealthCheckRequest::default()).await?;
    let remaining = answer.metadata().get("x-ratelimit-remaining").expect("every response says what remains");
    Ok(remaining.to_str().expect("it is ASCII").into())
}

#[tokio::test]
async fn a_tonic_service_is_limited_like_any_other() {
    let (limiter, clock) = limiter();
    let rule = Rule::new("calls", Limit::token_bucket(2, 1, Micros::SECOND).expect("it fits"));
    let rules = Rules::new(limiter, [rule]).expect("the rule is well");
    // tonic states who calls, in an extension of its own.
    let layer = TollgateLayer::new(rules);
    let (_reporter, health) = tonic_health::server::health_reporter();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
    let address = listener.local_addr().expect("it is bound");
    let (stop, stopped) = oneshot::channel::<()>();
    let server = Server::builder().layer(layer).add_service(health);
    let serving = tokio::spawn(server.serve_with_incoming_shutdown(TcpIncoming::from(listener), async {
        stopped.await.unwrap_or_default();
    }));
    let channel = Channel::from_shared(format!("http://{address}")).expect("it is an address");
    let mut client = HealthClient::new(channel.connect().await.expect("it listens"));

    assert_eq!(call(&mut client).await.expect("granted"), "1");
    assert_eq!(call(&mut client).await.expect("granted"), "0");
    // A status of gRPC's own, with the sentence of the problem and the fields that say when to come again.
    clock.advance(Duration::from_millis(300));
    let refused = call(&mut client).await.expect_err("two are as many as fit");
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    let message = "Rate limit 'calls' exceeded. Retry in 1 s.";
    assert_eq!(refused.message(), message);
    let told = |name| refused.metadata().get(name).and_then(|value| value.to_str().ok());
    assert_eq!((told("retry-after"), told("grpc-retry-pushback-ms")), (Some("1"), Some("700")));
    clock.advance(Duration::from_millis(700));
    assert_eq!(call(&mut client).await.expect("obeying it succeeds"), "0");

    drop(client);
    stop.send(()).expect("it serves");
    serving.await.expect("it does not panic").expect("it ends well");
}
