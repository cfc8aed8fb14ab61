//! Reports settings that this version parses but does not enforce.

use super::group_findings::{by_cause, finding};
use crate::document::diagnostic::Diagnostic;
use crate::model::{PolicyLimit, Scope};
use crate::numbers::Algorithm;
use crate::policy::Policy;
use tollgate_algorithms::Mode;

/// Why a limit does not do what it says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Cause {
    Concurrency,
    Queue,
    Fairness,
    Leased,
    Synced,
}

/// Warns about everything in a policy that is accepted and not enforced yet: once for each reason, at the first limit that it
/// concerns. A program that puts a policy in force should print this each time it does so.
///
/// ```
/// use tollgate_policy::{Policy, lint::not_enforced};
/// let policy = Policy::parse("tollgate.yaml", "
/// tollgate: 1
/// rate_limit: { name: at once, algorithm: concurrency, limit: 3, mode: shadow }
/// ")?;
/// assert_eq!(
///     not_enforced(&policy)[0].message,
///     "`at once` is counted by each process for itself: this version does not share `concurrency` in shadow mode between processes yet"
/// );
/// # Ok::<(), tollgate_policy::RejectedPolicy>(())
/// ```
#[must_use]
pub fn not_enforced(policy: &Policy) -> Vec<Diagnostic> {
    let causes = policy.limits().iter().flat_map(|limit| {
        let algorithm = match limit.algorithm {
            Algorithm::Concurrency if limit.scope != Scope::Local && limit.mode == Mode::Shadow => {
                Some(Cause::Concurrency)
            }
            Algorithm::LeakyBucketQueue if limit.scope != Scope::Local && limit.mode == Mode::Shadow => {
                Some(Cause::Queue)
            }
            Algorithm::LeakyBucketQueue if limit.scope != Scope::Local && !limit.fair_by.is_empty() => {
                Some(Cause::Fairness)
            }
            Algorithm::TokenBucket
            | Algorithm::LeakyBucket
            | Algorithm::Gcra
            | Algorithm::FixedWindow
            | Algorithm::SlidingWindow
            | Algorithm::SlidingWindowLog
            | Algorithm::LeakyBucketQueue
            | Algorithm::Concurrency
            // Each process finds its own part of what the service can do, which is what it is for.
            | Algorithm::Adaptive => None,
        };
        let scope = match limit.scope {
            _ if algorithm.is_some() => None,
            Scope::Leased => Some(Cause::Leased),
            Scope::Synced => Some(Cause::Synced),
            Scope::Local | Scope::Exact => None,
        };
        algorithm.into_iter().chain(scope).map(move |cause| (cause, limit))
    });
    by_cause(causes).iter().filter_map(|(cause, limits)| warning(*cause, limits)).collect()
}

fn warning(cause: Cause, limits: &[&PolicyLimit]) -> Option<Diagnostic> {
    let (what, help) = match cause {
        Cause::Concurrency | Cause::Queue | Cause::Fairness => {
            let name = match cause {
                Cause::Fairness => "`leaky_bucket_queue` with `fair_by`",
                Cause::Queue => "`leaky_bucket_queue` in shadow mode",
                Cause::Concurrency | Cause::Leased | Cause::Synced => "`concurrency` in shadow mode",
            };
            (
                format!(
                    "counted by each process for itself: this version does not share {name} between processes yet"
                ),
                "write `scope: local`, which is what happens, until the release that shares it",
            )
        }
        Cause::Leased | Cause::Synced => {
            let scope = if cause == Cause::Synced { "synced" } else { "leased" };
            (
                format!(
                    "counted as if with `scope: exact`: this version does not implement `scope: {scope}` yet"
                ),
                "write `scope: exact`, which is what happens, until the release that implements the other",
            )
        }
    };
    let (one, many) = (format!("is {what}"), format!("are {what}"));
    Some(finding(Diagnostic::warning, "not-yet-enforced", limits, (&one, &many))?.help(help))
}
