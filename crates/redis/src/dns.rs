//! Resolves a host name to addresses.
//!
//! The system's lookup blocks a thread, and continues when nobody waits for it any more. If it hangs, every try to connect would
//! leave one more thread behind, so there is only one lookup at a time.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use tokio::net::lookup_host;

use crate::single_flight::SingleFlight;

type Asking = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Looks up one name, with at most one lookup under way.
pub struct Lookup {
    ask: Box<dyn Fn() -> Asking + Send + Sync>,
    under_way: SingleFlight<Result<Arc<[SocketAddr]>, Arc<str>>>,
}

impl Lookup {
    /// A lookup by the system.
    #[must_use]
    pub fn new(host: &str, port: u16) -> Self {
        let host: Arc<str> = host.into();
        Self::by(move || {
            let host = Arc::clone(&host);
            Box::pin(async move { Ok(lookup_host((&*host, port)).await?.collect()) })
        })
    }

    /// A lookup by something else, for tests.
    pub fn by(ask: impl Fn() -> Asking + Send + Sync + 'static) -> Self {
        Self { ask: Box::new(ask), under_way: SingleFlight::new() }
    }

    /// The host's addresses. Each call asks again, because the name may have other addresses by now; but while a lookup is under
    /// way, the call waits for its answer.
    ///
    /// # Errors
    /// What the system says.
    pub async fn addresses(&self) -> Result<Arc<[SocketAddr]>, Arc<str>> {
        let begin = || {
            let asking = (self.ask)();
            async { asking.await.map(Arc::from).map_err(|error| error.to_string().into()) }
        };
        let found = self.under_way.join(begin).await;
        found.unwrap_or_else(|| Err("the DNS lookup was cancelled".into()))
    }
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookup")
    }
}
