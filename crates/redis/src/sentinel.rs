//! Finds the primary that Sentinels monitor, and connects to it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::address::Node;
use crate::connect::{Connector, Host, Peer, Stream, exchange};
use crate::failed::ConnectionFailure;
use crate::resp::{self, Frame};
use crate::secrets::LoadedSecrets;
use crate::{Cause, Value};

/// Sentinels, and the name of what they monitor. They are asked in turn for every new connection, because after a failover
/// the primary is another server.
pub(crate) struct Sentinels {
    hosts: Vec<Host>,
    name: String,
    /// The Sentinel that answered last, which is asked first.
    first: AtomicUsize,
}

impl Sentinels {
    pub(crate) fn new(sentinels: &[Node], name: &str) -> Self {
        let hosts = sentinels.iter().map(Host::new).collect();
        Self { hosts, name: name.into(), first: AtomicUsize::new(0) }
    }

    /// A connection to the primary, which has said itself that it is one: a Sentinel may not know yet that it has changed.
    ///
    /// # Errors
    /// Of the last Sentinel if none knows the primary, or of the last server that was named.
    pub(crate) async fn primary(
        &self,
        connector: &Connector,
        fresh: &LoadedSecrets,
        (limit, end): (Duration, Instant),
    ) -> Result<Stream, ConnectionFailure> {
        let mut failed = ConnectionFailure::new(Cause::Dns, "the store address has no Sentinel");
        // Each Sentinel and each server that they name has its share.
        let share = limit / u32::try_from(self.hosts.len() + 1).unwrap_or(u32::MAX);
        let first = self.first.load(Ordering::Relaxed);
        for at in (0..self.hosts.len()).map(|at| first.wrapping_add(at) % self.hosts.len()) {
            let Some(host) = self.hosts.get(at) else { continue };
            let connected = async {
                let node = self.ask(connector, host, fresh, (share, end)).await?;
                let time = (share, end.min(Instant::now() + share));
                let stream = connector.to_host(&Host::new(&node), fresh, time, Peer::Data).await;
                checked(stream?, &node).await
            };
            failed = match connected.await {
                Ok(stream) => {
                    self.first.store(at, Ordering::Relaxed);
                    return Ok(stream);
                }
                Err(failed) => failed,
            };
        }
        Err(failed)
    }

    /// Where the primary is, according to one Sentinel.
    async fn ask(
        &self,
        connector: &Connector,
        host: &Host,
        fresh: &LoadedSecrets,
        (share, end): (Duration, Instant),
    ) -> Result<Node, ConnectionFailure> {
        let time = (share, end.min(Instant::now() + share));
        let mut stream = match connector.to_host(host, fresh, time, Peer::Sentinel).await {
            Err(failed) if failed.cause == Cause::NoAuth && fresh.credentials.is_some() => {
                connector.to_host(host, fresh, time, Peer::LockedSentinel).await?
            }
            stream => stream?,
        };
        let question = resp::command(&["SENTINEL", "get-master-addr-by-name", &self.name]);
        let mut input = Vec::new();
        let reply = timeout_at(time.1, exchange(&mut stream, &question, 1, &mut input)).await;
        let reply = reply.unwrap_or_else(|_| Err(ConnectionFailure::late(share)))?.pop();
        match reply {
            Some(Frame::Error(line)) => Err(ConnectionFailure::said(line)),
            Some(Frame::Value(value)) => node(&value).ok_or_else(|| {
                let why = format!("this Sentinel monitors no primary named `{}`", self.name);
                ConnectionFailure::new(Cause::Dns, &why)
            }),
            None => Err(ConnectionFailure::new(Cause::Garbled, "no reply")),
        }
    }
}

/// A host and its port, as a Sentinel names them.
fn node(value: &Value) -> Option<Node> {
    let Value::Array(parts) = value else { return None };
    let text = |at: usize| str::from_utf8(parts.get(at)?.as_bytes()?).ok();
    Some(Node { host: text(0)?.to_owned(), port: text(1)?.parse().ok()? })
}

/// The connection, if the server on it is a primary.
async fn checked(mut stream: Stream, node: &Node) -> Result<Stream, ConnectionFailure> {
    let reply = exchange(&mut stream, &resp::command(&["ROLE"]), 1, &mut Vec::new()).await?.pop();
    match reply {
        Some(Frame::Value(Value::Array(parts))) => {
            let role = parts.first().and_then(Value::as_bytes).unwrap_or_default();
            if role == b"master" {
                return Ok(stream);
            }
            let role = String::from_utf8_lossy(role);
            let why = format!("Sentinel names {node} as the primary, which says that it is a {role}");
            Err(ConnectionFailure::new(Cause::ReadOnly, &why))
        }
        Some(Frame::Error(line)) => Err(ConnectionFailure::said(line)),
        Some(Frame::Value(_)) | None => {
            Err(ConnectionFailure::new(Cause::Garbled, "the reply to ROLE is no list"))
        }
    }
}
