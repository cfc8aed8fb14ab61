//! Copies the core's sources into one file and puts a switch on every operator of the catalogue. It edits nothing.
#![expect(unreachable_pub, reason = "the catalogue is public in the crate, and private here")]

use std::fs;
use std::path::{Path, PathBuf};

#[path = "src/catalogue.rs"]
mod catalogue;

#[path = "src/machines.rs"]
mod machines;

use catalogue::MUTANTS;
use machines::ADAPTIVE;

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let source = root.join("../../crates/algorithms/src");
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-changed=src/catalogue.rs");
    println!("cargo::rerun-if-changed=src/machines.rs");
    let text = inline(&source, &source.join("lib.rs"));
    // An included file may not begin with attributes of its own.
    let body: String = text
        .lines()
        .skip_while(|line| !line.starts_with("extern crate"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("core.rs"), body).expect("the build directory can be written");
}

/// A file with its modules in it, and the switches of its mutants.
fn inline(source: &Path, file: &Path) -> String {
    let name = file.strip_prefix(source).expect("below the source folder").with_extension("");
    let text = switched(&fs::read_to_string(file).expect("a source file"), &name.display().to_string());
    let folder = if file.ends_with("lib.rs") { source.to_path_buf() } else { file.with_extension("") };
    let mut inlined = String::new();
    for line in text.lines() {
        match line
            .split_once("mod ")
            .and_then(|(visibility, name)| Some((visibility, name.strip_suffix(';')?)))
        {
            Some((visibility, module)) if !visibility.starts_with([' ', '/']) => {
                let body = inline(source, &folder.join(module).with_extension("rs"));
                inlined.push_str(&format!("{visibility}mod {module} {{\n{body}\n}}\n"));
            }
            _ => inlined.push_str(&format!("{line}\n")),
        }
    }
    inlined
}

/// The text in which each mutant of this file can be switched on by its number.
fn switched(text: &str, file: &str) -> String {
    let mut switched = text.to_string();
    let all = MUTANTS.iter().chain(ADAPTIVE).enumerate();
    for (number, mutant) in all.filter(|(_, mutant)| mutant.file == file) {
        let found = text.matches(mutant.shipped).count();
        assert!(found == 1, "`{}` must stand once in {file}.rs, not {found} times", mutant.shipped);
        // As shipped comes first, so that a mutant within this one finds its text there.
        let choice =
            format!("(if !crate::is_broken({number}) {{ {} }} else {{ {} }})", mutant.shipped, mutant.broken);
        switched = switched.replacen(mutant.shipped, &choice, 1);
    }
    switched
}
