//! Every setting of `tollgate serve`: name, type and description. Defaults are in `settings`.

use super::kind::Kind;

/// The type of a field.
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
    /// The description, for documentation and schemas.
    pub(crate) about: &'static str,
}

const fn field(name: &'static str, kind: FieldType, about: &'static str) -> Field {
    Field { name, kind, about }
}

const fn setting(name: &'static str, kind: Kind, about: &'static str) -> Field {
    field(name, FieldType::Setting(kind), about)
}

/// Maximum number of addresses to listen on.
const LISTENERS_MAX: usize = 16;
/// Maximum number of worker threads.
const WORKERS_MAX: u64 = 1_024;
/// Minimum memory, as in `tollgate::MAX_MEMORY_BYTES_MIN`: less would hold hardly any keys.
const MEMORY_MIN: u64 = 4 << 20;
/// Maximum memory: more is probably a mistake.
const MEMORY_MAX: u64 = 1 << 40;
/// Maximum of the maximum connections: more is probably a mistake, because the system's own bounds are lower.
const CONNECTIONS_MAX: u64 = 10_000_000;
/// Minimum of the maximum header size: ordinary requests must fit.
const HEAD_BYTES_MIN: u64 = 1 << 10;
/// Maximum of the maximum header size: every connection may use this much memory.
const HEAD_BYTES_MAX: u64 = 1 << 20;
/// Maximum of the maximum body size; `none` disables the maximum.
const BODY_BYTES_MAX: u64 = 1 << 50;

/// Maximum of an adaptive limit: higher ones are not told apart.
const ADAPTIVE_MAX: u64 = tollgate::adaptive::LIMIT_MAX as u64;
/// Maximum of the minimum body rate: more is probably a mistake, because hardly any client sends faster.
const BODY_RATE_MAX: u64 = 1 << 30;

const FILE_OR_NONE: Kind = Kind::Or("none", &Kind::File);
/// The name of a file with a secret.
const SECRET_OR_NONE: Kind = Kind::Or("none", &Kind::Secret);
const TIME_OR_NONE: Kind = Kind::Or("none", &Kind::Time);

/// The section `serve`.
pub(crate) const SERVE: &[Field] = &[
    setting("policy", Kind::File, "The policy, if it is in another file."),
    setting("listen", Kind::List(&Kind::Address, LISTENERS_MAX), "Addresses to accept clients on."),
    field("upstream", FieldType::Map(UPSTREAM), "The upstream."),
    field("grpc", FieldType::Map(GRPC), "The gRPC endpoint, for Envoy."),
    field("resp", FieldType::Map(ENDPOINT), "The endpoint for Redis clients."),
    field(
        "api",
        FieldType::Map(ENDPOINT),
        "The HTTP endpoint, for the JSON API and for forward authentication.",
    ),
    field("tls", FieldType::Map(TLS), "The gateway's certificate. Without one, clients connect without TLS."),
    field("operations", FieldType::Map(OPERATIONS), "The listener for operators."),
    setting(
        "readiness",
        Kind::Or("none", &Kind::List(&Kind::Word(&["policy", "store", "upstream"]), 3)),
        "What /readyz checks: a policy is in force, the shared store makes decisions, the upstream accepts connections.",
    ),
    setting(
        "workers",
        Kind::Or("auto", &Kind::Whole(1, WORKERS_MAX)),
        "Number of worker threads; `auto` is one per core.",
    ),
    setting("memory", Kind::Bytes(MEMORY_MIN, MEMORY_MAX), "Memory for the states of limits."),
    field("store", FieldType::Map(STORE), "The store of limits that several processes share."),
    field("answers", FieldType::Map(ANSWERS), "What responses show."),
    field("timeouts", FieldType::Map(TIMEOUTS), "Timeouts."),
    field("bounds", FieldType::Map(BOUNDS), "Maximum sizes and numbers."),
    field("forwarding", FieldType::Map(FORWARDING), "How requests are forwarded."),
    field("log", FieldType::Map(LOG), "Logging."),
    field("reload", FieldType::Map(RELOAD), "How changed files are detected."),
];

