//! Finds the limit of a descriptor in the tree of a domain: exact values first, then wildcards in file order, then the key alone.

use std::collections::HashMap;
use std::sync::Arc;

use super::pattern::Pattern;
use super::{Domain, Limits, Rule};

/// The descriptors of one nesting level, by key.
#[derive(Debug, Default)]
pub(crate) struct Level(pub(crate) HashMap<Box<str>, OfKey>);

/// The descriptors of one key.
#[derive(Debug, Default)]
pub(crate) struct OfKey {
    /// Those with a value, by it.
    pub(crate) exact: HashMap<Box<str>, Node>,
    /// Those whose value has a wildcard, in file order.
    pub(crate) wildcards: Vec<(Pattern, Node)>,
    /// The one without a value.
    pub(crate) any: Option<Box<Node>>,
}

/// One descriptor of a file.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Its limit, if it has one.
    pub(crate) rule: Option<Arc<Rule>>,
    /// The descriptors nested in it.
    pub(crate) below: Level,
    /// Whether all values that its wildcard matches share one counter.
    pub(crate) is_shared: bool,
}

/// What applies to a descriptor.
#[derive(Debug)]
pub enum Match<'a> {
    /// No file defines this domain.
    UnknownDomain,
    /// No limit.
    Nothing,
    /// This limit, counted by these values.
    Limit(&'a Arc<Rule>, Values<'a>),
}

/// The values by which a limit is counted: those of the request, or the pattern where values share a counter.
pub type Values<'a> = smallvec::SmallVec<[&'a str; 4]>;

impl OfKey {
    fn find(&self, value: &str) -> Option<(&Node, Option<&Pattern>)> {
        if let Some(node) = self.exact.get(value) {
            return Some((node, None));
        }
        if let Some((pattern, node)) = self.wildcards.iter().find(|(pattern, _)| pattern.is_match(value)) {
            return Some((node, Some(pattern)));
        }
        self.any.as_deref().map(|node| (node, None))
    }
}

impl Level {
    /// The limit of these entries: the descriptors must be nested as deep as there are entries.
    fn find<'a>(
        &'a self,
        entries: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Option<(&'a Arc<Rule>, Values<'a>)> {
        let (mut level, mut found, mut values) = (self, None, Values::new());
        for (key, value) in entries {
            let (node, pattern) = level.0.get(key)?.find(value)?;
            let shared = pattern.filter(|_| node.is_shared);
            values.push(shared.map_or(value, Pattern::text));
            (level, found) = (&node.below, node.rule.as_ref());
        }
        found.map(|rule| (rule, values))
    }
}

impl Limits {
    /// The limit that applies to the entries of one descriptor, in a domain with a tree of descriptors.
    pub fn find<'a>(&'a self, domain: &str, entries: impl Iterator<Item = (&'a str, &'a str)>) -> Match<'a> {
        match self.domains.get(domain) {
            None => Match::UnknownDomain,
            Some(Domain::Tree(level)) => match level.find(entries) {
                Some((rule, values)) => Match::Limit(rule, values),
                None => Match::Nothing,
            },
            Some(Domain::Conditions(_)) => Match::Nothing,
        }
    }
}
