//! What a response says of limits: `Retry-After`, `RateLimit` and `RateLimit-Policy`. Fields that cannot be read say nothing.

use tollgate_algorithms::Micros;

use super::date::seconds_of;

/// A field of more bytes is not read.
const FIELD_BYTES_MAX: usize = 8 << 10;

/// What a response says.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Micros>,
    /// What is said of each policy, in both fields.
    pub(crate) items: Vec<Item>,
}

/// What is said of a policy.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Item {
    pub(crate) name: Box<[u8]>,
    /// `r`
    pub(crate) remaining: Option<u64>,
    /// `t`
    pub(crate) reset: Option<Micros>,
    /// `q`
    pub(crate) quota: Option<u64>,
    /// `w`
    pub(crate) window: Option<Micros>,
    /// `qu="concurrent-requests"`
    pub(crate) is_concurrent: bool,
    /// Some other unit than requests.
    is_other: bool,
}

impl Item {
    pub(crate) const fn limits_requests(&self) -> bool {
        !self.is_other
    }
}

impl Seen {
    /// Reads the fields of a response.
    pub(crate) fn read<'a>(status: u16, fields: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let (mut seen, mut after, mut date) = (Self { status, ..Self::default() }, None, None);
        for (name, value) in fields {
            if value.len() > FIELD_BYTES_MAX {
                continue;
            }
            if name.eq_ignore_ascii_case("ratelimit") || name.eq_ignore_ascii_case("ratelimit-policy") {
                items(value).unwrap_or_default().into_iter().for_each(|item| seen.merge(item));
            } else if name.eq_ignore_ascii_case("retry-after") {
                after = Some(value);
            } else if name.eq_ignore_ascii_case("date") {
                date = Some(value);
            }
        }
        seen.retry_after = after.and_then(|after| retry_after(after, date));
        seen
    }

    pub(crate) fn names(&self, name: &[u8]) -> bool {
        self.items.iter().any(|item| *item.name == *name && item.remaining.is_some())
    }

    pub(crate) fn longest_reset(&self) -> Option<Micros> {
        self.items.iter().filter_map(|item| item.reset).max()
    }

    fn merge(&mut self, item: Item) {
        let Some(known) = self.items.iter_mut().find(|known| known.name == item.name) else {
            self.items.push(item);
            return;
        };
        // Of partitions with one name, the least is told.
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        known.remaining = least(known.remaining, item.remaining);
        known.quota = least(known.quota, item.quota);
        known.reset = known.reset.into_iter().chain(item.reset).max();
        known.window = known.window.into_iter().chain(item.window).max();
        known.is_concurrent |= item.is_concurrent;
        known.is_other |= item.is_other;
    }
}

/// Seconds, or a date, which counts from the response's own.
fn retry_after(value: &[u8], date: Option<&[u8]>) -> Option<Micros> {
    let text = std::str::from_utf8(value).ok()?.trim();
    if let Some(seconds) = whole(text) {
        return Some(Micros::from_secs(seconds));
    }
    let seconds = |value: &[u8]| seconds_of(std::str::from_utf8(value).ok()?.trim());
    let (until, from) = (seconds_of(text)?, date.and_then(seconds)?);
    // Both are cut to whole seconds.
    Some(Micros::from_secs(until.saturating_sub(from).saturating_add(1)))
}

/// Digits; a number that is too large counts as the largest.
fn whole(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX / Micros::SECOND.get()))
}

/// A list of strings with parameters, as in RFC 9651.
fn items(value: &[u8]) -> Option<Vec<Item>> {
    let (mut rest, mut items) = (Cursor(value), Vec::new());
    rest.skip_space();
    while !rest.0.is_empty() {
        let mut item = Item { name: rest.string()?.into(), ..Item::default() };
        rest.skip_space();
        while rest.take(b';') {
            rest.skip_space();
            let name = rest.while_true(|byte| byte.is_ascii_alphanumeric() || b"_-.*".contains(&byte));
            let value = if rest.take(b'=') { rest.value()? } else { Value::Other };
            item.set(name, value);
            rest.skip_space();
        }
        items.push(item);
        if rest.0.is_empty() {
            break;
        }
        if !rest.take(b',') {
            return None;
        }
        rest.skip_space();
    }
    Some(items)
}

enum Value {
    Number(u64),
    Text(Vec<u8>),
    Other,
}

