//! Void receipts by one instant for all keys: what is explored is the store, and each lock more multiplies the orders.

use std::marker::PhantomData;

use crate::sync::{AtomicU64, Ordering};

#[derive(Debug)]
pub(crate) struct Voided<K>(AtomicU64, PhantomData<K>);

impl<K> Default for Voided<K> {
    fn default() -> Self {
        Self(AtomicU64::new(0), PhantomData)
    }
}

impl<K> Voided<K> {
    pub(crate) fn note(&self, _: K, until: u64) {
        self.0.fetch_max(until, Ordering::AcqRel);
    }

    pub(crate) fn is_void(&self, _: &K, stamp: u64) -> bool {
        stamp < self.0.load(Ordering::Acquire)
    }
}
