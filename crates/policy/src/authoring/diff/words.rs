//! The fields of a limit that are neither numbers nor key nor cost, before and after, in the words of a document.

use std::cmp::Ordering;

use super::{Change, Verdict};
use crate::model::{BusyStatus, CountScope, FailureRule, PolicyLimit, Scope, ZeroStatus, shown_chain};
use crate::numbers::{MethodName, Numbers};
use crate::quantity::spoken;

/// A change of a field.
pub(super) const fn other(field: &'static str, before: String, after: String) -> Change {
    Change::Other { field, before, after }
}

/// A field in words.
type DescribeField = fn(&PolicyLimit) -> String;

/// Every such field that is different.
pub(super) fn others(old: &PolicyLimit, new: &PolicyLimit) -> Vec<Change> {
    let fields: [(&'static str, DescribeField); 14] = [
        ("address_ceiling", ceiling),
        ("counted", |limit| counted(limit).into()),
        ("when_store_fails", |limit| store_fails(limit.when_store_fails)),
        ("scope", |limit| scope(limit.scope).into()),
        ("zero_status", |limit| zero_status(limit.zero_status).into()),
        ("busy_status", |limit| busy_status(limit.busy_status).into()),
        ("wait", |limit| limit.wait.map_or_else(|| "none".into(), spoken)),
        ("fair_by", fair_by),
        ("strict", |limit| limit.strict.to_string()),
        ("visibility", |limit| if limit.visible { "shown" } else { "hidden" }.into()),
        ("description", |limit| text(limit.description.as_ref())),
        ("owner", |limit| text(limit.owner.as_ref())),
        (
            "reviewers",
            |limit| if limit.reviewers.is_empty() { "nobody".into() } else { limit.reviewers.join(", ") },
        ),
        ("required", |limit| limit.required.is_some().to_string()),
    ];
    let each = fields.into_iter().map(|(field, of)| (field, of(old), of(new)));
    each.filter(|(_, before, after)| before != after)
        .map(|(field, before, after)| other(field, before, after))
        .collect()
}

/// What those of them that touch requests mean for clients.
pub(super) fn verdict(old: &PolicyLimit, new: &PolicyLimit) -> Verdict {
    // No ceiling is the widest.
    let most = |limit: &PolicyLimit| limit.address_ceiling.unwrap_or(u64::MAX);
    let ceiling = Verdict::of(most(new).cmp(&most(old)));
    // One budget for each operation is more than one for all.
    let budgets = |limit: &PolicyLimit| limit.counted == CountScope::PerOperation;
    let counted = Verdict::of(budgets(new).cmp(&budgets(old)));
    // One line for all or one for each: some wait for longer, and some for less.
    let fair_by = if old.fair_by == new.fair_by { Verdict::Same } else { Verdict::Mixed };
    ceiling
        .and(counted)
        .and(fair_by)
        .and(Verdict::of(old.strict.cmp(&new.strict)))
        .and(when_store_fails(old.when_store_fails, new.when_store_fails))
        .and(scopes(old.scope, new.scope))
}

/// `deny`, then a smaller share, then a larger one, then `allow`.
fn when_store_fails(old: FailureRule, new: FailureRule) -> Verdict {
    let rank = |rule: FailureRule| match rule {
        FailureRule::Deny => 0_u8,
        FailureRule::Local { .. } => 1,
        FailureRule::Allow => 2,
    };
    let shares = match (old, new) {
        (FailureRule::Local { share: a, of: b }, FailureRule::Local { share: c, of: d }) => {
            (u64::from(c).saturating_mul(u64::from(b))).cmp(&u64::from(a).saturating_mul(u64::from(d)))
        }
        _ => Ordering::Equal,
    };
    Verdict::of(rank(new).cmp(&rank(old)).then(shares))
}

/// Only `exact` never lets more through than the limit, however many processes there are. The others are not compared.
const fn scopes(old: Scope, new: Scope) -> Verdict {
    match (old, new) {
        (Scope::Exact, Scope::Exact)
        | (Scope::Local, Scope::Local)
        | (Scope::Leased, Scope::Leased)
        | (Scope::Synced, Scope::Synced) => Verdict::Same,
        (Scope::Exact, _) => Verdict::Looser,
        (_, Scope::Exact) => Verdict::Tighter,
        _ => Verdict::Mixed,
    }
}

/// Numbers with all that they have, also what is left out elsewhere.
pub(super) fn numbers(numbers: &Numbers) -> String {
    match numbers {
        Numbers::Concurrency { max_hold: Some(hold), .. } => {
            format!("{numbers}, held for {} at most", spoken(*hold))
        }
        Numbers::Adaptive { config, max_hold } => {
            let ((min, max), method) = (config.range(), MethodName::of(config.method()).name());
            let held =
                max_hold.map_or_else(String::new, |hold| format!(", held for {} at most", spoken(hold)));
            format!("{min} to {max} by {method}, starting at {}{held}", config.start())
        }
        Numbers::Unlimited
        | Numbers::Counted(_)
        | Numbers::Queue { .. }
        | Numbers::Concurrency { max_hold: None, .. } => numbers.to_string(),
    }
}

fn fair_by(limit: &PolicyLimit) -> String {
    if limit.fair_by.is_empty() { "nothing".into() } else { shown_chain(&limit.fair_by) }
}

fn ceiling(limit: &PolicyLimit) -> String {
    limit.address_ceiling.map_or_else(|| "none".into(), |ceiling| ceiling.to_string())
}

const fn zero_status(status: ZeroStatus) -> &'static str {
    match status {
        ZeroStatus::Forbidden => "403",
        ZeroStatus::TooManyRequests => "429",
    }
}

const fn busy_status(status: BusyStatus) -> &'static str {
    match status {
        BusyStatus::TooManyRequests => "429",
        BusyStatus::ServiceUnavailable => "503",
    }
}

const fn counted(limit: &PolicyLimit) -> &'static str {
    match limit.counted {
        CountScope::Together => "together",
        CountScope::PerOperation => "per_operation",
    }
}

fn store_fails(rule: FailureRule) -> String {
    match rule {
        FailureRule::Allow => "allow".into(),
        FailureRule::Deny => "deny".into(),
        FailureRule::Local { share: 1, of: 1 } => "local".into(),
        FailureRule::Local { share, of } => format!("local {share}/{of}"),
    }
}

const fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Local => "local",
        Scope::Exact => "exact",
        Scope::Leased => "leased",
        Scope::Synced => "synced",
    }
}

fn text(text: Option<&String>) -> String {
    text.map_or_else(|| "nothing".into(), |text| tollgate_http::text::shown(text))
}
