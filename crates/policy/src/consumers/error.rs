//! What is wrong with a consumers file, and where: all of it at once, up to a limit. Keys are never repeated here.

use std::fmt::{self, Display, Formatter};

/// The most problems that can be listed. After them comes one that says how many more there are.
pub const ERRORS_MAX: usize = 100_000;
/// How many are listed unless more are asked for.
pub const ERRORS_LISTED: usize = 50;

/// One problem, as a sentence, with its place. Shown as `line 3, column 7: …`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ConsumerError {
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters, from 1.
    pub column: u32,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Display for ConsumerError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ConsumerError {}

/// A place in the file: line and column.
pub(super) type Place = (u32, u32);

/// The first problems by place, and a count of the rest.
#[derive(Default)]
pub(super) struct Errors {
    listed: Vec<ConsumerError>,
    max: usize,
    /// How many were dropped from the list, and the first place among them.
    dropped: Option<(u64, Place)>,
}

impl Errors {
    pub(super) fn new(max: usize) -> Self {
        Self { max: max.max(1), ..Self::default() }
    }

    /// Adds a problem. The sentence is only made if it will be listed, so that ten million problems cost no more.
    pub(super) fn add(&mut self, place: Place, message: impl FnOnce() -> String) {
        let after_all = self.listed.last().is_none_or(|last| (last.line, last.column) <= place);
        if self.listed.len() == self.max {
            if after_all {
                return self.drop(place);
            }
            if let Some(last) = self.listed.pop() {
                self.drop((last.line, last.column));
            }
        }
        let (line, column) = place;
        let at = self.listed.partition_point(|error| (error.line, error.column) <= place);
        self.listed.insert(at, ConsumerError { line, column, message: message() });
    }

    fn drop(&mut self, place: Place) {
        let (count, first) = self.dropped.unwrap_or((0, place));
        self.dropped = Some((count + 1, first.min(place)));
    }

    /// Nothing, or everything that is wrong.
    pub(super) fn into_result(mut self) -> Result<(), Vec<ConsumerError>> {
        if self.listed.is_empty() {
            return Ok(());
        }
        if let Some((count, (line, column))) = self.dropped {
            let message = format!("and more: {count} problems from here on are not listed");
            self.listed.push(ConsumerError { line, column, message });
        }
        Err(self.listed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_problems_by_place_are_listed_and_the_rest_is_counted() {
        let mut errors = Errors::new(3);
        for line in [9, 2, 8, 1, 7, 3] {
            errors.add((line, 1), || format!("problem {line}"));
        }
        let shown: Vec<_> = errors.into_result().expect_err("six").iter().map(ToString::to_string).collect();
        let more = "line 7, column 1: and more: 3 problems from here on are not listed";
        assert_eq!(
            shown,
            [
                "line 1, column 1: problem 1",
                "line 2, column 1: problem 2",
                "line 3, column 1: problem 3",
                more
            ]
        );
    }
}