impl Item {
    fn set(&mut self, name: &[u8], value: Value) {
        let seconds = |number: u64| Micros::from_secs(number.min(u64::MAX / Micros::SECOND.get()));
        match (name, value) {
            (b"r", Value::Number(number)) => self.remaining = Some(number),
            (b"q", Value::Number(number)) => self.quota = Some(number),
            (b"t", Value::Number(number)) => self.reset = Some(seconds(number)),
            (b"w", Value::Number(number)) => self.window = Some(seconds(number)),
            (b"qu", Value::Text(unit)) => {
                self.is_concurrent = unit == b"concurrent-requests";
                self.is_other = !self.is_concurrent && unit != b"requests";
            }
            _ => {}
        }
    }
}

/// What is not read yet.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, byte: u8) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if *first == byte => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    fn while_true(&mut self, is: impl Fn(u8) -> bool) -> &'a [u8] {
        let length = self.0.iter().position(|byte| !is(*byte)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn skip_space(&mut self) {
        self.while_true(|byte| byte == b' ' || byte == b'\t');
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        if !self.take(b'"') {
            return None;
        }
        let mut text = Vec::new();
        loop {
            match self.0.split_first()? {
                (b'"', rest) => {
                    self.0 = rest;
                    return Some(text);
                }
                (b'\\', rest) => {
                    let (escaped, rest) = rest.split_first()?;
                    text.push(*escaped);
                    self.0 = rest;
                }
                (byte, rest) => {
                    text.push(*byte);
                    self.0 = rest;
                }
            }
        }
    }

    /// A number, a string, or something else up to the next parameter or member.
    fn value(&mut self) -> Option<Value> {
        if self.0.first() == Some(&b'"') {
            return self.string().map(Value::Text);
        }
        let text = self.while_true(|byte| !b";, \t".contains(&byte));
        let number = std::str::from_utf8(text).ok().and_then(whole);
        Some(number.map_or(Value::Other, Value::Number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(fields: &[(&'static str, &'static str)]) -> Seen {
        Seen::read(200, fields.iter().map(|(name, value)| (*name, value.as_bytes())))
    }

    #[test]
    fn both_fields_say_something_of_a_policy() {
        let fields = [
            ("ratelimit", r#""a b";r=5;t=10, "at once";r=1"#),
            ("RateLimit-Policy", r#""a b";q=100;w=60;pk=:AAA=:, "at once";q=10;qu="concurrent-requests""#),
            ("ratelimit-policy", r#""bytes";q=5;qu="content-bytes""#),
        ];
        let seen = seen(&fields);
        let [first, second, third] = &seen.items[..] else { panic!("{seen:?}") };
        assert_eq!((&*first.name, first.remaining, first.quota), (&b"a b"[..], Some(5), Some(100)));
        assert_eq!((first.reset, first.window), (Some(Micros::from_secs(10)), Some(Micros::MINUTE)));
        assert!(second.is_concurrent && second.limits_requests() && !third.limits_requests());
    }

    #[test]
    fn what_cannot_be_read_says_nothing() {
        for value in ["", "a;r=5", "\"a", "\"a\";r=5 \"b\"", "\"a\\", "5", "\"a\";r=\"", ",", "\"a\";;;"] {
            let seen = seen(&[("ratelimit", value)]);
            assert!(seen.items.iter().all(|item| item.remaining.is_none()), "{value:?}: {seen:?}");
        }
        // Negative and broken numbers are no numbers, and huge ones are large.
        assert_eq!(seen(&[("ratelimit", "\"a\";r=-5;t=1.5")]).items[0].remaining, None);
        let huge = seen(&[("ratelimit", "\"a\";r=99999999999999999999999")]);
        assert!(huge.items[0].remaining > Some(1 << 40));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let after = |fields: &[(&'static str, &'static str)]| seen(fields).retry_after;
        assert_eq!(after(&[("retry-after", "7")]), Some(Micros::from_secs(7)));
        assert_eq!(after(&[("retry-after", "-7")]), None);
        let date = ("retry-after", "Thu, 19 Nov 2026 22:00:30 GMT");
        assert_eq!(after(&[date]), None, "the client's clock is not the server's");
        let now = ("date", "Thu, 19 Nov 2026 22:00:00 GMT");
        assert_eq!(after(&[date, now]), Some(Micros::from_secs(31)));
    }
}
