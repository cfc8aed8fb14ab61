//! A script call as data, before it is sent.

use smallvec::SmallVec;

use crate::{KeyName, Value};

/// A script and its digest.
#[derive(Debug)]
pub struct Script {
    /// The text, for `SCRIPT LOAD` and `EVAL`.
    pub text: String,
    /// The SHA-1 of the text, in lower-case hexadecimal digits, for `EVALSHA`.
    pub digest: String,
}

/// The bytes of an argument, inline for a limit without shadow hits.
pub type Argument = SmallVec<[u8; 40]>;

/// One `EVALSHA`: the script, its `KEYS` and its `ARGV`. [Some](Call::together) can be coalesced.
#[derive(Debug)]
pub struct Call {
    /// The script.
    pub script: &'static Script,
    /// `KEYS`: each name once, in the order of the first hit on it.
    pub names: SmallVec<[KeyName; 4]>,
    /// `ARGV`, as bytes.
    pub arguments: SmallVec<[Argument; 4]>,
    /// What the script may change.
    pub writes: Writes,
}

/// Whether a call may write, and how its reply shows that it did.
///
/// A call that may write is never resent if it may have reached the server. A successful write also shows that a failed
/// server has recovered; a server that rejects writes still answers calls that write nothing.
#[derive(Clone, Copy, Debug)]
pub enum Writes {
    /// Nothing.
    Nothing,
    /// It writes unless it returns an error.
    Always,
    /// It writes if this function returns true for its reply. It must not return true if nothing was written.
    If(fn(&Value) -> bool),
}

impl Writes {
    /// Returns true if the call may write.
    pub(crate) const fn may_be(self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Always | Self::If(_) => true,
        }
    }

    /// Returns true if this reply shows that something was written.
    pub(crate) fn is_shown_by(self, answer: &Value) -> bool {
        match self {
            Self::Nothing => false,
            Self::Always => true,
            Self::If(wrote) => wrote(answer),
        }
    }
}

impl Clone for Call {
    fn clone(&self) -> Self {
        // Each is copied in one piece; `SmallVec::clone` goes byte by byte, and a call is copied for every decision.
        let arguments = self.arguments.iter().map(|argument| Argument::from_slice(argument));
        Self {
            script: self.script,
            names: SmallVec::from_slice(&self.names),
            arguments: arguments.collect(),
            writes: self.writes,
        }
    }
}
