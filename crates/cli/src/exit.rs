//! Exit codes of commands.

use std::process::ExitCode;

/// How a command ended. The later, the worse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Exit {
    /// 0: all is well, or there is only advice.
    Fine,
    /// 1: something was found.
    Findings,
    /// 2: it was called wrongly, or a file cannot be read or written.
    Usage,
}

impl Exit {
    /// The number.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Findings => 1,
            Self::Usage => 2,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
