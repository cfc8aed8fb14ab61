//! JUnit XML, as test reports of build servers read it: suites of cases, each passed, failed or broken.

use std::borrow::Cow;
use std::io::{self, Write};

/// The cases of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) cases: Vec<Case>,
}

/// Something that passes or fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) fault: Fault,
}

/// What is wrong with a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// It passed, perhaps with something to say.
    None { output: String },
    /// What was checked is wrong.
    Failure { message: String, kind: String, text: String },
    /// It could not be checked.
    Error { message: String },
}

impl Suite {
    /// A suite without cases.
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), cases: Vec::new() }
    }

    fn counts(&self) -> (usize, usize, usize) {
        let count = |is: fn(&Fault) -> bool| self.cases.iter().filter(|case| is(&case.fault)).count();
        let failures = count(|fault| matches!(fault, Fault::Failure { .. }));
        let errors = count(|fault| matches!(fault, Fault::Error { .. }));
        (self.cases.len(), failures, errors)
    }
}

/// Prints the document.
pub(crate) fn write(suites: &[Suite], out: &mut dyn Write) -> io::Result<()> {
    let sums = suites.iter().map(Suite::counts).fold((0_usize, 0_usize, 0_usize), |sum, one| {
        (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1), sum.2.saturating_add(one.2))
    });
    let numbers =
        |(tests, failures, errors)| format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"");
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"tollgate\" {}>", numbers(sums))?;
    for suite in suites {
        let name = escaped(&suite.name);
        writeln!(out, "  <testsuite name=\"{name}\" {}>", numbers(suite.counts()))?;
        suite.cases.iter().try_for_each(|case| self::case(case, &name, out))?;
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

fn case(case: &Case, class: &str, out: &mut dyn Write) -> io::Result<()> {
    let head = format!("    <testcase classname=\"{class}\" name=\"{}\"", escaped(&case.name));
    match &case.fault {
        Fault::None { output } if output.is_empty() => return writeln!(out, "{head}/>"),
        Fault::None { output } => {
            writeln!(out, "{head}>")?;
            writeln!(out, "      <system-out>{}</system-out>", escaped(output))?;
        }
        Fault::Failure { message, kind, text } => {
            writeln!(out, "{head}>")?;
            let (message, kind) = (escaped(message), escaped(kind));
            writeln!(
                out,
                "      <failure type=\"{kind}\" message=\"{message}\">{}</failure>",
                escaped(text)
            )?;
        }
        Fault::Error { message } => {
            writeln!(out, "{head}>")?;
            writeln!(out, "      <error message=\"{}\"/>", escaped(message))?;
        }
    }
    writeln!(out, "    </testcase>")
}

/// A text in XML 1.0: its marks escaped, and a replacement for characters that XML cannot contain.
fn escaped(text: &str) -> Cow<'_, str> {
    let is_plain = |char: char| !matches!(char, '&' | '<' | '>' | '"' | '\'') && is_allowed(char);
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            char if is_allowed(char) => out.push(char),
            _ => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
    Cow::Owned(out)
}

/// The characters of XML 1.0, without the controls that are only discouraged.
fn is_allowed(char: char) -> bool {
    matches!(char, '\t' | '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[test]
fn marks_are_escaped_and_what_xml_cannot_contain_is_replaced() {
    assert_eq!(escaped("a < b & \"c\"'>"), "a &lt; b &amp; &quot;c&quot;&apos;&gt;");
    assert_eq!(escaped("a\x1b[2J\0\u{9b}\u{fffe}ä漢"), "a\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}ä漢");
    assert!(matches!(escaped("plain ä"), Cow::Borrowed(_)));
}
