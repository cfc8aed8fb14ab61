//! A script call as data, before it is sent.

use smallvec::SmallVec;

use crate::{KeyName, Value};

/// A script and the digest by which a server knows it.
#[derive(Debug)]
pub struct Script {
    /// The text, for `SCRIPT LOAD` and `EVAL`.
    pub text: String,
    /// The SHA-1 of the text, in lower-case hexadecimal digits, for `EVALSHA`.
    pub digest: String,
}

/// An argument's bytes. A limit without shadow hits fits in its place.
pub type Argument = SmallVec<[u8; 40]>;

/// One `EVALSHA`: the script, its `KEYS` and its `ARGV`. [Some](Call::together) can go as one.
#[derive(Debug)]
pub struct Call {
    /// Which script.
    pub script: &'static Script,
    /// `KEYS`: each name once, in the order of the first hit on it.
    pub names: SmallVec<[KeyName; 4]>,
    /// `ARGV`, each argument's bytes.
    pub arguments: SmallVec<[Argument; 4]>,
    /// What the script may change.
    pub writes: Writes,
}

/// What a call may change, and how its answer tells that it did.
///
/// A call that may change something is never sent again once it may have reached the server. And it may find out whether a server
/// that failed serves again: it does if something was written. A server that takes no writes still answers what writes nothing.
#[derive(Clone, Copy, Debug)]
pub enum Writes {
    /// Nothing.
    Nothing,
    /// Something, whenever it is answered without an error.
    Always,
    /// Something, if this says so of its answer. It must not say so of one after which nothing was written.
    If(fn(&Value) -> bool),
}

impl Writes {
    /// Whether something may be changed.
    pub(crate) const fn may_be(self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Always | Self::If(_) => true,
        }
    }

    /// Whether this answer shows that something was written.
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
