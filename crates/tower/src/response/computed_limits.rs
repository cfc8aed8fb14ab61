//! Limits with numbers computed per request, rendered once for each set of numbers.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use http::StatusCode;
use smallvec::SmallVec;
use tollgate_algorithms::Limit;
use tollgate_engine::{Admission, DescriptorId, LimitStatus};

use super::rendered_limit::RenderedLimit;

/// Maximum number of rendered limits that are kept. When there are more, all are dropped and rendered again when they are needed,
/// which takes about a microsecond each.
const KEPT_MAX: usize = 4_096;

/// The limits that were rendered, by descriptor and numbers.
#[derive(Debug, Default)]
pub(crate) struct ComputedLimits(RwLock<HashMap<(DescriptorId, Limit), Arc<RenderedLimit>>>);

/// The rendered limits of one request that have computed numbers. Most requests have none.
#[derive(Debug, Default)]
pub(crate) struct Rendered(SmallVec<[(DescriptorId, Limit, Arc<RenderedLimit>); 1]>);

impl Rendered {
    pub(crate) fn get(&self, id: DescriptorId, numbers: Limit) -> Option<&RenderedLimit> {
        let found = self.0.iter().find(|(other, limit, _)| (*other, *limit) == (id, numbers));
        found.map(|(.., rendered)| &**rendered)
    }
}

impl ComputedLimits {
    /// Those of an admission, as far as clients see them after a response with this status.
    #[inline]
    pub(crate) fn rendered_for(&self, admission: &Admission, status: StatusCode) -> Rendered {
        if !admission.has_computed_limits() {
            return Rendered::default();
        }
        let shown: SmallVec<[LimitStatus<'_>; 2]> = admission.shown_limits(status).collect();
        self.rendered(shown.iter())
    }

    /// Those among these limits.
    pub(crate) fn rendered<'a>(&self, statuses: impl Iterator<Item = &'a LimitStatus<'a>>) -> Rendered {
        let computed = statuses.filter_map(|status| {
            let numbers = status.computed?;
            Some((status.id, numbers, self.get_or_render(status, numbers)))
        });
        Rendered(computed.collect())
    }

    fn get_or_render(&self, status: &LimitStatus<'_>, numbers: Limit) -> Arc<RenderedLimit> {
        let key = (status.id, numbers);
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let mut descriptor = status.descriptor.clone();
            descriptor.limit = numbers;
            let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
            if kept.len() >= KEPT_MAX {
                kept.clear();
            }
            Arc::clone(kept.entry(key).or_insert_with(|| Arc::new(RenderedLimit::new(&descriptor))))
        })
    }
}
