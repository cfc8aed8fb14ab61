//! Settings of responses: which headers show limits, and in what form.

use tollgate_algorithms::Micros;

/// What responses show of limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResponseConfig {
    /// Which generations of headers are sent.
    pub generations: HeaderFormats,
    /// What `X-RateLimit-ResetFormat` means.
    pub reset: ResetFormat,
    /// Maximum jitter that is added to `Retry-After`, so that clients that were refused together do not return together.
    pub retry_jitter: Micros,
    /// Whether headers carry a partition key: a keyed hash of the key, never the identity itself.
    pub partition_key: bool,
    /// Whether `Tollgate-Degraded` says what stood in for the state of a key: `full` if the memory had no room for it and the
    /// overflow bucket decided, `local` if a store failed and this process counted its share, `uncounted` if a store failed and
    /// the limit was not counted, `unknown` if nothing is known. Of several, the last in this order counts. An upstream's header
    /// of this name is then removed from every response.
    pub degraded: bool,
}

/// Which generations of headers are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderFormats {
    /// `RateLimit-Policy` and `RateLimit`, of the current IETF draft.
    pub draft: bool,
    /// `X-RateLimit-Limit`, `-Remaining` and `-ResetFormat`.
    pub x_ratelimit: bool,
    /// `RateLimit-Limit`, `-Remaining` and `-ResetFormat`, of the drafts up to 06.
    pub triple: bool,
}

/// What `X-RateLimit-ResetFormat` means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResetFormat {
    /// Seconds since 1970.
    Epoch,
    /// Seconds from now.
    Delta,
}

impl Default for ResponseConfig {
    fn default() -> Self {
        Self {
            generations: HeaderFormats::default(),
            reset: ResetFormat::Epoch,
            retry_jitter: Micros::ZERO,
            partition_key: false,
            degraded: false,
        }
    }
}

impl Default for HeaderFormats {
    fn default() -> Self {
        Self { draft: true, x_ratelimit: true, triple: false }
    }
}
