//! One client connection as its exchanges see it: the peer, and the requests in flight.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderValue, StatusCode};
use tollgate_engine::Permits;

use super::access_log::AccessLogEntry;
use super::deadlines::{DeadlineKind, Deadlines};
use super::h2_executor::begun;
use super::rewrite_head::forwarded_for;
use super::stopwatch::Stopwatch;
use super::tunnel::Tunnel;
use super::worker::Worker;
use crate::telemetry::logs::RequestId;

/// A client's connection.
#[derive(Debug)]
pub(crate) struct ClientConnection {
    pub(crate) worker: Arc<Worker>,
    pub(crate) peer: IpAddr,
    /// The peer, as `X-Forwarded-For` has it.
    pub(crate) address: HeaderValue,
    /// The beginning of our part of `Forwarded`: `for=192.0.2.1`.
    pub(crate) forwarded_for: String,
    /// The host that was asked for last, and our part of `Forwarded` for it.
    pub(crate) forwarded: Mutex<Option<(HeaderValue, HeaderValue)>>,
    /// Whether it came over TLS.
    pub(crate) secure: bool,
    /// Whether it speaks HTTP/2, and may have several exchanges at once.
    pub(crate) http2: bool,
    /// The connection's own deadlines; over HTTP/1.1 those of its exchange, too.
    pub(crate) watch: Arc<Deadlines>,
    /// What the connection becomes when its response is sent.
    tunnel: Mutex<Option<Box<Tunnel>>>,
    active: AtomicUsize,
    /// How many exchanges in a row the client broke off before they were answered.
    resets: AtomicUsize,
}

impl ClientConnection {
    pub(crate) fn new(worker: Arc<Worker>, peer: IpAddr, secure: bool, watch: Arc<Deadlines>) -> Self {
        let peer = peer.to_canonical();
        let text = peer.to_string();
        let address = HeaderValue::try_from(&text).unwrap_or_else(|_| HeaderValue::from_static("unknown"));
        let forwarded_for = forwarded_for(peer);
        let (active, resets) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let http2 = false;
        let forwarded = Mutex::new(None);
        let tunnel = Mutex::new(None);
        Self { worker, peer, address, forwarded_for, forwarded, secure, http2, watch, tunnel, active, resets }
    }

    /// The connection becomes a tunnel when its response is sent. Whoever drives it has to take the tunnel: it refers back here.
    pub(crate) fn set_tunnel(&self, tunnel: Tunnel) {
        *self.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(tunnel));
    }

    /// What the connection becomes, if it does.
    pub(crate) fn take_tunnel(&self) -> Option<Box<Tunnel>> {
        self.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives back what it remembers only to be quicker.
    pub(crate) fn forget(&self) {
        *self.forwarded.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether it has broken off so much that it is not listened to any longer.
    pub(crate) fn resets_too_much(&self) -> bool {
        self.resets.load(Ordering::Relaxed) > self.worker.settings.bounds.resets
    }

    /// An exchange begins.
    pub(crate) fn begin(self: &Arc<Self>) -> RunningExchange {
        let watch = if self.http2 {
            if self.active.fetch_add(1, Ordering::Relaxed) == 0 {
                self.watch.rest();
            }
            let watch = self.worker.watches.watch();
            begun(&watch);
            watch
        } else {
            Arc::clone(&self.watch)
        };
        watch.begin();
        self.worker.metrics.requests_open.inc();
        let (id, since) = (self.worker.ids.next(), Stopwatch::start());
        RunningExchange {
            client: Arc::clone(self),
            watch,
            id,
            since,
            went: ExchangeResult::default(),
            noted: None,
            permits: Permits::default(),
        }
    }
}

/// How an exchange went.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ExchangeResult {
    /// What was answered, if anything was.
    pub(crate) status: Option<StatusCode>,
    /// Whether the request was passed on.
    pub(crate) passed_on: bool,
    /// Whether the response was taken to its end.
    pub(crate) over: bool,
    /// Whether the upstream broke it off.
    pub(crate) broken: bool,
}

/// An exchange that is running, until it is dropped.
#[derive(Debug)]
pub(crate) struct RunningExchange {
    client: Arc<ClientConnection>,
    watch: Arc<Deadlines>,
    id: RequestId,
    since: Stopwatch,
    went: ExchangeResult,
    /// What its line says, if it has one.
    noted: Option<AccessLogEntry>,
    /// What it holds until its end.
    permits: Permits,
}

impl RunningExchange {
    pub(crate) const fn client(&self) -> &Arc<ClientConnection> {
        &self.client
    }

    pub(crate) const fn watch(&self) -> &Arc<Deadlines> {
        &self.watch
    }

    /// By which its lines are found.
    pub(crate) const fn id(&self) -> &RequestId {
        &self.id
    }

    /// It has an ID already, from a trusted peer.
    pub(crate) fn keep_id(&mut self, id: RequestId) {
        self.id = id;
    }

    pub(crate) const fn since(&self) -> &Stopwatch {
        &self.since
    }

    /// The head of the response is on its way.
    pub(crate) fn answered(&mut self, status: StatusCode, noted: Option<AccessLogEntry>) {
        self.went.status = Some(status);
        self.noted = noted;
        self.watch.answered();
    }

    /// The response is on its way: the permits are held to its end.
    pub(crate) fn hold(&mut self, permits: Permits) {
        self.permits = permits;
    }

    /// Whether one of its permits has become void, so that it must not go on. Counts it.
    pub(crate) fn is_void(&self) -> bool {
        let is_void = self.permits.is_void();
        if is_void {
            self.client.worker.metrics.permits_void.inc();
        }
        is_void
    }

    /// The request is passed on.
    pub(crate) const fn passed_on(&mut self) {
        self.went.passed_on = true;
    }

    /// The response's body broke off, for this reason. Over HTTP/2 that may be a consequence of what the client did to its own.
    pub(crate) fn broken(&mut self, why: &str) {
        self.went.broken = true;
        if self.watch.fault().is_none() {
            let why = format!("its response body was cut off: {why}");
            self.client.worker.logs.upstream_failed(&self.id, &why);
        }
    }

    /// The response was taken to its end.
    pub(crate) const fn over(&mut self) {
        self.went.over = true;
    }

    /// The client has been given something. Over HTTP/2 it can leave it untaken without a write being stuck.
    pub(crate) fn given(&self) {
        if self.client.http2 {
            self.watch.wait_for(DeadlineKind::Write);
        } else {
            self.watch.rest();
        }
    }

    /// The client takes what it was given: there is room for more.
    pub(crate) fn taken(&self) {
        if self.watch.waits_for(DeadlineKind::Write) {
            self.watch.rest();
        }
    }
}

impl Drop for RunningExchange {
    fn drop(&mut self) {
        let client = &*self.client;
        client.worker.metrics.requests_open.dec();
        self.watch.end();
        let last = if client.http2 { client.active.fetch_sub(1, Ordering::Relaxed) == 1 } else { true };
        if last {
            client.watch.wait_for(DeadlineKind::Idle);
        }
        if self.went.status.is_some() {
            client.resets.store(0, Ordering::Relaxed);
        } else {
            client.resets.fetch_add(1, Ordering::Relaxed);
            if client.resets_too_much() {
                client.watch.wake();
            }
        }
        let nanos = self.since.nanos();
        client.worker.exchanged(self.went, nanos);
        if let (Some(status), Some(noted)) = (self.went.status, &self.noted) {
            client.worker.served(&self.id, noted, status, nanos);
        }
    }
}
