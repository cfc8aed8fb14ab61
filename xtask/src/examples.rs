//! Runs every example and compares what it prints with the file beside it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{command, result_of, root};

/// Runs every example of every crate; returns how many.
///
/// # Errors
/// With the first difference, or an example of a kind that is not looked for.
pub(crate) fn run() -> Result<u64, String> {
    let mut count = 0;
    for member in entries(&root().join("crates"))? {
        let package = package(&member)?;
        for source in entries(&member.join("examples")).unwrap_or_default() {
            if source.extension().is_some_and(|extension| extension == "rs") {
                compare(&package, &source)?;
                count += 1;
            } else if source.is_dir() {
                return Err(format!("{}: examples are single files here", source.display()));
            }
        }
    }
    if count == 0 { Err("no example was found".into()) } else { Ok(count) }
}

fn compare(package: &str, source: &Path) -> Result<(), String> {
    let name = source.file_stem().and_then(|stem| stem.to_str()).ok_or("an example without a name")?;
    let expected_at = source.with_extension("txt");
    let expected = fs::read_to_string(&expected_at)
        .map_err(|error| format!("{}: {error}; put there what the example prints", expected_at.display()))?;
    let printed = result_of(command(&format!(
        "cargo run --quiet --locked --all-features -p {package} --example {name}"
    )))?;
    if printed == expected {
        return Ok(());
    }
    Err(format!("{} is not what {name} prints:\n{printed}", expected_at.display()))
}

/// The name of the package in a folder.
fn package(member: &Path) -> Result<String, String> {
    let at = member.join("Cargo.toml");
    let manifest = fs::read_to_string(&at).map_err(|error| format!("{}: {error}", at.display()))?;
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    name.map(str::to_string).ok_or_else(|| format!("{} has no name", at.display()))
}

/// What is in a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let listed = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = listed.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    Ok(paths)
}
