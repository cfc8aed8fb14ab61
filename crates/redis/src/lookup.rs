//! Where a host is, by the name in its address. Nothing is connected here.
//!
//! The system's look-up blocks a thread, and goes on when nobody waits for it any more. If it hangs, each try to connect would leave
//! one more behind: so there is one at a time.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use tokio::net::lookup_host;

use crate::Cause;
use crate::failed::Failed;
use crate::single::Single;

type Asking = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Looks one name up.
pub(crate) struct Lookup {
    ask: Box<dyn Fn() -> Asking + Send + Sync>,
    under_way: Single<Result<Arc<[SocketAddr]>, Failed>>,
}

impl Lookup {
    /// By the system.
    pub(crate) fn new(host: &str, port: u16) -> Self {
        let host: Arc<str> = host.into();
        Self::by(move || {
            let host = Arc::clone(&host);
            Box::pin(async move { Ok(lookup_host((&*host, port)).await?.collect()) })
        })
    }

    /// By something else: for tests.
    pub(crate) fn by(ask: impl Fn() -> Asking + Send + Sync + 'static) -> Self {
        Self { ask: Box::new(ask), under_way: Single::new() }
    }

    /// The host's addresses. It is asked each time, as the name may lead elsewhere by now; but while it is being asked already, that
    /// answer is waited for.
    pub(crate) async fn addresses(&self) -> Result<Arc<[SocketAddr]>, Failed> {
        let begin = || {
            let asking = (self.ask)();
            async { asking.await.map(Arc::from).map_err(|error| Failed::new(Cause::Dns, &error.to_string())) }
        };
        let found = self.under_way.join(begin).await;
        found.unwrap_or_else(|| Err(Failed::new(Cause::Dns, "the look-up of the host's name was given up")))
    }
}
