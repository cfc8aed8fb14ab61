//! Typed positions in a policy's lists, so that a limit's number cannot be taken for an operation's.

macro_rules! id {
    ($(#[$doc:meta])* $visibility:vis $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        $visibility struct $name(u32);

        #[allow(dead_code, reason = "not every kind of id needs every method")]
        impl $name {
            /// The first item's id.
            pub(crate) const FIRST: Self = Self(0);

            /// The id of the item at this position. Saturates at `u32::MAX`, far above every list's limit.
            #[must_use]
            $visibility fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }

            /// The position in the list.
            #[must_use]
            $visibility const fn index(self) -> usize {
                self.0 as usize
            }

            /// Each item of a list with its id.
            pub(crate) fn number<T>(list: &[T]) -> impl DoubleEndedIterator<Item = (Self, &T)> {
                list.iter().enumerate().map(|(index, item)| (Self::from_index(index), item))
            }
        }
    };
}

id! {
    /// A limit: a position in [`Policy::limits`](crate::Policy::limits).
    pub LimitId
}

id! {
    /// A set of numbers: a position in [`Policy::variants`](crate::Policy::variants), or, from its length on, in
    /// [`Directory::variants`](crate::ConsumerIndex::variants).
    pub VariantId
}

id! {
    /// An operation: a position in [`Policy::operations`](crate::Policy::operations).
    pub OperationId
}

id! {
    /// A limit of one document, before the documents are merged.
    pub(crate) DraftLimitId
}
