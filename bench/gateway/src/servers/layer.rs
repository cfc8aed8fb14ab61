//! A service with our layer: the same document as the gateway's, and its fields on.
//!
//! THE LAYER IS NOT THERE YET. When it is: add `tollgate-tower` to `bench/Cargo.toml`, `bench/gateway/Cargo.toml` and the
//! arrows in `xtask/src/tidy/crates.rs`, and put it around the service here. The policy is
//! `measure::document::openapi(Limits::Generous)`. Nothing else changes.

use axum::Router;

/// The service behind the limits of the document.
pub(crate) fn limited(_service: Router) -> Result<Router, String> {
    Err("the layer is not built into this program yet: see bench/gateway/src/servers/layer.rs".into())
}
