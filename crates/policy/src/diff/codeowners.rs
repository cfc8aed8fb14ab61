//! Who has to agree, in the form of a CODEOWNERS file: a report to read or to check against, not a file to install.

use super::{Diff, Review};

impl Diff {
    /// One line for each limit that changed: its name, or its place if it has none of its own, then who has to agree.
    /// Spaces in a name are written `\ `, as in such a file. A limit that is nobody's is a comment.
    #[must_use]
    pub fn codeowners(&self) -> String {
        let lefts: Vec<String> = self.reviews.iter().map(left).collect();
        let owned = self.reviews.iter().zip(&lefts).filter(|(review, _)| !review.who.is_empty());
        let width = owned.map(|(_, left)| left.chars().count()).max().unwrap_or(0);
        let mut out = String::new();
        for (review, left) in self.reviews.iter().zip(&lefts) {
            if review.who.is_empty() {
                out.push_str(&format!("# {left} has no owner\n"));
                continue;
            }
            let who: Vec<String> = review.who.iter().map(|name| escaped(name)).collect();
            let padding = width.saturating_sub(left.chars().count()).saturating_add(2);
            out.push_str(&format!("{left}{}{}\n", " ".repeat(padding), who.join(" ")));
        }
        out
    }
}

fn left(review: &Review) -> String {
    escaped(if review.named { &review.limit } else { &review.at })
}

/// A text as one word.
fn escaped(text: &str) -> String {
    crate::text::shown(text).replace(' ', "\\ ")
}
