//! One connection without a server: partial writes, ordered replies, silence, and shutdown, byte by byte.

mod groups;

use std::sync::LazyLock;

use smallvec::SmallVec;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::Semaphore;

use super::*;
use crate::Value;
use crate::resp::Frame;
use crate::send_queue::{CallOutcome, PendingCall};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script {
    text: "return 1".into(),
    digest: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db".into(),
});

fn send<'a>(pipe: &'a SendQueue, permits: &Arc<Semaphore>) -> PendingCall<'a> {
    let call = Call {
        script: &SCRIPT,
        names: SmallVec::new(),
        arguments: SmallVec::new(),
        writes: crate::Writes::Always,
    };
    pipe.send(&call, ScriptForm::Together, Arc::clone(permits).try_acquire_owned().unwrap()).unwrap()
}

fn run<R>(test: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test)
}

/// A driver that asks for no word of its own.
fn patience(stall: Duration) -> SilenceBounds {
    SilenceBounds { stall, ping_after: Duration::from_secs(60) }
}

/// A connection that takes so many bytes, breaks, and never says anything.
struct Narrow(usize);

impl AsyncRead for Narrow {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for Narrow {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Poll::Ready(if taken == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(taken) })
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn a_call_that_was_not_written_to_its_last_byte_was_not_sent() {
    run(async {
        let length = 4 + 13 + 47 + 7;
        for room in 0..2 * length {
            let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(8)));
            let [mut first, mut second] = [(); 2].map(|()| send(&pipe, &permits));
            let stream = Stream::new(Narrow(room));
            let failed = Driver::new(Arc::clone(&pipe), stream, patience(Duration::from_secs(9))).await;
            assert_eq!(failed.cause, Cause::Closed);
            for (waiting, end) in [(&mut first, length), (&mut second, 2 * length)] {
                let Some((CallOutcome::Lost { sent, .. }, _)) = waiting.ended().await else { panic!("lost") };
                assert_eq!(sent, room >= end, "{room} bytes were taken, the call ends at {end}");
            }
            drop((first, second));
            assert!(!pipe.is_open(), "nothing more is queued for it");
            assert_eq!(permits.available_permits(), 8);
        }
    });
}

/// A driver that runs, and the server's end of its connection.
fn driven(
    pipe: &Arc<SendQueue>,
    stall: Duration,
) -> (tokio::task::JoinHandle<ConnectionFailure>, DuplexStream) {
    let (ours, theirs) = duplex(1 << 16);
    (tokio::spawn(Driver::new(Arc::clone(pipe), Stream::new(ours), patience(stall))), theirs)
}

async fn said(waiting: &mut PendingCall<'_>) -> Frame {
    match waiting.ended().await {
        Some((CallOutcome::Said(frame), _)) => frame,
        Some((CallOutcome::Echoed(line), _)) => Frame::Error(line),
        other => panic!("an answer, and not {other:?}"),
    }
}

#[test]
fn answers_go_to_their_callers_in_order_although_one_has_gone() {
    run(async {
        let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(100)));
        let (_driver, mut server) = driven(&pipe, Duration::from_secs(9));
        let mut calls: Vec<_> = (0..100).map(|_| send(&pipe, &permits)).collect();
        assert!(server.read(&mut [0; 1 << 16]).await.unwrap() > 0);
        assert!(calls.remove(50).give_up(), "it may have been sent");
        for number in 0..100 {
            server.write_all(format!(":{number}\r\n").as_bytes()).await.unwrap();
        }
        for (call, number) in calls.iter_mut().zip((0..100).filter(|number| *number != 50)) {
            assert_eq!(said(call).await, Frame::Value(Value::Int(number)));
        }
        drop(calls);
        assert_eq!(permits.available_permits(), 100);
    });
}

#[test]
fn a_server_that_owes_an_answer_and_is_silent_is_left_and_one_that_owes_none_is_not() {
    run(async {
        let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(8)));
        let stall = Duration::from_millis(20);
        let (driver, mut server) = driven(&pipe, stall);
        let mut call = send(&pipe, &permits);
        assert!(server.read(&mut [0; 4096]).await.unwrap() > 0);
        server.write_all(b":1\r\n").await.unwrap();
        assert_eq!(said(&mut call).await, Frame::Value(Value::Int(1)));
        sleep(stall * 3).await;
        assert!(!driver.is_finished(), "nothing was owed");
        let mut call = send(&pipe, &permits);
        let start = Instant::now();
        assert_eq!(driver.await.unwrap().cause, Cause::Stalled);
        assert!(start.elapsed() >= stall);
        assert!(matches!(
            call.ended().await,
            Some((CallOutcome::Lost { cause: Cause::Stalled, sent: true }, _))
        ));
    });
}

#[test]
fn a_connection_that_is_left_still_hears_what_it_is_owed() {
    run(async {
        let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(8)));
        let (driver, mut server) = driven(&pipe, Duration::from_secs(9));
        let mut call = send(&pipe, &permits);
        assert!(server.read(&mut [0; 4096]).await.unwrap() > 0);
        pipe.close(Cause::ReadOnly);
        server.write_all(b"-READONLY no\r\n").await.unwrap();
        assert_eq!(said(&mut call).await, Frame::Error("READONLY no".into()));
        assert_eq!(driver.await.unwrap().cause, Cause::Closed);
    });
}

#[test]
fn a_connection_that_is_idle_is_asked_for_a_word_and_one_that_says_none_is_given_up() {
    run(async {
        let (pipe, idle) = (Arc::new(SendQueue::new()), Duration::from_millis(5));
        let (ours, mut theirs) = duplex(1024);
        let patience = SilenceBounds { stall: Duration::from_millis(50), ping_after: idle };
        let driver = tokio::spawn(Driver::new(Arc::clone(&pipe), Stream::new(ours), patience));
        let ping = resp::command(&["PING"]);
        let mut heard = vec![0; ping.len()];
        // A user without the right to `PING` has a connection all the same.
        for word in ["+PONG\r\n", "-NOPERM this user has no permissions to run the 'ping' command\r\n"] {
            let begun = Instant::now();
            theirs.read_exact(&mut heard).await.unwrap();
            assert_eq!(heard, ping);
            assert!(begun.elapsed() >= idle / 2, "it was idle for no time");
            theirs.write_all(word.as_bytes()).await.unwrap();
        }
        theirs.read_exact(&mut heard).await.unwrap();
        assert_eq!(driver.await.unwrap().cause, Cause::Stalled, "that one has no answer");
        assert!(!pipe.is_open());
    });
}

#[test]
fn an_idle_connection_that_the_server_does_not_serve_any_more_is_given_up_with_its_words() {
    run(async {
        let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(8)));
        let (ours, mut theirs) = duplex(1024);
        let patience = SilenceBounds { stall: Duration::from_secs(9), ping_after: Duration::from_millis(5) };
        let driver = tokio::spawn(Driver::new(Arc::clone(&pipe), Stream::new(ours), patience));
        let mut heard = vec![0; resp::command(&["PING"]).len()];
        theirs.read_exact(&mut heard).await.unwrap();
        let mut waiting = send(&pipe, &permits);
        theirs.write_all(b"-LOADING Redis is loading the dataset in memory\r\n").await.unwrap();
        let failed = driver.await.unwrap();
        assert_eq!(
            (failed.cause, &*failed.message),
            (Cause::Loading, "LOADING Redis is loading the dataset in memory")
        );
        let Some((CallOutcome::Lost { cause: Cause::Loading, .. }, _)) = waiting.ended().await else {
            panic!("lost")
        };
    });
}
