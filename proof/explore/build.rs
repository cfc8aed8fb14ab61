//! Copies the table's sources into one file, makes them small, and puts a switch on every text of the catalogue. It edits
//! nothing that ships.
#![expect(unreachable_pub, reason = "the catalogue is public in the crate, and private here")]

use std::fs;
use std::path::PathBuf;

#[path = "src/catalogue.rs"]
mod catalogue;

use catalogue::MUTANTS;

/// The files that are copied, without `.rs`.
const FILES: [&str; 3] = ["slot", "table", "moving"];

/// What is smaller here than where it ships, or open: a file, a text as shipped, and the text here. An exploration goes
/// through every order of every access, so a table of 4 lines is a large one.
const EDITS: &[(&str, &str, &str)] = &[
    ("slot", "LINE_SLOTS: usize = 4", "LINE_SLOTS: usize = 2"),
    ("table", "is_at(0) | is_at(1) | is_at(2) | is_at(3)", "is_at(0) | is_at(1)"),
    // The memory is made of atomics one by one: see `region.rs`.
    ("slot", "    tag: AtomicU64,", "    pub(crate) tag: AtomicU64,"),
    ("slot", "    word: AtomicU64,", "    pub(crate) word: AtomicU64,"),
    ("table", "REGIONS_MAX: usize = 96", "REGIONS_MAX: usize = 3"),
    // A key may stand in two lines, as soon as there are two.
    ("table", "let reach = homes / 16;", "let reach = homes;"),
    ("table", "REACH_LINES_MAX: usize = 512", "REACH_LINES_MAX: usize = 2"),
];

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let source = root.join("../../crates/limiter/src/store/memory");
    println!("cargo::rerun-if-changed=src/catalogue.rs");
    let mut all = String::new();
    for name in FILES {
        let file = source.join(name).with_extension("rs");
        println!("cargo::rerun-if-changed={}", file.display());
        let text = switched(edited(fs::read_to_string(&file).expect("a source file"), name), name);
        all.push_str(&format!("pub(crate) mod {name} {{\n{text}\n}}\n"));
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("table.rs"), all).expect("the build directory can be written");
}

/// The text, made small.
fn edited(mut text: String, file: &str) -> String {
    for (_, shipped, here) in EDITS.iter().filter(|edit| edit.0 == file) {
        assert_stands_once(&text, shipped, file);
        text = text.replacen(shipped, here, 1);
    }
    text
}

/// The text in which each mutant of this file can be switched on by its number.
fn switched(text: String, file: &str) -> String {
    let mut switched = text.clone();
    for (number, mutant) in MUTANTS.iter().enumerate().filter(|(_, mutant)| mutant.file == file) {
        for edit in mutant.edits {
            let (shipped, after, broken) = (edit.shipped, edit.after, edit.broken);
            let found = format!("{after}{shipped}");
            assert_stands_once(&text, &found, file);
            // As shipped comes first, so that a mutant within this one finds its text there.
            let choice =
                format!("{after}(if !crate::is_broken({number}) {{ {shipped} }} else {{ {broken} }})");
            assert!(switched.contains(&found), "a text that holds another comes before it: `{found}`");
            switched = switched.replacen(&found, &choice, 1);
        }
    }
    switched
}

fn assert_stands_once(text: &str, part: &str, file: &str) {
    let found = text.matches(part).count();
    assert!(found == 1, "`{part}` must stand once in {file}.rs, not {found} times");
}
