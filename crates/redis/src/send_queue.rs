//! The queue of one connection: calls to be written, and callers waiting for replies. `driver.rs` moves the bytes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use smallvec::{SmallVec, smallvec};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::resp::{Frame, ScriptForm};
use crate::script::many;
use crate::{Call, Cause, KeyName, Script, TOGETHER_MAX};

/// One connection as callers see it: a queue of calls that are not yet written.
///
/// A call is in the queue until the driver takes it to write it; from then on it may have reached the server. Both sides
/// decide under one lock, so a caller that gives up knows for certain on which side of that line its call was.
#[derive(Debug)]
pub(crate) struct SendQueue {
    queue: Mutex<QueueState>,
    /// Whether it takes calls, to be seen without the lock. Only a hint: the queue decides.
    open: AtomicBool,
    /// Whether the server has answered a call on this connection. One that never did is followed by a longer wait.
    proved: AtomicBool,
    /// Whether it was given up because of what the server said on it: then no answer proves anything. A replica answers what only
    /// reads, and refuses.
    disproved: AtomicBool,
    /// Only calls on keys of one slot go together.
    by_slot: bool,
}

#[derive(Debug)]
struct QueueState {
    /// No more than may be in flight: each slot holds a permit.
    slots: VecDeque<QueueSlot>,
    /// The number of the first slot.
    first: u64,
    closed: bool,
    /// Who moves the bytes, if it sleeps until there are calls.
    waker: Option<Waker>,
    /// For each script, the last call that brought its text.
    texts: Vec<(&'static Script, u64)>,
}

/// How a call's end goes to its caller, and its permit with it.
type Sender = oneshot::Sender<(CallOutcome, OwnedSemaphorePermit)>;

/// A place in the queue. It keeps its permit until the queue has moved past it, so that the queue stays bounded.
#[derive(Debug)]
struct QueueSlot {
    permit: OwnedSemaphorePermit,
    /// None if the caller has gone.
    queued: Option<QueuedCall>,
}

/// A call that is not yet written.
#[derive(Debug)]
struct QueuedCall {
    call: Call,
    form: ScriptForm,
    sender: Sender,
}

/// Calls that were taken from the queue: one, or several that can go together.
#[derive(Debug)]
pub(crate) struct TakenCalls {
    pub(crate) calls: SmallVec<[Call; 1]>,
    /// How each of them is to be sent, if it goes alone.
    pub(crate) form: ScriptForm,
    /// Whom to tell, in the order of the calls.
    pub(crate) outputs: SmallVec<[CallCompletion; 1]>,
}

/// Whom to tell how a call ended. As long as it exists the call is in flight.
#[derive(Debug)]
pub(crate) struct CallCompletion {
    sender: Sender,
    permit: OwnedSemaphorePermit,
}

/// How a call ended, as far as a connection knows.
#[derive(Debug)]
pub(crate) enum CallOutcome {
    /// The server said this.
    Said(Frame),
    /// The server said this error to several whose calls went together, and another of them counts it as a failure.
    Echoed(String),
    /// The connection ended first. `sent`: the server may have got all of the call.
    Lost { cause: Cause, sent: bool },
}

/// A call on its way, as its caller holds it. Dropped, the call is given up: if it is not written yet it never will be.
#[derive(Debug)]
pub(crate) struct PendingCall<'a> {
    pipe: &'a SendQueue,
    number: u64,
    receiver: oneshot::Receiver<(CallOutcome, OwnedSemaphorePermit)>,
    over: bool,
}

/// The pipe takes no more calls; here is the permit back.
#[derive(Debug)]
pub(crate) struct QueueClosed(pub(crate) OwnedSemaphorePermit);

impl SendQueue {
    pub(crate) fn new() -> Self {
        let queue =
            QueueState { slots: VecDeque::new(), first: 0, closed: false, waker: None, texts: Vec::new() };
        let [open, proved, disproved] = [true, false, false].map(AtomicBool::new);
        Self { queue: Mutex::new(queue), open, proved, disproved, by_slot: false }
    }

    /// The same, to a node of a cluster or not.
    pub(crate) fn with_slots(self, by_slot: bool) -> Self {
        Self { by_slot, ..self }
    }

