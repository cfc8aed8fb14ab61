//! The HTTP endpoint: the JSON API and forward authentication. `connection` speaks HTTP.

mod connection;
mod index_page;
mod problem;
mod routes;

use std::sync::Arc;

use super::listener::{Connection, Context, Handler};

/// Answers its clients.
#[derive(Debug)]
pub(crate) struct Endpoint {
    context: Arc<Context>,
}

impl Endpoint {
    /// Prepares it.
    ///
    /// # Errors
    /// A sentence, if the settings cannot be used.
    #[expect(clippy::unnecessary_wraps, reason = "endpoints that read files can fail")]
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, String> {
        Ok(Self { context: Arc::clone(context) })
    }
}

impl Handler for Endpoint {
    async fn serve(self: Arc<Self>, connection: Connection) {
        connection::serve(self, connection).await;
    }
}
