//! Every cause for which a call has no reply or no decision: its name, and what it implies about the server.

use Sign::{Alive, Failing, Silent};

/// Why a call got no answer, or none that is a decision. The set is fixed, so that each can be counted by its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The breaker is open: nothing was sent.
    Open,
    /// As many calls are in flight as may be: nothing was sent.
    TooManyInFlight,
    /// The budget was used up, and the server may have done what was asked.
    Timeout,
    /// The budget was used up before anything was sent.
    TimeoutUnsent,
    /// Nobody listens there.
    Refused,
    /// The connection was closed or reset.
    Closed,
    /// The host has no address.
    Dns,
    /// The server's certificate or its TLS was not accepted.
    Tls,
    /// The server wants a certificate of ours: there is none, or it does not accept it.
    Certificate,
    /// The server took too long over a new connection.
    ConnectTimeout,
    /// The server owed an answer and said nothing for too long.
    Stalled,
    /// The server said something that is not its protocol.
    Garbled,
    /// Any other error of the operating system.
    Io,
    /// A file that a new connection needs cannot be read, or holds nothing that can be used.
    File,
    /// `LOADING`: the server reads its data.
    Loading,
    /// `MISCONF`: it cannot save, and so takes no writes.
    Misconf,
    /// `OOM`: its memory is used up.
    OutOfMemory,
    /// `READONLY`: it is a replica.
    ReadOnly,
    /// `NOREPLICAS`: it has too few replicas to take writes.
    NoReplicas,
    /// `MASTERDOWN`: it is a replica that has lost its primary.
    MasterDown,
    /// `CLUSTERDOWN`: its cluster does not answer.
    ClusterDown,
    /// `TRYAGAIN`: the keys are being moved.
    TryAgain,
    /// `MOVED`: the keys live elsewhere.
    Moved,
    /// `ASK`: the keys are moving elsewhere.
    Ask,
    /// `CROSSSLOT`: the keys do not live together.
    CrossSlot,
    /// `BUSY`: it runs somebody's script.
    Busy,
    /// `NOAUTH`: it wants a password.
    NoAuth,
    /// `WRONGPASS`: it does not know this user and password.
    WrongPass,
    /// `NOPERM`: the user lacks a right.
    NoPerm,
    /// `WRONGTYPE`: a key holds something else.
    WrongType,
    /// `NOSCRIPT`, although it was just given the script.
    NoScript,
    /// `EXECABORT`: a transaction was given up.
    ExecAbort,
    /// Any other error, a script's own among them.
    Other,
    /// It answered that a key holds something that is not a state of ours: see [`StoreError::Foreign`](crate::StoreError::Foreign).
    Foreign,
    /// It answered that a key holds a state of another kind than its name says: see
    /// [`StoreError::ForeignKind`](crate::StoreError::ForeignKind).
    ForeignKind,
    /// It answered with something that cannot be one of ours: see [`StoreError::Disagrees`](crate::StoreError::Disagrees).
    Disagrees,
}

/// What the end of a call says about the server as a whole, for the breaker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sign {
    /// It wrote: it serves. No error says that.
    Serving,
    /// It cannot serve anybody: counts towards opening.
    Failing,
    /// It answered, and wrote nothing; if it is an error, the trouble is this call's own. It may be one that takes no writes.
    Alive,
    /// Nothing: it was not asked, or the connection is at fault, which is made anew with a back-off of its own.
    Silent,
}

/// All that is known about a cause.
#[derive(Debug)]
pub(crate) struct Row {
    cause: Cause,
    name: &'static str,
    /// The word with which a server's error begins.
    word: &'static str,
    sign: Sign,
    /// Whether a connection on which it was said is given up for a new one.
    reconnects: bool,
}

const fn row(cause: Cause, name: &'static str, word: &'static str, sign: Sign, reconnects: bool) -> Row {
    Row { cause, name, word, sign, reconnects }
}

