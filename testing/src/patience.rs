//! Deadlines for what could otherwise only fail by hanging: a condition, a computation, a process.
#![expect(clippy::panic, reason = "a test that cannot go on says why")]

use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long a test waits before it fails. Nothing here takes long, even on a busy machine; what does is broken.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds.
///
/// # Panics
/// If it does not hold in time; `what` says what was waited for.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "patience has an end")]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "never within {PATIENCE:?}: {what}");
        std::thread::yield_now();
    }
}

/// Runs something on a thread of its own, and returns its result.
///
/// # Panics
/// If it does not finish in time, or panics itself.
#[track_caller]
pub fn within<T: Send + 'static>(what: &str, run: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, result) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        // Nobody receives it any more if patience has ended.
        let _ = send.send(run());
    });
    match result.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => panic!("not finished within {PATIENCE:?}: {what}"),
        Err(RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panicked) => std::panic::resume_unwind(panicked),
            Ok(()) => panic!("{what} ended without a result"),
        },
    }
}

/// Waits for the end of a process, and kills it if it does not end in time.
///
/// # Panics
/// If it does not end by itself.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "patience has an end")]
pub fn ended(child: &mut Child) -> ExitStatus {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("it is a child") {
            return status;
        }
        if Instant::now() >= end {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the process did not end within {PATIENCE:?}");
        }
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::process::Command;

    use super::{ended, until, within};

    #[test]
    fn a_condition_is_asked_until_it_holds() {
        let mut asked = 0;
        until("the third time", || {
            asked += 1;
            asked == 3
        });
        assert_eq!(asked, 3);
    }

    #[test]
    fn a_result_and_a_panic_come_from_the_other_thread() {
        assert_eq!(within("a sum", || 1 + 1), 2);
        let panicked = catch_unwind(AssertUnwindSafe(|| within("a panic", || panic!("why"))));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"why"));
    }

    #[test]
    fn the_status_of_a_process_is_told() {
        let mut child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        assert_eq!(ended(&mut child).code(), Some(3));
    }
}
