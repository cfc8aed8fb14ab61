//! Which crate may use which. A new arrow needs a decision record.

use super::{assert_none, files};

/// Every crate, and what it may depend on. `None`: its tests and tools may use any crate from outside.
const ARROWS: &[(&str, &[&str])] = &[
    ("tollgate-core", &[]),
    ("tollgate-mutants", &[]),
    ("tollgate-proof", &["tollgate-core"]),
    ("xtask", &[]),
    ("counts", &["governor", "tollgate-core"]),
];

/// The names under `[dependencies]`; what only tests use is left out.
fn dependencies(manifest: &str) -> Vec<&str> {
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split(['.', ' ', '=']).next().filter(|name| !name.is_empty())).collect()
}

#[test]
fn every_crate_uses_only_what_it_may() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.path.ends_with("Cargo.toml")) {
        let name = file.text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        let Some(name) = name else { continue };
        match ARROWS.iter().find(|(known, _)| *known == name) {
            None => findings.push(format!("{name} is not in the list of crates in xtask/src/tidy/crates.rs")),
            Some((_, allowed)) => {
                let wrong = dependencies(&file.text).into_iter().filter(|used| !allowed.contains(used));
                findings.extend(wrong.map(|used| format!("{name} uses {used}")));
            }
        }
    }
    assert_none(&findings, "a new crate or a new arrow between crates needs a record in docs/adr:");
}

#[test]
fn dependencies_are_found_in_a_manifest() {
    let manifest = "[package]\nname = \"a\"\n\n[dependencies]\nb.workspace = true\nc = \"1\"\n\n[dev-dependencies]\nd = \"1\"\n";
    assert_eq!(dependencies(manifest), ["b", "c"]);
}

/// The core is pure: what it must not know does not stand in it. (Clippy watches over its arithmetic.)
#[test]
fn the_core_has_no_floats_no_std_and_no_panics() {
    let banned =
        ["f32", "f64", "std::", "unsafe", ".unwrap()", ".expect(", "panic!", "unreachable!", "assert!"];
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.path.starts_with("crates/core/src/")) {
        let code = file.text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (number, line) in code {
            let found = banned.iter().filter(|word| line.contains(*word));
            findings.extend(found.map(|word| format!("{}:{}: {word}", file.path, number + 1)));
        }
    }
    assert_none(&findings, "the core is no_std, without floats, and cannot panic:");
}
