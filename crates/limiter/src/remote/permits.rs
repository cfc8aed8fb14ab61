//! The permits that a process has in the store.

use tollgate_redis::{Naming, PermitPool, Store};

use super::RemoteStore;

impl RemoteStore {
    pub(crate) fn naming_in(&self, namespace: &str) -> Naming {
        self.naming.in_namespace(namespace)
    }

    /// The permits that this process has in the store, and their names in a namespace. `None` if there is no randomness for its number.
    pub(crate) fn permits(&self, namespace: &str) -> Option<(PermitPool, Naming)> {
        let pool = self.permits.get_or_init(|| {
            let (high, low) = (getrandom::u64().ok()?, getrandom::u64().ok()?);
            Some(PermitPool::new(&self.store, u128::from(high) << 64 | u128::from(low)))
        });
        Some((pool.clone()?, self.naming.in_namespace(namespace)))
    }

    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }
}
