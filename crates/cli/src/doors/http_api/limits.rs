//! The limits of a request: those of the policy by name, and those that a client brings.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use http::StatusCode;
use tollgate::{FailureRule, HITS_MAX, Hit, Key, Limit, Limiter, Mode, NamedLimit};
use tollgate_engine::{CountedBy, LimitByName};

use super::problem::Problem;
use super::strict_json::{NUMBER_MAX, Object};
use crate::active_policy::ActivePolicy;

/// Characters of a key; more are an error.
pub(super) const KEY_CHARS_MAX: usize = 1_024;
/// Characters of the name of a limit; more are an error.
pub(super) const NAME_CHARS_MAX: usize = 256;
/// Characters of a rate; more are an error.
pub(super) const RATE_CHARS_MAX: usize = 256;
/// Different rates of clients that are kept ready. With more, all are made anew, which takes a microsecond each and changes no count.
const READY_MAX: usize = 4_096;
/// The limiter's name for all limits that clients bring; no policy has it, for it has a control character. Their own names are in keys,
/// so that the limiter's list of names does not grow.
const FAMILY: &str = "\u{1}api";

/// The limits that clients bring, ready to be charged.
#[derive(Debug, Default)]
pub(super) struct Brought(RwLock<HashMap<(Limit, Fails), NamedLimit>>);

/// The failure rule of a limit that a client brings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Fails {
    Allow,
    Deny,
    Local,
}

impl Brought {
    /// The limiter's limit.
    fn limit(&self, limit: Limit, fails: Fails, live: &ActivePolicy) -> NamedLimit {
        let limiter: &Limiter = live.limits.limiter();
        let ready = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = ready.get(&(limit, fails)) {
            return known.clone();
        }
        drop(ready);
        let rule = match fails {
            Fails::Allow => FailureRule::Allow,
            Fails::Deny => FailureRule::Deny,
            Fails::Local => FailureRule::Local { share: 1, of: 1 },
        };
        let named = limiter.shared_limit_in(live.limits.namespace(), FAMILY, limit, rule);
        let mut ready = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if ready.len() >= READY_MAX {
            ready.clear();
        }
        ready.insert((limit, fails), named.clone());
        named
    }
}

/// One hit of a request.
#[derive(Debug)]
pub(super) struct Asked {
    /// As a response names it.
    pub(super) name: String,
    limit: NamedLimit,
    key: Vec<u8>,
    cost: u64,
    is_shadow: bool,
}

impl Asked {
    /// The limiter's hit.
    pub(super) fn hit(&self) -> Hit<'_> {
        let hit = self.limit.hit(&self.key).cost(self.cost);
        if self.is_shadow { hit.shadow() } else { hit }
    }

    /// The limiter's hit of a cost that is an estimate.
    pub(super) fn estimate(&self) -> Hit<'_> {
        let hit = self.limit.hit(&self.key).estimate(self.cost);
        if self.is_shadow { hit.shadow() } else { hit }
    }
}

/// Reads the member `hits`.
///
/// # Errors
/// 400 with the member that is wrong, 404 for a limit that the policy does not have.
pub(super) fn hits(body: &mut Object, live: &ActivePolicy, brought: &Brought) -> Result<Vec<Asked>, Problem> {
    let hits = body.objects("hits", HITS_MAX)?;
    let hits = hits.ok_or_else(|| Problem::new(StatusCode::BAD_REQUEST, "the member `hits` is missing"))?;
    hits.into_iter().map(|hit| asked(hit, live, brought)).collect()
}

fn asked(mut hit: Object, live: &ActivePolicy, brought: &Brought) -> Result<Asked, Problem> {
    let key = hit.required_text("key", KEY_CHARS_MAX)?;
    let cost = hit.number("cost", (0, NUMBER_MAX))?.unwrap_or(1);
    let is_shadow = hit.flag("shadow")?;
    let rate = hit.text("rate", RATE_CHARS_MAX)?;
    let Some(rate) = rate else {
        let name = hit.required_text("limit", NAME_CHARS_MAX)?;
        let found = live.limits.limit_by_name(&name, None);
        let Ok(LimitByName { counted: CountedBy::Rate(limit), mode, .. }) = found else {
            let detail =
                "is no limit of the policy that can be charged by name; give `rate` for a limit of your own";
            return Err(hit.bad("limit", detail).with_status(StatusCode::NOT_FOUND));
        };
        let is_shadow = is_shadow || mode == Mode::Shadow;
        hit.end()?;
        return Ok(Asked { name, limit, key: key.into_bytes(), cost, is_shadow });
    };
    let limit: Limit = rate.parse().map_err(|error| hit.bad("rate", &format!("is no rate: {error}")))?;
    let fails = match hit.text("when_store_fails", 16)?.as_deref() {
        None | Some("deny") => Fails::Deny,
        Some("allow") => Fails::Allow,
        Some("local") => Fails::Local,
        Some(_) => return Err(hit.bad("when_store_fails", "is none of `deny`, `allow` and `local`")),
    };
    let name = hit.text("limit", NAME_CHARS_MAX)?.unwrap_or_default();
    hit.end()?;
    // The algorithm is a part of the key: another one would begin the key's count anew.
    let algorithm = limit.algorithm().map_or("unlimited", tollgate::Algorithm::name);
    let key = Key::of([name.as_str(), algorithm, key.as_str()]).as_ref().to_vec();
    Ok(Asked { name, limit: brought.limit(limit, fails, live), key, cost, is_shadow })
}
