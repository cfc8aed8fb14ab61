//! Limits as lists of what they ask of requests, for a conversion into other formats.

use std::borrow::Cow;

use super::limitador::Conditional;
use super::limitador::condition::{Comparison, Condition, Text};
use super::matching::{Level, Node};
use super::{Domain, Limits, Rule};

/// One limit, and which requests it applies to.
#[derive(Debug)]
pub struct Outline<'a> {
    /// The limit.
    pub rule: &'a Rule,
    /// The domain, or the namespace.
    pub domain: &'a str,
    /// The keys, and what is asked of their values.
    pub entries: Vec<(&'a str, Wanted<'a>)>,
    /// Fields that say more than which requests are meant.
    pub fields: Vec<&'static str>,
    /// Whether there are conditions that keys and values do not express.
    pub is_partial: bool,
}

/// What is asked of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted<'a> {
    /// Any value, each with a counter of its own.
    Any,
    /// This value.
    Exact(&'a str),
    /// A value that matches, where `*` stands for any text; each has a counter of its own.
    Pattern(Cow<'a, str>),
    /// A value that matches, and all that do have one counter.
    Shared(&'a str),
}

impl Limits {
    /// All limits, in the order of the files.
    #[must_use]
    pub fn outline(&self) -> Vec<Outline<'_>> {
        let mut all = Vec::new();
        for (domain, limits) in &self.domains {
            match limits {
                Domain::Tree(level) => of_level(level, domain, &mut Vec::new(), &mut all),
                Domain::Conditions(limits) => {
                    all.extend(limits.iter().map(|limit| of_conditions(limit, domain)))
                }
            }
        }
        all.sort_by_key(|outline| outline.rule.id);
        all
    }
}

fn of_level<'a>(
    level: &'a Level,
    domain: &'a str,
    above: &mut Vec<(&'a str, Wanted<'a>)>,
    all: &mut Vec<Outline<'a>>,
) {
    let mut of_node = |entry: (&'a str, Wanted<'a>), node: &'a Node| {
        above.push(entry);
        if let Some(rule) = &node.rule {
            all.push(Outline {
                rule,
                domain,
                entries: above.clone(),
                fields: fields(rule),
                is_partial: false,
            });
        }
        of_level(&node.below, domain, above, all);
        above.pop();
    };
    for (key, of_key) in &level.0 {
        for (value, node) in &of_key.exact {
            of_node((key, Wanted::Exact(value)), node);
        }
        for (pattern, node) in &of_key.wildcards {
            let text = pattern.text();
            let wanted = if node.is_shared { Wanted::Shared(text) } else { Wanted::Pattern(text.into()) };
            of_node((key, wanted), node);
        }
        if let Some(node) = &of_key.any {
            of_node((key, Wanted::Any), node);
        }
    }
}

fn fields(rule: &Rule) -> Vec<&'static str> {
    let fields = [
        (rule.is_quota, "`quota_mode`"),
        (!rule.replaces.is_empty(), "`replaces`"),
        (rule.metadata.is_some(), "`metadata`"),
    ];
    fields.into_iter().filter(|(is_there, _)| *is_there).map(|(_, name)| name).collect()
}

fn of_conditions<'a>(limit: &'a Conditional, domain: &'a str) -> Outline<'a> {
    let (mut entries, mut is_partial) = (Vec::new(), false);
    for condition in &limit.conditions {
        match condition {
            Condition::Compare(Text::Value(_, key), Comparison::Equal, Text::Literal(value))
            | Condition::Compare(Text::Literal(value), Comparison::Equal, Text::Value(_, key)) => {
                entries.push((&**key, Wanted::Exact(value)));
            }
            Condition::Compare(Text::Value(_, key), Comparison::StartsWith, Text::Literal(start)) => {
                entries.push((&**key, Wanted::Pattern(format!("{start}*").into())));
            }
            Condition::Has(..) | Condition::Constant(true) => {}
            Condition::Constant(false)
            | Condition::Compare(..)
            | Condition::In(..)
            | Condition::Not(_)
            | Condition::And(_)
            | Condition::Or(_) => is_partial = true,
        }
    }
    for variable in &limit.variables {
        if let Text::Value(_, key) = variable {
            entries.push((&**key, Wanted::Any));
        }
    }
    Outline { rule: &limit.rule, domain, entries, fields: Vec::new(), is_partial }
}
