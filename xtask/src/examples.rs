//! Runs every example and compares what it prints with the file beside it.

mod clients;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tollgate_testing::snapshot;

use crate::deadline::Deadline;
use crate::run::{command, root};

/// Runs every example of every crate; returns how many.
///
/// # Errors
/// With the first difference, or an example of a kind that is not looked for.
pub(crate) fn run(deadline: &Deadline) -> Result<u64, String> {
    // Once, with the features that the tests were built with: one by one, each package would be built anew.
    deadline.result_of(command("cargo build --quiet --locked --workspace --all-features --examples"))?;
    let built = built(deadline)?;
    let mut count = 0;
    for member in entries(&root().join("crates"))? {
        for source in entries(&member.join("examples")).unwrap_or_default() {
            if source.extension().is_some_and(|extension| extension == "rs") {
                compare(&built, &source, deadline)?;
                count += 1;
            } else if source.is_dir() {
                return Err(format!("{}: examples are single files here", source.display()));
            }
        }
    }
    if count == 0 {
        return Err("no example was found".into());
    }
    Ok(clients::run(deadline)?.saturating_add(count))
}

fn compare(built: &Path, source: &Path, deadline: &Deadline) -> Result<(), String> {
    let name = source.file_stem().and_then(|stem| stem.to_str()).ok_or("an example without a name")?;
    let expected_at = source.with_extension("txt");
    let mut example = Command::new(built.join(name));
    example.current_dir(root());
    let printed = deadline.result_of(example)?;
    snapshot::check(&expected_at, &printed)
}

/// Where examples are when they are built.
fn built(deadline: &Deadline) -> Result<PathBuf, String> {
    let metadata = deadline.result_of(command("cargo metadata --no-deps --format-version 1 --locked"))?;
    let target = metadata.split_once("\"target_directory\":\"").and_then(|(_, rest)| rest.split_once('"'));
    let (target, _) = target.ok_or("cargo does not say where it builds")?;
    Ok(Path::new(target).join("debug/examples"))
}

/// What is in a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let listed = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = listed.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    Ok(paths)
}
