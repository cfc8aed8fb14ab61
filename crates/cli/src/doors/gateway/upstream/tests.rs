//! An upstream whose name changes its address: connections to the old address are dropped, over HTTP/1.1 and HTTP/2.

use std::convert::Infallible;
use std::net::SocketAddr;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

use super::addresses::tests::named;
use super::*;
use crate::doors::gateway::deadlines::WorkerDeadlines;
use crate::settings;

/// An upstream that answers whatever it is asked, in either protocol, and says that it was this one.
async fn answering(http2: bool, name: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = service_fn(move |_: Request<Incoming>| async move {
        let response = Response::builder().header("x-name", name).header("content-length", "0");
        Ok::<_, Infallible>(response.body(String::new()).unwrap())
    });
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let io = TokioIo::new(tcp);
            if http2 {
                let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(builder.serve_connection(io, answer));
            } else {
                tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(io, answer));
            }
        }
    });
    address
}

/// Which of them answers a request.
async fn who(upstream: &Arc<Upstream>, watches: &WorkerDeadlines, http2: bool) -> String {
    let mut request = Request::new(RequestBody::empty());
    *request.uri_mut() = if http2 { "http://a/" } else { "/" }.parse().unwrap();
    *request.version_mut() = if http2 { http::Version::HTTP_2 } else { http::Version::HTTP_11 };
    request.headers_mut().extend((!http2).then(|| (http::header::HOST, "a".parse().unwrap())));
    let departing = upstream.depart(request, http2);
    let sent = upstream.send(departing, &watches.watch(), &mut SendStats::default()).await.unwrap();
    let headers = match &sent {
        UpstreamResponse::Http1(response) => response.headers(),
        UpstreamResponse::Http2(response, _) => response.headers(),
    };
    headers["x-name"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn connections_to_an_address_that_the_name_no_longer_has_are_given_up() {
    for http2 in [false, true] {
        let (old, new) = (answering(http2, "old").await, answering(http2, "new").await);
        let upstream = settings::Upstream {
            tls: false,
            host: "upstream.example".into(),
            port: 80,
            protocol: if http2 { Protocol::Http2 } else { Protocol::Http1 },
            ca: None,
            idle_max: 4,
            lookup: None,
            adaptive: settings::UpstreamLimit::default(),
        };
        let settings = Settings::new("t.yaml", upstream);
        let (watches, (addresses, name)) = (WorkerDeadlines::new(&settings.timeouts), named(&[old]));
        let (ticks, shared) = (Arc::clone(&watches.ticks), Arc::clone(&addresses));
        let upstream = Arc::new(Upstream::new(&settings, shared, ticks, Arc::default()).unwrap());
        assert_eq!(who(&upstream, &watches, http2).await, "old");
        *name.lock().unwrap() = Ok(vec![new]);
        // Until it is sure, the connection that is there is used.
        for asked in ["old", "old", "new"] {
            addresses.refresh().await;
            upstream.sweep();
            assert_eq!(who(&upstream, &watches, http2).await, asked, "HTTP/2: {http2}");
        }
    }
}
