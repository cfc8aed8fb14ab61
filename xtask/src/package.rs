//! Packages every crate that ships, as for a registry, and looks at what would be in it. It publishes nothing.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::deadline::Deadline;
use crate::run::{command, root};

/// The packages that ship, and their folders. Everything else is a test, a measurement or a task.
pub(crate) const SHIPPED: [(&str, &str); 11] = [
    ("tollgate-algorithms", "crates/algorithms"),
    ("tollgate-http", "crates/http"),
    ("tollgate-redis", "crates/redis"),
    ("tollgate-resp", "crates/resp"),
    ("tollgate", "crates/limiter"),
    ("tollgate-policy", "crates/policy"),
    ("tollgate-engine", "crates/engine"),
    ("tollgate-envoy", "crates/envoy"),
    ("tollgate-tower", "crates/tower"),
    ("tollgate-sim", "crates/sim"),
    ("tollgate-cli", "crates/cli"),
];

/// What is in every package.
const WANTED: [&str; 5] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"];

/// Packages them; returns how many.
///
/// # Errors
/// When cargo refuses, or when a package lacks a file or needs one that is not in it.
pub(crate) fn run(deadline: &Deadline) -> Result<u64, String> {
    let packages = SHIPPED.map(|(name, _)| format!(" --package {name}")).concat();
    let flags = "--allow-dirty --locked --offline";
    let printed = deadline.captured(command(&format!("cargo package --no-verify {flags}{packages}")))?;
    if printed.contains("manifest has no") {
        return Err(format!("{printed}\na package lacks metadata"));
    }
    let mut count = 0;
    for (name, folder) in SHIPPED {
        let list = command(&format!("cargo package --list {flags} --package {name}"));
        let listed = deadline.result_of(list)?;
        let files: Vec<&str> = listed.lines().collect();
        let wrong = wrong(&root().join(folder), &files)?;
        if !wrong.is_empty() {
            return Err(format!("{name}:\n  {}", wrong.join("\n  ")));
        }
        count += 1;
    }
    Ok(count)
}

/// What is wrong with the files of a package.
fn wrong(folder: &Path, files: &[&str]) -> Result<Vec<String>, String> {
    let missing = WANTED.iter().filter(|wanted| !files.contains(wanted));
    let mut wrong: Vec<String> = missing.map(|file| format!("{file} is missing")).collect();
    // Tests need crates that are not published.
    let tests = files.iter().filter(|file| file.starts_with("tests/"));
    wrong.extend(tests.map(|file| format!("{file} cannot be built from the package: exclude it")));
    for file in files.iter().filter(|file| file.starts_with("src/") && file.ends_with(".rs")) {
        let text = fs::read_to_string(folder.join(file)).map_err(|error| format!("{file}: {error}"))?;
        if file.ends_with("tests.rs") || file.contains("/tests/") {
            continue;
        }
        let beside = Path::new(file).parent().unwrap_or(Path::new(""));
        let absent = included(&text).map(|path| normal(&beside.join(path)));
        let absent = absent.filter(|path| !files.iter().any(|file| Path::new(file) == path));
        wrong.extend(absent.map(|path| format!("{file} includes {}, which is not in it", path.display())));
    }
    Ok(wrong)
}

/// The paths that a source includes, but for documentation that only doctests read.
fn included(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().scan("", |before, line| {
        let pair = (*before, line);
        *before = line;
        Some(pair)
    });
    let shipped = lines.filter(|(before, _)| before.trim() != "#[cfg(doctest)]");
    shipped.filter_map(|(_, line)| {
        let (_, rest) =
            line.split_once("include_str!(\"").or_else(|| line.split_once("include_bytes!(\""))?;
        rest.split('"').next()
    })
}

/// A path without `..`, as far as it has folders to go up from.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir && normal.file_name().is_some() && !normal.ends_with("..") {
            normal.pop();
        } else {
            normal.push(part);
        }
    }
    normal
}

#[test]
fn what_is_outside_a_package_is_found() {
    let text = "a(include_str!(\"docs/front.md\"))\n#[cfg(doctest)]\n#[doc = include_str!(\"../../../README.md\")]\n\
                b(include_bytes!(\"../../outside.bin\"))";
    assert_eq!(included(text).collect::<Vec<_>>(), ["docs/front.md", "../../outside.bin"]);
    assert_eq!(normal(Path::new("src/a/../../docs/b.md")), Path::new("docs/b.md"));
    assert_eq!(normal(Path::new("src/../../b.md")), Path::new("../b.md"));
    let wrong =
        wrong(&root().join("crates/algorithms"), &["Cargo.toml", "README.md", "src/lib.rs", "tests/a.rs"]);
    let wrong = wrong.unwrap();
    assert_eq!(wrong[..2], ["LICENSE-APACHE is missing", "LICENSE-MIT is missing"]);
    assert!(wrong[2].starts_with("tests/a.rs cannot be built"), "{wrong:?}");
    assert!(wrong[3].starts_with("src/lib.rs includes src/docs/front.md"), "{wrong:?}");
}
