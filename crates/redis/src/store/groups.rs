//! Charges a request whose limits are in several slots of a cluster: slot by slot, and gives back if a later one refuses.
//!
//! No node sees all of the request. So each group of hits on one slot is charged by itself, the one that is likeliest to
//! refuse first, and refunded by its receipts if a later one refuses (a refund never gives back more than was charged). A process that dies
//! between two groups leaves at most that request's charge behind.

use std::mem::take;

use smallvec::SmallVec;
use tokio::time::Instant;
use tollgate_algorithms::{Decision, Limit, Mode, Receipt};

use super::{ChargeResult, Store};
use crate::cluster::slots::slot_of;
use crate::{Command, Hit, Name, Reply, StateKind, StoreError};

/// The positions of the hits of one slot.
type ReplyWaiters = SmallVec<[usize; 4]>;

/// What the groups of a request decided.
#[derive(Debug)]
pub struct InGroups {
    /// One decision for each hit, in order. `None` if its group was not asked, or gave no decision.
    pub decisions: SmallVec<[Option<Decision>; 2]>,
    /// Whether a group refused. Then everything was given back.
    pub refused: bool,
    /// Why some groups gave no decision.
    pub failed: Option<StoreError>,
    /// What was charged.
    pub charge: GroupsCharge,
}

/// What was charged to the groups of a request. Dropping it gives that back, unless it was [kept](Self::keep).
#[derive(Debug)]
pub struct GroupsCharge {
    store: Store,
    parts: Vec<(Limit, Name, Receipt)>,
}

impl GroupsCharge {
    /// Leaves the charge as it is.
    pub fn keep(mut self) {
        self.parts.clear();
    }

