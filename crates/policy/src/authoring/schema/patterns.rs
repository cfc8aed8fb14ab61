//! The strict grammars of numbers, times and keys as patterns. They are written without looking around, so that every
//! engine for patterns can use them; that they agree with the readers is tested.

/// A whole number that fits: at most twenty digits, of which the first is not 0.
const WHOLE: &str = "(0|[1-9][0-9]{0,19})";
/// The same, and not 0.
const SOME: &str = "[1-9][0-9]{0,19}";
/// A number with at most nine decimals that count.
const DECIMAL: &str = r"(0|[1-9][0-9]{0,19})(\.[0-9]{1,9}0*)?";
const UNIT: &str =
    "(us|microseconds?|ms|milliseconds?|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)";
const TOKEN: &str = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/// A header's name among identities, where `+` joins them.
const JOINED_TOKEN: &str = "[!#$%&'*.^_`|~0-9A-Za-z-]{1,128}";
/// Another name there, without white space around it.
const JOINED_NAME: &str = r"[^+\s]([^+]{0,126}[^+\s])?";
const WORDS: &str = "api_key|ip|consumer|organisation|everyone";
const NAMED: &str = "cookie|query|jwt|jwt_unverified";
/// A JSON pointer there.
const JOINED_POINTER: &str = r"/[^+]{0,126}";

/// `10 per second`, `5 per 3 s`.
pub(super) fn rate() -> String {
    format!("^{DECIMAL} per ({UNIT}|{SOME} ?{UNIT})$")
}

/// `500ms`, `1 day`.
pub(super) fn duration() -> String {
    format!("^{WHOLE} ?{UNIT}$")
}

/// A duration that is not 0.
#[must_use]
pub fn length() -> String {
    format!("^{SOME} ?{UNIT}$")
}

/// A length, or `calendar day`.
pub(super) fn window() -> String {
    format!("^({SOME} ?{UNIT}|calendar (day|week|month|year))$")
}

/// `calendar day`.
pub(super) const CALENDAR: &str = "^calendar (day|week|month|year)$";

/// `+02:00`, `Z`: at most 18 hours either way.
pub(super) const OFFSET: &str = "^(Z|UTC|[+-]((0[0-9]|1[0-7]):[0-5][0-9]|18:00))$";

/// `Europe/Paris`. Which names there are is not said here.
pub(super) const TIME_ZONE: &str = "^[A-Za-z0-9_+/-]+$";

/// `allow`, `local 1/4`.
pub(super) const STORE_FAILS: &str = "^(allow|deny|local|local [1-9][0-9]{0,9}/[1-9][0-9]{0,9})$";

/// Printable ASCII.
pub(super) const ASCII: &str = "^[ -~]+$";

pub(super) const METHOD: &str = "^[A-Z-]{1,32}$";

/// `64 KiB`; a number alone is not a text.
pub(super) const SIZE: &str =
    r"^((0|[1-9][0-9]{0,6})(\s*B|\s+)|(0|[1-9][0-9]{0,2}|10[01][0-9]|102[0-4])\s*KiB|[01]\s*MiB|0\s*GiB)$";

/// Any size in bytes; a number alone is not a text.
pub const BYTES: &str = r"^(0|[1-9][0-9]{0,19})(\s*(B|KiB|MiB|GiB)|\s+)$";

/// `https://app.example.org`, as a browser sends it, or `*`.
pub(super) const BROWSER_ORIGIN: &str =
    r"^(\*|[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?)$";

/// Digits of either kind of address, and the length of a prefix.
pub(super) const NETWORK: &str = "^[0-9A-Fa-f:.]+(/(0|[1-9][0-9]{0,2}))?$";

/// A header's name.
#[must_use]
pub fn header() -> String {
    format!("^{TOKEN}$")
}

/// `header:NAME`, `query:NAME`, `cookie:NAME`, `bearer`, `basic`.
pub(super) fn key_place() -> String {
    format!(r"^(bearer|basic|header:\s*{TOKEN}\s*|(query|cookie):\s*\S[\s\S]*)$")
}

/// `consumers`, `jwt:CLAIM`, `header:NAME`.
pub(super) fn tier_source() -> String {
    format!(r"^(consumers|jwt:[\s\S]+|header:{TOKEN})$")
}

/// `consumers`, `jwt:CLAIM`.
pub(super) const ORGANISATION_SOURCE: &str = r"^(consumers|jwt:[\s\S]+)$";

/// A link of a consumer key: identities joined by ` + `.
pub(super) fn link() -> String {
    let one = format!(
        r"\s*({WORDS}|header:\s*{JOINED_TOKEN}|({NAMED}):\s*{JOINED_NAME}|body:\s*{JOINED_POINTER})\s*"
    );
    format!(r"^{one}(\+{one}){{0,3}}$")
}
