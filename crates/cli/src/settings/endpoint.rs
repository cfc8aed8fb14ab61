//! The settings of an endpoint: where clients of one protocol ask for decisions, and who may.

use std::net::SocketAddr;

use super::Tls;

/// Connections of an endpoint, unless it is said; further ones wait in the listener's queue.
pub const ENDPOINT_CONNECTIONS: usize = 10_000;

/// Where clients of one protocol ask for decisions. By default nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it listens; `None`: nowhere.
    pub listen: Option<SocketAddr>,
    /// The file with the tokens of clients; `None`: none is asked for.
    pub tokens: Option<String>,
    /// The file with the chain of its certificate; `None`: without TLS.
    pub certificate: Option<String>,
    /// The file with the key of its certificate.
    pub key: Option<String>,
    /// The file with the authorities of clients' certificates; `None`: none is asked for.
    pub client_ca: Option<String>,
    /// Whether it may be at an address that others can reach, although it asks for neither.
    pub is_public: bool,
    /// Connections at once; further ones wait in the listener's queue.
    pub connections: usize,
}

impl Default for Endpoint {
    fn default() -> Self {
        let (tokens, certificate, key, client_ca) = (None, None, None, None);
        let connections = ENDPOINT_CONNECTIONS;
        Self { listen: None, tokens, certificate, key, client_ca, is_public: false, connections }
    }
}

impl Endpoint {
    /// An endpoint at an address, with what holds by itself.
    #[must_use]
    pub fn at(listen: SocketAddr) -> Self {
        Self { listen: Some(listen), ..Self::default() }
    }

    /// Whether clients have to show who they are.
    #[must_use]
    pub const fn asks_who(&self) -> bool {
        self.tokens.is_some() || self.client_ca.is_some()
    }

    /// Its certificate, if it has one. `name` is its section.
    #[must_use]
    pub fn tls(&self, name: &str) -> Option<Tls> {
        let (certificate, key) = (self.certificate.clone()?, self.key.clone()?);
        let key_setting = match name {
            "grpc" => "grpc.key",
            "resp" => "resp.key",
            _ => "api.key",
        };
        Some(Tls { certificate, key, client_ca: self.client_ca.clone(), key_setting })
    }
}

impl std::fmt::Debug for Endpoint {
    /// Without the names of files, one of which may be a secret by mistake.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Endpoint({:?}, asks who: {})", self.listen, self.asks_who())
    }
}
