//! Judges whether a changed setting is looser or tighter for clients, where that can be determined.

use tollgate_algorithms::Mode;

use super::Verdict;
use super::verdict::numbers;
use crate::model::Unmatched;
use crate::policy::Policy;

/// Forwarding what was refused lets more through.
pub(super) fn unmatched(old: &Policy, new: &Policy) -> Verdict {
    let forwards = |policy: &Policy| policy.settings().unmatched == Unmatched::Forward;
    Verdict::of(forwards(new).cmp(&forwards(old)))
}

/// By the numbers that those of whom nothing is known had and have, under every enforced limit of either policy.
pub(super) fn tier_default(old: &Policy, new: &Policy) -> Verdict {
    let (was, is) = (old.settings().tier_default.as_deref(), new.settings().tier_default.as_deref());
    let limits = old.limits().iter().chain(new.limits()).filter(|limit| limit.mode == Mode::Enforced);
    limits.fold(Verdict::Same, |all, limit| all.and(numbers(limit.for_tier(was), limit.for_tier(is))))
}

/// A longer prefix is looser: each has a budget of its own. A second budget for a wide prefix is tighter than none, and
/// looser the longer its prefix and the greater its multiple are. Without one, a prefix has as many limits as clients.
pub(super) fn addresses(old: &Policy, new: &Policy) -> Verdict {
    let (before, after) = (old.settings(), new.settings());
    let (was, is) = (&before.prefixes, &after.prefixes);
    let wide = match (was.ipv6_wide(), is.ipv6_wide()) {
        (Some(was), Some(is)) => {
            let multiple = Verdict::of(after.wide_multiple.cmp(&before.wide_multiple));
            Verdict::of(is.cmp(&was)).and(multiple)
        }
        (None, Some(wide)) => Verdict::of(after.wide_multiple.cmp(&clients(was.ipv6(), wide))),
        (Some(wide), None) => Verdict::of(clients(is.ipv6(), wide).cmp(&before.wide_multiple)),
        (None, None) => Verdict::Same,
    };
    Verdict::of(is.ipv4().cmp(&was.ipv4())).and(Verdict::of(is.ipv6().cmp(&was.ipv6()))).and(wide)
}

/// How many clients share a wide prefix.
fn clients(ipv6: u8, wide: u8) -> u64 {
    1_u64.checked_shl(u32::from(ipv6.saturating_sub(wide))).unwrap_or(u64::MAX)
}
