//! Named limits: how `limits` defines them, and `use: NAME` and `use: inherited`, which refer to them. They are resolved later.

use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::document::tree::Value;
use crate::model::{Condition, Cost, LimitLocation};
use crate::parse::context::Context;
use crate::parse::parsed_document::ParsedDocument;
use crate::parse::schema_fields::{NAME_CHARS_MAX, USE};
use crate::parse::{condition, cost, limit};

/// `use: inherited`: the limits that would apply if these were not written.
pub(crate) const INHERITED: &str = "inherited";
/// Names that mean something else where a limit can stand.
const RESERVED: &[&str] = &[INHERITED, "none"];
/// Maximum named limits of one document.
const DEFINITIONS_MAX: usize = 10_000;

/// A reference to limits that are written elsewhere.
#[derive(Clone, Debug)]
pub(crate) enum LimitReference {
    /// `{ use: monthly, cost: 25 }`
    Named {
        name: String,
        cost: Option<Cost>,
        when: Option<Condition>,
        /// Where the name is written.
        place: Place,
    },
    /// `{ use: inherited }`
    Inherited(Place),
}

/// Reads `{ use: NAME, cost: 25 }`.
pub(crate) fn read<'t>(map: Value<'t>, context: &mut Context<'t>) -> Option<LimitReference> {
    context.unknown_fields(map, &[USE], "a limit that is used by name");
    let value = map.get("use")?;
    let name = context.text(value, "use", NAME_CHARS_MAX)?;
    let cost = map.get("cost");
    let when = map.get("when");
    if name != INHERITED {
        let when = match when {
            None => None,
            Some(when) => Some(condition::read(when, context)?),
        };
        let cost = match cost {
            None => None,
            Some(cost) => Some(cost::read(cost, context)?),
        };
        return Some(LimitReference::Named { name: name.into(), cost, when, place: value.place() });
    }
    if let Some(cost) = cost {
        let message = "`use: inherited` has no cost of its own: the inherited limits have theirs";
        let help = "to change the cost of one of them, add it by name, as in `{ use: monthly, cost: 25 }`";
        context.findings.push(Diagnostic::error("use", cost.place(), message).help(help));
    }
    if let Some(when) = when {
        let message = "`use: inherited` has no condition: what is inherited applies as it does elsewhere";
        context.findings.push(Diagnostic::error("use", when.place(), message).help("remove `when`"));
    }
    Some(LimitReference::Inherited(value.place()))
}

/// Reads `limits` in the settings of a document.
pub(crate) fn define<'t>(settings: Value<'t>, draft: &mut ParsedDocument, context: &mut Context<'t>) {
    let Some(value) = settings.get("limits") else { return };
    let Some(map) = context.map(value, "`limits`") else { return };
    let count = map.entries().count();
    if count > DEFINITIONS_MAX {
        let message = format!("{count} limits are defined here, and at most {DEFINITIONS_MAX} can be");
        context.error("too-many", value.place(), message);
        return;
    }
    for entry in map.entries() {
        let name = entry.key;
        if let Err(why) = check_name(name) {
            context.error("name", entry.key_at, why);
            continue;
        }
        // A `$ref` to a definition means the definition, and not a limit of its own with the same numbers.
        context.named.insert((entry.value.tree.file, entry.value.id), name.to_owned());
        let Some(resolved) = context.resolve(entry.value) else {
            draft.misread.insert(name.to_owned());
            continue;
        };
        if let Some(other) = resolved.entry("name") {
            let message = format!("the name of this limit is `{}`, its key under `limits`", shown(name));
            let finding = Diagnostic::error("name", other.key_at, message);
            context.findings.push(finding.help("remove `name`"));
        }
        if let Some(when) = resolved.entry("when") {
            let finding = Diagnostic::error("no-effect", when.key_at, "`when` has no effect here");
            context.findings.push(
                finding.help(format!("write it where the limit is used, beside `use: {}`", shown(name))),
            );
        }
        let Some(mut limit) = limit::one(resolved, &LimitLocation::Named(name.into()), context) else {
            draft.misread.insert(name.to_owned());
            continue;
        };
        name.clone_into(&mut limit.name);
        limit.named = true;
        draft.define(limit);
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let shown = shown(name);
    if RESERVED.contains(&name) {
        return Err(format!("`{shown}` has a meaning of its own and cannot be a limit's name"));
    }
    if name.is_empty() || !name.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Err("a name must be printable ASCII, because a header contains it".into());
    }
    let length = name.chars().count();
    if length > NAME_CHARS_MAX {
        return Err(format!("a name has at most {NAME_CHARS_MAX} characters, and this one has {length}"));
    }
    Ok(())
}

fn shown(name: &str) -> String {
    tollgate_http::text::shown(name)
}
