//! Which `$ref` leads an operation to a limit. A limit knows every `$ref` to it, and operations share limits.

use tollgate_policy::model::{LimitLocation, PolicyLimit};
use tollgate_policy::{InheritedFrom, Operation, Place, Policy};

/// The `$ref` by which an operation, its path, its tag or the root has a limit; `None` if the limit itself stands there.
pub(super) fn of(limit: &PolicyLimit, operation: &Operation, policy: &Policy) -> Option<Place> {
    let operations = || policy.operations().iter();
    let paths = operations().map(|other| other.template_at).filter(|at| *at != operation.template_at);
    match operation.nearest {
        InheritedFrom::Operation => {
            let others = operations().map(|other| other.place).filter(|at| *at != operation.place);
            between(limit, operation.place, others.chain(paths))
        }
        InheritedFrom::Path => between(limit, operation.template_at, paths),
        InheritedFrom::Tag | InheritedFrom::Root => {
            let here = matches!(limit.at, LimitLocation::Tag(_) | LimitLocation::Root);
            limit.references.first().copied().filter(|_| here)
        }
        InheritedFrom::Off(_) | InheritedFrom::Nothing => None,
    }
}

/// The first `$ref` after a place and before the nearest of those that end what begins there.
fn between(limit: &PolicyLimit, from: Place, ends: impl Iterator<Item = Place>) -> Option<Place> {
    let after = |place: &Place| place.file == from.file && place.start > from.start;
    let end = ends.filter(after).map(|place| place.start).min().unwrap_or(u32::MAX);
    let found = limit.references.iter().copied().filter(|place| after(place) && place.start < end);
    found.min_by_key(|place| place.start)
}
