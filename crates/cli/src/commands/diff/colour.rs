//! Colours for the words of a comparison that show its direction.

use annotate_snippets::renderer::{AnsiColor, Style};

/// The words, and what they look like.
const WORDS: &[(&str, Style)] = &[
    ("looser", AnsiColor::Yellow.on_default()),
    ("tighter", AnsiColor::Magenta.on_default()),
    ("added", AnsiColor::Green.on_default()),
    ("removed", AnsiColor::Red.on_default()),
];

/// The same text, with these words in colour where they stand alone.
pub(super) fn coloured(text: &str) -> String {
    // Between two of these there is a word.
    let ends = |char: char| char.is_whitespace() || "(),;:.".contains(char);
    let mut out = String::new();
    for piece in text.split_inclusive(ends) {
        let word = piece.trim_end_matches(ends);
        match WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, style)) => {
                let rest = piece.get(word.len()..).unwrap_or_default();
                out.push_str(&format!("{style}{word}{style:#}{rest}"));
            }
            None => out.push_str(piece),
        }
    }
    out
}

#[test]
fn whole_words_are_coloured_and_nothing_else_is_changed() {
    let text = "(1 looser, 2 removed); GET /removed/added-ones: tighter\nadded";
    let out = coloured(text);
    assert_eq!(out.matches("\x1b[0m").count(), 4, "{out:?}");
    assert_eq!(anstream::adapter::strip_str(&out).to_string(), text);
    assert!(out.contains("/removed/added-ones"), "{out:?}");
}
