//! The fields of a limit that is used by its name, and of a condition.

use super::{Field, FieldType, NAME_CHARS_MAX, field, needed};

/// What a request must have so that a limit applies.
pub(crate) const WHEN: &[Field] = &[
    field("header", FieldType::Headers, "Headers, with their values; nothing as a value is any value."),
    field(
        "query",
        FieldType::Parameters,
        "Query parameters, with their values; nothing as a value is any value.",
    ),
];

/// A limit that is written under `limits`, where it applies.
pub(crate) const USE: &[Field] = &[
    needed(
        "use",
        FieldType::Ascii(NAME_CHARS_MAX),
        "The name of a limit under `limits`, or `inherited`: the limits that would apply without this list.",
    ),
    field("cost", FieldType::Cost, "The cost of a request here. Default: the limit's own cost."),
    field("when", FieldType::When, "What a request must have so that the limit applies here."),
];
