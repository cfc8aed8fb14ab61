//! Selects by name the request headers that a gateway forwards, so that no look-alike replaces a header that a limit reads.

use http::HeaderName;

use crate::header::is_plain;

/// Passes headers on, or drops them.
///
/// A [plain](is_plain) name goes on. Of other names only those go on that are kept because a policy reads them; and of what an
/// upstream could take for one of them, nothing else does: with `api_key` kept, `api-key` and `api.key` are dropped.
///
/// ```
/// use http::HeaderName;
/// use tollgate_http::header_filter::HeaderFilter;
/// let filter = HeaderFilter::plain_and(vec![HeaderName::from_static("api_key")]);
/// let passes = |name| filter.passes(&HeaderName::from_static(name));
/// assert!(passes("accept") && passes("api_key"));
/// assert!(!passes("api-key") && !passes("x_other"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeaderFilter {
    any: bool,
    kept: Vec<HeaderName>,
}

impl HeaderFilter {
    /// Passes on every header.
    #[must_use]
    pub const fn any() -> Self {
        Self { any: true, kept: Vec::new() }
    }

    /// Passes on plain names, and these others.
    #[must_use]
    pub const fn plain_and(kept: Vec<HeaderName>) -> Self {
        Self { any: false, kept }
    }

    /// Whether a header of this name goes on.
    #[must_use]
    pub fn passes(&self, name: &HeaderName) -> bool {
        if self.any || self.kept.is_empty() {
            return self.any || is_plain(name);
        }
        self.kept.contains(name) || (is_plain(name) && !self.kept.iter().any(|kept| is_alike(kept, name)))
    }
}

/// Whether some upstream takes two names for one: CGI, WSGI, Rack and PHP fold other characters than letters and digits.
#[must_use]
pub fn is_alike(one: &HeaderName, other: &HeaderName) -> bool {
    let folded = |byte: u8| if byte.is_ascii_alphanumeric() { byte } else { b'-' };
    let (one, other) = (one.as_str(), other.as_str());
    one.len() == other.len() && one.bytes().map(folded).eq(other.bytes().map(folded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_stands_in_for_a_name_that_is_kept() {
        let named = HeaderName::from_static;
        let plain = HeaderFilter::plain_and(Vec::new());
        let kept = HeaderFilter::plain_and(vec![named("api_key")]);
        let table = [
            ("api_key", [false, true, true]),
            ("api-key", [true, false, true]),
            ("api.key", [false, false, true]),
            ("api-keys", [true, true, true]),
            ("x_api_key", [false, false, true]),
            ("accept", [true, true, true]),
        ];
        for (name, expected) in table {
            let found = [&plain, &kept, &HeaderFilter::any()].map(|filter| filter.passes(&named(name)));
            assert_eq!(found, expected, "{name}");
        }
    }
}
