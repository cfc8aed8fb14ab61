//! The owners and reviewers who have to approve a change, of the old and the new policy.

use std::collections::{HashMap, HashSet};

use super::limits::NumberedPair;
use crate::ids::LimitId;
use crate::model::PolicyLimit;
use crate::policy::Policy;

/// Somebody who has to agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Approval {
    /// Who, as the document has it.
    pub who: String,
    /// Because of these limits, by name.
    pub why: Vec<String>,
}

/// A limit that changed, itself or at an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Review {
    /// Its name.
    pub limit: String,
    /// Whether the name was given. Else it is made of the place.
    pub named: bool,
    /// Where it is written, such as `openapi.yaml:12:7`: in the new policy, or, if it is gone, in the old one.
    pub at: String,
    /// The document in which that is.
    pub file: String,
    /// Who has to agree. It may be nobody.
    pub who: Vec<String>,
}

/// Owner and reviewers, of the old limit and of the new one, each once.
pub(super) fn who(before: Option<&PolicyLimit>, after: Option<&PolicyLimit>) -> Vec<String> {
    let mut who: Vec<String> = Vec::new();
    for limit in [after, before].into_iter().flatten() {
        for name in limit.owner.iter().chain(&limit.reviewers) {
            if !who.contains(name) {
                who.push(name.clone());
            }
        }
    }
    who
}

/// The limits that changed, each once, in the order in which that was found.
#[derive(Debug, Default)]
pub(super) struct Reviews {
    pub(super) list: Vec<Review>,
    known: HashSet<(Option<LimitId>, Option<LimitId>)>,
}

impl Reviews {
    pub(super) fn add(&mut self, old: &Policy, new: &Policy, pair: NumberedPair) {
        if !self.known.insert((pair.old, pair.new)) {
            return;
        }
        let (before, after) = pair.limits(old, new);
        let Some((policy, limit)) = after.map(|limit| (new, limit)).or(before.map(|limit| (old, limit)))
        else {
            return;
        };
        self.list.push(Review {
            limit: limit.name.clone(),
            named: limit.named,
            at: policy.sources().locate(limit.place),
            file: policy.sources().get(limit.place.file).map_or_else(String::new, |file| file.name().into()),
            who: who(before, after),
        });
    }

    /// Whether this limit is among them.
    pub(super) fn has(&self, pair: NumberedPair) -> bool {
        self.known.contains(&(pair.old, pair.new))
    }

    /// The same by person.
    pub(super) fn by_person(&self) -> Vec<Approval> {
        let mut approvals: Vec<Approval> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for review in &self.list {
            for who in &review.who {
                let next = approvals.len();
                let at = *places.entry(who).or_insert(next);
                match approvals.get_mut(at) {
                    Some(approval) => approval.why.push(review.limit.clone()),
                    None => approvals.push(Approval { who: who.clone(), why: vec![review.limit.clone()] }),
                }
            }
        }
        approvals
    }
}
