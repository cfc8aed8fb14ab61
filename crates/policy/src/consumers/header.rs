//! The header line of a consumers file: which column is which. It reads no other line.

use super::error::Errors;
use super::line::{Cells, column};
use crate::document::suggest::distance;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Key,
    Consumer,
    Tier,
    Organisation,
    Overrides,
}

const ROLES: [(&str, Role); 5] = [
    ("key_sha256", Role::Key),
    ("consumer", Role::Consumer),
    ("tier", Role::Tier),
    ("organisation", Role::Organisation),
    ("overrides", Role::Overrides),
];

/// Other words that people use for these columns.
const OTHER_WORDS: [(&str, &str); 16] = [
    ("key", "key_sha256"),
    ("api_key", "key_sha256"),
    ("apikey", "key_sha256"),
    ("hash", "key_sha256"),
    ("sha256", "key_sha256"),
    ("key_hash", "key_sha256"),
    ("name", "consumer"),
    ("user", "consumer"),
    ("client", "consumer"),
    ("customer", "consumer"),
    ("plan", "tier"),
    ("level", "tier"),
    ("org", "organisation"),
    ("company", "organisation"),
    ("tenant", "organisation"),
    ("limits", "overrides"),
];

/// The roles of the columns, from left to right. An unknown column has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) roles: Vec<Option<Role>>,
}

impl Header {
    /// Reads the header line. `None` if it is such that no other line can be read by it.
    ///
    /// No sentence repeats a name: in a file without a header the first line is a key, perhaps in clear.
    pub(super) fn read(line: &str, number: u32, errors: &mut Errors) -> Option<Self> {
        let mut roles = Vec::new();
        for cell in Cells::new(line) {
            let cell = match cell {
                Ok(cell) => cell,
                Err((at, sentence)) => {
                    errors.add((number, column(line, at)), || sentence.to_owned());
                    return None;
                }
            };
            let role = ROLES.iter().find(|(name, _)| *name == cell.text).map(|(_, role)| *role);
            let place = (number, column(line, cell.at));
            if role.is_none() {
                errors.add(place, || unknown(&cell.text));
            } else if roles.contains(&role) {
                errors.add(place, || "This column is named twice. Take one of them out.".to_owned());
            }
            roles.push(role);
        }
        let missing = |role| !roles.contains(&Some(role));
        if missing(Role::Key) || missing(Role::Consumer) {
            errors.add((number, 1), || MISSING.to_owned());
            return None;
        }
        Some(Self { roles })
    }
}

pub(super) const MISSING: &str = "The first line must name the columns `key_sha256` and `consumer`, and may name `tier`, \
                       `organisation` and `overrides`, in any order: for example `key_sha256,consumer,tier`.";

fn unknown(name: &str) -> String {
    let known = "Columns are `key_sha256`, `consumer`, `tier`, `organisation` and `overrides`";
    match meant(name) {
        Some(meant) => format!("There is no column of this name. Did you mean `{meant}`? {known}."),
        None => format!("There is no column of this name. {known}; take the others out."),
    }
}

fn meant(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace([' ', '-'], "_");
    let other = OTHER_WORDS.iter().find(|(word, _)| *word == name).map(|(_, meant)| *meant);
    let near = |(meant, _): &(&'static str, Role)| (distance(&name, meant) <= 2).then_some(*meant);
    other.or_else(|| ROLES.iter().find_map(near))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_nearly_a_column_is_recognised() {
        let cases = [
            ("teir", Some("tier")),
            ("Tier", Some("tier")),
            ("organization", Some("organisation")),
            ("key-sha256", Some("key_sha256")),
            ("API key", Some("key_sha256")),
            ("override", Some("overrides")),
            ("plan", Some("tier")),
            ("email", None),
            ("", None),
        ];
        for (word, wanted) in cases {
            assert_eq!(meant(word), wanted, "{word}");
        }
        assert_eq!([distance("abc", "abc"), distance("", "abc"), distance("kitten", "sitting")], [0, 3, 3]);
    }
}
