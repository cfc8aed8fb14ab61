//! What one worker counts: connections, responses, the upstream. Its own numbers, so that no two threads fight for a line.

use super::counter::{Count, Level};
use super::latency::{Latency, Sum};
use super::page::{Kind, Page};

/// The numbers of one worker. They are summed over the workers when somebody looks.
#[derive(Default, Debug)]
pub struct WorkerMetrics {
    /// How long a decision took: from a request's head, or the end of a body that its cost is in, to granted or refused.
    pub decision: Latency,
    /// How long a request took, from its head to the end of its response, if it was passed on.
    pub proxied: Latency,
    /// Connections of clients that are open.
    pub connections_open: Level,
    /// Connections of clients that were accepted.
    pub connections_total: Count,
    /// Connections that were closed at once, because their address had too many, or there were too many in all.
    pub connections_refused: Count,
    /// TLS handshakes with clients that failed.
    pub handshakes_failed: Count,
    /// Requests in flight.
    pub requests_open: Level,
    /// Responses to clients, by class.
    pub responses: Responses,
    /// Requests that the gateway answered by itself, by the reason.
    pub answered: Answered,
    /// Requests that were decided by something else than their keys' own states: a share, a cell in common, or nothing.
    pub degraded: Count,
    /// Requests whose client went away before the end of the response.
    pub clients_gone: Count,
    /// Connections to the upstream that were made.
    pub upstream_connects: Count,
    /// Connections to the upstream that are open.
    pub upstream_open: Level,
    /// Requests that were sent once more, because a kept connection was dead.
    pub upstream_retries: Count,
    /// What went wrong with the upstream.
    pub upstream_errors: UpstreamErrors,
    /// WebSocket tunnels that are open.
    pub tunnels_open: Level,
    /// WebSocket tunnels that were opened.
    pub tunnels_total: Count,
    /// How tunnels ended.
    pub tunnels_ended: TunnelEnds,
    /// What went through tunnels.
    pub tunnel_bytes: TunnelBytes,
}

/// How tunnels ended.
#[derive(Default, Debug)]
pub struct TunnelEnds {
    /// Both sides closed.
    pub closed: Count,
    /// A side was silent for too long, or the tunnel had its time.
    pub late: Count,
    /// A connection failed.
    pub broken: Count,
    /// The client sent data before the 101.
    pub early_data: Count,
}

impl TunnelEnds {
    const fn all(&self) -> [(&'static str, &Count); 4] {
        [
            ("closed", &self.closed),
            ("late", &self.late),
            ("broken", &self.broken),
            ("early_data", &self.early_data),
        ]
    }
}

/// Bytes that went through tunnels, by direction.
#[derive(Default, Debug)]
pub struct TunnelBytes {
    /// From clients to the upstream.
    pub to_upstream: Count,
    /// From the upstream to clients.
    pub to_client: Count,
}

impl TunnelBytes {
    const fn all(&self) -> [(&'static str, &Count); 2] {
        [("upstream", &self.to_upstream), ("client", &self.to_client)]
    }
}

/// Responses by class.
#[derive(Default, Debug)]
pub struct Responses {
    /// 100 to 199.
    pub informational: Count,
    /// 200 to 299.
    pub success: Count,
    /// 300 to 399.
    pub redirect: Count,
    /// 400 to 499.
    pub client_error: Count,
    /// 500 to 599, and all that is no status.
    pub server_error: Count,
}

impl Responses {
    /// Counts a status.
    #[inline]
    pub fn count(&self, status: http::StatusCode) {
        let class = match status.as_u16() {
            100..=199 => &self.informational,
            200..=299 => &self.success,
            300..=399 => &self.redirect,
            400..=499 => &self.client_error,
            _ => &self.server_error,
        };
        class.inc();
    }

