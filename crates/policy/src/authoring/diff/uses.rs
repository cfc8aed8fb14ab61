//! Limits as operations use them: those with another cost there stand for themselves, so that costs are compared where they apply.

use std::collections::HashMap;

use crate::ids::LimitId;
use crate::model::{Cost, LimitUse, PolicyLimit};
use crate::policy::Policy;

/// The limits of a policy at every cost that they have somewhere.
pub(super) struct Uses<'a> {
    policy: &'a Policy,
    /// Limits whose cost is not their own.
    others: Vec<PolicyLimit>,
    by_cost: HashMap<(LimitId, &'a Cost), usize>,
}

impl<'a> Uses<'a> {
    pub(super) fn of(policy: &'a Policy) -> Self {
        let mut all = Self { policy, others: Vec::new(), by_cost: HashMap::new() };
        let operations = policy.operations().iter().flat_map(|operation| &operation.uses);
        for one in operations.chain(&policy.root_uses) {
            let (Some(cost), Some(limit)) = (&one.cost, policy.limits().get(one.limit.index())) else {
                continue;
            };
            let next = all.others.len();
            if *all.by_cost.entry((one.limit, cost)).or_insert(next) == next {
                all.others.push(PolicyLimit { cost: cost.clone(), ..limit.clone() });
            }
        }
        all
    }

    /// A limit, with its cost where it is used.
    pub(super) fn limit(&self, one: &LimitUse) -> Option<&PolicyLimit> {
        match &one.cost {
            None => self.policy.limits().get(one.limit.index()),
            Some(cost) => self.others.get(*self.by_cost.get(&(one.limit, cost))?),
        }
    }
}
