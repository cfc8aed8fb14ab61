//! Every setting of `tollgate serve`, said once: its name, what may stand there, and what it is for. Defaults are the server's.

use super::kind::Kind;

/// What may stand in a field of the section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FieldType {
    /// A setting.
    Setting(Kind),
    /// A map of these fields.
    Map(&'static [Field]),
}

/// One field of the section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: FieldType,
    /// What it says, in a sentence.
    pub(crate) about: &'static str,
}

const fn field(name: &'static str, kind: FieldType, about: &'static str) -> Field {
    Field { name, kind, about }
}

const fn setting(name: &'static str, kind: Kind, about: &'static str) -> Field {
    field(name, FieldType::Setting(kind), about)
}

/// At most so many addresses are listened on. More are refused.
const LISTENERS_MAX: usize = 16;
/// At most so many threads serve. More are refused.
const WORKERS_MAX: u64 = 1_024;
/// The least memory for the limits' state, as in `tollgate::BUDGET_BYTES_MIN`: less would hold hardly any keys, and is rejected.
const MEMORY_MIN: u64 = 4 << 20;
/// The most of it: more is refused as a slip.
const MEMORY_MAX: u64 = 1 << 40;
/// More connections are refused as a slip: the system's own bounds are lower.
const CONNECTIONS_MAX: u64 = 10_000_000;
/// The smallest bound of a request's head that lets ordinary requests through. Less is refused.
const HEAD_BYTES_MIN: u64 = 1 << 10;
/// The largest one. More is refused: every connection may take it.
const HEAD_BYTES_MAX: u64 = 1 << 20;
/// The largest bound of a body. More is refused; `none` is without bound.
const BODY_BYTES_MAX: u64 = 1 << 50;

/// The largest pace of a body. More is refused as a slip: hardly a client sends faster.
const BODY_RATE_MAX: u64 = 1 << 30;

const FILE_OR_NONE: Kind = Kind::Or("none", &Kind::File);
/// The name of a file with a secret.
const SECRET_OR_NONE: Kind = Kind::Or("none", &Kind::Secret);
const TIME_OR_NONE: Kind = Kind::Or("none", &Kind::Time);

/// What a gateway is told, besides its policy.
pub(crate) const SERVE: &[Field] = &[
    setting("policy", Kind::File, "The policy, if it is another file than this one."),
    setting("listen", Kind::List(&Kind::Address, LISTENERS_MAX), "Where clients connect."),
    field("upstream", FieldType::Map(UPSTREAM), "Where requests go."),
    field("tls", FieldType::Map(TLS), "The gateway's certificate; without one clients speak without TLS."),
    field("operations", FieldType::Map(OPERATIONS), "Where operators look."),
    setting(
        "readiness",
        Kind::Or("none", &Kind::List(&Kind::Word(&["policy", "store", "upstream"]), 3)),
        "What /readyz checks: that a policy is in force, that the shared store gives decisions, that the upstream takes connections.",
    ),
    setting(
        "workers",
        Kind::Or("auto", &Kind::Whole(1, WORKERS_MAX)),
        "How many threads serve; `auto` is one for each core.",
    ),
    setting("memory", Kind::Bytes(MEMORY_MIN, MEMORY_MAX), "What the limits' state may take in memory."),
    field("store", FieldType::Map(STORE), "Where budgets are counted that several processes share."),
    field("answers", FieldType::Map(ANSWERS), "What clients are told."),
    field("timeouts", FieldType::Map(TIMEOUTS), "How long things may take."),
    field("bounds", FieldType::Map(BOUNDS), "How much there may be of things."),
    field("forwarding", FieldType::Map(FORWARDING), "What is changed in requests on their way."),
    field("log", FieldType::Map(LOG), "What is written down."),
    field("reload", FieldType::Map(RELOAD), "How changed files are noticed."),
];

const UPSTREAM: &[Field] = &[
    setting("url", Kind::Origin, "Where it is: `http://host:port`, `https://host` or `h2c://host:port`."),
    setting(
        "protocol",
        Kind::Word(&["auto", "http1"]),
        "`auto` is HTTP/2 where TLS agrees on it or a request is gRPC, `http1` never; `h2c://` in the URL is always HTTP/2.",
    ),
    setting(
        "ca",
        Kind::Or("system", &Kind::File),
        "The file with the certificates to trust, or the system's.",
    ),
    setting("idle_max", Kind::Whole(0, 65_536), "So many idle connections are kept by each worker."),
    setting(
        "lookup",
        TIME_OR_NONE,
        "How often the upstream's name is looked up, to notice changed addresses; `none`: only for new connections.",
    ),
];

const TLS: &[Field] = &[
    setting("certificate", FILE_OR_NONE, "The file with the chain, in PEM; read again when it changes."),
    setting("key", SECRET_OR_NONE, "The file with the key, in PEM; read again when it changes."),
];

const OPERATIONS: &[Field] =
    &[setting("listen", Kind::Or("none", &Kind::Address), "Where health and metrics are asked for.")];

