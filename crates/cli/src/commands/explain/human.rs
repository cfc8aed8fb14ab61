//! The explanation for people: a heading per part, a line per fact.

use std::io::{self, Write};

use annotate_snippets::renderer::{Effects, Style};
use tollgate_algorithms::Mode;
use tollgate_policy::VariantKind;
use tollgate_policy::quantity::spoken;

use crate::finding::printable;

use super::explanation::{Explanation, MatchedOperation, NormalizedRequest, PartialExplanation};
use super::limits::{ChargedKey, MatchedLimit, OverriddenLimit};
use super::preview::ResponsePreview;
use super::refusal::Refusal;
use super::suggest::NearbyOperation;

/// What headings look like. A stream without colours takes it out.
const HEADING: Style = Style::new().effects(Effects::BOLD);

/// Prints it.
pub(super) fn write(answer: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    if let Some(request) = &answer.request {
        self::request(request, out)?;
    }
    if let Some(matched) = &answer.matched {
        self::matched(matched, out)?;
    }
    near(&answer.near, out)?;
    for limit in &answer.limits {
        self::limit(limit, out)?;
    }
    match &answer.refused {
        Some(PartialExplanation { status, because, looked }) => {
            heading("answer", out)?;
            line("status", &status.to_string(), out)?;
            line("because", because, out)?;
            for (number, place) in looked.iter().enumerate() {
                line(if number == 0 { "looked at" } else { "" }, place, out)?;
            }
            line("charged", "nothing", out)
        }
        None => told(&answer.told, out),
    }
}

fn heading(text: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADING}{text}{HEADING:#}")
}

fn line(name: &str, value: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {name:<10} {value}")
}

fn request(request: &NormalizedRequest, out: &mut dyn Write) -> io::Result<()> {
    heading("request", out)?;
    line("method", &printable(&request.method), out)?;
    line("path", &request.path, out)?;
    if let Some(query) = &request.query {
        line("query", &printable(query), out)?;
    }
    if !request.host.is_empty() {
        line("host", &request.host, out)?;
    }
    line("client", &format!("{}: {}", request.client, request.client_is), out)?;
    if let Some(tier) = &request.tier {
        line("tier", &printable(tier), out)?;
    }
    writeln!(out)
}

fn matched(matched: &MatchedOperation, out: &mut dyn Write) -> io::Result<()> {
    heading("operation", out)?;
    let id = matched.id.as_ref().map_or_else(String::new, |id| format!(" ({})", printable(id)));
    line("met", &format!("{}{id}", matched.what), out)?;
    if let Some(at) = &matched.at {
        line("written", at, out)?;
    }
    if let Some(why) = &matched.unlimited {
        line("unlimited", why, out)?;
    }
    for OverriddenLimit { name, level, at } in &matched.farther {
        let level = if *level == "root" { "at the root".into() } else { format!("on the {level}") };
        line("farther", &format!("{name}, {level}, at {at}: it does not count here"), out)?;
    }
    writeln!(out)
}

fn near(near: &[NearbyOperation], out: &mut dyn Write) -> io::Result<()> {
    if near.is_empty() {
        return Ok(());
    }
    heading("nearest operations", out)?;
    for NearbyOperation { name, at, why } in near {
        writeln!(out, "  {name} at {at}: {why}")?;
    }
    writeln!(out)
}

