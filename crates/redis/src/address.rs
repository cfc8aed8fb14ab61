//! The address of a server and the user to log in as. Parsing only: nothing is resolved or connected.

mod parse;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The address of a Redis or Valkey server, of a server behind Sentinel, or of a cluster.
///
/// - `redis://host`, `redis://host:6379/2`, `redis://user:password@host`, `redis://:password@[::1]:6379`
/// - `rediss://…`: the same with TLS
/// - `unix:///run/redis.sock`, and after a `?`, joined by `&`: `db=2`, `user=…`, `pass=…`
/// - `redis+sentinel://host,host:26379/name`, and `/name/2` for a database: the primary that these Sentinels monitor under this name
/// - `redis+cluster://host,host:6379`: the cluster of which these are nodes
/// - `rediss+sentinel://…` and `rediss+cluster://…`: the same with TLS
///
/// A user and a password before `@` are those of the data servers. A Sentinel that requires a password gets the same.
///
/// The password of a user without one, `redis://user@host`, is in a [file](crate::Settings::password).
///
/// `valkey` and `valkeys` mean `redis` and `rediss`. The default port is 6379, that of a Sentinel 26379, and the default database 0.
/// Special characters in a user or password may need percent-encoding. Neither `Debug`
/// nor `Display` nor an error shows the password.
///
/// ```
/// use tollgate_redis::Address;
///
/// let address: Address = "redis://gate:s%40cret@[::1]:6380/2".parse()?;
/// assert_eq!(address.to_string(), "redis://gate:***@[::1]:6380/2");
/// let wrong = "redis://localhost/two".parse::<Address>().unwrap_err();
/// assert_eq!(wrong.to_string(), "the database after the host in the store address is not a number: write `/0`, or omit it");
/// # Ok::<(), tollgate_redis::AddressError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    place: Place,
    user: Option<String>,
    password: Option<String>,
    database: u32,
}

/// The place to connect to.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A host and its port, with TLS or without.
    Tcp { host: String, port: u16, tls: bool },
    /// A socket in the file system.
    Unix(PathBuf),
    /// The primary that Sentinels monitor under a name.
    Sentinel { sentinels: Vec<Node>, name: String, tls: bool },
    /// A cluster, of which some nodes are known.
    Cluster { seeds: Vec<Node>, tls: bool },
}

/// A host and its port.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Node {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Maximum number of hosts in an address. A longer list is rejected.
pub const HOSTS_MAX: usize = 32;

/// Why an address is invalid. It shows no part of the address, because in a malformed one, any part may be the password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AddressError {
    /// The scheme is unknown.
    Scheme,
    /// The address is not a URL.
    Unreadable,
    /// There is no host.
    Host,
    /// The port is zero.
    Port,
    /// The database is not a number.
    Database,
    /// There is an unexpected `?` or `#`, or an unknown parameter.
    Extra,
    /// The user or the password is not UTF-8.
    NotUtf8,
    /// There is no path to a socket.
    Path,
    /// There is no name of a primary for Sentinel.
    SentinelName,
    /// A cluster has no databases.
    ClusterDatabase,
    /// There are more than [`HOSTS_MAX`] hosts.
    Hosts,
}

