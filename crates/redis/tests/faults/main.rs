//! The link against real servers, well and broken. Each fault is a function over a running load, so that others can run it.
//!
//! What takes long is ignored here: `cargo test -p tollgate-redis --test faults -- --ignored --nocapture` prints its figures.
#![cfg(test)]

mod addresses;
mod announced;
mod bytes;
mod errors;
mod figures;
mod load;
mod outages;
mod proxy;
mod scripts;
mod server;
mod speed;

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

/// How long anything is waited for before a test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a test in a runtime of its own.
fn run<R>(test: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test)
}

/// Waits until something is so, and fails if it never is.
async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
