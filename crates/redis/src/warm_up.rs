//! Runs the scripts that a policy needs on each new connection, before other calls.
//!
//! A server compiles a script when it first meets it. Without this, the first requests after a start, a failover or a restart of the
//! server would bring their scripts' texts and wait for that, some of them for longer than their budget.

use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;
use tollgate_algorithms::{Limit, Mode};

use crate::connect::{Stream, exchange};
use crate::failed::ConnectionFailure;
use crate::recent::Recent;
use crate::resp::{Frame, ScriptForm, pack};
use crate::script::{FEW_MAX, Kind};
use crate::{Call, Cause, Command, Hit, LinkError, Name, Naming, Script};

/// Calls that run each script that will be needed, on keys of our own. They cost nothing, and so write nothing.
#[derive(Debug, Default)]
pub(crate) struct WarmUp {
    /// A limit of each kind that will be met.
    limits: Mutex<Vec<Limit>>,
}

impl WarmUp {
    /// Limits like this one will be met. Returns whether none of its kind was expected before.
    pub(crate) fn expect(&self, limit: &Limit) -> bool {
        let Some(kind) = kind(limit) else { return false };
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !limits.iter().any(|known| self::kind(known) == Some(kind));
        if is_new {
            limits.push(*limit);
        }
        is_new
    }

    /// One call for each script that charges such limits: alone, several callers together, up to [`FEW_MAX`] of them at once, with a
    /// limit that only counts, and a cost after the fact.
    ///
    /// Their keys are all in one slot, which depends on `own_keys`.
    pub(crate) fn calls(&self, own_keys: u32) -> Vec<Call> {
        let limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut calls = Vec::new();
        for limit in &limits {
            let [name, ..] = names(own_keys);
            let hit = hit(limit, &name);
            let charge = Command::Charge(&[hit]).call();
            calls.extend(Call::together(&[charge.clone(), charge.clone()]));
            calls.extend([charge, Command::Settle(hit).call()]);
        }
        for set in sets(&limits) {
            let few = usize::from(FEW_MAX);
            calls.extend((set.len().max(2)..=few).map(|keys| charge(own_keys, &set, keys, Mode::Enforced)));
            calls.push(charge(own_keys, &set, set.len().max(2), Mode::Shadow));
        }
        calls
    }

    /// Runs them all on a new connection, and returns the scripts for several calls that the server knows now. What the server says
    /// of a single call is noted and stops nothing: callers are told the same.
    ///
    /// # Errors
    /// When the connection ends, or the server does not serve it.
    pub(crate) async fn run(
        &self,
        stream: &mut Stream,
        recent: &Recent,
        own_keys: u32,
    ) -> Result<Vec<&'static Script>, ConnectionFailure> {
        let calls = self.calls(own_keys);
        let mut input = Vec::new();
        // By digest first: mostly the server knows all of them, and then there is one round trip.
        let mut bytes = Vec::new();
        calls.iter().for_each(|call| pack(&mut bytes, call, ScriptForm::Digest));
        let frames = exchange(stream, &bytes, calls.len(), &mut input).await?;
        let mut known = Vec::new();
        for (call, mut frame) in calls.iter().zip(frames) {
            if matches!(&frame, Frame::Error(line) if Cause::of_line(line) == Cause::NoScript) {
                // One at a time, so that others are served between them.
                let mut bytes = Vec::new();
                pack(&mut bytes, call, ScriptForm::Text);
                let Some(answer) = exchange(stream, &bytes, 1, &mut input).await?.pop() else { continue };
                frame = answer;
            }
            match frame {
                Frame::Value(_) if is_for_several(call) => known.push(call.script),
                Frame::Value(_) => {}
                Frame::Error(line) => {
                    let error = LinkError::server(&line);
                    if error.cause().reconnects() {
                        return Err(ConnectionFailure::new(error.cause(), &line));
                    }
                    recent.note(&error);
                }
            }
        }
        Ok(known)
    }
}

/// Whether it goes by the script for several calls.
fn is_for_several(call: &Call) -> bool {
    // No other script is given one key twice.
    call.names.len() == 2 && call.names.first() == call.names.get(1)
}

/// Names that no budget has, of one key: in a cluster they are in one slot.
fn names(own_keys: u32) -> [Name; FEW_MAX as usize] {
    std::array::from_fn(|number| own_name(&format!("warm-up {number}"), own_keys))
}

/// A name of the link's own. Those with the same `own_keys` are in one slot.
pub(crate) fn own_name(limit: &str, own_keys: u32) -> Name {
    let naming = Naming::new([0; 16]);
    // Without a cluster, the names stay what they always were.
    let key = own_keys.to_le_bytes();
    naming.name(limit, if own_keys == 0 { b"" } else { &key })
}

const fn hit<'a>(limit: &'a Limit, name: &'a Name) -> Hit<'a> {
    Hit { limit, name, cost: 0, mode: Mode::Enforced }
}

/// A charge on so many keys, under these limits in turn. The last has this mode.
fn charge(own_keys: u32, limits: &[Limit], keys: usize, last: Mode) -> Call {
    let names = names(own_keys);
    let on = |(limit, name)| hit(limit, name);
    let mut hits: SmallVec<[Hit<'_>; 4]> = limits.iter().cycle().zip(&names).take(keys).map(on).collect();
    if let Some(hit) = hits.last_mut() {
        hit.mode = last;
    }
    Command::Charge(&hits).call()
}

fn kind(limit: &Limit) -> Option<Kind> {
    limit.algorithm().map(Kind::of)
}

/// All sets of these limits but the empty one. There are at most four.
fn sets(limits: &[Limit]) -> Vec<Vec<Limit>> {
    let in_set = |bits: u32| {
        let chosen = limits.iter().enumerate().filter(move |(at, _)| bits >> at & 1 == 1);
        chosen.map(|(_, limit)| *limit).collect()
    };
    (1..1_u32 << limits.len().min(4)).map(in_set).collect()
}

#[cfg(test)]
mod tests {
    use tollgate_algorithms::{Micros, Window};

    use super::*;

    fn limits() -> [Limit; 5] {
        let limits = [
            Limit::token_bucket(2, 1, Micros::SECOND),
            Limit::fixed_window(2, Window::Every(Micros::SECOND)),
            Limit::sliding_window(2, Micros::SECOND),
            Limit::sliding_window_log(2, Micros::SECOND),
            Limit::gcra(2, 1, Micros::SECOND),
        ];
        limits.map(Result::unwrap)
    }

    #[test]
    fn every_script_is_run_once_and_nothing_is_asked_for() {
        let warm_up = WarmUp::default();
        assert!(warm_up.calls(0).is_empty(), "without a limit there is nothing to run");
        for (limit, scripts) in limits().iter().zip([7, 18, 36, 66, 66]) {
            warm_up.expect(limit);
            let calls = warm_up.calls(0);
            let mut digests: Vec<_> = calls.iter().map(|call| &call.script.digest).collect();
            digests.sort_unstable();
            digests.dedup();
            assert_eq!(digests.len(), calls.len(), "no script twice");
            assert_eq!(calls.len(), scripts, "{limit}");
        }
        assert!(!warm_up.expect(&limits()[4]), "a bucket and GCRA have the same scripts");
        assert!(!warm_up.expect(&Limit::Unlimited), "that has no script");
    }
}
