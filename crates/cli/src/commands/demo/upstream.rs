//! The small API behind the demo's gateway: an HTTP server that says hello.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

/// Starts the server on a free local port, on its own thread, which ends with the process.
pub(super) fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("small API".into()).spawn(move || runtime.block_on(serve(listener)))?;
    Ok(address)
}

async fn serve(listener: TcpListener) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            // The gateway reports failed connections.
            drop(connection.await);
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let body = match request.uri().path() {
        "/hello" => "{\"hello\":\"world\"}\n",
        _ => "{\"status\":\"fine\"}\n",
    };
    let mut response = Response::new(body.to_owned());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
