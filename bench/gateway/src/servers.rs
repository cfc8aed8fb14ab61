//! Small axum services that differ in their limiter only: without one, with tower_governor, with our layer, with its fields alone. They
//! answer two bytes and measure nothing.

mod count;
mod fields;
mod governor;
mod layer;

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::routing::get;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;

use crate::measure::document::templates;

/// Serves until the process is ended.
pub(crate) fn serve(kind: &str, port: u16) -> Result<(), String> {
    let service = service(kind)?;
    let done = runtime()?.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let listener = listener.tap_io(|stream| {
            stream.set_nodelay(true).ok();
        });
        axum::serve(listener, service.into_make_service_with_connect_info::<SocketAddr>()).await
    });
    done.map_err(|error: std::io::Error| format!("the service on port {port} failed: {error}"))
}

/// Answers so many requests that come from memory.
pub(crate) fn count(kind: &str, requests: u64) -> Result<(), String> {
    let done = runtime()?.block_on(count::serve(service(kind)?, requests));
    done.map_err(|error| format!("the service failed: {error}"))
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    runtime.map_err(|error| format!("cannot create a runtime: {error}"))
}

fn service(kind: &str) -> Result<Router, String> {
    // One route for each operation of the document: what a service with such a document has.
    let service = templates().fold(Router::new(), |router, path| router.route(&path, get(async || "ok")));
    Ok(match kind {
        "plain" => service,
        "governor" => governor::limited(service)?,
        "layer" => layer::limited(service)?,
        "rule" => layer::one_limit(service)?,
        "least" => layer::as_little(service)?,
        "fields" => fields::told(service),
        _ => {
            return Err(format!(
                "there is no service `{kind}`: take plain, governor, layer, rule, least or fields"
            ));
        }
    })
}