const STORE: &[Field] = &[
    setting(
        "url",
        Kind::Or("memory", &Kind::Store),
        "Where it is: `redis://host:port`, `rediss://…` with TLS (or `valkey://…`, `valkeys://…`), or `unix:///path`; `memory` is this process alone.",
    ),
    setting(
        "namespace",
        Kind::Or("title", &Kind::Token),
        "Whose limits they are, among services that share a store; `title` is derived from the API's title.",
    ),
    setting("budget", Kind::Time, "What one decision may take; then `when_store_fails` of each limit holds."),
    setting(
        "secret",
        SECRET_OR_NONE,
        "The file with the secret that keys' names are made with: the same for all who share a store.",
    ),
    setting(
        "password",
        SECRET_OR_NONE,
        "The file with the password, if it is not in the URL; read anew for each connection.",
    ),
    setting(
        "ca",
        Kind::Or("system", &Kind::File),
        "The file with the certificates to trust, read anew for each connection; or the system's.",
    ),
    setting(
        "certificate",
        FILE_OR_NONE,
        "The file with our certificate, in PEM, if it wants one with TLS; read anew for each connection.",
    ),
    setting("key", SECRET_OR_NONE, "The file with the key of that, in PEM; read anew for each connection."),
    setting("connections", Kind::Whole(1, 16), "Connections to it: more than one help where TLS is slow."),
    setting(
        "in_flight",
        Kind::Whole(1, 1_000_000),
        "Decisions on their way at once; for further ones `when_store_fails` holds at once.",
    ),
];

const ANSWERS: &[Field] = &[
    setting(
        "fields",
        Kind::Or("none", &Kind::List(&Kind::Word(&["draft", "x_ratelimit", "triple"]), 3)),
        "Which generations of fields are sent.",
    ),
    setting(
        "reset",
        Kind::Word(&["epoch", "delta"]),
        "`X-RateLimit-Reset` in seconds since 1970, or from now.",
    ),
    setting("retry_jitter", TIME_OR_NONE, "`Retry-After` is made longer by up to so much."),
    setting("partition_key", Kind::Flag, "Whether fields carry a keyed hash of whose budget it is."),
    setting(
        "degraded",
        Kind::Flag,
        "Whether `Tollgate-Degraded` tells of an answer that its limits' own counts did not decide.",
    ),
];

const TIMEOUTS: &[Field] = &[
    setting(
        "header",
        Kind::Time,
        "From a connection, or the first byte of a request, to the end of its head.",
    ),
    setting("idle", Kind::Time, "A client's connection without a request."),
    setting("body", Kind::Time, "Between two pieces of a request's body."),
    setting("write", Kind::Time, "During which a client takes none of a response."),
    setting("connect", Kind::Time, "For a connection to the upstream, TLS included."),
    setting("response", Kind::Time, "For the head of the upstream's response, from the end of the request."),
    setting("response_body", Kind::Time, "Between two pieces of the response's body."),
    setting("total", TIME_OR_NONE, "For a whole exchange."),
    setting("upstream_idle", Kind::Time, "How long an idle connection to the upstream is kept."),
    setting("drain", Kind::Time, "How long requests in flight have after a signal to stop."),
];

const BOUNDS: &[Field] = &[
    setting(
        "connections",
        Kind::Whole(1, CONNECTIONS_MAX),
        "Connections of clients at once; further ones wait in the listener's queue.",
    ),
    setting(
        "connections_per_address",
        Kind::Or("none", &Kind::Whole(1, CONNECTIONS_MAX)),
        "Connections of one address (of IPv6: of its /64) at once; further ones are closed.",
    ),
    setting(
        "head_bytes",
        Kind::Bytes(HEAD_BYTES_MIN, HEAD_BYTES_MAX),
        "Bytes of a request's head: more are 431.",
    ),
    setting("header_fields", Kind::Whole(1, 10_000), "Header fields of a request: more are 431."),
    setting(
        "streams",
        Kind::Whole(1, 100_000),
        "Streams of one HTTP/2 connection at once; further ones are refused.",
    ),
    setting(
        "resets",
        Kind::Whole(1, 100_000),
        "Streams that a client resets before they are answered, in a row; then the connection is closed.",
    ),
    setting(
        "body_bytes",
        Kind::Or("none", &Kind::Bytes(0, BODY_BYTES_MAX)),
        "Bytes of a request's body: more are 413.",
    ),
    setting(
        "body_rate",
        Kind::Or("none", &Kind::Bytes(1, BODY_RATE_MAX)),
        "Bytes of a request's body that a client has to send per second, averaged over `timeouts.body`: fewer are 408. Calls of gRPC are excepted.",
    ),
];

const FORWARDING: &[Field] = &[
    setting("keep_host", Kind::Flag, "Whether the upstream gets the client's `Host`, or its own name."),
    setting("method_override", Kind::Flag, "Whether `X-HTTP-Method-Override` and its likes are passed on."),
    setting("via", Kind::Token, "What the gateway calls itself in `Via`."),
];

const LOG: &[Field] = &[
    setting("format", Kind::Word(&["json", "text"]), "For programs, or for people."),
    setting("requests", Kind::Flag, "Whether every request has a line."),
    setting(
        "refusals_per_second",
        Kind::Whole(0, 1_000_000),
        "So many refusals are written down a second; further ones are counted.",
    ),
];

const RELOAD: &[Field] =
    &[setting("poll", TIME_OR_NONE, "How often files are compared, besides being watched.")];