    const fn all(&self) -> [(&'static str, &Count); 5] {
        [
            ("1xx", &self.informational),
            ("2xx", &self.success),
            ("3xx", &self.redirect),
            ("4xx", &self.client_error),
            ("5xx", &self.server_error),
        ]
    }
}

/// Requests that the gateway answered by itself.
#[derive(Default, Debug)]
pub struct Answered {
    /// A limit refused it.
    pub refused: Count,
    /// Its cost can never fit.
    pub never_fits: Count,
    /// A limit of 0.
    pub zero_limit: Count,
    /// It cannot be told whether it fits.
    pub unavailable: Count,
    /// The request is wrong, or can be read in two ways.
    pub bad_request: Count,
    /// No operation is meant.
    pub not_found: Count,
    /// The path is known, and the method is not.
    pub method_not_allowed: Count,
    /// Its head is too large.
    pub head_too_large: Count,
    /// Its body is too large.
    pub body_too_large: Count,
    /// The client was too slow.
    pub request_timeout: Count,
    /// What is asked for is not done, such as another protocol.
    pub not_implemented: Count,
    /// The upstream cannot be reached, or does not speak HTTP.
    pub bad_gateway: Count,
    /// The upstream was too slow.
    pub gateway_timeout: Count,
    /// `Max-Forwards` let it go no further.
    pub last_hop: Count,
}

impl Answered {
    const fn all(&self) -> [(&'static str, &Count); 14] {
        [
            ("refused", &self.refused),
            ("never_fits", &self.never_fits),
            ("zero_limit", &self.zero_limit),
            ("unavailable", &self.unavailable),
            ("bad_request", &self.bad_request),
            ("not_found", &self.not_found),
            ("method_not_allowed", &self.method_not_allowed),
            ("head_too_large", &self.head_too_large),
            ("body_too_large", &self.body_too_large),
            ("request_timeout", &self.request_timeout),
            ("not_implemented", &self.not_implemented),
            ("bad_gateway", &self.bad_gateway),
            ("gateway_timeout", &self.gateway_timeout),
            ("last_hop", &self.last_hop),
        ]
    }
}

/// What went wrong with the upstream.
#[derive(Default, Debug)]
pub struct UpstreamErrors {
    /// No connection: refused, unreachable, or no such name.
    pub connect: Count,
    /// TLS was not agreed on.
    pub tls: Count,
    /// It was too slow.
    pub timeout: Count,
    /// It closed before the head of a response.
    pub closed: Count,
    /// It closed in the middle of a response.
    pub cut: Count,
    /// What it said is not HTTP, or could be read in two ways.
    pub protocol: Count,
}

impl UpstreamErrors {
    const fn all(&self) -> [(&'static str, &Count); 6] {
        [
            ("connect", &self.connect),
            ("tls", &self.tls),
            ("timeout", &self.timeout),
            ("closed", &self.closed),
            ("cut", &self.cut),
            ("protocol", &self.protocol),
        ]
    }
}

/// One number of a worker.
type Ask = fn(&WorkerMetrics) -> u64;

/// Every number without a label.
const PLAIN: [(&str, Kind, &str, Ask); 12] = [
    ("connections_open", Kind::Gauge, "Connections of clients.", |worker| worker.connections_open.get()),
    ("connections_total", Kind::Counter, "Connections accepted.", |worker| worker.connections_total.get()),
    ("connections_refused_total", Kind::Counter, "Connections closed at once: too many.", |worker| {
        worker.connections_refused.get()
    }),
    ("handshakes_failed_total", Kind::Counter, "TLS handshakes with clients that failed.", |worker| {
        worker.handshakes_failed.get()
    }),
    ("requests_open", Kind::Gauge, "Requests in flight.", |worker| worker.requests_open.get()),
    ("degraded_total", Kind::Counter, "Requests not decided by their keys' own states.", |worker| {
        worker.degraded.get()
    }),
    ("clients_gone_total", Kind::Counter, "Clients that left before the end of their response.", |worker| {
        worker.clients_gone.get()
    }),
    ("upstream_connects_total", Kind::Counter, "Connections made to the upstream.", |worker| {
        worker.upstream_connects.get()
    }),
    ("upstream_open", Kind::Gauge, "Connections to the upstream.", |worker| worker.upstream_open.get()),
    ("tunnels_open", Kind::Gauge, "WebSocket tunnels.", |worker| worker.tunnels_open.get()),
    ("tunnels_total", Kind::Counter, "WebSocket tunnels opened.", |worker| worker.tunnels_total.get()),
    ("upstream_retries_total", Kind::Counter, "Requests sent again, on another connection.", |worker| {
        worker.upstream_retries.get()
    }),
];

/// Numbers of a worker by a label's value.
type AskAll = fn(&WorkerMetrics) -> Vec<(&'static str, u64)>;

/// Every number with a label: name, help, label.
const LABELLED: [(&str, &str, &str, AskAll); 5] = [
    ("responses_total", "Responses to clients, by class.", "class", |worker| values(&worker.responses.all())),
    ("answered_total", "Requests that the gateway answered by itself, by the reason.", "kind", |worker| {
        values(&worker.answered.all())
    }),
    ("upstream_errors_total", "What went wrong with the upstream.", "kind", |worker| {
        values(&worker.upstream_errors.all())
    }),
    ("tunnels_ended_total", "WebSocket tunnels that ended, by the reason.", "reason", |worker| {
        values(&worker.tunnels_ended.all())
    }),
    ("tunnel_bytes_total", "Bytes through WebSocket tunnels, by their receiver.", "to", |worker| {
        values(&worker.tunnel_bytes.all())
    }),
];

fn values(counts: &[(&'static str, &Count)]) -> Vec<(&'static str, u64)> {
    counts.iter().map(|(value, count)| (*value, count.get())).collect()
}

/// Writes the sums over all workers.
pub(super) fn write<'a>(workers: impl Iterator<Item = &'a WorkerMetrics> + Clone, page: &mut Page) {
    for (name, kind, help, ask) in PLAIN {
        page.number((name, kind), help, workers.clone().map(ask).fold(0, u64::wrapping_add));
    }
    let none = WorkerMetrics::default();
    for (name, help, label, ask) in LABELLED {
        let mut sums = ask(&none);
        for worker in workers.clone() {
            for ((_, sum), (_, more)) in sums.iter_mut().zip(ask(worker)) {
                *sum = sum.wrapping_add(more);
            }
        }
        let mut family = page.family(name, Kind::Counter, help);
        sums.iter().for_each(|(value, sum)| family.number(&[(label, value)], *sum));
    }
    let (mut decision, mut proxied) = (Sum::default(), Sum::default());
    for worker in workers {
        decision.add(&worker.decision);
        proxied.add(&worker.proxied);
    }
    page.histogram("decision_seconds", "How long decisions took.", &decision);
    page.histogram("proxied_seconds", "How long requests took that were passed on.", &proxied);
}

#[test]
fn statuses_are_counted_by_class() {
    let responses = Responses::default();
    for status in [100, 200, 204, 301, 404, 429, 500, 503, 999] {
        responses.count(http::StatusCode::from_u16(status).unwrap());
    }
    let counted = [("1xx", 1), ("2xx", 2), ("3xx", 1), ("4xx", 2), ("5xx", 3)];
    assert_eq!(values(&responses.all()), counted);
}
