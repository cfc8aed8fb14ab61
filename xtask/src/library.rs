//! Builds and runs the README's five lines as a newcomer does: a package with only the dependencies that the README prints.
//!
//! The other steps build with all features. This one notices if the library needs one of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::deadline::Deadline;
use crate::run::{command, root};

/// Where the package is, relative to the root of the repository.
const FOLDER: &str = "target/five-lines/package";

/// Builds without warnings, and runs. Returns how many programs ran.
///
/// # Errors
/// When the README has no such program, or it fails.
pub(crate) fn run(deadline: &Deadline) -> Result<u64, String> {
    let readme =
        fs::read_to_string(root().join("README.md")).map_err(|error| format!("README.md: {error}"))?;
    let (dependencies, program) = five_lines(&readme)?;
    let folder = root().join(FOLDER);
    write(&folder, dependencies, program).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut cargo = command(&format!("cargo run --quiet --offline --manifest-path {FOLDER}/Cargo.toml"));
    cargo.env("RUSTFLAGS", "-D warnings");
    deadline.captured(cargo)?;
    Ok(1)
}

/// The first `toml` block and the first `rust` block.
fn five_lines(readme: &str) -> Result<(&str, &str), String> {
    let block = |language: &str| {
        let (_, rest) = readme.split_once(&format!("\n```{language}\n"))?;
        Some(rest.split_once("```")?.0)
    };
    let dependencies = block("toml").ok_or("README.md does not print the library's dependencies")?;
    let program = block("rust").ok_or("README.md shows no program")?;
    Ok((dependencies, program))
}

/// Writes the package. The repository is beside it under the name that a clone has.
fn write(folder: &Path, dependencies: &str, program: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    let package = "[package]\nname = \"five-lines\"\nedition = \"2024\"\n\n[workspace]\n\n";
    fs::write(folder.join("Cargo.toml"), format!("{package}{dependencies}"))?;
    fs::write(folder.join("src/main.rs"), program)?;
    // The versions that everything else is tested with.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let clone = folder.with_file_name("tollgate");
    if !clone.is_symlink() {
        symlink(root(), clone)?;
    }
    Ok(())
}

#[test]
fn the_program_and_its_dependencies_are_found() {
    let readme = "a\n```console\n$ b\n```\n```toml\n[dependencies]\n```\n```rust\nfn main() {}\n```\n";
    assert_eq!(five_lines(readme), Ok(("[dependencies]\n", "fn main() {}\n")));
    assert!(five_lines("```rust\n```").is_err());
}
