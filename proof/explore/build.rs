//! Copies the table's sources into one file, makes them small, and puts a switch on every text of the catalogue. It edits
//! nothing that ships.
#![expect(unreachable_pub, reason = "the catalogue is public in the crate, and private here")]

use std::fs;
use std::path::PathBuf;

#[path = "src/catalogue.rs"]
#[expect(dead_code, reason = "who notices a mutant matters to the tests only")]
mod catalogue;

use catalogue::MUTANTS;

/// The files that are copied, without `.rs`.
const FILES: [&str; 6] = ["slot", "map", "locked", "waiting", "table", "moving"];

/// What is smaller here than where it ships: a file, a constant, and its value here. An exploration goes through every order
/// of every access, so a table of four lines is a large one.
const CONSTANTS: &[(&str, &str, &str)] = &[
    ("slot", "const LINE_SLOTS: usize = ", "2"),
    ("table", "const REGIONS_MAX: usize = ", "3"),
    // A key may stand in two lines, as soon as there are two.
    ("table", "const REACH_LINES_MAX: usize = ", "2"),
    ("table", "let reach = ", "homes"),
];

/// What is private where it ships: memory is made of atomics one by one here.
const OPENED: &[(&str, &str)] = &[("slot", "    tag: AtomicU64,"), ("slot", "    word: AtomicU64,")];

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

/// The text, made small and open.
fn edited(mut text: String, file: &str) -> String {
    for (_, name, here) in CONSTANTS.iter().filter(|constant| constant.0 == file) {
        assert_stands_once(&text, name, file);
        let (before, after) = text.split_once(name).expect("it stands there");
        let (_, after) = after.split_once(';').expect("a constant ends");
        text = format!("{before}{name}{here};{after}");
    }
    for (_, field) in OPENED.iter().filter(|field| field.0 == file) {
        assert_stands_once(&text, field, file);
        text = text.replacen(field, &format!("    pub(crate) {}", field.trim_start()), 1);
    }
    text
}

/// The text in which each mutant of this file can be switched on by its number.
fn switched(text: String, file: &str) -> String {
    let mut switched = text.clone();
    for (number, mutant) in MUTANTS.iter().enumerate() {
        for edit in mutant.edits.iter().filter(|edit| edit.file == file) {
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
