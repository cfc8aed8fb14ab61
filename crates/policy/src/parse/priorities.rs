//! `priorities` and `priority`: which requests are refused first, as it is written.

use crate::document::diagnostic::Diagnostic;
use crate::document::tree::Value;
use crate::model::{Priorities, Priority, priority_named};
use crate::parse::context::Context;
use crate::parse::identity::header;
use crate::parse::schema_fields::NAME_CHARS_MAX;
use crate::parse::schema_fields::adaptive::{PRIORITIES, PRIORITY_WORDS};

/// One word.
pub(super) fn word<'t>(value: Value<'t>, what: &str, context: &mut Context<'t>) -> Option<Priority> {
    context.word(value, what, PRIORITY_WORDS).and_then(priority_named)
}

/// The map of the settings. Tiers are compared with `tiers.names` by whoever has read both.
pub(super) fn read<'t>(
    value: Value<'t>,
    tier_names: &[String],
    context: &mut Context<'t>,
) -> Option<Priorities> {
    let map = context.map(value, "`priorities`")?;
    context.unknown_fields(map, &[PRIORITIES], "`priorities`");
    let mut priorities = Priorities::default();
    if let Some(value) = map.get("header") {
        let name = context.parsed(value, "header", header);
        priorities.header = name.map(|name| (name, value.place()));
    }
    if let Some(value) = map.get("default") {
        priorities.default = word(value, "default", context).unwrap_or_default();
    }
    for class in PRIORITY_WORDS {
        let (Some(value), Some(priority)) = (map.get(class), priority_named(class)) else { continue };
        for (tier, place) in context.texts(value, class, NAME_CHARS_MAX) {
            let shown = tollgate_http::text::shown(tier);
            if priorities.tiers.iter().any(|(known, _)| known == tier) {
                let message = format!("the tier `{shown}` has a priority already");
                context
                    .findings
                    .push(Diagnostic::error("tiers", place, message).help("remove one of the two"));
            } else if !tier_names.is_empty() && !tier_names.iter().any(|known| known == tier) {
                context.error(
                    "unknown-tier",
                    place,
                    format!("the tier `{shown}` is not among `tiers.names`"),
                );
            } else {
                priorities.tiers.push((tier.to_owned(), priority));
            }
        }
    }
    Some(priorities)
}
