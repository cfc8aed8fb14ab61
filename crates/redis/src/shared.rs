//! State shared by all clones of a link, and how it carries one call.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::breaker::CallerKind;
use crate::cause::HealthSignal;
use crate::connect::Connector;
use crate::health::Counts;
use crate::link_state::LinkState;
use crate::recent::Recent;
use crate::reconnect::{ConnectionSlot, State};
use crate::resp::{Frame, ScriptForm};
use crate::send_queue::{CallOutcome, SendQueue};
use crate::shared_breaker::SharedBreaker;
use crate::warm_up::WarmUp;
use crate::{Call, Cause, LinkError, Settings, Value};

/// How often a call that was certainly not sent is tried on another connection, within its budget.
const TRIES_MAX: usize = 3;

#[derive(Debug)]
pub(crate) struct LinkInner {
    pub(crate) settings: Settings,
    pub(crate) connector: Connector,
    pub(crate) lanes: Vec<ConnectionSlot>,
    pub(crate) breaker: SharedBreaker,
    pub(crate) counts: Counts,
    pub(crate) recent: Recent,
    /// What is run on a new connection before calls go to it.
    pub(crate) warm_up: WarmUp,
    /// One for each call that may be in flight.
    pub(crate) permits: Arc<Semaphore>,
    /// Which lane the next call tries first.
    pub(crate) turn: AtomicUsize,
    pub(crate) up: LinkState,
    /// Told whenever any lane has changed: calls that found no connection look again.
    pub(crate) changed: Notify,
    /// Whether the server is a node of a cluster.
    pub(crate) by_slot: bool,
    /// What the link's own keys are derived from: in a cluster they have to be in a slot of the node.
    pub(crate) own_keys: AtomicU32,
}

impl LinkInner {
    /// Carries a caller's call, until an instant at the latest. How it ended is not counted.
    pub(crate) async fn call(
        &self,
        call: &Call,
        form: ScriptForm,
        deadline: Instant,
    ) -> Result<Value, LinkError> {
        let asker = if call.writes.may_be() { CallerKind::Writer } else { CallerKind::Reader };
        self.admitted(call, form, asker, deadline).await
    }

    /// Carries the link's own call, which writes, if one is due. It is counted as any other.
    pub(crate) async fn probe(&self, call: &Call) {
        let end = Instant::now() + self.settings.budget;
        let result = self.admitted(call, ScriptForm::Together, CallerKind::Link, end).await;
        self.counts.ended(result.err().map(|error| error.cause()));
    }

    /// Carries a call if the breaker lets it, until an instant at the latest.
    async fn admitted(
        &self,
        call: &Call,
        form: ScriptForm,
        asker: CallerKind,
        deadline: Instant,
    ) -> Result<Value, LinkError> {
        let Some(admitted) = self.breaker.admit(asker) else { return Err(LinkError::Open) };
        let result = self.carry(call, form, deadline).await;
        admitted.tell(match &result {
            Ok(answer) if call.writes.is_shown_by(answer) => HealthSignal::Serving,
            Ok(_) => HealthSignal::Alive,
            Err((error, echoes)) => sign(error, *echoes),
        });
        result.map_err(|(error, _)| error).inspect_err(|error| self.recent.note(error))
    }

    /// Waits until there is a connection, or a reason why there is none; then runs the scripts that are expected, in case they were not
    /// known when the connection was made. What comes of it is not counted.
    pub(crate) async fn prepare(&self) {
        let deadline = Instant::now() + self.settings.connect_timeout;
        if !matches!(timeout_at(deadline, self.settled()).await, Ok(Ok(_))) {
            return;
        }
        for call in self.warm_up.calls(self.own_keys.load(Ordering::Relaxed)) {
            if let Err((error, _)) = self.carry(&call, ScriptForm::Together, deadline).await {
                self.recent.note(&error);
            }
        }
    }

    /// Tries connections until the call has ended, or may not be tried again. Beside an error, whether another call counts it.
    async fn carry(
        &self,
        call: &Call,
        form: ScriptForm,
        deadline: Instant,
    ) -> Result<Value, (LinkError, bool)> {
        let permits = Arc::clone(&self.permits);
        let mut permit = permits.try_acquire_owned().map_err(|_| (LinkError::TooManyInFlight, false))?;
        let mut tries = 0;
        loop {
            tries += 1;
            let (lane, pipe) = match self.ready() {
                Ok(Some(ready)) => ready,
                Err(error) => return Err((error, false)),
                Ok(None) => match timeout_at(deadline, self.settled()).await {
                    Ok(settled) => settled.map_err(|error| (error, false))?,
                    Err(_) => return Err((LinkError::Timeout { sent: false }, false)),
                },
            };
            let unanswered = match self.once(&pipe, (call, form), permit, deadline).await {
                Ok(value) => return Ok(value),
                Err(unanswered) => unanswered,
            };
            match unanswered {
                UnansweredCall { error: LinkError::Lost { sent, .. }, permit: Some(back), .. }
                    if tries < TRIES_MAX && (!sent || !call.writes.may_be()) =>
                {
                    permit = back;
                }
                UnansweredCall { error, echoes, .. } => {
                    if matches!(error, LinkError::Server { .. }) && error.cause().reconnects() {
                        self.retire(lane, &pipe, &error);
                    }
                    return Err((error, echoes));
                }
            }
        }
    }

