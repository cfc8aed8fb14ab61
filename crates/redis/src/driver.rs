//! Moves bytes between one connection and its pipe. It knows frames and their order, and nothing of scripts or decisions.
//!
//! The client library's own multiplexing does nearly this. It cannot say whether a call was written, which is what decides
//! whether it may be tried elsewhere, and it does not count calls whose callers have gone.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::Cause;
use crate::connect::{Failed, Stream};
use crate::pipe::{Ended, Output, Pipe};
use crate::resp;

/// How many bytes are gathered for one write. Calls beyond it stay in the queue, from which they can be taken back.
const WRITE_BYTES: usize = 64 * 1024;

/// How many bytes are read at a time.
const READ_BYTES: usize = 64 * 1024;

/// After so many answers other tasks have their turn. What their callers ask next is then on its way while the rest is
/// heard: the server and its callers work at the same time and not in turns. A quarter more calls a second, with 64 callers.
const ANSWERS_AT_A_TIME: usize = 16;

/// Runs one connection until it ends. Then every call on it has ended, each knowing whether it may have been sent.
pub(crate) struct Driver {
    pipe: Arc<Pipe>,
    stream: Stream,
    /// What is to be written, and how much of it has been.
    output: Vec<u8>,
    output_at: usize,
    /// How many bytes were ever taken to be written, and how many the connection has accepted.
    taken: u64,
    written: u64,
    /// Calls that were taken, in the order of their answers, with the count of bytes taken up to their end.
    awaiting: VecDeque<(u64, Output)>,
    /// What was read and is not yet a whole frame.
    input: Vec<u8>,
    scratch: Box<[u8]>,
    silence: Silence,
    /// Why it ends, for those who are still waiting.
    end: Cause,
}

/// When the server was last heard, while it owes an answer.
struct Silence {
    max: Duration,
    since: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

impl Driver {
    pub(crate) fn new(pipe: Arc<Pipe>, stream: Stream, stall: Duration) -> Self {
        Self {
            pipe,
            stream,
            output: Vec::new(),
            output_at: 0,
            taken: 0,
            written: 0,
            awaiting: VecDeque::new(),
            input: Vec::new(),
            scratch: vec![0; READ_BYTES].into_boxed_slice(),
            silence: Silence { max: stall, since: None, timer: Box::pin(sleep(stall)) },
            end: Cause::Closed,
        }
    }

    /// All that can be done now.
    fn step(&mut self, cx: &mut Context<'_>) -> Result<(), Failed> {
        self.read(cx)?;
        self.write(cx)?;
        if self.awaiting.is_empty() && !self.pipe.is_open() {
            return Err(Failed::new(Cause::Closed, "the connection was given up"));
        }
        self.silence.watch(cx, !self.awaiting.is_empty())
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Result<(), Failed> {
        while !self.hear()? {
            let mut buffer = ReadBuf::new(&mut self.scratch);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Err(error)) => return Err(Failed::of(&error)),
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                    return Err(Failed::new(Cause::Closed, "the server closed the connection"));
                }
                Poll::Ready(Ok(())) => self.input.extend_from_slice(buffer.filled()),
            }
            self.silence.since = Some(Instant::now());
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    /// Gives whole frames to the calls that they answer. Returns whether there may be more.
    fn hear(&mut self) -> Result<bool, Failed> {
        let garbled = |why| Failed::new(Cause::Garbled, why);
        let (mut at, mut heard) = (0, 0);
        while heard < ANSWERS_AT_A_TIME {
            let rest = self.input.get(at..).unwrap_or_default();
            let Some((frame, length)) = resp::frame(rest).map_err(|error| garbled(error.0))? else { break };
            let (_, output) = self.awaiting.pop_front().ok_or_else(|| garbled("an answer to nothing"))?;
            output.end(Ended::Said(frame));
            at += length;
            heard += 1;
        }
        self.input.drain(..at);
        Ok(heard == ANSWERS_AT_A_TIME)
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Result<(), Failed> {
        loop {
            self.gather(cx);
            while let Some(rest) = self.output.get(self.output_at..).filter(|rest| !rest.is_empty()) {
                match Pin::new(&mut self.stream).poll_write(cx, rest) {
                    Poll::Pending => return Ok(()),
                    Poll::Ready(Ok(0)) => return Err(Failed::of(&io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(count)) => {
                        self.output_at += count;
                        self.written += count as u64;
                    }
                    Poll::Ready(Err(error)) => return Err(Failed::of(&error)),
                }
            }
            let more = self.output.len() >= WRITE_BYTES;
            self.output.clear();
            self.output_at = 0;
            if !more {
                break;
            }
        }
        match Pin::new(&mut self.stream).poll_flush(cx) {
            Poll::Ready(Err(error)) => Err(Failed::of(&error)),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }

    /// Takes calls, until there are enough bytes or there is no call.
    fn gather(&mut self, cx: &Context<'_>) {
        while self.output.len() < WRITE_BYTES {
            let Some(queued) = self.pipe.take(cx.waker()) else { return };
            self.output.extend_from_slice(&queued.bytes);
            self.taken += queued.bytes.len() as u64;
            self.awaiting.push_back((self.taken, queued.output));
        }
    }
}

impl Silence {
    /// Fails when the server owes an answer and has said nothing for too long.
    fn watch(&mut self, cx: &mut Context<'_>, owes: bool) -> Result<(), Failed> {
        if !owes {
            self.since = None;
            return Ok(());
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        // The timer is not moved at every answer. When it fires, it is told how much later the limit is by now.
        let limit = since + self.max;
        while self.timer.as_mut().poll(cx).is_ready() {
            if Instant::now() >= limit {
                return Err(Failed::new(Cause::Stalled, "the server owed an answer and said nothing"));
            }
            self.timer.as_mut().reset(limit);
        }
        Ok(())
    }
}

impl Future for Driver {
    type Output = Failed;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Failed> {
        let this = self.get_mut();
        match this.step(cx) {
            Ok(()) => Poll::Pending,
            Err(failed) => {
                this.end = failed.cause;
                Poll::Ready(failed)
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.pipe.close(self.end);
        for (end, output) in self.awaiting.drain(..) {
            // A call that was not written to its last byte was not understood.
            output.end(Ended::Lost { cause: self.end, sent: end <= self.written });
        }
    }
}

#[cfg(test)]
mod tests;
