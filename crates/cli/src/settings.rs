//! All settings of the gateway, as plain data with defaults.

mod conceal;
mod config_file;
mod definitions;
mod endpoint;
mod environment;
mod envoy;
mod field;
mod files;
mod flags;
mod kind;
mod origin;
mod partial;
mod print;
mod resolve;
mod schema;
mod secret_parts;
pub(crate) mod section;
mod setting;
mod source;
mod startup;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod upstream_limit;
mod value;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tollgate_tower::ResponseConfig;

pub(crate) use conceal::conceal;
pub use endpoint::{ENDPOINT_CONNECTIONS, Endpoint};
pub use envoy::{EnvoyLimits, StoreFails};
pub use files::{CONFIG, ReadFile};
pub use origin::{Origin, Scheme};
pub use print::print;
pub use resolve::{ResolvedSetting, ResolvedSettings, SettingsError, defaults, resolve};
pub use schema::native_schema;
pub(crate) use secret_parts::shown as shown_address;
pub use setting::{PREFIX, Setting};
pub use source::{SettingProblem, SettingSource};
pub use startup::Startup;
pub(crate) use store::store;
pub use upstream_limit::UpstreamLimit;
pub use value::Value;

/// The settings of `serve`, whole: nothing is looked up later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The policy: an OpenAPI document or a Tollgate file. Empty for none, which only a process without a gateway may have.
    pub policy: String,
    /// Where clients connect.
    pub listen: Vec<SocketAddr>,
    /// Where requests go. Its host is empty if there is no gateway.
    pub upstream: Upstream,
    /// The endpoint for gRPC.
    pub grpc: Endpoint,
    /// The limits of that endpoint.
    pub envoy: EnvoyLimits,
    /// The endpoint for clients of Redis.
    pub resp: Endpoint,
    /// The endpoint for JSON and forward authentication.
    pub api: Endpoint,
    /// The certificate and its key; without them clients speak without TLS.
    pub tls: Option<Tls>,
    /// Where operators look: health and metrics. `None`: nowhere.
    pub operations: Option<SocketAddr>,
    /// How many threads serve; each has its own connections. `None`: one for each core.
    pub workers: Option<usize>,
    /// What the limits' state may take in memory, in bytes.
    pub memory: usize,
    /// Where budgets are counted that several processes share.
    pub store: StoreSettings,
    /// What clients are told.
    pub answers: ResponseConfig,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// How much there may be of things.
    pub bounds: ResourceLimits,
    /// What is changed in requests on their way.
    pub forwarding: Forwarding,
    /// What is written down.
    pub log: Log,
    /// How often files are compared, besides being watched; `None`: never.
    pub reload_poll: Option<Duration>,
    /// What has to be well for the gateway to call itself ready.
    pub readiness: Readiness,
}

/// What `/readyz` checks. A gateway that is stopping is never ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Readiness {
    /// That a policy is in force.
    pub policy: bool,
    /// That the shared store gives decisions.
    pub store: bool,
    /// That the upstream takes connections.
    pub upstream: bool,
}

/// Where requests go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Upstream {
    /// With TLS, or without.
    pub tls: bool,
    /// Its name or address, as it is written in the `Host` of requests to it if the client's is not kept.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// A file with the certificates to trust, in place of the system's.
    pub ca: Option<String>,
    /// Maximum idle connections per worker.
    pub idle_max: usize,
    /// How often its name is looked up while connections are kept. `None`: only for new connections.
    pub lookup: Option<Duration>,
    /// How many requests it works on at once.
    pub adaptive: UpstreamLimit,
}

/// How an upstream is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// HTTP/2 if it says so in the TLS handshake, or if the request is gRPC; else HTTP/1.1.
    Auto,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, without TLS from the first byte on.
    Http2,
}

/// A certificate of ours, and whose certificates are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tls {
    /// The chain, in PEM.
    pub certificate: String,
    /// The key, in PEM.
    pub key: String,
    /// The certificates of the authorities of clients, in PEM: then a client has to show a certificate of one of them.
    pub client_ca: Option<String>,
    /// The setting that names the key, for messages: the key's own name may be a secret by mistake.
    pub key_setting: &'static str,
}

impl Tls {
    /// The gateway's certificate, in these files.
    #[must_use]
    pub fn new(certificate: impl Into<String>, key: impl Into<String>) -> Self {
        let (certificate, key) = (certificate.into(), key.into());
        Self { certificate, key, client_ca: None, key_setting: "tls.key" }
    }
}

/// Where budgets are counted that several processes share.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// Its address; `None`: every limit is counted by this process alone.
    pub url: Option<String>,
    /// Whose limits they are, among services that share it; `None`: derived from the policy's title.
    pub namespace: Option<String>,
    /// How long one decision may take.
    pub budget: Duration,
    /// The file with the secret that names of keys are made with.
    pub secret: Option<String>,
    /// The file with the password, in place of one in the address.
    pub password: Option<String>,
    /// A file with the certificates to trust, in place of the system's.
    pub ca: Option<String>,
    /// The file with our certificate, if it wants one.
    pub certificate: Option<String>,
    /// The file with its key.
    pub key: Option<String>,
    /// How many connections there are to it.
    pub connections: usize,
    /// How many decisions may be on their way.
    pub in_flight: usize,
}

impl std::fmt::Debug for StoreSettings {
    /// Without the address, which may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StoreAt({}, {:?})", if self.url.is_some() { "an address" } else { "memory" }, self.budget)
    }
}

