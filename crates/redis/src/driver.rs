//! Moves bytes between one connection and its queue, and coalesces calls that wait together.
//!
//! The client library's own multiplexing does nearly this. It cannot say whether a call was written, which is what decides
//! whether it may be tried elsewhere, and it does not count calls whose callers have gone.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep};

use crate::connect::Stream;
use crate::failed::ConnectionFailure;
use crate::reply_waiters::ReplyWaiters;
use crate::resp::{self, ScriptForm};
use crate::send_queue::{SendQueue, TakenCalls};
use crate::{Call, Cause, Script};

/// How many bytes are gathered for one write. Calls beyond it stay in the queue, from which they can be taken back.
const WRITE_BYTES: usize = 64 * 1024;

/// How many bytes are read at a time.
const READ_BYTES: usize = 64 * 1024;

/// After so many answered calls, each of a group counted, others have their turn. What their callers ask next is then on its
/// way while the rest is heard: the server and its callers work at the same time and not in turns. Two thirds more decisions a
/// second, with 64 callers on one thread: the server idled for a quarter of the time, and they for most of it.
const ANSWERS_AT_A_TIME: usize = 16;

/// Runs one connection until it ends. Then every call on it has ended, each knowing whether it may have been sent.
pub(crate) struct Driver {
    pipe: Arc<SendQueue>,
    stream: Stream,
    /// What is to be written, and how much of it has been.
    output: Vec<u8>,
    output_at: usize,
    /// How many bytes were ever taken to be written, and how many the connection has accepted.
    taken: u64,
    written: u64,
    /// Calls that were taken, in the order of their answers, with the count of bytes taken up to their end.
    awaiting: VecDeque<(u64, ReplyWaiters)>,
    /// The scripts for several calls whose text was sent on this connection: there are as many as kinds of limits.
    known: Vec<&'static Script>,
    /// Calls go one by one, because the server is a node of a cluster.
    alone: bool,
    /// What was read and is not yet a whole frame.
    input: Vec<u8>,
    scratch: Box<[u8]>,
    silence: SilenceTimer,
    /// Why it ends, for those who are still waiting.
    end: Cause,
}

/// How long the server has said nothing, while it owes an answer and while it does not.
struct SilenceTimer {
    /// How long it may owe an answer.
    max: Duration,
    /// After so long without a word it is asked for one.
    ping_after: Duration,
    /// Since when it owes one.
    since: Option<Instant>,
    /// When it was last heard.
    heard: Instant,
    timer: Pin<Box<Sleep>>,
}

/// How a driver bounds the silence of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SilenceBounds {
    /// How long the server may owe an answer and say nothing.
    pub(crate) stall: Duration,
    /// A server that owes nothing and says nothing for so long is asked with a `PING`.
    pub(crate) ping_after: Duration,
}

impl Driver {
    pub(crate) fn new(pipe: Arc<SendQueue>, stream: Stream, patience: SilenceBounds) -> Self {
        let SilenceBounds { stall, ping_after } = patience;
        let timer = Box::pin(sleep(stall));
        Self {
            pipe,
            stream,
            output: Vec::new(),
            output_at: 0,
            taken: 0,
            written: 0,
            awaiting: VecDeque::new(),
            known: Vec::new(),
            alone: false,
            input: Vec::new(),
            scratch: vec![0; READ_BYTES].into_boxed_slice(),
            silence: SilenceTimer { max: stall, ping_after, since: None, heard: Instant::now(), timer },
            end: Cause::Closed,
        }
    }

    /// The same, on a connection whose server knows these scripts for several calls.
    pub(crate) fn knowing(mut self, known: Vec<&'static Script>) -> Self {
        self.known = known;
        self
    }

    /// All that can be done now.
    fn step(&mut self, cx: &mut Context<'_>) -> Result<(), ConnectionFailure> {
        self.read(cx)?;
        self.write(cx)?;
        if self.awaiting.is_empty() && !self.pipe.is_open() {
            return Err(ConnectionFailure::new(Cause::Closed, "the connection was abandoned"));
        }
        if self.silence.watch(cx, !self.awaiting.is_empty())? {
            self.ping();
            self.write(cx)?;
            self.silence.watch(cx, true)?;
        }
        Ok(())
    }

