//! The kinds of deadlines. `deadlines` enforces them.

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DeadlineKind {
    /// A TLS handshake, or the head of a connection's first request.
    Header,
    /// The rest of a head, whose first byte came on a connection that was idle.
    Head,
    /// A request on a connection that has none.
    Idle,
    /// The next piece of a request's body.
    Body,
    /// Enough of a request's body, which comes too slowly.
    Pace,
    /// A client to take a piece of a response.
    Write,
    /// A connection to the upstream.
    Connect,
    /// The head of the upstream's response.
    Response,
    /// The next piece of its body.
    ResponseBody,
    /// All of it.
    Total,
}

/// All of them, in order.
pub(super) const DUES: [DeadlineKind; 10] = [
    DeadlineKind::Header,
    DeadlineKind::Head,
    DeadlineKind::Idle,
    DeadlineKind::Body,
    DeadlineKind::Pace,
    DeadlineKind::Write,
    DeadlineKind::Connect,
    DeadlineKind::Response,
    DeadlineKind::ResponseBody,
    DeadlineKind::Total,
];
