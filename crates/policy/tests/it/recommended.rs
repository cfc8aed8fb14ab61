//! What messages recommend is accepted: every "write `…`" and "did you mean `…`" of every message is put into its document.

use std::fs;

use tollgate_policy::scenario::Scenarios;
use tollgate_policy::{Diagnostic, Findings, Policy, Severity, Sources};

use crate::messages::{documents, folder};

/// The words before what is recommended.
const KEYWORDS: &[&str] = &[
    "write ",
    "did you mean ",
    "such as ",
    "that fits is ",
    "begin it with ",
    "write out what it would add: ",
    "add one of ",
];
/// Recommendations that are not put at the place of the finding: where they go is said in words.
const ELSEWHERE: &[&str] = &[
    // On the operation, beside the tags that disagree.
    "x-rate-limit",
    // In the file that names the documents.
    "rate_limit",
    // Settings of the document, for a header of a limit.
    "header_names: any",
    // In place of the limit, for a cost of nothing.
    "x-rate-limit: none",
    // A file that is not among these documents.
    "jwks: jwks.json",
    // Beside the origins.
    "credentials: false",
    // Around a text of several words, as an example of its form.
    "''",
    "\\\"",
    "\\\\",
    "name: value",
    "- value",
    // Before another value, which is not there yet.
    "&slow",
    // Where the text or the list ends.
    "}",
    "]",
    "\"",
    "'",
];
/// What stands for something in a recommendation, and an example of it.
const EXAMPLES: &[(&str, &str)] = &[
    ("header:NAME", "header:X-Name"),
    ("query:NAME", "query:name"),
    ("cookie:NAME", "cookie:name"),
    ("jwt:CLAIM", "jwt:plan"),
];

/// Everything that is recommended together: several fields, or one text.
type Recommended = Vec<String>;

/// What a sentence recommends, each of which is enough by itself.
fn recommended(sentence: &str) -> Vec<Recommended> {
    let mut all = Vec::new();
    for keyword in KEYWORDS {
        for rest in sentence.split(keyword).skip(1) {
            if let Some(list) = rest.strip_prefix("one of ").or((*keyword == "add one of ").then_some(rest)) {
                let list = list.split([';', ':', '.']).next().unwrap_or("");
                // In backticks, these are names of fields, and a value belongs to each.
                let words = list.split([',', ' ']).filter(|word| !word.is_empty() && !list.contains('`'));
                let field = if *keyword == "add one of " { "algorithm: " } else { "" };
                all.extend(words.map(|word| vec![format!("{field}{word}")]));
                continue;
            }
            // Only what follows at once, after a few words such as "it such as".
            let Some((filler, mut rest)) = rest.split_once('`') else { continue };
            if filler.contains([':', ';', ',', '.', '(']) || filler.split(' ').count() > 6 {
                continue;
            }
            let mut together: Recommended = Vec::new();
            while let Some((item, after)) = rest.split_once('`') {
                together.push(item.to_owned());
                let separator = after.split('`').next().unwrap_or("");
                let is_together = separator == " with " || keyword.starts_with("write out");
                if !is_together {
                    all.push(std::mem::take(&mut together));
                }
                if !matches!(separator, ", " | " or " | ", or " | ", or, for a fixed window, " | " with ") {
                    break;
                }
                rest = after.split_once('`').map_or("", |(_, rest)| rest);
            }
            all.extend(Some(together).filter(|together| !together.is_empty()));
        }
    }
    all
}

/// What is found in a document of the folder, in which one file has another text.
fn found(name: &str, other: Option<(&str, &str)>) -> (Sources, Findings) {
    let mut read = |asked: &str| match other {
        Some((file, text)) if file == asked => Ok(text.to_owned()),
        _ => fs::read_to_string(folder().join(asked)).map_err(|_| "there is no such file".to_owned()),
    };
    if name.starts_with("scenarios") {
        return match Scenarios::load(name, &mut read) {
            Err(refused) => (refused.sources, refused.findings),
            Ok(scenarios) => {
                let policy = Policy::load(&scenarios.policy, &mut read).expect("the policy is right");
                let findings = scenarios.check(&policy);
                (scenarios.sources, findings)
            }
        };
    }
    match Policy::load(name, &mut read) {
        Ok(policy) => (policy.sources().clone(), policy.findings().clone()),
        Err(refused) => (refused.sources, refused.findings),
    }
}

