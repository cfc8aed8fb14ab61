//! The task that asks the store: about each key when it is due, and about many in one call.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;
use tollgate_algorithms::Micros;
use tollgate_algorithms::permits::Request;

use super::entry::Outbox;
use super::{Pool, State};
use crate::exchange::EXCHANGES_MAX;
use crate::{Exchange, ExchangeReply, KeyName, Name, StateKind, StoreError, boot_clock};

/// How long it sleeps if nothing is due.
const REST: Duration = Duration::from_secs(60);
/// How often a marker is tried to be written.
const MARKERS_EVERY: Duration = Duration::from_millis(100);

/// Runs until the pool is dropped.
pub(super) async fn run(pool: Weak<Pool>, changed: Arc<Notify>) {
    loop {
        let wait = {
            let Some(pool) = pool.upgrade() else { return };
            pool.send_due();
            pool.write_marker().await;
            pool.rest()
        };
        // Both mean the same: look again.
        let _ = timeout(wait, changed.notified()).await;
    }
}

/// What goes in one call.
struct Batch {
    marker: KeyName,
    asks: Vec<(Name, Request)>,
}

impl Pool {
    fn rest(&self) -> Duration {
        let state = self.lock();
        let next = state.due.first().map(|(due, _)| due.saturating_sub(boot_clock::now()).into());
        let markers = (!state.markers.is_empty()).then_some(MARKERS_EVERY);
        [next, markers].into_iter().flatten().min().unwrap_or(REST)
    }

    /// Asks about all keys that are due.
    fn send_due(self: &Arc<Self>) {
        let mut state = self.lock();
        let now = boot_clock::now();
        while let Some(batch) = self.batch(&mut state, now) {
            self.calls.fetch_add(1, Ordering::Relaxed);
            let pool = Arc::clone(self);
            drop(self.store.spawn(async move { pool.exchange(batch).await }));
        }
    }

    /// Keys that are due, of one namespace: none is asked about again before it is answered.
    fn batch(&self, state: &mut State, now: Micros) -> Option<Batch> {
        let due = state.due.iter().take_while(|(due, _)| *due <= now).map(|(_, name)| *name);
        let due: Vec<_> = due.take(if self.store.has_slots() { 1 } else { EXCHANGES_MAX }).collect();
        let marker = state.keys.get(due.first()?)?.marker;
        let mut batch = Batch { marker, asks: Vec::with_capacity(due.len()) };
        for name in due {
            let Some(entry) = state.keys.get_mut(&name).filter(|entry| entry.marker == marker) else {
                continue;
            };
            let seq = self.seq.fetch_add(1, Ordering::Relaxed) + 1;
            batch.asks.push((name, entry.send(now, (self.id, seq), self.lease)));
            self.rearm(state, name);
        }
        Some(batch)
    }

    async fn exchange(self: Arc<Self>, batch: Batch) {
        let asks = batch.asks.iter().map(|(name, request)| (name.of(StateKind::Permits), *request)).collect();
        // In a cluster the keys of a call are in one slot: then there is no marker.
        let only = batch.asks.first().map(|(name, _)| name.of(StateKind::Permits));
        let marker = only.filter(|_| self.store.has_slots()).unwrap_or(batch.marker);
        let exchange = Exchange { marker, id: self.id, lease: self.lease, asks };
        let reply = self.store.exchange(&exchange).await;
        self.answered(&batch, &reply);
    }

    fn answered(self: &Arc<Self>, batch: &Batch, reply: &Result<ExchangeReply, StoreError>) {
        let mut outbox = Outbox::default();
        let mut state = self.lock();
        let now = boot_clock::now();
        for (place, (name, request)) in batch.asks.iter().enumerate() {
            if let Some(entry) = state.keys.get_mut(name) {
                match reply {
                    Ok(reply) => {
                        if let Some(answer) = reply.answers.get(place) {
                            entry.answered((self, *name), (now, request), answer, &mut outbox);
                        }
                    }
                    Err(error) => entry.failed(now, error.name(), &mut outbox),
                }
            }
            self.rearm(&mut state, *name);
        }
        drop(state);
        outbox.send();
    }

    /// Writes the marker of a namespace, so that what data were lost begins before the first request.
    async fn write_marker(&self) {
        if self.store.has_slots() {
            return self.lock().markers.clear();
        }
        let Some(marker) = self.lock().markers.first().copied() else { return };
        let exchange = Exchange { marker, id: self.id, lease: self.lease, asks: Vec::new() };
        if self.store.exchange(&exchange).await.is_ok() {
            self.lock().markers.retain(|other| *other != marker);
            self.changed.notify_one();
        }
    }
}
