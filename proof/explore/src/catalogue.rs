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

/// Every mutant.
pub const MUTANTS: &[Mutant] = &[];
