//! Runs every example and compares what it prints with the file beside it.

use std::fs;
use std::path::PathBuf;

use crate::run::{command, result_of, root};

/// Runs every example of every crate; returns how many.
///
/// # Errors
/// With the first difference.
pub(crate) fn run() -> Result<u64, String> {
    let mut count = 0;
    for (package, source) in all()? {
        let name = source.file_stem().and_then(|stem| stem.to_str()).ok_or("an example without a name")?;
        let expected_at = source.with_extension("txt");
        let expected = fs::read_to_string(&expected_at).map_err(|error| {
            format!("{}: {error}; put there what the example prints", expected_at.display())
        })?;
        let printed =
            result_of(command(&format!("cargo run --quiet --locked -p {package} --example {name}")))?;
        if printed != expected {
            return Err(format!("{} is not what {name} prints:\n{printed}", expected_at.display()));
        }
        count += 1;
    }
    if count == 0 { Err("no example was found".into()) } else { Ok(count) }
}

/// Every example with its package.
fn all() -> Result<Vec<(String, PathBuf)>, String> {
    let folder = |path: PathBuf| {
        let entries = fs::read_dir(&path).map_err(|error| format!("{}: {error}", path.display()));
        entries.map(|entries| {
            entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect::<Vec<_>>()
        })
    };
    let mut examples = Vec::new();
    for member in folder(root().join("crates"))? {
        let name = member.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let package = format!("tollgate-{name}");
        if member.join("examples").exists() {
            let sources = folder(member.join("examples"))?.into_iter();
            let rust = sources.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
            examples.extend(rust.map(|path| (package.clone(), path)));
        }
    }
    examples.sort();
    Ok(examples)
}
