//! No limiter: the key is read and nothing is decided, so that what the loop itself costs is seen.

use std::hint::black_box;
use std::sync::Arc;

use crate::keys::Keys;
use crate::subject::{Limit, Subject};

struct Nothing {
    keys: Arc<Keys>,
    granting: bool,
}

impl Subject for Nothing {
    fn decide(&self, key: u32) -> bool {
        black_box(self.keys.name(key).as_bytes().last().copied());
        self.granting
    }
}

pub(super) fn prepare(keys: &Arc<Keys>, limit: Limit) -> Result<Box<dyn Subject>, String> {
    Ok(Box::new(Nothing { keys: Arc::clone(keys), granting: limit != Limit::Refusing }))
}
