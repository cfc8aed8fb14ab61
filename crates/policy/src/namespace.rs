//! The namespace of a policy's limits in a store that several services share: how it is derived from a title. It names no keys.

use std::fmt::Write as _;

use crate::section::Node;

/// In place of a namespace: it is derived from the title.
const OF_TITLE: &str = "title";
/// A namespace that is derived from a title has at most so many characters before its hash.
const CHARS_MAX: usize = 64;

/// A namespace made of a title: lower-case letters and digits, with `-` in place of everything else. Empty for an empty title.
///
/// Titles that differ only in case or in spaces have the same namespace. Where other characters are left out, or the title is
/// too long, a hash of the title is added, so that two titles never become one by that.
pub(crate) fn of_title(title: &str) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let (mut name, mut is_exact) = (String::new(), true);
    for char in title.chars() {
        let is_separator = matches!(char, ' ' | '-' | '_');
        is_exact &= char.is_ascii_alphanumeric() || is_separator || char == '.';
        if char.is_ascii_alphanumeric() || char == '.' {
            name.push(char);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    is_exact &= name.len() <= CHARS_MAX;
    // Only ASCII is in it.
    name.truncate(CHARS_MAX);
    let mut name = name.trim_end_matches('-').to_owned();
    if !is_exact {
        if !name.is_empty() {
            name.push('-');
        }
        let _ = write!(name, "{:08x}", hash(title.as_bytes()));
    }
    name
}

/// The namespace that a section `serve` sets. `None` if it sets none, or one that is wrong.
pub(crate) fn written(section: Node<'_>) -> Option<String> {
    let text = section.get("store")?.get("namespace")?.text()?;
    check(text).is_ok_and(|()| text != OF_TITLE).then(|| text.to_owned())
}

/// Says what is wrong with a namespace, if anything is.
pub(crate) fn check(text: &str) -> Result<(), String> {
    crate::section::check_token(text)
}

/// FNV-1a, which is the same in every version.
fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_becomes_a_word() {
        for (title, namespace) in [
            ("", ""),
            (" ", ""),
            ("Orders API", "orders-api"),
            ("  orders   API ", "orders-api"),
            ("Orders_API v1.2", "orders-api-v1.2"),
            ("- Orders -", "orders"),
        ] {
            assert_eq!(of_title(title), namespace, "{title:?}");
        }
    }

    #[test]
    fn titles_that_lose_something_do_not_become_one() {
        let long = "a".repeat(CHARS_MAX);
        let titles =
            ["C API", "C++ API", "C# API", "注文 API", "請求 API", "!!!", &long, &format!("{long}b")];
        let namespaces: std::collections::HashSet<_> = titles.iter().map(|title| of_title(title)).collect();
        assert_eq!(namespaces.len(), titles.len(), "{namespaces:?}");
        assert_eq!(of_title("注文 API"), of_title("注文  api"));
    }

    #[test]
    fn what_is_derived_can_be_written_as_the_setting() {
        for title in ["Orders API", "注文", "C++", &"a b".repeat(100)] {
            let namespace = of_title(title);
            assert_eq!(check(&namespace), Ok(()), "{title:?} becomes {namespace:?}");
        }
    }
}
