//! Escapes and truncates untrusted text for display.

/// Maximum length of text in messages, in characters; longer text is truncated.
const SHOWN_CHARS_MAX: usize = 60;

/// Makes text safe for messages and logs: escapes control characters, and truncates long text.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut out = String::new();
    for (index, char) in text.chars().enumerate() {
        if index == SHOWN_CHARS_MAX {
            out.push('…');
            break;
        }
        if char.is_control() || is_invisible(char) {
            out.extend(char.escape_unicode());
        } else {
            out.push(char);
        }
    }
    out
}

/// Characters that change the direction of text or have no width could make a line look different.
const fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[test]
fn what_is_shown_is_escaped_and_cut() {
    assert_eq!(shown("a\r\nb\u{1b}[31m"), "a\\u{d}\\u{a}b\\u{1b}[31m");
    assert_eq!(shown("\u{202e}abc"), "\\u{202e}abc");
    assert_eq!(shown(&"x".repeat(100)).chars().count(), 61);
}
