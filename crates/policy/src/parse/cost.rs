//! `cost`: what a request costs, as it is written. What it costs in a request is found by `facts`.

use crate::document::diagnostic::Diagnostic;
use crate::document::tree::Value;
use crate::model::{BodyKind, Cost, CostFrom};
use crate::parse::context::Context;
use crate::parse::identity::header;
use crate::parse::schema_fields::{BODY_KINDS, COST, NAME_CHARS_MAX};
use crate::quantity::{size, whole};

/// The largest body that may be read before a decision. A larger one is refused.
pub const COST_BODY_MAX: u64 = 1 << 20;
/// When nothing is said.
const COST_BODY_DEFAULT: u64 = 64 << 10;

/// Reads a cost.
pub(crate) fn read<'t>(value: Value<'t>, context: &mut Context<'t>) -> Option<Cost> {
    if !value.is_map() {
        return context.parsed(value, "cost", at_least_one).map(Cost::Fixed);
    }
    context.unknown_fields(value, &[COST], "a cost");
    let kinds = ["header", "query", "reported", "operations"];
    let given: Vec<_> = value.entries().filter(|entry| kinds.contains(&entry.key)).collect();
    let [entry] = given.as_slice() else {
        let message = "a cost says in one way where it comes from";
        let help = "write one of `header`, `query`, `reported` and `operations`, or a number";
        context.findings.push(Diagnostic::error("cost", value.place(), message).help(help));
        return None;
    };
    let mut number = |name: &str| value.get(name).map(|value| context.parsed(value, name, at_least_one));
    let (default, max) = (number("default"), number("max"));
    let estimate = value.get("estimate").map(|value| context.parsed(value, "estimate", whole));
    let known: &[&str] = match entry.key {
        "reported" => &["reported", "estimate", "max"],
        "operations" => &["operations", "max", "max_body"],
        _ => &["header", "query", "default", "max"],
    };
    for other in value.entries().filter(|other| !known.contains(&other.key)) {
        if COST.iter().any(|field| field.name == other.key) {
            let message = format!("`{}` has no meaning beside `{}`", other.key, entry.key);
            context.error("cost", other.key_at, message);
        }
    }
    let Some(max) = max else {
        let finding = Diagnostic::error("cost", value.place(), "this cost has no maximum");
        context
            .findings
            .push(finding.help("add `max`: what a request can say of itself has to end somewhere"));
        return None;
    };
    let max = max?;
    let default = default.unwrap_or(Some(1))?;
    let estimate = estimate.unwrap_or(Some(1))?;
    let least = if entry.key == "reported" { estimate } else { default };
    if least > max {
        context.error("cost", value.place(), format!("a cost of {least} is above its own maximum of {max}"));
        return None;
    }
    match entry.key {
        "operations" => operations(value, entry.value, max, context),
        "query" => {
            let name = context.text(entry.value, "query", NAME_CHARS_MAX)?;
            Some(Cost::Asked { from: CostFrom::Query(name.into()), default, max })
        }
        kind => {
            let name = context.parsed(entry.value, kind, header)?;
            let asked = kind == "header";
            let from = CostFrom::Header(name.clone());
            Some(if asked {
                Cost::Asked { from, default, max }
            } else {
                Cost::Reported { header: name, estimate, max }
            })
        }
    }
}

fn operations<'t>(map: Value<'t>, kind: Value<'t>, max: u64, context: &mut Context<'t>) -> Option<Cost> {
    let kind = match context.word(kind, "operations", BODY_KINDS)? {
        "graphql" => BodyKind::GraphQl,
        _ => BodyKind::JsonArray,
    };
    let max_body = match map.get("max_body") {
        None => COST_BODY_DEFAULT,
        Some(value) => context.parsed(value, "max_body", |text| match size(text) {
            Ok(bytes) if bytes > COST_BODY_MAX => {
                Err(format!("is more than the {COST_BODY_MAX} bytes that may be read"))
            }
            other => other,
        })?,
    };
    Some(Cost::Operations { kind, max_body, max })
}

/// A limit that charges nothing limits nobody.
fn at_least_one(text: &str) -> Result<u64, String> {
    match whole(text) {
        Ok(0) => {
            Err("charges nothing, and so limits nothing: write 1 or more, or `x-rate-limit: none`".into())
        }
        other => other,
    }
}