/// One row per cause, in the order of the causes. The comments say why.
static ROWS: [Row; Cause::COUNT] = [
    // Our own answers. A bound that is reached says nothing by itself: a frozen server shows by its timeouts.
    row(Cause::Open, "open", "", Silent, false),
    row(Cause::TooManyInFlight, "too_many_in_flight", "", Silent, false),
    // A timeout costs its caller the whole budget: this is what the breaker is there to stop.
    row(Cause::Timeout, "timeout", "", Failing, false),
    row(Cause::TimeoutUnsent, "timeout_unsent", "", Failing, false),
    // Without a connection calls end at once, and reconnecting has its own back-off: no need for a breaker.
    row(Cause::Refused, "refused", "", Silent, true),
    row(Cause::Closed, "closed", "", Silent, true),
    row(Cause::Dns, "dns", "", Silent, true),
    row(Cause::Tls, "tls", "", Silent, true),
    row(Cause::Certificate, "certificate", "", Silent, true),
    row(Cause::ConnectTimeout, "connect_timeout", "", Silent, true),
    row(Cause::Stalled, "stalled", "", Silent, true),
    row(Cause::Garbled, "garbled", "", Silent, true),
    row(Cause::Io, "io", "", Silent, true),
    row(Cause::File, "file", "", Silent, true),
    // A server that loads was started just now: perhaps behind the same name there is another one.
    row(Cause::Loading, "loading", "LOADING", Failing, true),
    // It refuses every write. The connection is as good as any other.
    row(Cause::Misconf, "misconf", "MISCONF", Failing, false),
    row(Cause::OutOfMemory, "oom", "OOM", Failing, false),
    // A replica. The name may lead to the new primary by now.
    row(Cause::ReadOnly, "readonly", "READONLY", Failing, true),
    row(Cause::NoReplicas, "noreplicas", "NOREPLICAS", Failing, false),
    row(Cause::MasterDown, "masterdown", "MASTERDOWN", Failing, true),
    row(Cause::ClusterDown, "clusterdown", "CLUSTERDOWN", Failing, false),
    // About the slot of these keys. Others are served.
    row(Cause::TryAgain, "tryagain", "TRYAGAIN", Alive, false),
    row(Cause::Moved, "moved", "MOVED", Alive, false),
    row(Cause::Ask, "ask", "ASK", Alive, false),
    row(Cause::CrossSlot, "crossslot", "CROSSSLOT", Alive, false),
    // Nobody is served until that script ends.
    row(Cause::Busy, "busy", "BUSY", Failing, false),
    // Said to everybody, until the password is what it was: a new connection says it anew.
    row(Cause::NoAuth, "noauth", "NOAUTH", Failing, true),
    row(Cause::WrongPass, "wrongpass", "WRONGPASS", Failing, true),
    // About one command or one key. What is permitted still works.
    row(Cause::NoPerm, "noperm", "NOPERM", Alive, false),
    // About one key: whoever can write such a key must not be able to open the breaker for all.
    row(Cause::WrongType, "wrongtype", "WRONGTYPE", Alive, false),
    // It forgets scripts faster than it can be given them.
    row(Cause::NoScript, "noscript", "NOSCRIPT", Failing, false),
    row(Cause::ExecAbort, "execabort", "EXECABORT", Alive, false),
    // Mostly a script's own error, which is about its keys or arguments.
    row(Cause::Other, "other", "ERR", Alive, false),
    // It has answered. Its answer was about these keys.
    row(Cause::Foreign, "foreign", "", Alive, false),
    row(Cause::ForeignKind, "foreign_kind", "", Alive, false),
    row(Cause::Disagrees, "disagrees", "", Alive, false),
];

impl Cause {
    /// How many there are.
    pub const COUNT: usize = Self::Disagrees as usize + 1;

