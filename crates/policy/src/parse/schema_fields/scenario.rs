//! The fields of a file of scenarios. The table of all other fields is the parent.

use super::{Field, FieldType, NAME_CHARS_MAX, PATH_CHARS_MAX, field};

/// A file of scenarios.
pub(crate) const SCENARIOS: &[Field] = &[
    field("policy", FieldType::Text(PATH_CHARS_MAX), "The policy's file."),
    field("scenarios", FieldType::Other("scenarios"), "The scenarios."),
];

/// One scenario.
pub(crate) const SCENARIO: &[Field] = &[
    field("name", FieldType::Text(NAME_CHARS_MAX), "What it shows."),
    field("starts", FieldType::Other("time"), "The wall clock at its beginning: `2026-01-31T23:59:50Z`."),
    field("steps", FieldType::Other("steps"), "What happens."),
];

/// One step of a scenario.
pub(crate) const STEP: &[Field] = &[
    field(
        "at",
        FieldType::Duration,
        "The time since the start of the scenario. Default: the time of the previous step.",
    ),
    field("request", FieldType::Text(10_000), "A method and a target."),
    field("headers", FieldType::Other("headers"), "Its headers."),
    field("body", FieldType::Text(BODY_CHARS_MAX), "Its body; for keys and costs that are in it."),
    field("from", FieldType::Text(NAME_CHARS_MAX), "The address that it comes from."),
    field("tier", FieldType::Text(NAME_CHARS_MAX), "The tier, in place of the policy's own source."),
    field("times", FieldType::Whole(1), "How often at this instant."),
    field("takes", FieldType::Duration, "How long each request is in progress once it is admitted."),
    field("expect", FieldType::Other("expect"), "What has to be answered."),
];

/// The longest body of a step. A longer one is refused.
pub(crate) const BODY_CHARS_MAX: usize = 2_000_000;

/// What a step expects.
pub(crate) const EXPECT: &[Field] = &[
    field("answer", FieldType::Word(ANSWERS), "Every answer."),
    field("granted", FieldType::Whole(0), "How many are granted."),
    field("refused", FieldType::Whole(0), "How many are refused."),
    field("remaining", FieldType::Whole(0), "What the last answer says remains."),
    field("retry_after", FieldType::Duration, "When the last answer says to come back."),
    field("waited", FieldType::Duration, "How long the last one waited for its turn."),
    field("by", FieldType::Text(NAME_CHARS_MAX), "Which limit refused the last one."),
];

/// What a request can be answered.
pub(crate) const ANSWERS: &[&str] = &["granted", "refused", "never", "unlimited", "unmatched", "wrong"];