const UPSTREAM: &[Field] = &[
    setting("url", Kind::Origin, "Address: `http://host:port`, `https://host` or `h2c://host:port`."),
    setting(
        "protocol",
        Kind::Word(&["auto", "http1"]),
        "`auto` uses HTTP/2 if TLS negotiates it or a request is gRPC; `http1` never does; `h2c://` in the URL always does.",
    ),
    setting("ca", Kind::Or("system", &Kind::File), "File with the trusted CA certificates, or the system's."),
    setting("idle_max", Kind::Whole(0, 65_536), "Maximum idle connections per worker."),
    setting(
        "lookup",
        TIME_OR_NONE,
        "How often to resolve the upstream's name, to detect changed addresses; `none`: only for new connections.",
    ),
    setting(
        "adaptive",
        Kind::Or("none", &Kind::Word(&["gradient2", "vegas", "gradient", "aimd"])),
        "How to find the number of requests that the upstream can work on at once; more get a 503.",
    ),
    setting("adaptive_target", TIME_OR_NONE, "For `aimd`: the mean latency above which that number shrinks."),
    setting("adaptive_min", Kind::Whole(1, ADAPTIVE_MAX), "The lowest that number may be."),
    setting("adaptive_max", Kind::Whole(1, ADAPTIVE_MAX), "The highest that number may be."),
    setting("adaptive_initial", Kind::Whole(1, ADAPTIVE_MAX), "What that number starts with."),
];

const TLS: &[Field] = &[
    setting("certificate", FILE_OR_NONE, "PEM file with the certificate chain; reloaded when it changes."),
    setting("key", SECRET_OR_NONE, "PEM file with the private key; reloaded when it changes."),
];

/// Maximum number of files with limits for Envoy.
const LIMITS_FILES_MAX: usize = 64;
/// Maximum of the charges per key that are remembered for refunds: each takes about two hundred bytes.
const RECEIPTS_MAX: u64 = 1_024;

const GRPC: &[Field] = &[
    ENDPOINT[0],
    ENDPOINT[1],
    ENDPOINT[2],
    ENDPOINT[3],
    ENDPOINT[4],
    ENDPOINT[5],
    ENDPOINT[6],
    setting(
        "limits",
        Kind::Or("none", &Kind::List(&Kind::File, LIMITS_FILES_MAX)),
        "Files with limits, in the format of envoyproxy/ratelimit or Limitador. Reloaded when they change.",
    ),
    setting(
        "when_store_fails",
        Kind::Word(&["allow", "deny", "local"]),
        "What happens to requests while the shared store makes no decision; `deny` is an error of the call.",
    ),
    setting(
        "processes",
        Kind::Whole(1, 1_000_000),
        "How many processes share the limits; each counts its fraction if `when_store_fails` is `local`.",
    ),
    setting("receipts", Kind::Whole(0, RECEIPTS_MAX), "Charges per key that negative hits can refund."),
];

const ENDPOINT: &[Field] = &[
    setting("listen", Kind::Or("none", &Kind::Address), "Address to accept clients on."),
    setting(
        "tokens",
        SECRET_OR_NONE,
        "File with the tokens of clients, one per line; a client must send one. Reloaded when it changes.",
    ),
    setting(
        "certificate",
        FILE_OR_NONE,
        "PEM file with the certificate chain; without one, clients connect without TLS. Reloaded when it changes.",
    ),
    setting("key", SECRET_OR_NONE, "PEM file with the private key; reloaded when it changes."),
    setting(
        "client_ca",
        FILE_OR_NONE,
        "PEM file with CA certificates; a client must have a certificate of one of them. Reloaded when it changes.",
    ),
    setting(
        "public",
        Kind::Flag,
        "Whether the endpoint may listen on a non-loopback address without `tokens` and without `client_ca`.",
    ),
    setting(
        "connections",
        Kind::Whole(1, CONNECTIONS_MAX),
        "Maximum client connections; further ones wait in the listener's queue.",
    ),
];

const OPERATIONS: &[Field] =
    &[setting("listen", Kind::Or("none", &Kind::Address), "Address for health checks and metrics.")];

const STORE: &[Field] = &[
    setting(
        "url",
        Kind::Or("memory", &Kind::Store),
        "Address: `redis://host:port`, `rediss://…` with TLS (or `valkey://…`, `valkeys://…`), `unix:///path`, `redis+sentinel://host,host/name` or `redis+cluster://host,host`; `memory` keeps states in this process.",
    ),
    setting(
        "namespace",
        Kind::Or("title", &Kind::Token),
        "Separates services that use one store; `title` is derived from the API's title.",
    ),
    setting(
        "budget",
        Kind::Time,
        "Time budget of one decision; after it, `when_store_fails` of each limit applies.",
    ),
    setting(
        "secret",
        SECRET_OR_NONE,
        "File with the secret for hashing key names; the same for all processes that share a store.",
    ),
    setting(
        "password",
        SECRET_OR_NONE,
        "File with the password, if it is not in the URL; read for each new connection.",
    ),
    setting(
        "ca",
        Kind::Or("system", &Kind::File),
        "File with the trusted CA certificates, read for each new connection; or the system's.",
    ),
    setting(
        "certificate",
        FILE_OR_NONE,
        "PEM file with the client certificate, if the server requires one; read for each new connection.",
    ),
    setting("key", SECRET_OR_NONE, "PEM file with the client's private key; read for each new connection."),
    setting(
        "connections",
        Kind::Whole(1, 16),
        "Number of connections; more than one helps if TLS saturates a core.",
    ),
    setting(
        "in_flight",
        Kind::Whole(1, 1_000_000),
        "Maximum decisions in flight; `when_store_fails` applies to further ones at once.",
    ),
];

