//! Every source file: a first line that says what it is for, a size that can be read, nothing left over.

use super::{assert_none, files, rust_files};

/// No file is longer, but for those of the ratchet.
const LINES_MAX: usize = 400;
/// A `main.rs` takes arguments and calls something.
const MAIN_LINES_MAX: usize = 60;
/// Half of the files are no longer than this.
const LINES_MEDIAN_MAX: usize = 150;
/// Files that are longer, and how long they are. They may shrink, and then the number here goes down with them.
const RATCHET: &[(&str, usize)] = &[];

#[test]
fn every_file_says_in_its_first_line_what_it_is_for() {
    let headless: Vec<_> =
        rust_files().iter().filter(|file| !says_what_for(&file.text)).map(|f| f.path.clone()).collect();
    assert_none(&headless, "the first line is `//!` and a sentence:");
}

fn says_what_for(text: &str) -> bool {
    text.lines().next().and_then(|line| line.strip_prefix("//! ")).is_some_and(|sentence| sentence.len() > 20)
}

#[test]
fn no_file_is_too_long_to_read() {
    let mut findings = Vec::new();
    let mut lengths = Vec::new();
    for file in rust_files() {
        let lines = file.text.lines().count();
        lengths.push(lines);
        let cap = if file.path.ends_with("src/main.rs") { MAIN_LINES_MAX } else { LINES_MAX };
        let most = RATCHET.iter().find(|(path, _)| *path == file.path).map_or(cap, |(_, lines)| *lines);
        if lines > most {
            findings.push(format!("{} has {lines} lines, more than {most}", file.path));
        } else if most > cap && lines < most {
            findings
                .push(format!("{} has shrunk to {lines} lines: lower its number in the ratchet", file.path));
        }
    }
    let gone = |path: &str| !rust_files().iter().any(|file| file.path == path);
    findings
        .extend(RATCHET.iter().filter(|(path, _)| gone(path)).map(|(path, _)| format!("{path} is no more")));
    assert_none(&findings, "one idea a file:");
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median <= LINES_MEDIAN_MAX, "the median file has {median} lines, more than {LINES_MEDIAN_MAX}");
}

#[test]
fn nothing_is_left_over() {
    // Written in two halves, so that this file does not find itself.
    let leftovers = [
        ("to", "do!("),
        ("unimple", "mented!("),
        ("TO", "DO"),
        ("FIX", "ME"),
        ("XX", "X"),
        ("db", "g!("),
        ("#[ig", "nore"),
        ("thread::sl", "eep"),
        ("/wo", "rk/"),
        ("/ro", "ot/"),
        ("/ho", "me/"),
        ("/tm", "p/"),
    ]
    .map(|(a, b)| [a, b].concat());
    let mut findings = Vec::new();
    let clean = ["clippy.toml"];
    for file in files().iter().filter(|file| !clean.contains(&file.path.as_str())) {
        for (number, line) in file.text.lines().enumerate() {
            let found = leftovers.iter().filter(|word| line.contains(word.as_str()));
            findings.extend(found.map(|word| format!("{}:{}: {word}", file.path, number + 1)));
        }
    }
    assert_none(&findings, "finish it, or take it out:");
}

/// A file that no module names is compiled by nobody.
#[test]
fn every_file_is_imported() {
    let files = rust_files();
    let mut findings = Vec::new();
    for file in &files {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let stem = name.trim_end_matches(".rs");
        let root = matches!(stem, "lib" | "main" | "build")
            || folder.ends_with("/tests")
            || folder.ends_with("/examples")
            || folder == "fuzz/targets";
        let declares = |line: &str| {
            let line = line.split("//").next().unwrap_or_default().trim();
            line.strip_suffix(&format!("mod {stem};")).is_some_and(|visibility| {
                matches!(visibility.trim(), "" | "pub" | "pub(crate)" | "pub(super)")
            })
        };
        let parents = [format!("{folder}.rs"), format!("{folder}/lib.rs"), format!("{folder}/main.rs")];
        // `#[path = "…"]` in the crate's root names a file of a module that depends on features.
        let is_named_by_path = |parent: &super::File| {
            parent.path.strip_suffix("lib.rs").is_some_and(|root| {
                let relative = file.path.strip_prefix(root).unwrap_or_default();
                parent.text.contains(&format!("#[path = \"{relative}\"]"))
            })
        };
        let named = |parent: &&super::File| {
            is_named_by_path(parent) || (parents.contains(&parent.path) && parent.text.lines().any(declares))
        };
        if !root && !files.iter().any(|parent| named(&parent)) {
            findings.push(file.path.clone());
        }
    }
    assert_none(&findings, "imported by no module:");
}