    /// The name for metrics and logs: lower-case letters and underscores.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// All of them, in a fixed order.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.cause)
    }

    pub(crate) fn sign(self) -> Sign {
        self.row().sign
    }

    pub(crate) fn reconnects(self) -> bool {
        self.row().reconnects
    }

    /// The cause of an error line, without its `-`.
    ///
    /// Redis 6.2 wraps an error that a script meets, `ERR Error running script (…): @user_script:1: -OOM …`, and so do we for one
    /// of several calls that went together: then the word inside counts. What a script may not do is said in words of its own: [`FORBIDDEN`].
    pub(crate) fn of_line(line: &str) -> Self {
        if FORBIDDEN.iter().any(|words| line.contains(words)) {
            return Self::NoPerm;
        }
        let word = line.split(' ').next().unwrap_or_default();
        let found = of_word(word).unwrap_or(Self::Other);
        if found != Self::Other || !line.starts_with("ERR Error running script") {
            return found;
        }
        // The word stands after the place where the script met the error, with a `-` or without.
        let pairs = line.split(' ').zip(line.split(' ').skip(1));
        let inside = pairs.filter(|(place, _)| place.ends_with(':'));
        let words = inside.filter_map(|(_, word)| of_word(word.trim_start_matches('-')));
        words.last().unwrap_or(found)
    }

    fn row(self) -> &'static Row {
        // The order of the rows is the order of the causes: a test.
        ROWS.get(self as usize).unwrap_or(&OTHER)
    }
}

/// What servers say, after `ERR`, when a script does what its user may not.
const FORBIDDEN: [&str; 2] = ["The user executing the script can't", "ACL failure in script"];

static OTHER: Row = row(Cause::Other, "other", "ERR", Alive, false);

fn of_word(word: &str) -> Option<Cause> {
    ROWS.iter().find(|row| !word.is_empty() && row.word == word).map(|row| row.cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_stand_in_the_order_of_the_causes_and_no_name_stands_twice() {
        for (at, row) in ROWS.iter().enumerate() {
            assert_eq!(row.cause as usize, at, "{row:?}");
            let same = ROWS.iter().filter(|other| other.name == row.name).count();
            assert_eq!(same, 1, "{row:?}");
        }
    }

    #[test]
    fn a_servers_error_is_known_by_its_first_word() {
        let lines = [
            ("LOADING Redis is loading the dataset in memory", Cause::Loading),
            (
                "OOM command not allowed when used memory > 'maxmemory'. script: 8cd0, on @user_script:1.",
                Cause::OutOfMemory,
            ),
            ("WRONGTYPE Operation against a key holding the wrong kind of value", Cause::WrongType),
            ("BUSYKEY Target key name already exists.", Cause::Other),
            (
                "ERR Error running script (call to f_8cd0): @user_script:1: @user_script: 1: -OOM command not allowed",
                Cause::OutOfMemory,
            ),
            (
                "ERR Error running script (call to f_8cd0): @user_script:1: -READONLY You can't write",
                Cause::ReadOnly,
            ),
            (
                "ERR Error running script: OOM command not allowed when used memory > 'maxmemory'.",
                Cause::OutOfMemory,
            ),
            ("ERR Error running script: @user_script: 31: -READONLY You can't write", Cause::ReadOnly),
            ("ERR Error running script: user_script:12: attempt to index a nil value", Cause::Other),
            (
                "ERR The user executing the script can't run this command or subcommand script: 8cd0",
                Cause::NoPerm,
            ),
            ("ERR user_script:1: attempt to compare nil with number", Cause::Other),
            ("ERR the key's name is -OOM", Cause::Other),
            ("", Cause::Other),
        ];
        for (line, cause) in lines {
            assert_eq!(Cause::of_line(line), cause, "{line}");
        }
    }

    #[test]
    fn an_error_about_one_key_never_counts_against_the_server() {
        for cause in [Cause::WrongType, Cause::Other, Cause::NoPerm, Cause::Moved, Cause::CrossSlot] {
            assert_eq!(cause.sign(), Alive, "{cause:?}");
            assert!(!cause.reconnects(), "{cause:?}");
        }
    }
}
