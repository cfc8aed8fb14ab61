//! The HTTP endpoint: the JSON API and forward authentication.
//!
//! It maps JSON and headers to hits and requests, and verdicts and outcomes to responses. It counts nothing itself: what clients hold by
//! an id is in [`book`], and everything else is the limiter's and the engine's.

mod body;
mod book;
mod connection;
mod decision;
mod explain;
mod forward_auth;
mod index_page;
mod limits;
mod openapi;
mod permits;
mod problem;
mod request_facts;
mod routes;
mod strict_json;
mod verbs;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};
use tollgate::{Permit, Receipt};

use self::book::{Book, WhenFull};
use super::listener::{Connection, Context, Handler};

/// How often permits and receipts are looked through for those that have expired.
const SWEEP: Duration = Duration::from_millis(250);

/// Answers its clients.
#[derive(Debug)]
pub(crate) struct Endpoint {
    context: Arc<Context>,
    brought: limits::Brought,
    receipts: Book<Receipt>,
    permits: Arc<Book<Permit>>,
}

impl Endpoint {
    /// Prepares it. It has to be called within the runtime of the endpoints.
    ///
    /// # Errors
    /// A sentence, if the settings cannot be used.
    #[expect(clippy::unnecessary_wraps, reason = "endpoints that read files can fail")]
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, String> {
        let permits = Arc::new(Book::new(permits::PERMITS_MAX, WhenFull::Refuse));
        drop(tokio::spawn(sweep(Arc::clone(&permits))));
        let receipts = Book::new(verbs::RECEIPTS_MAX, WhenFull::Forget);
        let (context, brought) = (Arc::clone(context), limits::Brought::default());
        Ok(Self { context, brought, receipts, permits })
    }
}

/// Releases permits whose time is over, also when nobody asks.
async fn sweep(permits: Arc<Book<Permit>>) {
    let mut ticks = interval(SWEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        permits.sweep(Instant::now());
    }
}

impl Handler for Endpoint {
    async fn serve(self: Arc<Self>, connection: Connection) {
        connection::serve(self, connection).await;
    }
}
