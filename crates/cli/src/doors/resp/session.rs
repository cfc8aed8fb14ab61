//! What a connection remembers between commands.

use std::sync::Arc;

use tollgate::NamedLimit;
use tollgate_resp::{Bounds, Protocol, Writer};

use super::Shared;
use super::arguments::Refusal;
use super::throttle::{Numbers, Pending};

/// What a client may send before it has shown a token.
pub(super) const BOUNDS_UNAUTHENTICATED: Bounds =
    Bounds { elements: 16, bulk_bytes: 1_024, total_bytes: 4_096, line_bytes: 1_024, depth: 1 };

/// What a client may send: the longest key of a limit, and all arguments that a command has beside it.
pub(super) const BOUNDS: Bounds = Bounds {
    elements: 1_024,
    bulk_bytes: tollgate::KEY_BYTES_MAX,
    total_bytes: 128 << 10,
    line_bytes: 64 << 10,
    depth: 1,
};

/// How many sets of numbers of `CL.THROTTLE` a connection remembers, so that it need not look them up.
pub(super) const RECENT_MAX: usize = 8;

/// The state of a connection.
pub(super) struct Session {
    pub(super) shared: Arc<Shared>,
    pub(super) id: u64,
    /// The other end, for `CLIENT INFO`.
    pub(super) peer: String,
    pub(super) name: String,
    pub(super) protocol: Protocol,
    pub(super) has_token: bool,
    /// Replies that have not been written.
    pub(super) out: Vec<u8>,
    /// Whether the client has asked for the end.
    pub(super) quits: bool,
    pub(super) recent: Vec<(Numbers, NamedLimit)>,
    pub(super) replaced_next: usize,
    /// Commands that are decided together.
    pub(super) batch: Vec<Pending>,
    /// Commands so far.
    pub(super) commands: u64,
}

impl Session {
    pub(super) fn new(shared: Arc<Shared>, id: u64, peer: String) -> Self {
        let has_token = shared.token.is_none();
        Self {
            shared,
            id,
            peer,
            name: String::new(),
            protocol: Protocol::Resp2,
            has_token,
            out: Vec::new(),
            quits: false,
            recent: Vec::new(),
            replaced_next: 0,
            batch: Vec::new(),
            commands: 0,
        }
    }

    /// What it may send.
    pub(super) const fn bounds(&self) -> Bounds {
        if self.has_token { BOUNDS } else { BOUNDS_UNAUTHENTICATED }
    }

    pub(super) const fn reply(&mut self) -> Writer<'_> {
        Writer::new(&mut self.out, self.protocol)
    }

    /// Writes an error, and counts it by its code.
    pub(super) fn refuse(&mut self, Refusal(message): &Refusal) {
        let metrics = &self.shared.endpoint;
        match message.split(' ').next() {
            Some("UNAVAILABLE") => metrics.undetermined.inc(),
            Some("NOAUTH" | "WRONGPASS") => metrics.denied.inc(),
            _ => metrics.invalid.inc(),
        }
        self.reply().error(message);
    }
}