    /// Puts a call into the queue.
    pub(crate) fn send(
        &self,
        call: &Call,
        form: ScriptForm,
        permit: OwnedSemaphorePermit,
    ) -> Result<PendingCall<'_>, QueueClosed> {
        let call = call.clone();
        let mut queue = self.lock();
        if queue.closed {
            return Err(QueueClosed(permit));
        }
        let number = queue.first + queue.slots.len() as u64;
        if form == ScriptForm::Text {
            queue.texts.retain(|(script, _)| script.digest != call.script.digest);
            queue.texts.push((call.script, number));
        }
        let (sender, receiver) = oneshot::channel();
        queue.slots.push_back(QueueSlot { permit, queued: Some(QueuedCall { call, form, sender }) });
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(PendingCall { pipe: self, number, receiver, over: false })
    }

    /// How a call whose digest was unknown is to be sent again.
    ///
    /// If somebody brought the text after it, the digest will be known by the time it arrives. So a thousand calls that meet
    /// a server without scripts bring the text once and not a thousand times.
    pub(crate) fn cure(&self, call: &Call, number: u64) -> ScriptForm {
        let queue = self.lock();
        let brought = queue.texts.iter().find(|(script, _)| script.digest == call.script.digest);
        if brought.is_some_and(|(_, text)| *text > number) { ScriptForm::Digest } else { ScriptForm::Text }
    }

    /// Takes no more calls. Those that are not written are told so; the others may still be answered.
    pub(crate) fn close(&self, cause: Cause) {
        let (slots, waker) = {
            let mut queue = self.lock();
            queue.closed = true;
            self.open.store(false, Ordering::Release);
            queue.first += queue.slots.len() as u64;
            (std::mem::take(&mut queue.slots), queue.waker.take())
        };
        for slot in slots {
            if let Some(queued) = slot.queued {
                let output = CallCompletion { sender: queued.sender, permit: slot.permit };
                output.end(CallOutcome::Lost { cause, sent: false });
            }
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// The next call to write, and those behind it that can go with it. If there is none, `waker` is woken when there is.
    pub(crate) fn take(&self, waker: &Waker) -> Option<TakenCalls> {
        let mut queue = self.lock();
        let Some((first, form, output)) = queue.next_if(|_| true) else {
            match &mut queue.waker {
                Some(known) => known.clone_from(waker),
                none => *none = Some(waker.clone()),
            }
            return None;
        };
        let goes_along = form == ScriptForm::Together && many(first.script).is_some();
        let mut taken = TakenCalls { calls: smallvec![first], form, outputs: smallvec![output] };
        if goes_along {
            // Room for all of them at once: callers wait for the lock.
            let along = queue.slots.len().min(TOGETHER_MAX - 1);
            taken.calls.reserve(along);
            taken.outputs.reserve(along);
        }
        while goes_along
            && taken.calls.len() < TOGETHER_MAX
            && let Some((next, _, output)) = queue.next_if(|next| taken.takes_along(next, self.by_slot))
        {
            taken.calls.push(next);
            taken.outputs.push(output);
        }
        Some(taken)
    }

    /// Takes a call back. Returns whether it was still there, and so was never written.
    fn take_back(&self, number: u64) -> bool {
        let mut queue = self.lock();
        let Some(place) = number.checked_sub(queue.first) else { return false };
        let Some(slot) = usize::try_from(place).ok().and_then(|place| queue.slots.get_mut(place)) else {
            return false;
        };
        slot.queued = None;
        while queue.slots.front().is_some_and(|slot| slot.queued.is_none()) {
            queue.slots.pop_front();
            queue.first += 1;
        }
        true
    }

    /// The server has answered a call.
    pub(crate) fn prove(&self) {
        // Looked at first, so that the line is not written to for every answer.
        if !self.proved.load(Ordering::Relaxed) {
            self.proved.store(true, Ordering::Relaxed);
        }
    }

    /// The server has said on it that it does not serve.
    pub(crate) fn disprove(&self) {
        self.disproved.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_proved(&self) -> bool {
        self.proved.load(Ordering::Relaxed) && !self.disproved.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    /// Takes the first call whose caller is still there, if it is as wished.
    fn next_if(
        &mut self,
        wished: impl Fn(&QueuedCall) -> bool,
    ) -> Option<(Call, ScriptForm, CallCompletion)> {
        loop {
            if self.slots.front()?.queued.as_ref().is_some_and(|queued| !wished(queued)) {
                return None;
            }
            let slot = self.slots.pop_front()?;
            self.first += 1;
            if let Some(QueuedCall { call, form, sender }) = slot.queued {
                return Some((call, form, CallCompletion { sender, permit: slot.permit }));
            }
        }
    }
}

impl TakenCalls {
    /// Whether a call can go with these.
    fn takes_along(&self, next: &QueuedCall, by_slot: bool) -> bool {
        let slot = |call: &Call| call.names.first().map(KeyName::slot);
        next.form == ScriptForm::Together
            && self
                .calls
                .first()
                .is_some_and(|first| next.call.joins(first) && (!by_slot || slot(first) == slot(&next.call)))
    }
}

impl CallCompletion {
    /// Tells the caller and gives it its permit back. If it has gone, the permit is free. Returns whether it was there.
    pub(crate) fn end(self, ended: CallOutcome) -> bool {
        self.sender.send((ended, self.permit)).is_ok()
    }
}

impl PendingCall<'_> {
    /// The number of the call on its pipe.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// How the call ends, with its permit. None if nobody was left to say so.
    pub(crate) async fn ended(&mut self) -> Option<(CallOutcome, OwnedSemaphorePermit)> {
        let ended = (&mut self.receiver).await.ok();
        self.over = true;
        ended
    }

    /// Gives the call up. Returns whether it may have been sent.
    pub(crate) fn give_up(mut self) -> bool {
        self.over = true;
        !self.pipe.take_back(self.number)
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.pipe.take_back(self.number);
        }
    }
}

#[cfg(test)]
mod tests;
