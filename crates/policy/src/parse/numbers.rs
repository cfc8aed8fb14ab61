//! The numbers of a limit, as they are written in a map, with the place of each. What they make is in `numbers.rs` above.

use tollgate_algorithms::{Limit, Micros, UtcOffset, Window};

use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::document::suggest;
use crate::document::tree::Value;
use crate::numbers::{Algorithm, MethodName, Numbers, NumbersError, RawNumbers, Span};
use crate::parse::context::Context;
use crate::parse::schema_fields::adaptive::METHODS;
use crate::quantity::{duration, rate, utc_offset, whole, window};
use crate::time_zone;

/// Reads every number that is there. `None` if one of them is wrong, and has been said.
///
/// `algorithm` is the limit's: what is recommended depends on it.
pub(crate) fn read<'t>(
    map: Value<'t>,
    algorithm: Option<Algorithm>,
    context: &mut Context<'t>,
) -> Option<RawNumbers> {
    let span = |text: &str| span_of(text, algorithm);
    let mut good = true;
    let mut written = RawNumbers::default();
    for entry in map.entries() {
        let (value, name) = (entry.value, entry.key);
        let known = match name {
            "capacity" => context.parsed(value, name, whole).map(|number| written.capacity = Some(number)),
            "refill_rate" => context.parsed(value, name, rate).map(|rate| written.refill_rate = Some(rate)),
            "limit" => context.parsed(value, name, whole).map(|number| written.limit = Some(number)),
            "window_seconds" => {
                context.parsed(value, name, seconds).map(|length| written.window = Some(Span::Length(length)))
            }
            "window" => context.parsed(value, name, span).map(|span| written.window = Some(span)),
            "utc_offset" => {
                context.parsed(value, name, utc_offset).map(|offset| written.utc_offset = Some(offset))
            }
            "time_zone" => {
                context.parsed(value, name, time_zone::find).map(|zone| written.time_zone = Some(zone))
            }
            "buckets" => context.parsed(value, name, whole).map(|number| written.buckets = Some(number)),
            "max_wait" => context.parsed(value, name, duration).map(|wait| written.max_wait = Some(wait)),
            "max_hold" => context.parsed(value, name, hold).map(|hold| written.max_hold = Some(hold)),
            "method" => context.word(value, name, METHODS).map(|word| written.method = method(word)),
            "target" => context.parsed(value, name, duration).map(|target| written.target = Some(target)),
            "min" => context.parsed(value, name, whole).map(|number| written.min = Some(number)),
            "max" => context.parsed(value, name, whole).map(|number| written.max = Some(number)),
            "initial" => context.parsed(value, name, whole).map(|number| written.initial = Some(number)),
            _ => Some(()),
        };
        good &= known.is_some();
    }
    if let (Some(one), Some(other)) = (map.entry("window"), map.entry("window_seconds")) {
        let finding = Diagnostic::error("two-windows", other.key_at, "the window is written twice");
        context.findings.push(finding.also(one.key_at, "and here").help("keep one of the two"));
        good = false;
    }
    if let (Some(one), Some(other)) = (map.entry("utc_offset"), map.entry("time_zone")) {
        let message = "the calendar's distance from UTC is written twice";
        let finding = Diagnostic::error("two-windows", other.key_at, message);
        context.findings.push(finding.also(one.key_at, "and here").help("keep one of the two"));
        good = false;
    }
    good.then_some(written)
}

fn method(word: &str) -> Option<MethodName> {
    MethodName::ALL.into_iter().find(|method| method.name() == word)
}

/// How long a request may be in progress.
fn hold(text: &str) -> Result<Micros, String> {
    match duration(text)? {
        Micros::ZERO => Err("would end every request at once: write a length of time such as `30s`".into()),
        length => Ok(length),
    }
}

fn seconds(text: &str) -> Result<Micros, String> {
    let most = Limit::WINDOW_MAX.get() / Micros::SECOND.get();
    match whole(text)? {
        0 => Err("is no length of time: write `1` or more".into()),
        seconds if seconds > most => {
            Err(format!("is longer than the longest window: write `{most}` or less"))
        }
        seconds => Ok(Micros::from_secs(seconds)),
    }
}

/// A window of a limit: only a fixed window is recommended the calendar.
fn span_of(text: &str, algorithm: Option<Algorithm>) -> Result<Span, String> {
    let follows_calendar = algorithm.is_none_or(|algorithm| algorithm == Algorithm::FixedWindow);
    match (follows_calendar, text.starts_with("calendar ")) {
        (true, _) => span(text),
        (false, true) => span(text).map_err(|_| "is no window: write a length such as `1 day`".into()),
        (false, false) => duration(text).map(Span::Length),
    }
}

/// A window without its offset.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    Ok(match window(text, UtcOffset::UTC)? {
        Window::Every(length) => Span::Length(length),
        Window::Day(_) => Span::Day,
        Window::Week(_) => Span::Week,
        Window::Month(_) => Span::Month,
        Window::Year(_) => Span::Year,
    })
}

/// The limit that these numbers make, or every error, each at the field that it is about.
pub(crate) fn build<'t>(
    written: &RawNumbers,
    algorithm: Algorithm,
    map: Value<'t>,
    context: &mut Context<'t>,
) -> Option<Numbers> {
    let mut errors: Vec<_> = written.problems(algorithm).collect();
    if errors.is_empty() {
        match written.build(algorithm) {
            Ok(numbers) => return Some(numbers),
            Err(error) => errors.push(error),
        }
    }
    for error in errors {
        let mistyped = map.entries().any(|entry| suggest::nearest(entry.key, [error.field()]).is_some());
        let missing = matches!(error, NumbersError::Missing { .. });
        // A field that is only mistyped has been pointed at.
        if !(missing && mistyped) {
            context.findings.push(finding(&error, map));
        }
    }
    None
}

fn finding(error: &NumbersError, map: Value<'_>) -> Diagnostic {
    let at = |name: &str| map.get(name).map(Value::place);
    let field = error.field();
    let place: Place = at(field)
        .or_else(|| if field == "window" { at("window_seconds") } else { None })
        .or_else(|| at("algorithm"))
        .unwrap_or_else(|| map.place());
    let mut finding = Diagnostic::error("numbers", place, error.to_string());
    finding.help = match error {
        NumbersError::Missing { field, .. } => {
            Some(format!("add `{field}`, such as `{field}: {}`", example(field)))
        }
        NumbersError::Foreign { algorithm, .. } => {
            let fields: Vec<_> = algorithm.needs().iter().chain(algorithm.may_have()).copied().collect();
            Some(format!("its numbers are {}", fields.join(", ")))
        }
        NumbersError::CalendarWindow { .. } => {
            Some("write a length such as `30 days`, or take fixed_window".into())
        }
        NumbersError::OffsetWithoutCalendar { .. }
        | NumbersError::OutOfRange { .. }
        | NumbersError::TargetMissing
        | NumbersError::TargetZero
        | NumbersError::TargetForeign { .. }
        | NumbersError::AdaptiveRange { .. } => None,
    };
    finding
}

fn example(field: &str) -> &'static str {
    match field {
        "refill_rate" => "0.5",
        "window" => "1m",
        _ => "100",
    }
}
