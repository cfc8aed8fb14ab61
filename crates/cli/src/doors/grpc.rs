//! The gRPC endpoint, for Envoy.

use std::sync::Arc;

use super::listener::{Connection, Context, Handler};

/// Answers its clients.
#[derive(Debug)]
pub(crate) struct Endpoint;

impl Endpoint {
    /// Prepares it.
    ///
    /// # Errors
    /// A sentence, if the settings cannot be used.
    #[expect(clippy::unnecessary_wraps, reason = "an endpoint that reads files can fail")]
    pub(crate) fn new(_context: &Arc<Context>) -> Result<Self, String> {
        Ok(Self)
    }
}

impl Handler for Endpoint {
    async fn serve(self: Arc<Self>, _connection: Connection) {}
}
