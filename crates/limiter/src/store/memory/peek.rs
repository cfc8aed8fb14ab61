//! Peeks at several keys: decides like a batch, and charges nothing.

use smallvec::{SmallVec, smallvec};
use tollgate_algorithms::{Decision, Limit, Micros, Mode, State};

use super::batch::{BatchResult, Charge, Member, Members, answered, decided, place_of};
use super::slot_guard::KeyPosition;
use super::table::Contended;
use super::{KeyResult, Memory, NoRoom, StoreAtInstant};
use crate::clock::Clock;
use crate::sync::pause;

impl Memory {
    /// What [`charge_all`](Self::charge_all) would answer, with the numbers of the uncharged keys. Each key is looked at
    /// by itself.
    pub(crate) fn peek_all<const N: usize>(
        &self,
        charges: &[Charge<'_>],
        (clock, now): (&Clock, Micros),
    ) -> Result<BatchResult<N>, NoRoom> {
        let mut members: Members<'_, N> = self.members(charges, clock, now);
        if let ([charge], [member]) = (charges, members.as_slice()) {
            let asked =
                |state: Option<&State>| tollgate_algorithms::peek(&member.dated, state, now, charge.cost);
            let (decision, shared) = self.look_at(member, now, asked)?;
            let given = KeyResult { decision, refunded: 0, shared, known: !shared };
            let granted = decision.is_granted() || charge.mode == Mode::Shadow;
            return Ok(BatchResult { granted, given: smallvec![given] });
        }
        let mut states: SmallVec<[Option<State>; N]> = SmallVec::new();
        for member in &mut members {
            // A copy: they are decided together, and not locked together.
            let (state, shared) = self.look_at(member, now, |state| state.cloned())?;
            member.shared = shared;
            states.push(state);
        }
        let batch = decided::<N>(charges, &members, states.iter().map(Option::as_ref), now);
        let mut answered: BatchResult<N> = answered(charges, &members, batch);
        for (charge, given) in charges.iter().zip(&mut answered.given) {
            let member = place_of(charge, &members);
            let state = states.get(member).and_then(Option::as_ref);
            let limit = members.get(member).map_or(&Limit::Unlimited, |member| &member.dated);
            let uncharged = tollgate_algorithms::peek(limit, state, now, 0);
            given.decision = Decision { outcome: given.decision.outcome, ..uncharged };
        }
        Ok(answered)
    }

    /// What is seen where a key stands, and whether it has that in common with others.
    fn look_at<T>(
        &self,
        member: &Member<'_>,
        now: Micros,
        look: impl FnOnce(Option<&State>) -> T,
    ) -> Result<(T, bool), NoRoom> {
        let at = StoreAtInstant::new(self, now);
        let mut times = 0;
        loop {
            match self.table.try_lock(member.id, self.table.has_room(&at), &at) {
                Ok(KeyPosition::Slot(locked)) => {
                    let now = self.instant(locked.known(), now);
                    let taken = self.take_out(locked.known(), member.whose(), now, None);
                    let seen = look(taken.state.as_ref());
                    self.leave(locked, taken);
                    return Ok((seen, false));
                }
                Ok(KeyPosition::Full(held)) => {
                    let state = {
                        let cells = self.shared.open(self.calendar.known());
                        self.shared.state(&cells, &member.limit.family(), member.id, now)
                    };
                    held.leave();
                    return state.map(|state| (look(state.as_ref()), true)).map_err(|()| NoRoom(member.id));
                }
                Err(Contended) => pause(times),
            }
            times = u32::saturating_add(times, 1);
        }
    }
}
