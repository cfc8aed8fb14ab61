//! Streams bodies in both directions, without buffering them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tollgate_engine::Validities;

use super::body_error::BodyError;
use super::body_rate::BodyRate;
use super::client_connection::RunningExchange;
use super::deadlines::{BodyFault, DeadlineKind, Deadlines};
use super::sanitize;
use super::upstream::{Http1Body, StreamSlot, UpstreamError};
use crate::active_policy::ActivePolicy;

/// What is there of a client's body.
#[derive(Debug)]
pub(crate) struct RemainingBody {
    /// Read already.
    pub(crate) held: Option<Bytes>,
    /// Still to be read.
    pub(crate) body: Option<Incoming>,
    /// What came behind it, if all was read. In a box: hardly any body has them.
    pub(crate) trailers: Option<Box<HeaderMap>>,
}

/// A request's body.
#[derive(Debug)]
pub(crate) struct RequestBody {
    /// Not yet sent.
    rest: RemainingBody,
    watch: Option<Arc<Deadlines>>,
    /// What it was asked by.
    live: Option<Arc<ActivePolicy>>,
    /// Whether the client is being waited for.
    waiting: bool,
    /// Whether a piece was taken, so that it cannot be sent once more.
    begun: bool,
    /// How many bytes may still come.
    left: u64,
    /// How fast they have to come.
    pace: Option<BodyRate>,
    /// Whether the request may still be passed on.
    validities: Validities,
}

impl RequestBody {
    /// No body.
    pub(crate) fn empty() -> Self {
        let rest = RemainingBody { held: None, body: None, trailers: None };
        Self {
            rest,
            watch: None,
            live: None,
            waiting: false,
            begun: false,
            left: 0,
            pace: None,
            validities: Validities::default(),
        }
    }

    /// A client's body, which may have `bytes_max` and has to keep the pace, of a request that was asked about. If it fails, the
    /// watch knows why.
    pub(crate) fn of_client(
        mut rest: RemainingBody,
        watch: &Arc<Deadlines>,
        live: &Arc<ActivePolicy>,
        (bytes_max, pace): (Option<u64>, Option<BodyRate>),
    ) -> Self {
        rest.body = rest.body.filter(|body| !body.is_end_stream());
        let left = bytes_max.unwrap_or(u64::MAX);
        let body = Self { rest, left, pace, ..Self::empty() };
        if body.is_empty() {
            return Self::empty();
        }
        Self { watch: Some(Arc::clone(watch)), live: Some(Arc::clone(live)), ..body }
    }

    /// The same body, which is broken off when a permit of its request becomes void.
    pub(crate) fn with_validities(self, validities: Validities) -> Self {
        Self { validities, ..self }
    }

    /// Whether there is nothing to send.
    pub(crate) const fn is_empty(&self) -> bool {
        let RemainingBody { held, body, trailers } = &self.rest;
        held.is_none() && body.is_none() && trailers.is_none()
    }

    /// Whether a piece was taken.
    pub(crate) const fn is_begun(&self) -> bool {
        self.begun
    }

    /// A body that is there whole.
    #[cfg(test)]
    pub(crate) fn whole(bytes: Bytes) -> Self {
        let rest = RemainingBody { held: Some(bytes), body: None, trailers: None };
        Self { rest, left: u64::MAX, ..Self::empty() }
    }

    /// One that is there whole, and is larger than it may be.
    #[cfg(test)]
    pub(crate) fn too_large(bytes: Bytes) -> Self {
        Self { left: 0, ..Self::whole(bytes) }
    }

    /// While the client is silent it is the client that is waited for, from its last piece on. Else it is the upstream, and
    /// that anew with every piece and with the end: its time is counted from there, however long the request was.
    fn waited(&mut self, pending: bool) {
        let Some(watch) = &self.watch else { return };
        if !pending {
            watch.wait_for_before_answer(DeadlineKind::Response);
        } else if !self.waiting {
            match self.pace.as_mut().and_then(|pace| pace.wait(watch.now())) {
                Some(until) => watch.wait_until_before_answer(DeadlineKind::Pace, until),
                None => watch.wait_for_before_answer(DeadlineKind::Body),
            }
        }
        self.waiting = pending;
    }

