//! What every test and every fault needs: a runtime, and patience. Nothing of servers or links.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;

/// How long anything is waited for before it has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a whole test, or a whole fault, may take. What takes longer hangs.
const LONGEST: Duration = Duration::from_secs(600);

/// Runs something in a runtime of its own.
pub(crate) fn run<R>(what: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let ended = runtime.block_on(async { tokio::time::timeout(LONGEST, what).await });
    ended.expect("nothing takes so long: something waits for what never comes")
}

/// Waits until something is so, and fails if it never is.
pub(crate) async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Does several things at once, until all are done.
pub(crate) async fn all<F: Future<Output = ()> + Unpin>(mut what: Vec<F>) {
    poll_fn(|context| {
        what.retain_mut(|one| Pin::new(one).poll(context).is_pending());
        if what.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
