//! Errors for invalid calls, as messages. An invalid call is not a refusal and changes nothing.

use std::fmt;

/// Why the hits of a request are invalid. Nothing was decided or charged.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HitError {
    /// A key is longer than [`KEY_BYTES_MAX`](crate::KEY_BYTES_MAX).
    KeyTooLong {
        /// The name of the limit.
        limit: String,
        /// The length of the key.
        bytes: usize,
    },
    /// There are more hits than [`HITS_MAX`](crate::HITS_MAX).
    TooManyHits {
        /// The number of hits.
        hits: usize,
    },
    /// A limit belongs to another limiter.
    ForeignLimit {
        /// The name of the limit.
        limit: String,
    },
    /// Two hits are on the same key of two limits with the same name and different numbers.
    SameKeyTwice {
        /// The name.
        limit: String,
    },
    /// A limit is in a shared store, and a `try_` verb would have to block a thread of a Tokio runtime. Nothing
    /// was charged: await the verb without `try_`.
    WouldBlock {
        /// The limit.
        limit: String,
    },
    /// The shared store failed, and the verb has no failure rule: see [`Limiter::inspect`](crate::Limiter::inspect).
    Store {
        /// The reason.
        why: String,
    },
}

impl fmt::Display for HitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyTooLong { limit, bytes } => write!(
                f,
                "a key of `{limit}` has {bytes} bytes, more than {}: shorten it, or hash it before",
                crate::KEY_BYTES_MAX
            ),
            Self::TooManyHits { hits } => write!(
                f,
                "{hits} hits in one request, more than {}: charge fewer limits at once, or independent keys one by one",
                crate::HITS_MAX
            ),
            Self::ForeignLimit { limit } => {
                write!(f, "`{limit}` belongs to another limiter: use a limit that this limiter created")
            }
            Self::SameKeyTwice { limit } => write!(
                f,
                "two hits are on the same key of `{limit}` with different numbers: charge the key once"
            ),
            Self::WouldBlock { limit } => write!(
                f,
                "`{limit}` is counted in a shared store, and this thread belongs to a Tokio runtime, which must not be blocked: \
                 await the verb without `try_`"
            ),
            Self::Store { why } => write!(f, "the shared store is unavailable: {why}"),
        }
    }
}

impl std::error::Error for HitError {}

/// Why a limiter could not be built.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The system has no memory.
    NoMemory,
    /// The system has no random bytes, without which attackers could make keys collide.
    NoRandomness(String),
    /// The [budget](crate::Builder::max_memory) is less than [`MAX_MEMORY_BYTES_MIN`](crate::MAX_MEMORY_BYTES_MIN).
    MaxMemoryTooSmall {
        /// The budget that was set, in bytes.
        bytes: usize,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMemory => f.write_str("the system has no memory for an empty store"),
            Self::NoRandomness(why) => {
                write!(f, "the system has no random bytes for the hash secret: {why}")
            }
            Self::MaxMemoryTooSmall { bytes } => write!(
                f,
                "a memory budget of {bytes} bytes is too small: set at least {} bytes (4 MiB)",
                crate::MAX_MEMORY_BYTES_MIN
            ),
        }
    }
}

impl std::error::Error for BuildError {}
