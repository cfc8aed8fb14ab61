//! Limits of a policy by name, for protocols whose clients name a limit and a key themselves.

use tollgate::{ConcurrencyLimit, NamedLimit};
use tollgate_policy::{LimitId, VariantKind};

use super::PolicyLimits;

impl PolicyLimits {
    /// The limit with this name, by its default numbers: those of no tier. `None` if the policy has none, or none that is charged.
    ///
    /// Its keys are whatever bytes a client names. They are other keys than those of requests, unless the client encodes them alike.
    #[must_use]
    pub fn limit_named(&self, name: &str) -> Option<&NamedLimit> {
        self.limits.get(self.default_variant(name)?)?.as_ref()
    }

    /// The concurrency limit with this name, by its default numbers.
    #[must_use]
    pub fn concurrency_named(&self, name: &str) -> Option<&ConcurrencyLimit> {
        self.concurrency.get(self.default_variant(name)?)?.as_ref()
    }

    fn default_variant(&self, name: &str) -> Option<usize> {
        let (id, _): (LimitId, _) = self.policy.limit_named(name)?;
        let is_default = |variant: &tollgate_policy::Variant| {
            variant.limit == id && variant.budget == VariantKind::Own && variant.tier.is_none()
        };
        self.policy.variants().iter().position(is_default)
    }
}