/// The text with one field of the map around a place set to a value, and where the value is then.
fn with_field(text: &str, at: usize, field: &str, value: &str) -> (String, usize) {
    let before = &text[..at];
    // The innermost brace that is open, if the map is written in braces.
    let mut depth = 0_i32;
    let open = before.char_indices().rev().find_map(|(at, char)| {
        depth += i32::from(char == '}') - i32::from(char == '{');
        (depth < 0).then_some(at)
    });
    let open = open.or_else(|| text[at..].starts_with('{').then_some(at));
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let Some(open) =
        open.filter(|open| text[*open..].split('\n').next().is_some_and(|line| line.contains('}')))
    else {
        // A map on lines of its own: beside the place.
        let line = &text[line_start..];
        let indent: String = text[line_start..at].chars().map(|_| ' ').collect();
        if line.trim_start().starts_with(&format!("{field}:")) {
            let value_at = line_start + line.find(':').expect("it has a colon") + 2;
            let end = line_start + line.find('\n').unwrap_or(line.len());
            return (format!("{}{value}{}", &text[..value_at], &text[end..]), value_at);
        }
        // Before the place, if it is the first of its line, else before its line.
        let first = line_start + line.len() - line.trim_start().len();
        let (at, indent) = if text[first..at].trim_start_matches("- ").is_empty() {
            (at, indent)
        } else {
            (first, " ".repeat(first - line_start))
        };
        let added = format!("{field}: {value}\n{indent}");
        return (format!("{}{added}{}", &text[..at], &text[at..]), at + field.len() + 2);
    };
    let inside = text[open..].split('\n').next().unwrap_or("");
    if let Some(found) = inside.find(&format!("{field}: ")) {
        let start = open + found + field.len() + 2;
        let end = start + text[start..].find([',', '}']).expect("the map ends");
        return (format!("{}{value} {}", &text[..start], text[end..].trim_start()), start);
    }
    let start = open + 1;
    (format!("{} {field}: {value},{}", &text[..start], &text[start..]), start + field.len() + 3)
}

/// The text after a recommendation was followed, and where that was.
fn followed(text: &str, finding: &Diagnostic, items: &[String]) -> (String, usize) {
    let range = finding.place.range();
    let (mut edited, mut at) = (text.to_owned(), range.start);
    if finding.code == "merge-key" {
        // The merge key and its value give way to what they added.
        let end = range.end + text[range.end..].find([',', '}', '\n']).expect("the value ends");
        return (format!("{}{}{}", &text[..at], items.join(", "), &text[end..]), at);
    }
    let is_field = |item: &str| {
        let name = item.split(": ").next().unwrap_or("");
        item.contains(": ") && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    for item in items {
        if is_field(item) && finding.code != "grammar" {
            let (field, value) = item.split_once(": ").expect("it is a field");
            (edited, at) = with_field(&edited, range.start, field, value);
        } else {
            let quoted = item.contains([':', '#', '{']) && !item.starts_with('{')
                || item.starts_with('*') && finding.code != "grammar";
            let item =
                if quoted && finding.code != "unknown-field" { format!("'{item}'") } else { item.clone() };
            edited.replace_range(range.clone(), &item);
        }
    }
    (edited, at)
}

#[test]
fn the_program_accepts_what_its_messages_recommend() {
    let (mut count, mut wrong) = (0, Vec::new());
    for path in documents() {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let (sources, findings) = found(&name, None);
        for finding in findings.all().iter().filter(|finding| finding.severity == Severity::Error) {
            let source = sources.get(finding.place.file).expect("the file was read");
            for sentence in [Some(&finding.message), finding.help.as_ref()].into_iter().flatten() {
                for items in recommended(sentence) {
                    if items.iter().any(|item| ELSEWHERE.contains(&item.as_str())) {
                        continue;
                    }
                    let example = |item: &String| {
                        EXAMPLES
                            .iter()
                            .fold(item.clone(), |item, (name, example)| item.replace(name, example))
                    };
                    let items: Vec<_> = items.iter().map(example).collect();
                    let (text, at) = followed(source.text(), finding, &items);
                    count += 1;
                    let (_, after) = found(&name, Some((source.name(), &text)));
                    let bad = after.all().iter().find(|other| {
                        let same = other.code == finding.code && other.message == finding.message;
                        let here = other.place.file == finding.place.file && other.place.range().start == at;
                        let broken = other.code == "grammar" && finding.code != "grammar";
                        other.severity == Severity::Error
                            && (broken || here || same && other.place.start == finding.place.start)
                    });
                    if let Some(bad) = bad {
                        let place = sources.locate(finding.place);
                        wrong.push(format!(
                            "{place}: {}: {items:?}\n    is told: {} {:?}",
                            finding.message, bad.message, bad.help
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 120, "only {count} recommendations were found");
}
