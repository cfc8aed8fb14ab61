//! Where a node of a cluster sends a call that it does not serve: `MOVED` and `ASK`.

use crate::address::Node;
use crate::{Cause, LinkError};

/// What a node says of a call that it did not run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Redirect {
    /// The slot belongs to this node.
    Moved(u16, Node),
    /// The slot is moving to this node, which serves the call if it is announced with `ASKING`.
    Ask(Node),
    /// Some of the keys have moved, and others have not.
    TryAgain,
}

impl Redirect {
    /// What an error means, if it is one of these. A host that is not named is that of the node that was asked.
    pub(crate) fn of(error: &LinkError, asked: &Node) -> Option<Self> {
        let LinkError::Server { cause, message } = error else { return None };
        let mut words = message.split(' ').skip(1);
        let mut target = || {
            let slot = words.next()?.parse().ok()?;
            let (host, port) = words.next()?.rsplit_once(':')?;
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let host = if host.is_empty() { asked.host.clone() } else { host.to_owned() };
            Some((slot, Node { host, port: port.parse().ok()? }))
        };
        if *cause == Cause::TryAgain {
            return Some(Self::TryAgain);
        }
        if *cause == Cause::Moved {
            return target().map(|(slot, node)| Self::Moved(slot, node));
        }
        if *cause == Cause::Ask {
            return target().map(|(_, node)| Self::Ask(node));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirections_are_read_as_every_server_writes_them() {
        let asked = Node { host: "asked".into(), port: 1 };
        let of = |line: &str| Redirect::of(&LinkError::server(line), &asked);
        let node = |host: &str, port| Node { host: host.into(), port };
        assert_eq!(of("MOVED 3999 127.0.0.1:6381"), Some(Redirect::Moved(3999, node("127.0.0.1", 6381))));
        assert_eq!(of("MOVED 1 ::1:6381"), Some(Redirect::Moved(1, node("::1", 6381))));
        assert_eq!(of("MOVED 1 :6381"), Some(Redirect::Moved(1, node("asked", 6381))));
        assert_eq!(of("ASK 3999 host.example:7"), Some(Redirect::Ask(node("host.example", 7))));
        assert_eq!(of("TRYAGAIN Multiple keys request during rehashing of slot"), Some(Redirect::TryAgain));
        for line in
            ["MOVED", "MOVED x h:1", "MOVED 1 h", "MOVED 1 h:x", "ERR MOVED 1 h:1", "CLUSTERDOWN down"]
        {
            assert_eq!(of(line), None, "{line}");
        }
        assert_eq!(Redirect::of(&LinkError::Open, &asked), None);
    }
}
