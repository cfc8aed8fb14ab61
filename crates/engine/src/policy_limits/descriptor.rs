//! The descriptors of a policy's limits: one for each of a limit's budgets, under a name of its own.

use tollgate_algorithms::Limit;
use tollgate_policy::VariantKind;
use tollgate_policy::model::{self, PolicyLimit};

use crate::descriptor::{LimitDescriptor, NETWORK, Visibility, ZeroStatus};

impl LimitDescriptor {
    /// The descriptor of a policy's limit for one of its budgets.
    #[must_use]
    pub fn of_variant(limit: &PolicyLimit, budget: VariantKind, numbers: Limit) -> Self {
        let visibility = if limit.visible { Visibility::Shown } else { Visibility::Hidden };
        let zero_status = match limit.zero_status {
            model::ZeroStatus::Forbidden => ZeroStatus::Forbidden,
            model::ZeroStatus::TooManyRequests => ZeroStatus::TooManyRequests,
        };
        Self::new(&limit.name, numbers)
            .with_visibility(visibility)
            .with_zero_status(zero_status)
            .with_description(limit.description.as_deref())
            .for_budget(budget)
    }

    /// The descriptor for a budget of the limit: its own, or a wider one with a name of its own.
    #[must_use]
    pub fn for_budget(self, budget: VariantKind) -> Self {
        match budget {
            VariantKind::Own => self,
            VariantKind::AddressCeiling => self.widened("address"),
            VariantKind::WideAddress => self.widened(NETWORK),
            VariantKind::WideCeiling => self.widened("network, all keys"),
        }
    }
}
