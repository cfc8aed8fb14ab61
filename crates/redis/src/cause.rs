//! Every cause for which a call has no reply or no decision: its name, and what it implies about the server.

use HealthSignal::{Alive, Failing, Silent};

/// Why a call has no reply or no decision. The set is fixed, so that each cause can be counted by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The circuit breaker is open. Nothing was sent.
    Open,
    /// The maximum number of calls is in flight. Nothing was sent.
    TooManyInFlight,
    /// The time budget is exceeded. The call may have taken effect.
    Timeout,
    /// The time budget was exceeded before the call was sent.
    TimeoutUnsent,
    /// The connection was refused.
    Refused,
    /// The connection was closed or reset.
    Closed,
    /// The host name has no address.
    Dns,
    /// The TLS handshake failed, or the server's certificate is not trusted.
    Tls,
    /// The server requires a client certificate, which is missing or rejected.
    Certificate,
    /// Connecting timed out.
    ConnectTimeout,
    /// The server stopped replying.
    Stalled,
    /// The server sent something that is not RESP2.
    Garbled,
    /// Any other error of the operating system.
    Io,
    /// A file that a new connection needs is unreadable or invalid.
    File,
    /// `LOADING`: the server is loading its data.
    Loading,
    /// `MISCONF`: the server cannot save, so it rejects writes.
    Misconf,
    /// `OOM`: the server is out of memory.
    OutOfMemory,
    /// `READONLY`: the server is a replica.
    ReadOnly,
    /// `NOREPLICAS`: the server has too few replicas for writes.
    NoReplicas,
    /// `MASTERDOWN`: the server is a replica that has lost its primary.
    MasterDown,
    /// `CLUSTERDOWN`: the cluster is down.
    ClusterDown,
    /// `TRYAGAIN`: the keys are being migrated.
    TryAgain,
    /// `MOVED`: the keys are on another node.
    Moved,
    /// `ASK`: the keys are moving to another node.
    Ask,
    /// `CROSSSLOT`: the keys are in different slots.
    CrossSlot,
    /// `BUSY`: the server is running another script.
    Busy,
    /// `NOAUTH`: the server requires a password.
    NoAuth,
    /// `WRONGPASS`: the user or the password is wrong.
    WrongPass,
    /// `NOPERM`: the user lacks a permission.
    NoPerm,
    /// `WRONGTYPE`: a key has another type.
    WrongType,
    /// `NOSCRIPT`, although the script was just loaded.
    NoScript,
    /// `EXECABORT`: a transaction was aborted.
    ExecAbort,
    /// Any other error, including those raised by a script.
    Other,
    /// A key contains foreign data: see [`StoreError::Foreign`](crate::StoreError::Foreign).
    Foreign,
    /// A key contains a state of another kind than its name says: see
    /// [`StoreError::ForeignKind`](crate::StoreError::ForeignKind).
    ForeignKind,
    /// The reply is unexpected: see [`StoreError::Disagrees`](crate::StoreError::Disagrees).
    Disagrees,
}

/// What the result of a call implies about the server, for the circuit breaker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HealthSignal {
    /// It wrote, so it works. No error implies this.
    Serving,
    /// It fails for all callers: counts towards opening.
    Failing,
    /// It replied without writing, or with an error that concerns only this call. It may still reject writes.
    Alive,
    /// Nothing: it was not called, or the connection failed, which has its own back-off.
    Silent,
}

/// The properties of a cause.
#[derive(Debug)]
pub(crate) struct CauseInfo {
    cause: Cause,
    name: &'static str,
    /// The first word of the server's error.
    word: &'static str,
    sign: HealthSignal,
    /// Whether to reconnect after this error.
    reconnects: bool,
}

const fn row(
    cause: Cause,
    name: &'static str,
    word: &'static str,
    sign: HealthSignal,
    reconnects: bool,
) -> CauseInfo {
    CauseInfo { cause, name, word, sign, reconnects }
}

/// One row per cause, in the order of [`Cause`]. The comments give the reasons.
static ROWS: [CauseInfo; Cause::COUNT] = [
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
    /// The number of causes.
    pub const COUNT: usize = Self::Disagrees as usize + 1;

    /// The name for metrics and logs: lower-case letters and underscores.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// All causes, in a fixed order.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.cause)
    }

    pub(crate) fn sign(self) -> HealthSignal {
        self.row().sign
    }

    pub(crate) fn reconnects(self) -> bool {
        self.row().reconnects
    }

    /// The cause of an error line, without its `-`.
    ///
    /// Redis 6.2 wraps errors inside a script, `ERR Error running script (…): @user_script:1: -OOM …`, and Tollgate does so for
    /// coalesced calls: then the inner word counts. Missing permissions inside a script have their own wording: [`FORBIDDEN`].
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

    fn row(self) -> &'static CauseInfo {
        // The order of the rows is the order of the causes: a test.
        ROWS.get(self as usize).unwrap_or(&OTHER)
    }
}

/// The server's wording, after `ERR`, if a script lacks a permission.
const FORBIDDEN: [&str; 2] = ["The user executing the script can't", "ACL failure in script"];

static OTHER: CauseInfo = row(Cause::Other, "other", "ERR", Alive, false);

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
