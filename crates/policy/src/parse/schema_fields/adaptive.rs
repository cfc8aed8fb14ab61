//! The fields of adaptive limits and of priorities.

use super::{Field, FieldType, NAME, field};

/// The methods of an adaptive limit by name.
pub(crate) const METHODS: &[&str] = &["gradient2", "vegas", "gradient", "aimd"];
/// The priorities by name.
pub(crate) const PRIORITY_WORDS: &[&str] = &["critical", "high", "normal", "low"];
/// The highest limit that an adaptive limit can have.
const LIMIT: FieldType = FieldType::Between(1, tollgate_algorithms::adaptive::LIMIT_MAX as u64);

pub(super) const METHOD: Field =
    field("method", FieldType::Word(METHODS), "How an adaptive limit follows the latency.");
pub(super) const TARGET: Field = field(
    "target",
    FieldType::Duration,
    "The mean latency above which an adaptive limit shrinks, for `method: aimd` only.",
);
pub(super) const MIN: Field = field("min", LIMIT, "The lowest limit that an adaptive limit may find: 1.");
pub(super) const MAX: Field = field("max", LIMIT, "The highest limit that an adaptive limit may find: 1000.");
pub(super) const INITIAL: Field =
    field("initial", LIMIT, "The limit that an adaptive limit starts with: 8, within its range.");

/// The priority of a route.
pub(super) const PRIORITY: Field = field(
    "priority",
    FieldType::Word(PRIORITY_WORDS),
    "How important its requests are; lower ones are refused first while too many are in progress.",
);

/// The priorities of requests whose operation has none.
pub(crate) const PRIORITIES: &[Field] = &[
    field("header", FieldType::Header, "The header in which a trusted proxy says it: `critical`, `high`, …"),
    field("critical", FieldType::Texts(&NAME), "Tiers that are refused only when the whole limit is used."),
    field("high", FieldType::Texts(&NAME), "Tiers that are refused after ordinary traffic."),
    field("normal", FieldType::Texts(&NAME), "Tiers of ordinary traffic."),
    field("low", FieldType::Texts(&NAME), "Tiers that are refused first."),
    field("default", FieldType::Word(PRIORITY_WORDS), "The priority of all others: `normal`."),
];
