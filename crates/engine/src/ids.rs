//! Identifiers issued by an enforcer, valid only for that enforcer.

/// Identifies one [`LimitDescriptor`](crate::LimitDescriptor) of an enforcer: a set of numbers of a policy, or a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DescriptorId(usize);

impl DescriptorId {
    pub(crate) const fn new(index: usize) -> Self {
        Self(index)
    }

    /// The position of the descriptor in [`Enforcer::descriptors`](crate::Enforcer::descriptors).
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}

impl From<usize> for DescriptorId {
    fn from(index: usize) -> Self {
        Self(index)
    }
}
