//! Errors in limits written in Rust.

use std::fmt;

use tollgate::HITS_MAX;

/// Maximum length of a rule's name in characters; a longer name is an error.
pub const NAME_CHARS_MAX: usize = 200;

/// Why rules cannot be put in force.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RulesError {
    /// A name is empty, longer than [`NAME_CHARS_MAX`], or not printable ASCII.
    Name {
        /// The name, as it may be shown.
        name: String,
    },
    /// Two rules have one name.
    SameName {
        /// The name.
        name: String,
    },
    /// There are more rules than can be charged together: [`HITS_MAX`] hits. A rule that may charge an address counts twice,
    /// because an IPv6 address is charged together with the network around it.
    TooMany {
        /// How many there are.
        rules: usize,
    },
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name } => write!(
                f,
                "`{name}` is not a valid name for a rule: use 1 to {NAME_CHARS_MAX} characters of printable ASCII"
            ),
            Self::SameName { name } => {
                write!(f, "two rules are named `{name}` and would share their keys: give each its own name")
            }
            Self::TooMany { rules } => {
                write!(
                    f,
                    "{rules} rules are too many: at most {HITS_MAX} can be charged together, and at most {} of them may charge an \
                     address",
                    HITS_MAX / 2
                )
            }
        }
    }
}

impl std::error::Error for RulesError {}
