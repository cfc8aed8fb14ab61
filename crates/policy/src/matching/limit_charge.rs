//! A limit that is being charged for a request: its numbers, what it costs, and the parts of its keys that it adds.

use tollgate_algorithms::Mode;
use tollgate_http::address::Client;

use crate::compile::variants::VariantsOf;
use crate::consumer_index::ConsumerIndex;
use crate::ids::LimitId;
use crate::key::{Kind, push};
use crate::model::{Cost, PolicyLimit};

/// A limit that is being charged.
pub(super) struct LimitCharge<'a> {
    pub(super) id: LimitId,
    /// The position of its use.
    pub(super) used: usize,
    pub(super) limit: &'a PolicyLimit,
    /// What a request costs where the limit is used.
    pub(super) cost: &'a Cost,
    pub(super) variants: VariantsOf<'a>,
    /// The operation's name, if each has a budget of its own.
    pub(super) operation: Option<&'a str>,
    pub(super) tier: &'a str,
    pub(super) directory: Option<&'a ConsumerIndex>,
}

impl LimitCharge<'_> {
    /// Whether it refuses nothing.
    pub(super) fn is_lenient(&self) -> bool {
        self.limit.mode == Mode::Shadow || self.limit.numbers.limit().is_none()
    }

    /// The key of a wider budget: which one it is, and the network or address.
    pub(super) fn wider_key(&self, name: &str, (kind, client): (Kind, &Client), keys: &mut Vec<u8>) {
        push(keys, Kind::Limit, name.as_bytes());
        self.operation(keys);
        push(keys, kind, &client.key_bytes());
    }

    pub(super) fn operation(&self, keys: &mut Vec<u8>) {
        if let Some(name) = self.operation {
            push(keys, Kind::Operation, name.as_bytes());
        }
    }
}
