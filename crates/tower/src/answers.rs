//! What clients are told, as settings: which generations of fields, in what form. How they are written is `fields`'.

use tollgate_algorithms::Micros;

/// What clients are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answers {
    /// Which generations of fields are sent.
    pub generations: Generations,
    /// What `X-RateLimit-Reset` means.
    pub reset: Reset,
    /// `Retry-After` is made longer by up to so much, so that those who were refused together do not come back together.
    /// Never shorter.
    pub retry_jitter: Micros,
    /// Whether fields carry a partition key: a keyed hash of whose budget it is, never the identity itself.
    pub partition_key: bool,
    /// Whether an answer that its limits' own counts did not decide says so, in `Tollgate-Degraded`: `local` if a limit was
    /// counted with this process's share, `uncounted` if one was not counted, `unknown` if none could be asked, `full` if a key
    /// had no room and was counted together with others. Of several, the worst: `unknown`, `uncounted`, `local`, `full`. An
    /// upstream's field of this name is then taken out of every response.
    pub degraded: bool,
}

/// Which generations of fields are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generations {
    /// `RateLimit-Policy` and `RateLimit`, of the current IETF draft.
    pub draft: bool,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset`.
    pub x_ratelimit: bool,
    /// `RateLimit-Limit`, `-Remaining` and `-Reset`, of the drafts up to 06.
    pub triple: bool,
}

/// What `X-RateLimit-Reset` means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reset {
    /// Seconds since 1970.
    Epoch,
    /// Seconds from now.
    Delta,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            generations: Generations::default(),
            reset: Reset::Epoch,
            retry_jitter: Micros::ZERO,
            partition_key: false,
            degraded: false,
        }
    }
}

impl Default for Generations {
    fn default() -> Self {
        Self { draft: true, x_ratelimit: true, triple: false }
    }
}
