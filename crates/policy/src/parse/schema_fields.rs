//! Every field that a document may contain: its name, type and description. Parser, messages and JSON Schema all use this table.

pub(crate) mod adaptive;
pub(crate) mod scenario;
mod uses;

use tollgate_algorithms::Limit;

pub(crate) use uses::{USE, WHEN};

/// What may stand in a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FieldType {
    /// A whole number of at least so much.
    Whole(u64),
    /// A whole number from the first to the second.
    Between(u64, u64),
    /// A number per second, or `10 per second`.
    Rate,
    /// `500ms`, `1m`, `1 day`.
    Duration,
    /// A duration, or `calendar day`.
    Window,
    /// `+02:00`.
    Offset,
    /// `Europe/Paris`.
    TimeZone,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `allow`, `deny`, `local` or `local 1/4`.
    StoreFails,
    /// A text for people, of at most so many characters.
    Text(usize),
    /// The same in printable ASCII, and not empty: it stands in a header.
    Ascii(usize),
    /// A list of these, or one of them.
    Texts(&'static Self),
    /// A header's name.
    Header,
    /// A method, in upper case.
    Method,
    /// A path's template.
    Template,
    /// `header:NAME`, `query:NAME` or `cookie:NAME`.
    KeyPlace,
    /// `https://app.example.org`, or `*`.
    BrowserOrigin,
    /// `10.0.0.0/8`, or one address.
    Network,
    /// `consumers`, `jwt:CLAIM` or `header:NAME`.
    TierSource,
    /// `consumers` or `jwt:CLAIM`.
    OrganisationSource,
    /// Bytes, or `64 KiB`.
    Size,
    /// Headers and their values; nothing as a value is any value.
    Headers,
    /// A consumer key, or a list of them.
    Key,
    /// A cost.
    Cost,
    /// Numbers by tier.
    Tiers,
    /// One of the maps below.
    Map(&'static [Field]),
    /// Names, and under each one of the maps below.
    MapOf(&'static [Field]),
    /// A list of the maps below.
    ListOf(&'static [Field]),
    /// Limits: one, a list, or `none`.
    Limits,
    /// A condition of a limit.
    When,
    /// Query parameters and their values; nothing as a value is any value.
    Parameters,
    /// Names, and under each a limit.
    NamedLimits,
    /// `true` or `false`.
    Flag,
    /// This word, or what follows.
    Or(&'static str, &'static Self),
    /// The section `serve`, which the command reads.
    Section,
    /// Something that only the reader of the document knows.
    Other(&'static str),
}

/// One field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: FieldType,
    /// Whether nothing can be done without it.
    pub(crate) needed: bool,
    /// What it says, in a sentence.
    pub(crate) about: &'static str,
}

const fn field(name: &'static str, kind: FieldType, about: &'static str) -> Field {
    Field { name, kind, needed: false, about }
}

const fn needed(name: &'static str, kind: FieldType, about: &'static str) -> Field {
    Field { name, kind, needed: true, about }
}

/// A name in a list of them.
const NAME: FieldType = FieldType::Text(NAME_CHARS_MAX);
/// The longest window in seconds.
const WINDOW_SECONDS_MAX: u64 = Limit::WINDOW_MAX.get() / 1_000_000;

/// The algorithms by name.
pub(crate) const ALGORITHMS: &[&str] = &[
    "token_bucket",
    "leaky_bucket",
    "leaky_bucket_queue",
    "gcra",
    "fixed_window",
    "sliding_window",
    "sliding_window_log",
    "concurrency",
    "adaptive",
];

/// The numbers, which overrides may change.
pub(crate) const NUMBERS: &[Field] = &[
    field(
        "capacity",
        FieldType::Whole(0),
        "How much at once, for buckets; how many may wait, for the queue.",
    ),
    field("refill_rate", FieldType::Rate, "How much comes back: a number per second, or `10 per second`."),
    field(
        "limit",
        FieldType::Whole(0),
        "How much in one window; how many at the same time, for concurrency.",
    ),
    field(
        "window_seconds",
        FieldType::Between(1, WINDOW_SECONDS_MAX),
        "The length of the window in seconds.",
    ),
    field("window", FieldType::Window, "The length of the window: `1m`, `1 day`, `calendar month`."),
    field("utc_offset", FieldType::Offset, "Where the calendar's midnight is: `+02:00`."),
    field("time_zone", FieldType::TimeZone, "The same by a time zone, with its summer time: `Europe/Paris`."),
    field(
        "buckets",
        FieldType::Between(1, Limit::BUCKETS_MAX as u64),
        "The number of buckets. Makes sliding_window conservative: it never exceeds the limit.",
    ),
    field("max_wait", FieldType::Duration, "The longest that a request may wait in the queue."),
    field(
        "max_hold",
        FieldType::Duration,
        "The longest that a request may be in progress; then its response is cut off.",
    ),
    adaptive::METHOD,
    adaptive::TARGET,
    adaptive::MIN,
    adaptive::MAX,
    adaptive::INITIAL,
];

/// A limit, besides its numbers.
pub(crate) const LIMIT: &[Field] = &[
    needed("algorithm", FieldType::Word(ALGORITHMS), "How it is counted."),
    field(
        "name",
        FieldType::Ascii(NAME_CHARS_MAX),
        "What it is called, to clients too; limits of one name are one limit.",
    ),
    field(
        "description",
        FieldType::Text(DESCRIPTION_CHARS_MAX),
        "What it is for; clients see it when they are refused.",
    ),
    field(
        "consumer_key",
        FieldType::Key,
        "Who is asking; a list is a chain, of which the first that is there counts.",
    ),
    field("missing_key", FieldType::Word(MISSING), "What happens when no identity is found."),
    field("repeated_key", FieldType::Word(REPEATED), "What happens when an identity is sent twice."),
    field(
        "address_ceiling",
        FieldType::Whole(1),
        "So many times the limit for one address, whatever keys it shows.",
    ),
    field("tier_overrides", FieldType::Tiers, "Other numbers for some tiers, or `none`."),
    field("cost", FieldType::Cost, "The cost of a request. Default: 1."),
    field("mode", FieldType::Word(MODES), "Whether it is enforced, or only counted."),
    field("when_store_fails", FieldType::StoreFails, "What happens when the shared store cannot answer."),
    field("scope", FieldType::Word(SCOPES), "Where it is counted."),
    field("counted", FieldType::Word(COUNTED), "Whether operations that inherit it share one budget."),
    field(
        "zero_status",
        FieldType::Word(ZERO_STATUSES),
        "What is answered where the limit is 0: 403, or 429 without `Retry-After`.",
    ),
    field(
        "busy_status",
        FieldType::Word(BUSY_STATUSES),
        "What concurrency and adaptive answer when as many requests as they allow are in progress: 429 or 503.",
    ),
    field(
        "wait",
        FieldType::Duration,
        "How long a request waits for its turn, in order of arrival, before it is refused.",
    ),
    field(
        "fair_by",
        FieldType::Key,
        "Whose requests wait in a line of their own; the lines of one `consumer_key` take turns.",
    ),
    field(
        "strict",
        FieldType::Flag,
        "Whether requests never leave leaky_bucket_queue closer together than its rate says, not by 1 ms.",
    ),
    field("visibility", FieldType::Word(VISIBILITY), "Whether clients are shown its numbers."),
    field("owner", FieldType::Text(NAME_CHARS_MAX), "Whose it is."),
    field("reviewers", FieldType::Texts(&NAME), "Who has to approve a change, besides the owner."),
    field(
        "required",
        FieldType::Word(FLAG),
        "In a file that names OpenAPI documents: whether the documents must not loosen this limit.",
    ),
    field("when", FieldType::When, "What a request must have so that the limit applies."),
];

/// The longest name. A longer one is refused.
pub(crate) const NAME_CHARS_MAX: usize = 128;
/// The longest description. A longer one is refused.
pub(crate) const DESCRIPTION_CHARS_MAX: usize = 1_000;
pub(crate) const MISSING: &[&str] = &["address", "reject", "anonymous"];
pub(crate) const REPEATED: &[&str] = &["reject", "address"];
pub(crate) const MODES: &[&str] = &["enforced", "shadow"];
pub(crate) const ENCODED_SLASHES: &[&str] = &["reject", "allow"];
pub(crate) const SCOPES: &[&str] = &["local", "exact", "leased", "synced"];
pub(crate) const COUNTED: &[&str] = &["together", "per_operation"];
pub(crate) const ZERO_STATUSES: &[&str] = &["403", "429"];
pub(crate) const FLAG: &[&str] = &["true", "false"];
pub(crate) const BUSY_STATUSES: &[&str] = &["429", "503"];
pub(crate) const VISIBILITY: &[&str] = &["shown", "hidden"];
pub(crate) const BODY_KINDS: &[&str] = &["json_array", "graphql"];

/// A cost that is a map.
pub(crate) const COST: &[Field] = &[
    field("header", FieldType::Header, "The request's header that says what it costs."),
    field("query", FieldType::Text(NAME_CHARS_MAX), "The query parameter that says what it costs."),
    field("reported", FieldType::Header, "The response's header in which the upstream says what it cost."),
    field("operations", FieldType::Word(BODY_KINDS), "Counts the operations that the body carries."),
    field("default", FieldType::Whole(1), "When the request says nothing."),
    field("estimate", FieldType::Whole(0), "What is charged before the upstream says it."),
    field("max", FieldType::Whole(1), "The most that may be charged."),
    field("max_body", FieldType::Size, "The largest body that is read for it: `64 KiB`."),
];

/// What a gateway needs besides limits; in the native file, or under `x-tollgate` in an OpenAPI document.
pub(crate) const SETTINGS: &[Field] = &[
    field("limits", FieldType::NamedLimits, "Limits by name, which `use: NAME` applies to operations."),
    field("consumers", FieldType::Text(PATH_CHARS_MAX), "The file that says whose the API keys are."),
    field(
        "api_key",
        FieldType::Texts(&FieldType::KeyPlace),
        "Where the API key is sent: `header:NAME`, `query:NAME` or `cookie:NAME`.",
    ),
    field("tiers", FieldType::Map(TIERS), "From where a consumer's tier is known."),
    field(
        "priorities",
        FieldType::Map(adaptive::PRIORITIES),
        "Which requests are refused first while too many are in progress.",
    ),
    field("organisations", FieldType::Map(ORGANISATIONS), "From where a client's organisation is known."),
    field("jwt", FieldType::Map(JWT), "How tokens are verified."),
    field("trusted_proxies", FieldType::Map(PROXIES), "Whose word is taken for a client's address."),
    field("addresses", FieldType::Map(ADDRESSES), "Which addresses are one client."),
    field("unmatched", FieldType::Word(UNMATCHED), "What happens to a request that no operation names."),
    field("cors", FieldType::Map(CORS), "Which scripts in browsers may read a refusal."),
    field(
        "header_names",
        FieldType::Word(HEADER_NAMES),
        "Which headers a gateway passes on: `plain` names of letters, digits and hyphens, or `any`.",
    ),
    field(
        "base_path",
        FieldType::Template,
        "The base path of the servers that a proxy in front takes away, such as `/v1`.",
    ),
    field(
        "query_semicolons",
        FieldType::Word(SEMICOLONS),
        "What the upstream takes a `;` in a query string for: `text`, a `separator`, or it is `dropped`.",
    ),
];

/// The longest path or address of a file.
pub const PATH_CHARS_MAX: usize = 1_000;
pub(crate) const UNMATCHED: &[&str] = &["reject", "forward"];
pub(crate) const SEMICOLONS: &[&str] = &["text", "separator", "dropped"];
pub(crate) const HEADER_NAMES: &[&str] = &["plain", "any"];

pub(crate) const TIERS: &[Field] = &[
    field(
        "from",
        FieldType::Texts(&FieldType::TierSource),
        "`consumers`, `jwt:CLAIM`, or `header:NAME` set by a trusted hop; of a list, the first that knows a tier counts.",
    ),
    field("names", FieldType::Texts(&NAME), "Every tier there is, so that a mistyped one is noticed."),
    field("default", FieldType::Text(NAME_CHARS_MAX), "The tier of those of whom nothing else is known."),
];

pub(crate) const ORGANISATIONS: &[Field] = &[needed(
    "from",
    FieldType::Texts(&FieldType::OrganisationSource),
    "`consumers` or `jwt:CLAIM`; of a list, the first that knows an organisation counts.",
)];

pub(crate) const CORS: &[Field] = &[
    needed(
        "origins",
        FieldType::Texts(&FieldType::BrowserOrigin),
        "Of which origins: `https://app.example.org`, or `*` for every one.",
    ),
    field("credentials", FieldType::Flag, "Whether requests may carry cookies: `false`."),
];

pub(crate) const JWT: &[Field] = &[
    needed("jwks", FieldType::Text(PATH_CHARS_MAX), "The file with the keys, a JWK set."),
    field("issuer", FieldType::Text(PATH_CHARS_MAX), "Who must have issued a token."),
    field("audience", FieldType::Text(PATH_CHARS_MAX), "For whom it must be."),
    field("leeway", FieldType::Duration, "How far clocks may be apart."),
    field("header", FieldType::Header, "The header with the token. Default: Authorization."),
];

pub(crate) const PROXIES: &[Field] = &[
    field(
        "networks",
        FieldType::Texts(&FieldType::Network),
        "The proxies' addresses: walked from right to left.",
    ),
    field("hops", FieldType::Whole(1), "How many proxies stand in front, instead of their addresses."),
    needed("header", FieldType::Header, "The one header that is read: X-Forwarded-For, Forwarded."),
];

pub(crate) const ADDRESSES: &[Field] = &[
    field("ipv4_prefix", FieldType::Between(1, 32), "How many bits of an IPv4 address are one client: 32."),
    field("ipv6_prefix", FieldType::Between(1, 128), "How many bits of an IPv6 address are one client: 64."),
    field(
        "ipv6_wide_prefix",
        FieldType::Or("none", &FieldType::Between(1, 127)),
        "The prefix length of a second, wider quota for IPv6 networks. Default: 48; `none` disables it.",
    ),
    field(
        "ipv6_wide_multiple",
        FieldType::Whole(1),
        "How many times the limit the wider budget has: 256 for a /48 of /64s.",
    ),
];

/// The native file, besides the settings.
pub(crate) const NATIVE: &[Field] = &[
    needed("tollgate", FieldType::Word(&["1"]), "The version of the format."),
    field(
        "openapi",
        FieldType::Texts(&FieldType::Text(PATH_CHARS_MAX)),
        "OpenAPI documents whose operations and limits belong to the policy.",
    ),
    field("rate_limit", FieldType::Limits, "The default."),
    field("tags", FieldType::MapOf(TAG), "Limits, owners and reviewers by tag."),
    field("routes", FieldType::ListOf(ROUTE), "Which requests meet which limits."),
    field("serve", FieldType::Section, "The settings of `tollgate serve`."),
];

/// A tag of the native file.
pub(crate) const TAG: &[Field] = &[
    field("rate_limit", FieldType::Limits, "The limits of what has this tag."),
    field("owner", FieldType::Text(NAME_CHARS_MAX), "Whose it is."),
    field("reviewers", FieldType::Texts(&NAME), "Who has to approve a change."),
    field("description", FieldType::Text(DESCRIPTION_CHARS_MAX), "What it is for."),
];

/// A route of the native file.
pub(crate) const ROUTE: &[Field] = &[
    field("name", FieldType::Text(NAME_CHARS_MAX), "What it is called."),
    field("methods", FieldType::Texts(&FieldType::Method), "The methods. Default: every method."),
    needed("path", FieldType::Template, "The path's template, such as `/reports/{id}` or `/files/{rest*}`."),
    field("host", FieldType::Text(NAME_CHARS_MAX), "The host, such as `api.example.org` or `*.example.org`."),
    field("headers", FieldType::Headers, "Headers that must be there, with their values."),
    field("encoded_slashes", FieldType::Word(ENCODED_SLASHES), "Whether `%2F` may stand in a path."),
    adaptive::PRIORITY,
    field("tags", FieldType::Texts(&NAME), "Its tags."),
    field("rate_limit", FieldType::Limits, "Its limits."),
];