impl Default for StoreSettings {
    fn default() -> Self {
        let link = tollgate_redis::Settings::default();
        Self {
            url: None,
            namespace: None,
            budget: link.budget,
            secret: None,
            password: None,
            ca: None,
            certificate: None,
            key: None,
            connections: link.connections,
            in_flight: link.in_flight_max,
        }
    }
}

/// How long things may take. They are looked at four times a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// From a connection, or the first byte of a request, to the end of its head.
    pub header: Duration,
    /// A client's connection without a request.
    pub idle: Duration,
    /// Between two pieces of a request's body.
    pub body: Duration,
    /// During which a client takes none of a response.
    pub write: Duration,
    /// For a connection to the upstream, TLS included.
    pub connect: Duration,
    /// For the head of the upstream's response, from the end of the request.
    pub response: Duration,
    /// Between two pieces of the response's body. Server-sent events may be silent for long.
    pub response_body: Duration,
    /// For a whole exchange, from its head to the end of the response; `None`: as long as it takes.
    pub total: Option<Duration>,
    /// How long an idle connection to the upstream is kept.
    pub upstream_idle: Duration,
    /// How long requests in flight have after a signal to stop.
    pub drain: Duration,
}

/// How much there may be of things. What happens beyond is said at each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResourceLimits {
    /// Connections of clients at once; further ones wait in the listener's queue.
    pub connections: usize,
    /// Connections of one address (of IPv6: of its /64) at once; further ones are closed. `None`: as many as there are.
    pub connections_per_address: Option<usize>,
    /// Bytes of a request's head: more are 431.
    pub head_bytes: usize,
    /// Header fields of a request: more are 431.
    pub header_fields: usize,
    /// Streams of one HTTP/2 connection at once; further ones are refused as HTTP/2 does it.
    pub streams: u32,
    /// Streams that a client resets before they are answered, in a row; then the connection is closed.
    pub resets: usize,
    /// Bytes of a request's body: more are 413. `None`: as many as there are.
    pub body_bytes: Option<u64>,
    /// Bytes of a request's body that a client has to send each second, averaged over [`Timeouts::body`]: fewer are 408. Calls of
    /// gRPC are excepted. `None`: as slowly as it likes.
    pub body_rate: Option<u64>,
}

/// What is changed in requests on their way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forwarding {
    /// Whether the upstream gets the client's `Host`, or its own name.
    pub keep_host: bool,
    /// Whether `X-HTTP-Method-Override` and its likes, and `X-Original-URL` and `X-Rewrite-URL`, are passed on. The limits were
    /// those of the method and the path themselves.
    pub method_override: bool,
    /// What the gateway calls itself in `Via`.
    pub via: String,
}

/// What is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Log {
    /// For programs, or for people.
    pub json: bool,
    /// Whether every request has a line.
    pub requests: bool,
    /// Maximum refusals logged per second; further ones are counted, and the count is logged.
    pub refusals_per_second: u32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            body: Duration::from_secs(30),
            write: Duration::from_secs(30),
            connect: Duration::from_secs(5),
            response: Duration::from_secs(60),
            response_body: Duration::from_secs(300),
            total: None,
            upstream_idle: Duration::from_secs(30),
            drain: Duration::from_secs(30),
        }
    }
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            connections: 20_000,
            connections_per_address: None,
            head_bytes: 64 << 10,
            header_fields: 100,
            streams: 100,
            resets: 100,
            body_bytes: None,
            body_rate: Some(256),
        }
    }
}

impl Default for Forwarding {
    fn default() -> Self {
        Self { keep_host: true, method_override: false, via: "tollgate".into() }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { json: true, requests: false, refusals_per_second: 10 }
    }
}

impl Default for Readiness {
    fn default() -> Self {
        Self { policy: true, store: false, upstream: false }
    }
}

/// Where clients connect, unless it is said.
pub const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
/// Where operators look, unless it is said: this machine only.
pub const OPERATIONS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9180);
/// What the limits' state may take, unless it is said.
pub const MEMORY: usize = 256 << 20;
/// How often files are compared, unless it is said.
pub const RELOAD_POLL: Duration = Duration::from_secs(30);
/// Default maximum of idle upstream connections per worker.
pub const IDLE_MAX: usize = 256;
/// How often the upstream's name is looked up, unless it is said.
pub const LOOKUP: Duration = Duration::from_secs(10);

impl Settings {
    /// The defaults, in front of an upstream.
    #[must_use]
    pub fn new(policy: impl Into<String>, upstream: Upstream) -> Self {
        Self {
            policy: policy.into(),
            listen: vec![LISTEN],
            upstream,
            grpc: Endpoint::default(),
            envoy: EnvoyLimits::default(),
            resp: Endpoint::default(),
            api: Endpoint::default(),
            tls: None,
            operations: Some(OPERATIONS),
            workers: None,
            memory: MEMORY,
            store: StoreSettings::default(),
            answers: ResponseConfig::default(),
            timeouts: Timeouts::default(),
            bounds: ResourceLimits::default(),
            forwarding: Forwarding::default(),
            log: Log::default(),
            reload_poll: Some(RELOAD_POLL),
            readiness: Readiness::default(),
        }
    }

    /// Whether there is a gateway. Without one, requests come only to endpoints.
    #[must_use]
    pub const fn has_gateway(&self) -> bool {
        !self.upstream.host.is_empty()
    }

    /// Whether there is a policy.
    #[must_use]
    pub const fn has_policy(&self) -> bool {
        !self.policy.is_empty()
    }

    /// The endpoints, with the names of their sections.
    #[must_use]
    pub const fn endpoints(&self) -> [(&'static str, &Endpoint); 3] {
        [("grpc", &self.grpc), ("resp", &self.resp), ("api", &self.api)]
    }
}
