//! Every command of the endpoint, as data: what is executed, what `HELP` says, and what clients learn from `COMMAND`.

use super::selection::SELECTIONS;

/// Which command it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Id {
    Throttle,
    Check,
    Peek,
    Inspect,
    Reset,
    Reserve,
    Commit,
    Cancel,
    Refund,
    Acquire,
    Renew,
    Release,
    Ping,
    Echo,
    Hello,
    Auth,
    Client,
    Select,
    ResetConnection,
    Quit,
    Info,
    Command,
    Config,
}

/// A command.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) id: Id,
    /// How many arguments it has, with its name; at least so many if negative.
    pub(super) arity: i64,
    /// Where its key is; 0 if it has none.
    pub(super) key: usize,
    pub(super) summary: &'static str,
    pub(super) arguments: &'static [Argument],
    pub(super) subcommands: &'static [Subcommand],
}

/// A subcommand: the first argument of its command.
#[derive(Debug)]
pub(super) struct Subcommand {
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    pub(super) arguments: &'static [Argument],
}

/// An argument of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argument {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The word before it.
    pub(super) token: Option<&'static str>,
    pub(super) optional: bool,
}

/// The type of an argument, for clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Key,
    Text,
    Whole,
    /// Nothing but its token.
    Token,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Text => "string",
            Self::Whole => "integer",
            Self::Token => "pure-token",
        }
    }
}

pub(super) const fn key() -> Argument {
    Argument { name: "key", kind: Kind::Key, token: None, optional: false }
}

pub(super) const fn whole(name: &'static str) -> Argument {
    Argument { name, kind: Kind::Whole, token: None, optional: false }
}

pub(super) const fn text(name: &'static str) -> Argument {
    Argument { name, kind: Kind::Text, token: None, optional: false }
}

pub(super) const fn optional(argument: Argument) -> Argument {
    Argument { optional: true, ..argument }
}

pub(super) const fn after(token: &'static str, argument: Argument) -> Argument {
    Argument { token: Some(token), ..argument }
}

pub(super) const fn flag(token: &'static str) -> Argument {
    Argument { name: token, kind: Kind::Token, token: Some(token), optional: true }
}

const COST: Argument = optional(after("COST", whole("cost")));
const TTL: Argument = optional(after("TTL", whole("seconds")));

const fn of_limits(
    name: &'static str,
    id: Id,
    summary: &'static str,
    arguments: &'static [Argument],
) -> Command {
    Command { name, id, arity: -2, key: 2, summary, arguments, subcommands: SELECTIONS }
}

