//! What keeps the repository tidy, as tests: directions, first lines, sizes, leftovers, and documents that tell the truth.

mod crates;
mod documents;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{command, result_of, root};

/// A file of the repository: its path from the root, and its text.
struct File {
    path: String,
    text: String,
}

/// Every text file that git knows or would take.
fn files() -> Vec<File> {
    let listed =
        result_of(command("git ls-files --cached --others --exclude-standard")).expect("a git checkout");
    let read =
        |path: &str| Some(File { path: path.into(), text: fs::read_to_string(root().join(path)).ok()? });
    let files: Vec<_> = listed.lines().filter_map(read).collect();
    assert!(files.len() > 50, "{} files: not the whole repository", files.len());
    files
}

/// Every Rust file.
fn rust_files() -> Vec<File> {
    files()
        .into_iter()
        .filter(|file| Path::new(&file.path).extension().is_some_and(|ext| ext == "rs"))
        .collect()
}

fn read(path: &str) -> String {
    let at: PathBuf = root().join(path);
    fs::read_to_string(&at).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Fails with every finding, not only with the first.
fn assert_none(findings: &[String], advice: &str) {
    assert!(findings.is_empty(), "{advice}\n{}", findings.join("\n"));
}