    /// Sends a call over one connection; again if the server does not know the script. That is not a second decision: a
    /// server that does not know the script has run nothing.
    async fn once(
        &self,
        pipe: &SendQueue,
        (call, mut form): (&Call, ScriptForm),
        mut permit: OwnedSemaphorePermit,
        deadline: Instant,
    ) -> Result<Value, UnansweredCall> {
        loop {
            let mut waiting = match pipe.send(call, form, permit) {
                Ok(waiting) => waiting,
                Err(closed) => {
                    let error = LinkError::Lost { cause: Cause::Closed, sent: false };
                    return Err(UnansweredCall { error, permit: Some(closed.0), echoes: false });
                }
            };
            let Ok(ended) = timeout_at(deadline, waiting.ended()).await else {
                let error = LinkError::Timeout { sent: waiting.give_up() };
                return Err(UnansweredCall { error, permit: None, echoes: false });
            };
            // Nobody is left to say how it ended: the runtime that moved the bytes has been stopped.
            let lost = LinkError::Lost { cause: Cause::Closed, sent: true };
            let Some((ended, back)) = ended else {
                return Err(UnansweredCall { error: lost, permit: None, echoes: false });
            };
            let (line, echoes) = match ended {
                CallOutcome::Said(Frame::Value(value)) => {
                    pipe.prove();
                    return Ok(value);
                }
                CallOutcome::Said(Frame::Error(line)) => (line, false),
                CallOutcome::Echoed(line) => (line, true),
                CallOutcome::Lost { cause, sent } => {
                    let error = LinkError::Lost { cause, sent };
                    return Err(UnansweredCall { error, permit: Some(back), echoes: false });
                }
            };
            let error = LinkError::server(&line);
            form = match (error.cause(), form) {
                (Cause::NoScript, ScriptForm::Together | ScriptForm::Digest) => {
                    pipe.cure(call, waiting.number())
                }
                (Cause::NoScript, ScriptForm::AskingDigest) => ScriptForm::AskingText,
                // It went with others whose keys are in other slots of a cluster, so that none of them has run.
                (Cause::CrossSlot, ScriptForm::Together) => ScriptForm::Digest,
                _ => return Err(UnansweredCall { error, permit: Some(back), echoes }),
            };
            permit = back;
        }
    }

    /// A connection, if there is one; none if one may come soon; an error if there is none for a reason.
    fn ready(&self) -> Result<Option<(&ConnectionSlot, Arc<SendQueue>)>, LinkError> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let (mut down, mut soon) = (None, false);
        for at in 0..self.lanes.len() {
            let Some(lane) = self.lanes.get(turn.wrapping_add(at) % self.lanes.len()) else { continue };
            match lane.state() {
                State::Up(pipe) if pipe.is_open() => return Ok(Some((lane, pipe))),
                State::Up(_) | State::Connecting => soon = true,
                State::Down(error) => down = Some(error),
            }
        }
        down.filter(|_| !soon).map_or(Ok(None), Err)
    }

    /// Waits for a connection in any lane, or for a reason why there is none in all of them.
    async fn settled(&self) -> Result<(&ConnectionSlot, Arc<SendQueue>), LinkError> {
        loop {
            let mut changed = pin!(self.changed.notified());
            // It listens before it looks, so that no change falls in between.
            changed.as_mut().enable();
            if let Some(ready) = self.ready()? {
                return Ok(ready);
            }
            changed.await;
        }
    }

    /// Gives a connection up for a new one. What was already sent on it may still be answered.
    fn retire(&self, lane: &ConnectionSlot, pipe: &Arc<SendQueue>, error: &LinkError) {
        lane.leave(pipe, State::Down(LinkError::unreachable(error.cause(), &error.to_string())));
        pipe.disprove();
        pipe.close(error.cause());
        self.moved();
    }

    /// A lane has changed.
    pub(crate) fn moved(&self) {
        self.up.look(|| self.lanes.iter().any(|lane| matches!(lane.state(), State::Up(_))));
        self.changed.notify_waiters();
    }
}

/// A call over one connection that got no answer.
struct UnansweredCall {
    error: LinkError,
    /// If the call may be tried again.
    permit: Option<OwnedSemaphorePermit>,
    /// Whether another call counts the same error: both were one to the server.
    echoes: bool,
}

/// What an error says about the server.
fn sign(error: &LinkError, echoes: bool) -> HealthSignal {
    let is_silent = echoes || matches!(error, LinkError::Unreachable { .. } | LinkError::Lost { .. });
    if is_silent { HealthSignal::Silent } else { error.cause().sign() }
}