    fn add(&mut self, hits: &[Hit<'_>], decisions: &[Decision]) {
        let charged = hits.iter().zip(decisions);
        let part = |(hit, decision): (&Hit<'_>, &Decision)| {
            decision.receipt(hit.limit).map(|receipt| (*hit.limit, *hit.name, receipt))
        };
        self.parts.extend(charged.filter_map(part));
    }
}

impl Drop for GroupsCharge {
    fn drop(&mut self) {
        let parts = take(&mut self.parts);
        if parts.is_empty() {
            return;
        }
        let store = self.store.clone();
        self.store.runtime.spawn(async move {
            for (limit, name, receipt) in parts {
                let hit = Hit { limit: &limit, name: &name, cost: 0, mode: Mode::Enforced };
                // What cannot be given back stays charged: the request was refused, and nobody gets more than the limit.
                let _refunded = store.refund(&hit, &receipt, receipt.cost).await;
            }
        });
    }
}

/// The hits of each slot; one group if they are all in one. Hits without a state go with the first.
pub(super) fn groups(hits: &[Hit<'_>]) -> SmallVec<[ReplyWaiters; 2]> {
    let mut groups: SmallVec<[(u16, ReplyWaiters); 2]> = SmallVec::new();
    let slot = |hit: &Hit<'_>| slot_of(hit.name.of(StateKind::Debt).as_bytes());
    for (at, hit) in hits.iter().enumerate().filter(|(_, hit)| *hit.limit != Limit::Unlimited) {
        let slot = slot(hit);
        match groups.iter_mut().find(|(of, _)| *of == slot) {
            Some((_, group)) => group.push(at),
            None => groups.push((slot, [at].into_iter().collect())),
        }
    }
    // The smallest capacity is likeliest to refuse, and what refuses first costs the least.
    groups.sort_by_key(|(_, group)| {
        group.iter().filter_map(|at| hits.get(*at)).map(|hit| hit.limit.capacity()).min()
    });
    let mut groups: SmallVec<[ReplyWaiters; 2]> = groups.into_iter().map(|(_, group)| group).collect();
    if groups.is_empty() {
        groups.push(ReplyWaiters::new());
    }
    let without = hits.iter().enumerate().filter(|(_, hit)| *hit.limit == Limit::Unlimited);
    if let Some(first) = groups.first_mut() {
        first.extend(without.map(|(at, _)| at));
    }
    groups
}

impl Store {
    /// The groups of these hits, if there are several.
    pub(super) fn several_groups(&self, hits: &[Hit<'_>]) -> Option<SmallVec<[ReplyWaiters; 2]>> {
        let is_candidate = self.servers.has_slots() && hits.len() > 1;
        is_candidate.then(|| groups(hits)).filter(|groups| groups.len() > 1)
    }

    /// Charges group after group, within one time budget. A group that gives no decision does not keep the others from
    /// deciding: the failure rule of its limits may be to allow.
    pub(super) async fn charge_groups(&self, hits: &[Hit<'_>], groups: &[ReplyWaiters]) -> ChargeResult {
        let end = Instant::now() + self.budget;
        let mut decisions: SmallVec<[Option<Decision>; 2]> = SmallVec::from_elem(None, hits.len());
        let mut charge = GroupsCharge { store: self.clone(), parts: Vec::new() };
        let mut failed = None;
        for group in groups {
            let part: SmallVec<[Hit<'_>; 4]> = group.iter().filter_map(|at| hits.get(*at)).copied().collect();
            match self.carry(&Command::Charge(&part), &[], end).await {
                Ok((Reply::Decided { granted, decisions: said }, _)) => {
                    charge.add(&part, &said);
                    for (at, decision) in group.iter().zip(&said) {
                        decisions.get_mut(*at).into_iter().for_each(|place| *place = Some(*decision));
                    }
                    if !granted {
                        for (at, decision) in decisions.iter_mut().enumerate() {
                            decision.iter_mut().filter(|_| !group.contains(&at)).for_each(uncharge);
                        }
                        return ChargeResult::InGroups(InGroups {
                            decisions,
                            refused: true,
                            failed: None,
                            charge,
                        });
                    }
                }
                Ok((Reply::Reset { .. }, _)) => {
                    failed = failed
                        .or_else(|| Some(StoreError::Disagrees("the reply is for another command".into())));
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        ChargeResult::InGroups(InGroups { decisions, refused: false, failed, charge })
    }

    /// Asks all groups what they would decide.
    ///
    /// # Errors
    /// If one of them gives no decision.
    pub(super) async fn peek_groups(
        &self,
        hits: &[Hit<'_>],
        groups: &[ReplyWaiters],
    ) -> Result<Reply, StoreError> {
        let end = Instant::now() + self.budget;
        let mut all: SmallVec<[Option<Decision>; 2]> = SmallVec::from_elem(None, hits.len());
        let mut all_granted = true;
        for group in groups {
            let part: SmallVec<[Hit<'_>; 4]> = group.iter().filter_map(|at| hits.get(*at)).copied().collect();
            let (reply, _) = self.carry(&Command::Peek(&part), &[], end).await?;
            let Reply::Decided { granted, decisions } = reply else {
                return Err(StoreError::Disagrees("the reply is for another command".into()));
            };
            all_granted &= granted;
            for (at, decision) in group.iter().zip(decisions) {
                all.get_mut(*at).into_iter().for_each(|place| *place = Some(decision));
            }
        }
        Ok(Reply::Decided { granted: all_granted, decisions: all.into_iter().flatten().collect() })
    }
}

/// A decision whose charge is given back. The time to a full reset stays that of the charge, which is never too short.
fn uncharge(decision: &mut Decision) {
    decision.remaining = decision.remaining.saturating_add(decision.charged);
    decision.charged = 0;
}

#[cfg(test)]
mod tests {
    use tollgate_algorithms::Micros;

    use super::*;
    use crate::Naming;

    #[test]
    fn hits_of_one_key_are_one_group_and_the_smallest_capacity_comes_first() {
        let naming = Naming::new([7; 16]);
        let limits = [100, 5, 50].map(|capacity| Limit::token_bucket(capacity, 1, Micros::SECOND).unwrap());
        let names = [naming.name("a", b"ada"), naming.name("b", b"192.0.2.1"), naming.name("c", b"ada")];
        let hit = |at: usize| Hit { limit: &limits[at], name: &names[at], cost: 1, mode: Mode::Enforced };
        let found = groups(&[hit(0), hit(1), hit(2)]);
        assert_eq!(found.iter().map(|group| group.to_vec()).collect::<Vec<_>>(), [vec![1], vec![0, 2]]);
        let free = Hit { limit: &Limit::Unlimited, ..hit(0) };
        assert_eq!(groups(&[free, hit(1)]).len(), 1);
        assert_eq!(groups(&[free]).len(), 1);
    }
}
