//! The texts that are broken, one mutant at a time. Each text stands exactly once in its file, or the build fails. A text
//! that holds another comes before it.

/// A table with one thing broken.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// What it does not do.
    pub name: &'static str,
    /// The file, without `.rs`.
    pub file: &'static str,
    /// What is different.
    pub edits: &'static [Edit],
    /// The scenario that notices.
    pub noticed_by: &'static str,
}

/// One changed expression.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    /// What stands before it, if it takes that to find it.
    pub after: &'static str,
    /// The expression as it ships.
    pub shipped: &'static str,
    /// The same, broken.
    pub broken: &'static str,
}

const fn edit(after: &'static str, shipped: &'static str, broken: &'static str) -> Edit {
    Edit { after, shipped, broken }
}

const fn mutant(
    name: &'static str,
    file: &'static str,
    edits: &'static [Edit],
    noticed_by: &'static str,
) -> Mutant {
    Mutant { name, file, edits, noticed_by }
}

/// Every mutant.
pub const MUTANTS: &[Mutant] = &[
    mutant(
        "a new key is put in without the lock of its home",
        "table",
        &[edit("", "first.try_lock()", "Some(first.held() & !(1 << 63))")],
        "grow and add",
    ),
    mutant(
        "a slot is locked, and may be another key's by then",
        "table",
        &[edit("let tag = slot.tag();\n            if ", "tag.is_of(id)", "true")],
        "reuse and charge",
    ),
    mutant(
        "a slot that was read is locked, and may be another key's by then",
        "table",
        &[edit("", "slot.tag() != tag", "false")],
        "reuse with the same value",
    ),
    mutant(
        "a key that is not found was never there",
        "table",
        &[edit("None if ", "self.home(id) == home", "true")],
        "read and move",
    ),
    mutant(
        "two threads move at once",
        "waiting",
        &[edit(
            "let taken = ",
            "free && mover.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()",
            "free",
        )],
        "grow and add",
    ),
];