fn limit(limit: &MatchedLimit, out: &mut dyn Write) -> io::Result<()> {
    heading(&format!("limit {}", limit.name), out)?;
    line("written", &limit.at, out)?;
    if let Some(reference) = &limit.reference {
        line("by $ref", &format!("at {reference}"), out)?;
    }
    line("nearest", &limit.nearest, out)?;
    if let Some(whom) = &limit.unlimited_for {
        line("allows", &format!("everything, for {}", printable(whom)), out)?;
    }
    for charged in &limit.charges {
        self::charged(charged, limit.algorithm, out)?;
    }
    let mode = match limit.mode {
        Mode::Enforced => "enforced",
        Mode::Shadow => "shadow: it counts, but refuses no request",
    };
    line("mode", mode, out)?;
    if let Some(wait) = limit.wait {
        line("waits", &format!("{} at most, in order of arrival", spoken(wait)), out)?;
    }
    if limit.strict {
        line("strict", "no gap is ever shorter than its interval", out)?;
    }
    if !limit.visible {
        line("hidden", "clients are not shown its numbers", out)?;
    }
    if let Some(owner) = &limit.owner {
        line("owner", &printable(owner), out)?;
    }
    if !limit.reviewers.is_empty() {
        line("reviewers", &printable(&limit.reviewers.join(", ")), out)?;
    }
    if let Some(description) = &limit.description {
        let mut lines = description.trim_end().lines();
        line("says", &printable(lines.next().unwrap_or_default()), out)?;
        lines.try_for_each(|text| line("", &printable(text), out))?;
    }
    writeln!(out)
}

fn charged(charged: &ChargedKey, algorithm: &str, out: &mut dyn Write) -> io::Result<()> {
    match charged.budget {
        VariantKind::Own => {}
        VariantKind::AddressCeiling => {
            line("besides", "a ceiling for the address, whatever keys it shows", out)?
        }
        VariantKind::WideAddress => {
            line("besides", "a wider budget for the network around the address", out)?
        }
        VariantKind::WideCeiling => line("besides", "a ceiling for the network around the address", out)?,
    }
    let whose = charged.numbers_of.as_ref().map_or_else(String::new, |of| format!(", for {of}"));
    line("allows", &format!("{} ({algorithm}){whose}", charged.numbers), out)?;
    let key = charged.key.join(" + ");
    match &charged.key_from {
        Some(from) if from.starts_with("from ") => line("key", &format!("{key}, {from}"), out)?,
        Some(why) => line("key", &format!("{key}: {why}"), out)?,
        None => line("key", &key, out)?,
    }
    if let Some(own) = &charged.line {
        line("in turn", &format!("{}: the lines of one key take turns", own.join(" + ")), out)?;
    }
    let from = charged.cost_from.as_ref().map_or_else(String::new, |from| format!(": {from}"));
    line("cost", &format!("{}{from}", charged.cost), out)
}

fn told(told: &ResponsePreview, out: &mut dyn Write) -> io::Result<()> {
    if let Some(Refusal { granted: 0, limit, status, .. }) = &told.refusal {
        heading("it is never granted", out)?;
        return writeln!(
            out,
            "  {status}: one such request costs more than {limit} ever allows; waiting does not help"
        );
    }
    heading("if granted, the response has", out)?;
    match (&told.policy, &told.first) {
        (Some(policy), Some(first)) => {
            writeln!(out, "  RateLimit-Policy: {policy}")?;
            writeln!(out, "  RateLimit: {first}")?;
        }
        _ => writeln!(out, "  nothing about limits")?,
    }
    writeln!(out)?;
    match &told.refusal {
        None if told.in_flight => heading("it is refused only while others are in progress or in line", out),
        None => heading("it is never refused", out),
        Some(refusal) => refused(refusal, out),
    }
}

fn refused(refusal: &Refusal, out: &mut dyn Write) -> io::Result<()> {
    heading(&format!("when it is refused, after {} at once, the response is", refusal.granted), out)?;
    writeln!(out, "  {}, by {}", refusal.status, refusal.limit)?;
    for (name, value) in &refusal.fields {
        writeln!(out, "  {name}: {value}")?;
    }
    writeln!(out)?;
    let body = &refusal.body;
    let last = body.len().saturating_sub(1);
    writeln!(out, "  {{")?;
    for (number, (name, value)) in body.iter().enumerate() {
        let comma = if number < last { "," } else { "" };
        writeln!(out, "    \"{name}\": {}{comma}", printable(&value.to_string()))?;
    }
    writeln!(out, "  }}")
}
