//! Copies the sources of the memory store, makes them small, and puts a switch on every text of the catalogue. It edits
//! nothing that ships.
#![expect(unreachable_pub, reason = "the catalogue is public in the crate, and private here")]

use std::fs;
use std::path::PathBuf;

#[path = "src/catalogue.rs"]
#[expect(dead_code, reason = "who notices a mutant matters to the tests only")]
mod catalogue;

use catalogue::MUTANTS;

/// The files of the store that are copied, without `.rs`: all but its snapshot, and what the system has a part in.
const FILES: [&str; 25] = [
    "insert",
    "key_request",
    "lanes",
    "batch",
    "budget",
    "large_states",
    "apply",
    "evict",
    "batch_lock",
    "in_flight",
    "in_line",
    "slot_owner",
    "slot_guard",
    "map",
    "resize",
    "peek",
    "queue",
    "packed_rates",
    "reuse",
    "placement",
    "overflow",
    "slot",
    "table",
    "mover_lock",
    "fast_path",
];

/// What is smaller here than where it ships: a file, what stands before it, and what stands here instead, up to a semicolon or the end of
/// the line. An exploration goes through every order of every access, so a table of four lines is a large one.
const SMALLER: &[(&str, &str, &str)] = &[
    ("slot", "const LINE_SLOTS: usize = ", "2"),
    ("table", "const REGIONS_MAX: usize = ", "3"),
    // A key may stand in two lines, as soon as there are two.
    ("table", "const REACH_LINES_MAX: usize = ", "2"),
    ("table", "let reach = ", "homes"),
    ("large_states", "const CHUNK_CELLS: usize = ", "2"),
    ("overflow", "const SHARES: usize = ", "1"),
    ("resize", "const HOMES_KEPT: usize = ", "1"),
    ("reuse", "const SAMPLED: u64 = ", "u64::MAX"),
    ("reuse", "const DROPPED_MAX: usize = ", "1"),
    ("memory", "const TRIES: u32 = ", "2"),
    ("budget", "room.saturating_sub(spare) / ", "1; super::homes_max_here()"),
];

/// What is private where it ships: memory is made of atomics one by one here.
const OPENED: &[(&str, &str)] = &[("slot", "    tag: AtomicU64,"), ("slot", "    word: AtomicU64,")];

fn main() {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let source = root.join("../../crates/limiter/src");
    println!("cargo::rerun-if-changed=src/catalogue.rs");
    let copied = |file: &str, name: &str| {
        let file = source.join(file);
        println!("cargo::rerun-if-changed={}", file.display());
        switched(edited(fs::read_to_string(&file).expect("a source file"), name), name)
    };
    let mut all = without_modules(&copied("store/memory.rs", "memory"));
    for name in FILES {
        let text = copied(&format!("store/memory/{name}.rs"), name);
        all.push_str(&format!("pub(crate) mod {name} {{\n{text}\n}}\n"));
    }
    fs::write(out.join("memory.rs"), all).expect("the build directory can be written");
    let limit = without_modules(&copied("limit.rs", "limit"));
    fs::write(out.join("limit.rs"), limit).expect("the build directory can be written");
}

/// The text of a file without its first comment and without the names of the files below it: those stand in it here.
fn without_modules(text: &str) -> String {
    let is_module =
        |line: &str| line.ends_with(';') && (line.starts_with("pub(crate) mod ") || line.starts_with("mod "));
    let is_of_one = |line: &str| line.starts_with("//!") || line == "#[cfg(test)]" || is_module(line);
    let kept = text.lines().filter(|line| !is_of_one(line));
    kept.flat_map(|line| [line, "\n"]).collect()
}

/// The text, made small and open.
fn edited(mut text: String, file: &str) -> String {
    for (_, name, here) in SMALLER.iter().filter(|smaller| smaller.0 == file) {
        assert_stands_once(&text, name, file);
        let (before, after) = text.split_once(name).expect("it stands there");
        let end = after.find([';', '\n']).expect("it ends");
        text = format!("{before}{name}{here}{}", &after[end..]);
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
