//! The arguments of a command, read one after another.

use tollgate_resp::{CommandParser, decimal};

/// Why a command was not executed: an error reply, with its code.
#[derive(Debug)]
pub(super) struct Refusal(pub(super) String);

impl Refusal {
    /// Wrong arguments.
    pub(super) fn invalid(what: impl std::fmt::Display) -> Self {
        Self(format!("ERR {what}"))
    }

    /// No decision was possible.
    pub(super) fn unavailable(why: impl std::fmt::Display) -> Self {
        Self(format!("UNAVAILABLE {why}: no decision was made"))
    }
}

/// The most of an argument that an error repeats.
const SHOWN_MAX: usize = 64;

/// An argument as an error shows it: escaped, and not all of it if it is long.
pub(super) fn shown(argument: &[u8]) -> String {
    let (first, rest) = argument.split_at(argument.len().min(SHOWN_MAX));
    format!("{}{}", first.escape_ascii(), if rest.is_empty() { "" } else { "..." })
}

/// A cursor over the arguments of a command.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'a> {
    parser: &'a CommandParser,
    input: &'a [u8],
    next: usize,
}

impl<'a> Arguments<'a> {
    /// All arguments, without the command's name.
    pub(super) const fn new(parser: &'a CommandParser, input: &'a [u8]) -> Self {
        Self { parser, input, next: 1 }
    }

    /// How many are left.
    pub(super) const fn len(&self) -> usize {
        self.parser.len().saturating_sub(self.next)
    }

    /// The next one, if there is one.
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        let argument = self.parser.argument(self.input, self.next)?;
        self.next = self.next.saturating_add(1);
        Some(argument)
    }

    /// The next one, which has to be there.
    pub(super) fn required(&mut self, name: &str) -> Result<&'a [u8], Refusal> {
        self.next().ok_or_else(|| Refusal::invalid(format_args!("{name} is missing")))
    }

    /// The next one as a whole number, which has to be there.
    pub(super) fn whole(&mut self, name: &str) -> Result<u64, Refusal> {
        let argument = self.required(name)?;
        decimal(argument).ok_or_else(|| {
            let found = shown(argument);
            Refusal::invalid(format_args!(
                "{name} must be a whole number such as 10, without sign, point or spaces: got '{found}'"
            ))
        })
    }

    /// The next one as a whole number in a range.
    pub(super) fn whole_within(&mut self, name: &str, (low, high): (u64, u64)) -> Result<u64, Refusal> {
        let number = self.whole(name)?;
        if (low..=high).contains(&number) {
            return Ok(number);
        }
        Err(Refusal::invalid(format_args!("{name} must be from {low} to {high}: got {number}")))
    }

    /// The next one as text.
    pub(super) fn text(&mut self, name: &str) -> Result<&'a str, Refusal> {
        let argument = self.required(name)?;
        let not_text = || Refusal::invalid(format_args!("{name} must be text: got '{}'", shown(argument)));
        str::from_utf8(argument).map_err(|_| not_text())
    }

    /// Whether the next one is this word, in any case; then it is taken.
    pub(super) fn word(&mut self, word: &str) -> bool {
        let is_it = self
            .parser
            .argument(self.input, self.next)
            .is_some_and(|argument| argument.eq_ignore_ascii_case(word.as_bytes()));
        self.next = self.next.saturating_add(usize::from(is_it));
        is_it
    }

    /// That there are no more.
    pub(super) fn end(&mut self) -> Result<(), Refusal> {
        match self.next() {
            None => Ok(()),
            Some(more) => Err(Refusal::invalid(format_args!("unexpected argument '{}'", shown(more)))),
        }
    }
}
