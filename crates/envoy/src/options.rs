//! What can be set about the service, besides the limits.

use tollgate::FailureRule;

/// Settings of the service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// What happens to requests while the shared store makes no decision. Under [`FailureRule::Deny`], the call fails with
    /// `UNAVAILABLE`, and Envoy's `failure_mode_deny` decides.
    pub when_store_fails: FailureRule,
    /// The namespace of the limits in the shared store.
    pub namespace: String,
    /// How many charges of each key are remembered for refunds (`is_negative_hits`). Older ones are not refunded. With 0, nothing is
    /// ever refunded, and refusals of a shared store can be cached.
    pub receipts_per_key: usize,
    /// Which headers the responses to clients get.
    pub headers: Headers,
}

/// Generations of rate-limit headers. A refusal has `Retry-After` in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// `RateLimit-Policy` and `RateLimit`, of the current IETF draft.
    pub draft: bool,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset`, of the limit that is closest to refusing. Envoy itself can send such headers,
    /// too: enable one of them only.
    pub x_ratelimit: bool,
    /// `RateLimit-Limit`, `-Remaining` and `-Reset`, of the drafts up to 06.
    pub triple: bool,
    /// Whether `X-RateLimit-Reset` is a Unix time. Otherwise it is in seconds from now.
    pub reset_is_epoch: bool,
}

/// Default of [`Options::receipts_per_key`].
pub const RECEIPTS_PER_KEY: usize = 8;

impl Default for Options {
    fn default() -> Self {
        Self {
            when_store_fails: FailureRule::Local { share: 1, of: 1 },
            namespace: String::new(),
            receipts_per_key: RECEIPTS_PER_KEY,
            headers: Headers::default(),
        }
    }
}

impl Default for Headers {
    fn default() -> Self {
        Self { draft: true, x_ratelimit: true, triple: false, reset_is_epoch: true }
    }
}