const fn plain(
    name: &'static str,
    id: Id,
    (arity, summary): (i64, &'static str),
    arguments: &'static [Argument],
) -> Command {
    Command { name, id, arity, key: 0, summary, arguments, subcommands: &[] }
}

/// Every command. Those with the subcommands of [`SELECTIONS`] have their own arguments after those of the subcommand.
pub(super) const COMMANDS: &[Command] = &[
    Command {
        key: 1,
        ..plain(
            "CL.THROTTLE",
            Id::Throttle,
            (-5, "Charges a key as in redis-cell: limited, limit, remaining, retry after, reset after"),
            &[key(), whole("max_burst"), whole("count"), whole("period"), optional(whole("quantity"))],
        )
    },
    of_limits(
        "TG.CHECK",
        Id::Check,
        "Charges a key if the cost fits; with RECEIPT, TG.REFUND can give it back; with UPTO, charges as much as fits",
        &[COST, optional(after("RECEIPT", whole("seconds"))), flag("UPTO")],
    ),
    of_limits("TG.PEEK", Id::Peek, "Decides as TG.CHECK would, and charges nothing", &[COST]),
    of_limits("TG.INSPECT", Id::Inspect, "Reports the state of a key", &[]),
    of_limits("TG.RESET", Id::Reset, "Forgets the state of a key; 1 if there was one", &[]),
    of_limits(
        "TG.RESERVE",
        Id::Reserve,
        "Charges an estimated cost, to be committed with the actual cost or cancelled",
        &[COST, TTL],
    ),
    plain(
        "TG.COMMIT",
        Id::Commit,
        (3, "Replaces the estimated cost of a reservation by the actual cost"),
        &[text("reservation"), whole("cost")],
    ),
    plain("TG.CANCEL", Id::Cancel, (2, "Gives back the charge of a reservation"), &[text("reservation")]),
    plain("TG.REFUND", Id::Refund, (2, "Gives back the charge of a TG.CHECK"), &[text("receipt")]),
    Command {
        key: 2,
        subcommands: ACQUIRE,
        ..plain(
            "TG.ACQUIRE",
            Id::Acquire,
            (-2, "Acquires a permit if the key has fewer than its limit"),
            &[TTL],
        )
    },
    plain("TG.RENEW", Id::Renew, (-2, "Extends the time for which a permit is held"), &[text("permit"), TTL]),
    plain(
        "TG.RELEASE",
        Id::Release,
        (2, "Releases a permit; 0 if it was not held any more"),
        &[text("permit")],
    ),
    plain("PING", Id::Ping, (-1, "Replies PONG, or the message"), &[optional(text("message"))]),
    plain("ECHO", Id::Echo, (2, "Replies with the message"), &[text("message")]),
    plain(
        "HELLO",
        Id::Hello,
        (-1, "Chooses the version of the protocol, and authenticates"),
        &[
            optional(whole("protover")),
            optional(after("AUTH", text("username token"))),
            optional(after("SETNAME", text("clientname"))),
        ],
    ),
    plain("AUTH", Id::Auth, (-2, "Authenticates with a token"), &[optional(text("username")), text("token")]),
    Command { subcommands: CLIENT, ..plain("CLIENT", Id::Client, (-2, "Client connection commands"), &[]) },
    plain("SELECT", Id::Select, (2, "Selects database 0, the only one"), &[whole("index")]),
    plain("RESET", Id::ResetConnection, (1, "Resets the connection"), &[]),
    plain("QUIT", Id::Quit, (-1, "Closes the connection"), &[]),
    plain("INFO", Id::Info, (-1, "Reports about the server"), &[optional(text("section"))]),
    Command { subcommands: COMMAND, ..plain("COMMAND", Id::Command, (-1, "Describes commands"), &[]) },
    Command {
        subcommands: CONFIG,
        ..plain("CONFIG", Id::Config, (-2, "Two constants that redis-benchmark asks for"), &[])
    },
];

const fn sub(name: &'static str, summary: &'static str, arguments: &'static [Argument]) -> Subcommand {
    Subcommand { name, summary, arguments }
}

const ACQUIRE: &[Subcommand] = &[
    sub("LIMIT", "At most so many permits per key", &[key(), whole("limit")]),
    sub(
        "NAMED",
        "A concurrency limit of the policy",
        &[key(), text("name"), optional(after("TIER", text("tier")))],
    ),
];

const CLIENT: &[Subcommand] = &[
    sub("ID", "The number of the connection", &[]),
    sub("GETNAME", "The name of the connection", &[]),
    sub("SETNAME", "Names the connection", &[text("connection-name")]),
    sub("SETINFO", "The library's name and version, which are not kept", &[text("attribute"), text("value")]),
    sub("INFO", "The connection", &[]),
    sub("LIST", "The connection: others are not shown", &[]),
    sub("NO-EVICT", "Has no effect", &[text("on-off")]),
    sub("NO-TOUCH", "Has no effect", &[text("on-off")]),
];

const COMMAND: &[Subcommand] = &[
    sub("COUNT", "How many commands there are", &[]),
    sub("DOCS", "Documentation of commands", &[optional(text("command-name"))]),
    sub("INFO", "Arity and keys of commands", &[optional(text("command-name"))]),
    sub("LIST", "The names of all commands", &[]),
];

const CONFIG: &[Subcommand] = &[sub("GET", "`save` and `appendonly`", &[text("parameter")])];

/// The command of this name, in any case.
pub(super) fn find(name: &[u8]) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name.as_bytes().eq_ignore_ascii_case(name))
}

impl Command {
    /// Whether it has so many arguments, with its name.
    pub(super) fn takes(&self, arguments: usize) -> bool {
        let arguments = i64::try_from(arguments).unwrap_or(i64::MAX);
        if self.arity < 0 { arguments >= self.arity.saturating_abs() } else { arguments == self.arity }
    }

    /// The arguments of a subcommand, and then its own.
    pub(super) fn arguments_with<'a>(
        &self,
        subcommand: &'a Subcommand,
    ) -> impl Iterator<Item = &'a Argument> {
        let own: &'static [Argument] = self.arguments;
        subcommand.arguments.iter().chain(own)
    }

    /// Whether it may be executed without a token.
    pub(super) const fn needs_token(&self) -> bool {
        !matches!(self.id, Id::Hello | Id::Auth | Id::ResetConnection | Id::Quit)
    }
}

impl std::fmt::Display for Argument {
    /// As in a synopsis: `[COST cost]`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (open, close) = if self.optional { ("[", "]") } else { ("", "") };
        match (self.token, self.kind) {
            (Some(token), Kind::Token) => write!(f, "{open}{token}{close}"),
            (Some(token), Kind::Key | Kind::Text | Kind::Whole) => {
                write!(f, "{open}{token} {}{close}", self.name)
            }
            (None, _) => write!(f, "{open}{}{close}", self.name),
        }
    }
}