    fn count(&mut self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, BodyError> {
        self.begun = true;
        let bytes = frame.data_ref().map_or(0, |data| u64::try_from(data.len()).unwrap_or(u64::MAX));
        if let (Some(pace), Some(watch)) = (&mut self.pace, &self.watch) {
            pace.came(watch.now(), bytes);
        }
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(frame)
            }
            None => {
                self.failed(BodyFault::TooLarge);
                Err(BodyError::TooLarge)
            }
        }
    }

    fn cleaned(&self, frame: Frame<Bytes>) -> Frame<Bytes> {
        cleaned(frame, self.live.as_deref())
    }

    /// The exchange has to know: over HTTP/2 it hears only that the stream was reset.
    fn failed(&self, fault: BodyFault) {
        if let Some(watch) = &self.watch {
            watch.set_fault(fault);
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        if this.validities.is_void() {
            this.failed(BodyFault::Void);
            return Poll::Ready(Some(Err(BodyError::Void)));
        }
        if let Some(held) = this.rest.held.take() {
            return Poll::Ready(Some(this.count(Frame::data(held))));
        }
        let Some(body) = &mut this.rest.body else {
            let trailers = this.rest.trailers.take();
            return Poll::Ready(trailers.map(|trailers| Ok(this.cleaned(Frame::trailers(*trailers)))));
        };
        let polled = Pin::new(&mut *body).poll_frame(cx);
        let ended = matches!(polled, Poll::Ready(None)) || body.is_end_stream();
        if let Some(watch) = this.watch.as_ref().filter(|_| ended) {
            watch.set_unread(false);
        }
        if polled.is_pending() && this.watch.as_ref().is_some_and(|watch| watch.is_half_closed()) {
            this.failed(BodyFault::Broken);
            return Poll::Ready(Some(Err(BodyError::Truncated)));
        }
        this.waited(polled.is_pending());
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Ready(Some(Ok(frame))) => {
                let frame = this.cleaned(frame);
                Poll::Ready(Some(this.count(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                this.failed(BodyFault::Broken);
                Poll::Ready(Some(Err(BodyError::Client(error))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        let RemainingBody { held, body, trailers } = &self.rest;
        held.is_none() && trailers.is_none() && body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let RemainingBody { held, body, trailers } = &self.rest;
        let held = held.as_ref().map_or(0, |held| u64::try_from(held.len()).unwrap_or(u64::MAX));
        let rest = body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint);
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(held));
        // Over HTTP/1.1 a body whose length is told has no trailers.
        if let Some(upper) = rest.upper().filter(|_| trailers.is_none()) {
            hint.set_upper(upper.saturating_add(held));
        }
        hint
    }
}

/// A piece without what trailers must not say.
fn cleaned(mut frame: Frame<Bytes>, live: Option<&ActivePolicy>) -> Frame<Bytes> {
    if let Some(trailers) = frame.trailers_mut() {
        sanitize::trailers(trailers, live);
    }
    frame
}

/// Where a response's body comes from.
#[derive(Debug)]
pub(crate) enum Source {
    /// From here.
    Whole(Bytes),
    /// From the upstream, over HTTP/1.1.
    Http1(Http1Body),
    /// From the upstream, over HTTP/2, and its stream there.
    Http2 {
        /// The body.
        body: Incoming,
        /// It takes a place as long as it is there.
        _stream: StreamSlot,
    },
}

/// A response's body. When it is gone, its exchange is over.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    source: Source,
    /// `None` if the exchange continues as a tunnel.
    running: Option<RunningExchange>,
    /// Whether the upstream is being waited for.
    waiting: bool,
    /// Why it broke off. It is told at the next poll: what came before is sent first, and an error would drop it.
    failed: Option<BodyError>,
}

impl ResponseBody {
    pub(crate) const fn new(source: Source, running: RunningExchange) -> Self {
        Self { source, running: Some(running), waiting: false, failed: None }
    }

    /// No body: the exchange continues as a tunnel.
    pub(crate) const fn of_tunnel() -> Self {
        Self { source: Source::Whole(Bytes::new()), running: None, waiting: false, failed: None }
    }

    /// Whether all of it was taken. Our own answers are taken at once or not at all, and of some only the head is wanted.
    fn is_over(&self) -> bool {
        let none_left = || self.size_hint().exact() == Some(0);
        matches!(self.source, Source::Whole(_)) || self.is_end_stream() || none_left()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        if self.is_over()
            && let Some(running) = &mut self.running
        {
            running.over();
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let Some(running) = &mut this.running else { return Poll::Ready(None) };
        running.taken();
        if let Some(error) = this.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        if running.is_void() {
            running.broken("a permit of its request became void");
            this.failed = Some(BodyError::Void);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = match &mut this.source {
            Source::Whole(bytes) if bytes.is_empty() => return Poll::Ready(None),
            Source::Whole(bytes) => {
                // Our own answers wait for a client's window like others.
                running.given();
                return Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes)))));
            }
            Source::Http1(body) => Pin::new(body).poll_frame(cx),
            Source::Http2 { body, .. } => {
                Pin::new(body).poll_frame(cx).map_err(|error| UpstreamError::broken(&error))
            }
        };
        match polled {
            Poll::Ready(Some(Ok(frame))) => {
                this.waiting = false;
                running.given();
                Poll::Ready(Some(Ok(cleaned(frame, None))))
            }
            Poll::Ready(Some(Err(error))) => {
                running.broken(&error.to_string());
                this.failed = Some(BodyError::Upstream(error));
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                if !this.waiting {
                    this.waiting = true;
                    running.watch().wait_for(DeadlineKind::ResponseBody);
                }
                match running.watch().poll_late(cx) {
                    Poll::Ready(due) => {
                        running.broken("no data arrived in time");
                        Poll::Ready(Some(Err(BodyError::Late(due))))
                    }
                    Poll::Pending => Poll::Pending,
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Whole(bytes) => bytes.is_empty(),
            Source::Http1(body) => body.is_end_stream(),
            Source::Http2 { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Whole(bytes) => SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            Source::Http1(body) => body.size_hint(),
            Source::Http2 { body, .. } => body.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doors::gateway::deadlines::WorkerDeadlines;
    use crate::settings::Timeouts;

    #[test]
    fn the_upstream_has_its_time_anew_with_every_piece_and_a_silent_client_has_not() {
        let watches = WorkerDeadlines::new(&Timeouts::default());
        let watch = watches.watch();
        let mut body = RequestBody { watch: Some(Arc::clone(&watch)), ..RequestBody::empty() };
        let late = || watch.poll_late(&Context::from_waker(std::task::Waker::noop()));
        let most = watches.ticks.of(Timeouts::default().response);
        for _ in 0..3 {
            body.waited(false);
            (0..most).for_each(|_| watches.tick());
            assert_eq!(late(), Poll::Pending, "a piece has come");
        }
        watches.tick();
        assert_eq!(late(), Poll::Ready(DeadlineKind::Response));
        // However often it is looked.
        let most = watches.ticks.of(Timeouts::default().body);
        for _ in 0..=most {
            body.waited(true);
            watches.tick();
        }
        assert_eq!(late(), Poll::Ready(DeadlineKind::Body));
    }
}