const ANSWERS: &[Field] = &[
    setting(
        "fields",
        Kind::Or("none", &Kind::List(&Kind::Word(&["draft", "x_ratelimit", "triple"]), 3)),
        "Which generations of rate-limit headers to send.",
    ),
    setting(
        "reset",
        Kind::Word(&["epoch", "delta"]),
        "`X-RateLimit-Reset` as a Unix time, or in seconds from now.",
    ),
    setting("retry_jitter", TIME_OR_NONE, "Maximum random time added to `Retry-After`."),
    setting("partition_key", Kind::Flag, "Whether the headers contain a keyed hash of the key."),
    setting("degraded", Kind::Flag, "Whether to send `Tollgate-Degraded` with degraded responses."),
];

const TIMEOUTS: &[Field] = &[
    setting(
        "header",
        Kind::Time,
        "From the connection, or the first byte of a request, to the end of its header.",
    ),
    setting("idle", Kind::Time, "Idle client connections."),
    setting("body", Kind::Time, "Between two reads of a request's body."),
    setting("write", Kind::Time, "Between two writes of a response to a client."),
    setting("connect", Kind::Time, "Connecting to the upstream, including TLS."),
    setting("response", Kind::Time, "From the end of the request to the header of the upstream's response."),
    setting("response_body", Kind::Time, "Between two reads of the response's body."),
    setting("total", TIME_OR_NONE, "A whole request and response."),
    setting("upstream_idle", Kind::Time, "Idle upstream connections."),
    setting("drain", Kind::Time, "For requests in flight at shutdown."),
];

const BOUNDS: &[Field] = &[
    setting(
        "connections",
        Kind::Whole(1, CONNECTIONS_MAX),
        "Maximum client connections; further ones wait in the listener's queue.",
    ),
    setting(
        "connections_per_address",
        Kind::Or("none", &Kind::Whole(1, CONNECTIONS_MAX)),
        "Maximum connections per address (IPv6: per /64); further ones are closed.",
    ),
    setting(
        "head_bytes",
        Kind::Bytes(HEAD_BYTES_MIN, HEAD_BYTES_MAX),
        "Maximum size of a request's header; a larger one gets a 431.",
    ),
    setting(
        "header_fields",
        Kind::Whole(1, 10_000),
        "Maximum number of header fields of a request; more get a 431.",
    ),
    setting(
        "streams",
        Kind::Whole(1, 100_000),
        "Maximum concurrent streams per HTTP/2 connection; further ones are refused.",
    ),
    setting(
        "resets",
        Kind::Whole(1, 100_000),
        "Maximum consecutive streams that a client resets before the response; more close the connection.",
    ),
    setting(
        "body_bytes",
        Kind::Or("none", &Kind::Bytes(0, BODY_BYTES_MAX)),
        "Maximum size of a request's body; a larger one gets a 413.",
    ),
    setting(
        "body_rate",
        Kind::Or("none", &Kind::Bytes(1, BODY_RATE_MAX)),
        "Minimum bytes per second of a request's body, averaged over `timeouts.body`; a slower one gets a 408. gRPC calls are exempt.",
    ),
];

const FORWARDING: &[Field] = &[
    setting(
        "keep_host",
        Kind::Flag,
        "Whether to forward the client's `Host`, instead of the upstream's name.",
    ),
    setting(
        "method_override",
        Kind::Flag,
        "Whether to forward `X-HTTP-Method-Override` and similar headers.",
    ),
    setting("via", Kind::Token, "The gateway's name in `Via`."),
];

const LOG: &[Field] = &[
    setting("format", Kind::Word(&["json", "text"]), "JSON for programs, or text for people."),
    setting("requests", Kind::Flag, "Whether to log every request."),
    setting(
        "refusals_per_second",
        Kind::Whole(0, 1_000_000),
        "Maximum refusals logged per second; further ones are counted.",
    ),
];

const RELOAD: &[Field] =
    &[setting("poll", TIME_OR_NONE, "How often to check files, in addition to watching them.")];
