//! The limits of the gRPC endpoint: their files, and what happens to requests if the shared store fails.

/// The limits that Envoy asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnvoyLimits {
    /// Files of envoyproxy/ratelimit or Limitador.
    pub files: Vec<String>,
    /// What happens while the shared store makes no decision.
    pub when_store_fails: StoreFails,
    /// How many processes share the limits: each counts its fraction under [`StoreFails::Local`].
    pub processes: u32,
    /// How many charges of each key are remembered for refunds.
    pub receipts: usize,
}

/// What happens while the shared store makes no decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreFails {
    /// Requests are granted, and not counted.
    Allow,
    /// The call fails, and Envoy decides.
    Deny,
    /// This process counts alone.
    Local,
}

/// Charges of each key that are remembered for refunds, unless it is said.
const RECEIPTS: usize = 8;

impl Default for EnvoyLimits {
    fn default() -> Self {
        Self { files: Vec::new(), when_store_fails: StoreFails::Local, processes: 1, receipts: RECEIPTS }
    }
}
