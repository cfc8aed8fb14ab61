//! Scripts with one place broken, to show that the comparison would notice. Each text stands in some script, or the run fails.

/// One changed place.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// The text as it ships.
    pub shipped: &'static str,
    /// The same, broken.
    pub broken: &'static str,
}
