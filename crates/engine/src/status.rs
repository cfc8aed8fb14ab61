//! The status of a limit after one request: the numbers that clients and handlers see.

use std::cmp::Reverse;

use tollgate::{Source, Verdict};
use tollgate_algorithms::{Decision, Limit, Micros, Mode, Retry};

use crate::descriptor::{LimitDescriptor, Visibility};
use crate::ids::DescriptorId;
use crate::settlement::{contains, only};

/// The status of one limit after one request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LimitStatus<'a> {
    /// Which descriptor of the enforcer it is.
    pub id: DescriptorId,
    /// The limit.
    pub descriptor: &'a LimitDescriptor,
    /// The decision: outcome, remaining, reset.
    pub decision: Decision,
    /// Whether the limit is enforced or in shadow mode.
    pub mode: Mode,
    /// What decided it. If it [has no numbers](Source::has_numbers), the decision's numbers are those of an unused key.
    pub source: Source,
    /// Whether a wider limit is closer to refusing than the limit that it belongs to. Of no meaning for other limits.
    pub is_binding: bool,
    /// A fingerprint of the key; 0 unless the enforcer computes [fingerprints](crate::Enforcer::enable_key_fingerprints).
    pub key_fingerprint: u64,
    /// The numbers that a rule [computed](crate::Rule::limit_for) for this request, in place of the descriptor's.
    pub computed: Option<Limit>,
}

impl<'a> LimitStatus<'a> {
    /// The status of an enforced limit that its key's own state decided.
    #[must_use]
    pub const fn new(id: DescriptorId, descriptor: &'a LimitDescriptor, decision: Decision) -> Self {
        let (mode, source, is_binding, key_fingerprint) = (Mode::Enforced, Source::Own, false, 0);
        Self { id, descriptor, decision, mode, source, is_binding, key_fingerprint, computed: None }
    }

    /// The limit's name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.descriptor.name()
    }

    /// The limit's capacity.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.decision.limit
    }

    /// How much of it remains.
    #[must_use]
    pub const fn remaining(&self) -> u64 {
        self.decision.remaining
    }

    /// How long it takes, if nothing more is charged, until all of it is available again.
    #[must_use]
    pub const fn reset_after(&self) -> Micros {
        self.decision.reset_after
    }

    /// Whether this limit granted the request. In an admitted request only a limit in shadow mode did not.
    #[must_use]
    pub const fn is_granted(&self) -> bool {
        self.decision.is_granted()
    }

    /// Whether clients see its numbers. Clients never see a limit in shadow mode.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        let is_visible = match self.descriptor.visibility {
            Visibility::Shown => true,
            Visibility::IfBinding => self.is_binding,
            Visibility::Hidden => false,
        };
        let has_numbers = self.source.has_numbers() && self.decision.limit != Decision::UNLIMITED;
        is_visible && self.mode == Mode::Enforced && has_numbers
    }

    /// Finds out which wider limits among the statuses of one request are [binding](Self::is_binding).
    pub fn mark_binding(statuses: &mut [Self]) {
        let binding = binding(statuses.iter().map(|status| Some(*status)));
        for (place, status) in statuses.iter_mut().enumerate() {
            status.is_binding = contains(binding, place);
        }
    }

    /// Orders limits by how close they are to refusing: the longest wait first, then the smallest remaining quota, then the
    /// latest reset.
    #[must_use]
    pub const fn binding_rank(&self) -> (Reverse<Option<Retry>>, u64, Reverse<Micros>) {
        (Reverse(self.decision.retry()), self.decision.remaining, Reverse(self.decision.reset_after))
    }
}

/// The wider limits that are closer to refusing than the limits that they belong to: they refuse, or less of them remains. One bit
/// for each status of a request.
pub(crate) fn binding<'a>(statuses: impl Iterator<Item = Option<LimitStatus<'a>>> + Clone) -> u32 {
    let mut binding = 0;
    for (place, wider) in statuses.clone().enumerate() {
        let Some(wider) = wider else { continue };
        let Some(name) = wider.descriptor.wider_than.as_deref() else { continue };
        let own = statuses.clone().flatten().find(|own| own.name() == name);
        let own = own.filter(|own| own.source.has_numbers());
        if !wider.is_granted() || own.is_none_or(|own| wider.remaining() < own.remaining()) {
            binding |= only(place);
        }
    }
    binding
}

/// A status without its descriptor, as an admission stores it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredStatus {
    pub(crate) id: DescriptorId,
    pub(crate) decision: Decision,
    pub(crate) mode: Mode,
    pub(crate) source: Source,
    pub(crate) is_binding: bool,
    pub(crate) key_fingerprint: u64,
    pub(crate) computed: Option<Limit>,
}

impl StoredStatus {
    pub(crate) const fn with<'a>(&self, descriptor: &'a LimitDescriptor) -> LimitStatus<'a> {
        let Self { id, decision, mode, source, is_binding, key_fingerprint, computed } = *self;
        LimitStatus { id, descriptor, decision, mode, source, is_binding, key_fingerprint, computed }
    }
}

/// What stood in for the state of the keys of a request's enforced limits. If several did, the last in this order counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
#[non_exhaustive]
pub enum Degradation {
    /// Each key's own state decided.
    #[default]
    None,
    /// The memory had no room for a key, so the overflow bucket decided.
    Overflow,
    /// The store failed, so this process counted a limit alone, with its share.
    Local,
    /// The store failed, and a limit was not counted.
    Uncounted,
    /// Nothing is known about any limit.
    Unknown,
}

impl Degradation {
    /// The degradation of a verdict. Without a verdict no limit applies.
    pub(crate) fn of(verdict: Option<&Verdict>) -> Self {
        let Some(verdict) = verdict else { return Self::None };
        if let tollgate::Kind::Unavailable(_) = verdict.kind() {
            return Self::Unknown;
        }
        let enforced = verdict.results().iter().filter(|answer| answer.mode() == Mode::Enforced);
        enforced.map(|answer| Self::by(answer.source())).fold(Self::None, Self::max)
    }

    const fn by(source: Source) -> Self {
        match source {
            Source::Own | Source::Remembered | Source::Unasked => Self::None,
            Source::Common => Self::Overflow,
            Source::Share => Self::Local,
            Source::Nothing => Self::Uncounted,
            // A source that this crate does not know.
            _ => Self::Unknown,
        }
    }
}
