//! What every template begins with, such as `/api/v1/`: a search compares it at once, and begins behind it. Nothing is decided here.

use super::trie::{NONE, Trie};
use crate::template::Case;

/// The texts from the root on, as long as one text alone leads on.
///
/// A path that begins with it has its first segments taken, and is searched from `place` on. Any other path is searched from
/// the root, as if there were none.
#[derive(Debug)]
pub(super) struct CommonPrefix {
    /// Begins and ends with a slash.
    pub(super) text: Vec<u8>,
    /// The node behind it.
    pub(super) place: u32,
    /// How many segments it takes.
    pub(super) segments: usize,
}

impl CommonPrefix {
    pub(super) fn of(trie: &Trie) -> Self {
        let mut stem = Self { text: vec![b'/'], place: 0, segments: 0 };
        // Where case is ignored, a path is written in many ways.
        while trie.words.case() == Case::Kept {
            let branch = trie.node(stem.place);
            let mut literals = trie.literals(stem.place);
            let (Some((word, child)), None) = (literals.next(), literals.next()) else { break };
            if !branch.patterns.is_empty() || branch.parameter != NONE || branch.tail != NONE {
                break;
            }
            stem.text.extend_from_slice(trie.words.get(word));
            stem.text.push(b'/');
            stem.place = child;
            stem.segments += 1;
        }
        stem
    }
}

#[cfg(test)]
mod tests {
    use crate::router::tests::router;

    #[test]
    fn the_stem_is_what_all_templates_begin_with() {
        let table: [(&[&str], &str); 9] = [
            (&[], "/"),
            (&["/"], "//"),
            (&["/login"], "/login/"),
            (&["/api/v1/a", "/api/v1/b"], "/api/v1/"),
            (&["/api/v1", "/api/v1/b/{c}"], "/api/v1/b/"),
            (&["/api/{x}", "/api/v1"], "/api/"),
            (&["/api/{x}.json", "/api/v1"], "/api/"),
            (&["/api/{rest*}", "/api/v1"], "/api/"),
            (&["/{x}"], "/"),
        ];
        for (templates, expected) in table {
            let router = router(templates);
            assert_eq!(String::from_utf8_lossy(&router.strict.stem.text), expected, "{templates:?}");
            let loose = router.loose.as_ref().map(|loose| loose.table.stem.text.as_slice());
            assert_eq!(loose, Some(b"/".as_slice()), "{templates:?}");
        }
    }

    #[test]
    fn paths_are_found_on_the_stem_and_beside_it() {
        let router = router(&["/api/v1", "/api/v1/", "/api/v1/{id}", "/api/v1/{id}/x"]);
        let table = [
            ("/api/v1", Some(0)),
            ("/api/v1/", Some(1)),
            ("/api/v1/7", Some(2)),
            ("/api/v1/7/x", Some(3)),
            ("/api/v1/7/y", None),
            ("/api/v12", None),
            ("/api/v", None),
            ("/api/", None),
            ("/api", None),
            ("/API/v1", None),
            ("/", None),
            ("", None),
        ];
        for (path, expected) in table {
            assert_eq!(router.find(path, Some), expected, "{path}");
        }
    }
}
