//! The store: a question in, the core's decisions out, within the link's budget. What is done when it fails is the caller's.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::{Address, Ask, Health, Link, OpenError, Reply, Settings, StoreError};

/// Budgets that several processes share, on one Redis or Valkey server. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct Store {
    link: Link,
    runtime: Handle,
    /// How long a thread that is no task is blocked at most.
    patience: Duration,
}

/// A blocked thread waits for so many budgets: a charge, and what it may take to give back another.
const BUDGETS_BLOCKED: u32 = 4;

impl Store {
    /// A store at an address. It must be opened within a tokio runtime, in which its connections live; it opens whether or not
    /// there is a server. The runtime has to run as long as the store is used.
    ///
    /// # Errors
    /// When there is no runtime, a setting is out of range, or TLS has nothing to go by. Never because of the server.
    pub fn open(address: Address, settings: Settings) -> Result<Self, OpenError> {
        let runtime = Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        let patience = settings.budget.saturating_mul(BUDGETS_BLOCKED);
        Ok(Self { link: Link::open(address, settings)?, runtime, patience })
    }

    /// Asks, and never takes longer than the link's budget.
    ///
    /// # Errors
    /// When there is no decision: that is neither a grant nor a refusal. [`StoreError::may_have_run`] says whether something
    /// may have been charged all the same.
    pub async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, StoreError> {
        let value = self.link.call(&ask.call()).await.map_err(StoreError::Link)?;
        Reply::read(ask, &value)
    }

    /// Runs what asks this store on a thread that is no task of a runtime, and blocks it. `None` if it takes longer than a few
    /// budgets: so it is where the thread is the only one of the store's own runtime.
    pub fn block_on<T>(&self, asking: impl Future<Output = T>) -> Option<T> {
        // Timers are those of the runtime, which runs elsewhere.
        let _entered = self.runtime.enter();
        let end = Instant::now() + self.patience;
        let mut asking = pin!(asking);
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(done) = asking.as_mut().poll(&mut context) {
                return Some(done);
            }
            let left = end.checked_duration_since(Instant::now())?;
            thread::park_timeout(left);
        }
    }

    /// Runs what asks this store in its runtime. It is done whether or not anybody waits for it.
    pub fn spawn<F>(&self, asking: F) -> impl Future<Output = ()> + Send + use<F>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let task = self.runtime.spawn(asking);
        async move {
            // It ends badly only if the runtime ends.
            let _ = task.await;
        }
    }

    /// How the link is doing.
    #[must_use]
    pub fn health(&self) -> Health {
        self.link.health()
    }
}

/// Wakes a blocked thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