impl Address {
    /// The user to log in as: the one in the address, or `default` if there is only a password.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.named_user().or_else(|| self.has_password().then_some("default"))
    }

    /// Returns true if the address has a password. Otherwise it may still name a user, whose password is in [a file](crate::Settings::password).
    #[must_use]
    pub const fn has_password(&self) -> bool {
        self.password.is_some()
    }

    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn named_user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    pub(crate) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    pub(crate) const fn database(&self) -> u32 {
        self.database
    }

    /// Returns true if connections use TLS.
    pub(crate) const fn has_tls(&self) -> bool {
        match &self.place {
            Place::Tcp { tls, .. } | Place::Sentinel { tls, .. } | Place::Cluster { tls, .. } => *tls,
            Place::Unix(_) => false,
        }
    }

    /// The hosts in the address.
    pub(crate) fn hosts(&self) -> Vec<&str> {
        match &self.place {
            Place::Tcp { host, .. } => vec![host],
            Place::Unix(_) => Vec::new(),
            Place::Sentinel { sentinels: nodes, .. } | Place::Cluster { seeds: nodes, .. } => {
                nodes.iter().map(|node| node.host.as_str()).collect()
            }
        }
    }

    /// The same user, password and TLS at one node.
    pub(crate) fn at(&self, node: &Node) -> Self {
        let place = Place::Tcp { host: node.host.clone(), port: node.port, tls: self.has_tls() };
        Self { place, ..self.clone() }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}:{}", self.host, self.port)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (scheme, rest) = text.split_once("://").ok_or(AddressError::Scheme)?;
        let parts = parse::parts(rest)?;
        match scheme {
            "redis" | "valkey" => parse::tcp(&parts, false),
            "rediss" | "valkeys" => parse::tcp(&parts, true),
            "unix" => parse::unix(&parts),
            "redis+sentinel" | "valkey+sentinel" => parse::sentinel(&parts, false),
            "rediss+sentinel" | "valkeys+sentinel" => parse::sentinel(&parts, true),
            "redis+cluster" | "valkey+cluster" => parse::cluster(&parts, false),
            "rediss+cluster" | "valkeys+cluster" => parse::cluster(&parts, true),
            _ => Err(AddressError::Scheme),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_deref().unwrap_or_default();
        let secret = match (user, self.has_password()) {
            ("", false) => String::new(),
            (user, false) => format!("{user}@"),
            (user, true) => format!("{user}:***@"),
        };
        let scheme = if self.has_tls() { "rediss" } else { "redis" };
        let list = |nodes: &[Node]| nodes.iter().map(Node::to_string).collect::<Vec<_>>().join(",");
        match &self.place {
            Place::Tcp { host, port, .. } => {
                let node = Node { host: host.clone(), port: *port };
                write!(f, "{scheme}://{secret}{node}/{}", self.database)
            }
            Place::Sentinel { sentinels, name, .. } => {
                write!(f, "{scheme}+sentinel://{secret}{}/{name}/{}", list(sentinels), self.database)
            }
            Place::Cluster { seeds, .. } => write!(f, "{scheme}+cluster://{secret}{}", list(seeds)),
            Place::Unix(path) => write!(f, "unix://{secret}{}?db={}", path.display(), self.database),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => {
                "the store address must start with `redis://`, `rediss://`, `valkey://`, `valkeys://`, `unix://`, \
                 `redis+sentinel://` or `redis+cluster://` (with TLS: `rediss+…`)"
            }
            Self::Unreadable => {
                "the store address is not a valid URL: write `redis://user:password@host:6379/0`, and percent-encode \
                 characters such as `@`, `/`, `?` and `#` in the password"
            }
            Self::Host => "the store address has no valid host: write it after `://`",
            Self::Port => "the store address has port 0: write the server's port, or omit it for 6379",
            Self::Database => {
                "the database after the host in the store address is not a number: write `/0`, or omit it"
            }
            Self::Extra => {
                "the store address has an unknown part after `?` or `#`: only `unix://` takes `?`, \
                 with `db`, `user` and `pass`, each once; in a password, write `%3F` and `%23`"
            }
            Self::NotUtf8 => "the user or the password in the store address is not UTF-8",
            Self::Path => {
                "the store address has no path to a socket, or no number after `db=`: write \
                 `unix:///run/redis.sock?db=0`"
            }
            Self::SentinelName => {
                "the store address does not name the primary that the Sentinels monitor: write \
                 `redis+sentinel://host,host,host/mymaster`"
            }
            Self::ClusterDatabase => {
                "a cluster has only database 0: write `redis+cluster://host,host,host` without a path"
            }
            Self::Hosts => "the store address has too many hosts: write at most 32",
        })
    }
}

impl std::error::Error for AddressError {}

#[cfg(test)]
mod tests;