    /// Asks for a word, whatever it is: whether anybody is there shows before a call needs it.
    fn ping(&mut self) {
        let before = self.output.len();
        self.output.extend_from_slice(&resp::command(&["PING"]));
        self.taken += (self.output.len() - before) as u64;
        self.awaiting.push_back((self.taken, ReplyWaiters::Ping));
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Result<(), ConnectionFailure> {
        while !self.hear()? {
            let mut buffer = ReadBuf::new(&mut self.scratch);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Err(error)) => return Err(ConnectionFailure::of(&error)),
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                    return Err(ConnectionFailure::new(Cause::Closed, "the server closed the connection"));
                }
                Poll::Ready(Ok(())) => self.input.extend_from_slice(buffer.filled()),
            }
            self.silence.hears();
        }
        yielded(cx);
        Ok(())
    }

    /// Gives whole frames to the calls that they answer. Returns whether there may be more.
    fn hear(&mut self) -> Result<bool, ConnectionFailure> {
        let garbled = |why| ConnectionFailure::new(Cause::Garbled, why);
        let (mut at, mut heard) = (0, 0);
        while heard < ANSWERS_AT_A_TIME {
            let rest = self.input.get(at..).unwrap_or_default();
            let Some((frame, length)) = resp::frame(rest).map_err(|error| garbled(error.0))? else { break };
            // Those who cannot be told this are told that the connection ended.
            if self.awaiting.front().is_some_and(|(_, group)| !group.is_answered_by(&frame)) {
                return Err(garbled("the number of replies does not match the number of calls"));
            }
            let (_, group) = self.awaiting.pop_front().ok_or_else(|| garbled("an unexpected reply"))?;
            if let Some(line) = group.unwelcome(&frame) {
                return Err(ConnectionFailure::new(Cause::of_line(line), line));
            }
            if let Some(unknown) = group.unknown_script(&frame) {
                // Each of its callers sends its own call again, alone.
                self.known.retain(|known| !std::ptr::eq(*known, unknown));
            }
            self.alone |= group.is_across_slots(&frame);
            at += length;
            heard += group.len();
            group.said(frame);
        }
        self.input.drain(..at);
        Ok(heard >= ANSWERS_AT_A_TIME)
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Result<(), ConnectionFailure> {
        loop {
            self.gather(cx);
            while let Some(rest) = self.output.get(self.output_at..).filter(|rest| !rest.is_empty()) {
                match Pin::new(&mut self.stream).poll_write(cx, rest) {
                    Poll::Pending => return Ok(()),
                    Poll::Ready(Ok(0)) => {
                        return Err(ConnectionFailure::of(&io::ErrorKind::WriteZero.into()));
                    }
                    Poll::Ready(Ok(count)) => {
                        self.output_at += count;
                        self.written += count as u64;
                    }
                    Poll::Ready(Err(error)) => return Err(ConnectionFailure::of(&error)),
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
            Poll::Ready(Err(error)) => Err(ConnectionFailure::of(&error)),
            Poll::Ready(Ok(())) | Poll::Pending => Ok(()),
        }
    }

    /// Takes calls, until there are enough bytes or there is no call.
    fn gather(&mut self, cx: &Context<'_>) {
        while self.output.len() < WRITE_BYTES {
            let Some(taken) = self.pipe.take(cx.waker()) else { return };
            self.put(taken);
        }
    }

    /// Adds calls to what is to be written: as one, if they can be.
    fn put(&mut self, TakenCalls { calls, form, outputs }: TakenCalls) {
        if let Some(call) = Call::together(&calls).filter(|_| !self.alone) {
            let form = self.form_of(call.script);
            self.put_one(&call, form, ReplyWaiters::Many { outputs, script: call.script });
            return;
        }
        for (call, output) in calls.iter().zip(outputs) {
            self.put_one(call, form, ReplyWaiters::One(output));
        }
    }

    fn put_one(&mut self, call: &Call, form: ScriptForm, group: ReplyWaiters) {
        let before = self.output.len();
        resp::pack(&mut self.output, call, form);
        self.taken += (self.output.len() - before) as u64;
        if form.is_asking() {
            // Both are written before anything else, and answered one after the other.
            self.awaiting.push_back((self.taken, ReplyWaiters::Ping));
        }
        self.awaiting.push_back((self.taken, group));
    }

    /// How a script for several calls is named. The first time it is brought: nobody asks for it alone, so that nobody would
    /// bring it otherwise.
    fn form_of(&mut self, script: &'static Script) -> ScriptForm {
        if self.known.iter().any(|known| std::ptr::eq(*known, script)) {
            return ScriptForm::Digest;
        }
        self.known.push(script);
        ScriptForm::Text
    }
}

/// Has the driver polled again after all others: also after who runs the runtime by `block_on`, and the tasks of a `LocalSet`.
///
/// A task that wakes itself goes behind other tasks only. Alone, it is polled again at once, and those callers would have their turn
/// when all is heard.
fn yielded(cx: &mut Context<'_>) {
    // Its first poll leaves the waker to the scheduler, and is never ready.
    let _pending = pin!(yield_now()).poll(cx);
}

impl SilenceTimer {
    fn hears(&mut self) {
        let now = Instant::now();
        (self.since, self.heard) = (Some(now), now);
    }

    /// Whether a word is to be asked for, because nothing is owed and nothing was heard for long. Fails when the server owes an answer
    /// and has said nothing for too long.
    fn watch(&mut self, cx: &mut Context<'_>, owes: bool) -> Result<bool, ConnectionFailure> {
        let limit = if owes {
            *self.since.get_or_insert_with(Instant::now) + self.max
        } else {
            self.since = None;
            self.heard + self.ping_after
        };
        // The timer is not moved at every answer. When it fires, it is told how much later the limit is by now.
        if self.timer.deadline() > limit {
            self.timer.as_mut().reset(limit);
        }
        while self.timer.as_mut().poll(cx).is_ready() {
            match (Instant::now() >= limit, owes) {
                (true, true) => {
                    return Err(ConnectionFailure::new(Cause::Stalled, "the server stopped replying"));
                }
                (true, false) => return Ok(true),
                (false, _) => self.timer.as_mut().reset(limit),
            }
        }
        Ok(false)
    }
}

impl Future for Driver {
    type Output = ConnectionFailure;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ConnectionFailure> {
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
        for (end, group) in self.awaiting.drain(..) {
            // A call that was not written to its last byte was not understood.
            group.lost(self.end, end <= self.written);
        }
    }
}

#[cfg(test)]
mod tests;
