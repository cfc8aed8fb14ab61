//! No limiter: the key is read and nothing is decided, so that what the loop itself costs is seen.

use std::hint::black_box;

use crate::keys::Asked;
use crate::subject::{Limit, Subject};

struct Nothing {
    granting: bool,
}

impl Subject for Nothing {
    fn decide(&self, key: Asked<'_>) -> bool {
        black_box(key.name.as_bytes().last().copied());
        self.granting
    }
}

pub(super) fn prepare(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    Ok(Box::new(Nothing { granting: limit != Limit::Refusing }))
}
