//! The owners of limits, who approve their changes.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};
use tollgate_policy::model::PolicyLimit;

use crate::finding::printable;

/// How many limits each owner and each reviewer has. Empty if nobody owns any.
#[derive(Debug, Default)]
pub(super) struct Owners {
    limits: BTreeMap<String, (usize, usize)>,
    /// How many limits have no owner.
    nobody: usize,
}

impl Owners {
    /// Counts the limits of a policy.
    pub(super) fn add(&mut self, limits: &[PolicyLimit]) {
        for limit in limits {
            match &limit.owner {
                Some(owner) => {
                    let (owned, _) = self.limits.entry(owner.clone()).or_default();
                    *owned = owned.saturating_add(1);
                }
                None => self.nobody = self.nobody.saturating_add(1),
            }
            for reviewer in &limit.reviewers {
                let (_, reviewed) = self.limits.entry(reviewer.clone()).or_default();
                *reviewed = reviewed.saturating_add(1);
            }
        }
    }

    /// A line for each, if anybody owns or reviews anything.
    pub(super) fn table(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.limits.is_empty() {
            return Ok(());
        }
        let names: Vec<_> = self.limits.keys().map(|name| printable(name)).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max("nobody".len());
        writeln!(out, "{:width$}  OWNS  REVIEWS", "WHO")?;
        for (name, (owned, reviewed)) in names.iter().zip(self.limits.values()) {
            writeln!(out, "{name:width$}  {owned:>4}  {reviewed:>7}")?;
        }
        if self.nobody > 0 {
            writeln!(out, "{:width$}  {:>4}", "nobody", self.nobody)?;
        }
        writeln!(out)
    }

    /// The same for programs.
    pub(super) fn json(&self, all: &mut Map<String, Value>) {
        let owners = self.limits.iter();
        let owners =
            owners.map(|(who, (owns, reviews))| json!({ "who": who, "owns": owns, "reviews": reviews }));
        all.insert("owners".into(), owners.collect());
        all.insert("owned_by_nobody".into(), json!(self.nobody));
    }
}
