//! The limits of all domains, as their files define them: which limit applies to a descriptor.

pub(crate) mod limitador;
mod load;
mod matching;
mod outline;
pub(crate) mod pattern;
mod ratelimit;

use std::collections::HashMap;
use std::sync::Arc;

use envoy_types::pb::google::protobuf::Struct;

use crate::unit::Unit;

pub use load::Rejected;
pub(crate) use matching::Level;
pub use matching::{Match, Values};
pub use outline::{Outline, Wanted};

/// Most limits of all files together. A file with more is rejected: each limit has counters, and takes memory.
pub const RULES_MAX: usize = 10_000;

/// Most descriptors of one file, with and without limits. A file with more is rejected, so that aliases in it cannot multiply.
pub const DESCRIPTORS_OF_FILE_MAX: usize = 100_000;

/// The limits of all domains. Immutable; a reload replaces it.
#[derive(Debug, Default)]
pub struct Limits {
    pub(crate) domains: HashMap<Box<str>, Domain>,
    pub(crate) rules: Vec<Arc<Rule>>,
}

/// The limits of one domain.
#[derive(Debug)]
pub(crate) enum Domain {
    /// A tree of descriptors, from a file of envoyproxy/ratelimit.
    Tree(Level),
    /// Limits with conditions, from a file of Limitador.
    Conditions(Vec<limitador::Conditional>),
}

/// One limit.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its position among all limits.
    pub(crate) id: usize,
    /// The domain and the keys and values that lead to it, which identify it: its numbers can change, and keys keep their usage.
    pub path: Box<str>,
    /// The name that responses show, and that other limits replace it by; may be empty.
    pub name: Box<str>,
    /// Its numbers; `None` if it is unlimited.
    pub numbers: Option<Numbers>,
    /// Whether it is counted, but never refuses.
    pub is_shadow: bool,
    /// Whether it refuses only if all such limits of a request refuse.
    pub is_quota: bool,
    /// The names of limits that do not apply where this one does.
    pub replaces: Box<[Box<str>]>,
    /// What responses show of it if it grants.
    pub metadata: Option<Struct>,
}

/// How much in which window.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Numbers {
    /// The count per window.
    pub limit: u64,
    /// The window.
    pub window: Window,
}

/// The window of a limit, aligned to the Unix epoch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Window {
    /// A unit.
    Unit(Unit),
    /// So many seconds, which are no unit.
    Seconds(u64),
}

impl Window {
    /// Its length in seconds.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        match self {
            Self::Unit(unit) => unit.seconds(),
            Self::Seconds(seconds) => seconds,
        }
    }
}

impl Limits {
    /// Every limit, in the order of the files.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().map(AsRef::as_ref)
    }

    /// The domains, in no order.
    pub fn domains(&self) -> impl Iterator<Item = &str> {
        self.domains.keys().map(AsRef::as_ref)
    }
}
