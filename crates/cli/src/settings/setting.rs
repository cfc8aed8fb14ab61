//! One setting of `tollgate serve`: its name, its environment variable and its grammar.

use super::definitions::{Field, FieldType, SERVE};
use super::kind::{Kind, list, parse};
use super::value::Value;

/// What every variable of the environment begins with.
pub const PREFIX: &str = "TOLLGATE_";

/// One setting, by which the server, its documentation and its messages know it.
///
/// ```
/// use tollgate_cli::settings::Setting;
/// let setting = Setting::all().into_iter().find(|setting| setting.path == "timeouts.header").unwrap();
/// assert_eq!(setting.variable(), "TOLLGATE_TIMEOUTS_HEADER");
/// assert_eq!(setting.parse("10s").map(|value| value.to_string()).as_deref(), Ok("10s"));
/// assert_eq!(setting.parse("10").unwrap_err(), "has no unit: write `10s` for seconds");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Where it stands below `serve`, such as `timeouts.header`.
    pub path: String,
    /// What it is for, in a sentence.
    pub about: &'static str,
    kind: Kind,
}

impl Setting {
    /// Every setting, in the order in which they are shown.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        collect("", SERVE, &mut all);
        all
    }

    /// The environment's variable of the same meaning: its path in upper case, after [`PREFIX`].
    #[must_use]
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.path.replace('.', "_").to_ascii_uppercase())
    }

    /// Reads a value. In a list, values stand between commas.
    ///
    /// # Errors
    /// Why it is none: words that follow the value, or a sentence of its own where the value is better not repeated.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        parse(self.kind, text)
    }

    /// Reads one value of a list, as a flag gives them one by one; of a setting that is no list, the value itself.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_item(&self, text: &str) -> Result<Value, String> {
        parse(self.kind.listed().map_or(self.kind, |(item, _)| item), text)
    }

    /// Makes a list of its items.
    ///
    /// # Errors
    /// When there are too many of them, or two are the same.
    pub fn list(&self, items: Vec<Value>) -> Result<Value, String> {
        list(self.kind, items)
    }

    /// Whether it names a file with a secret. Then a value that is no file's name may be the secret itself.
    #[must_use]
    pub const fn is_secret(&self) -> bool {
        matches!(self.kind.one(), Kind::Secret)
    }

    /// The word for "not at all" or "by itself", if it has one: `none`, `auto`, `system`.
    #[must_use]
    pub const fn off(&self) -> Option<&'static str> {
        self.kind.off()
    }
}

fn collect(before: &str, fields: &'static [Field], all: &mut Vec<Setting>) {
    for field in fields {
        let path = format!("{before}{}", field.name);
        if let FieldType::Setting(kind) = field.kind {
            all.push(Setting { path, about: field.about, kind });
        } else if let FieldType::Map(fields) = field.kind {
            collect(&format!("{path}."), fields, all);
        }
    }
}
