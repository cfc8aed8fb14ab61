//! What an enforcer knows about one variant of a limit: name, numbers, and how much clients may see.

use tollgate_algorithms::Limit;

/// Whose the wider limit of a network of IPv6 addresses is.
pub(crate) const NETWORK: &str = "network";

/// One set of numbers of one limit.
///
/// A limit is *shown* if clients see its numbers. A *hidden* limit is never shown: clients learn only that they have to wait. A
/// wider limit is shown while it is closer to refusing than the limit that it belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LimitDescriptor {
    /// The limit's name.
    pub name: Box<str>,
    /// The name of the limit that this is a wider limit of: for an address with all its keys, or for a network with all its
    /// addresses.
    pub wider_than: Option<Box<str>>,
    /// Its numbers.
    pub limit: Limit,
    /// How much of it clients see.
    pub visibility: Visibility,
    /// The status of a refusal if the limit is 0.
    pub zero_status: ZeroStatus,
    /// The policy author's text for clients that are refused.
    pub description: Option<Box<str>>,
    /// Set if it limits how many requests are in progress at once. Then [`limit`](Self::limit) is unlimited.
    pub concurrency: Option<Concurrency>,
}

/// What a concurrency limit allows, and how it refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Concurrency {
    /// How many requests of a key may be in progress at once.
    pub limit: u32,
    /// The status of a refusal.
    pub busy_status: BusyStatus,
}

/// The status of a refusal because too many requests are in progress.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum BusyStatus {
    /// 429: this client has too many.
    #[default]
    TooManyRequests,
    /// 503: the service has too many.
    ServiceUnavailable,
}

/// How much of a limit clients see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visibility {
    /// Its name and its numbers.
    Shown,
    /// Its name and its numbers, while it is closer to refusing than the limit that it is a wider limit of.
    IfBinding,
    /// Nothing.
    Hidden,
}

/// The status of a refusal by a limit of 0, which grants no request.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ZeroStatus {
    /// 403.
    #[default]
    Forbidden,
    /// 429, for clients that know no other refusal.
    TooManyRequests,
}

impl LimitDescriptor {
    /// A limit that clients see, without a description.
    #[must_use]
    pub fn new(name: &str, limit: Limit) -> Self {
        let (visibility, zero_status) = (Visibility::Shown, ZeroStatus::default());
        Self {
            name: name.into(),
            wider_than: None,
            limit,
            visibility,
            zero_status,
            description: None,
            concurrency: None,
        }
    }

    /// A limit on how many requests are in progress at once.
    #[must_use]
    pub fn concurrent(name: &str, concurrency: Concurrency) -> Self {
        Self { concurrency: Some(concurrency), ..Self::new(name, Limit::Unlimited) }
    }

    /// The most that is granted at one instant.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.concurrency.map_or(self.limit.capacity(), |concurrency| concurrency.limit.into())
    }

    /// Makes it a wider limit of the same name, for all clients of an address or of a network: `login (network)`.
    #[must_use]
    pub fn widened(self, whose: &str) -> Self {
        let visibility = match self.visibility {
            Visibility::Shown | Visibility::IfBinding => Visibility::IfBinding,
            Visibility::Hidden => Visibility::Hidden,
        };
        let name = format!("{} ({whose})", self.name).into();
        Self { name, wider_than: Some(self.name), visibility, ..self }
    }

    /// Sets how much of it clients see.
    #[must_use]
    pub fn with_visibility(self, visibility: Visibility) -> Self {
        Self { visibility, ..self }
    }

    /// Sets the status of a refusal if the limit is 0.
    #[must_use]
    pub fn with_zero_status(self, zero_status: ZeroStatus) -> Self {
        Self { zero_status, ..self }
    }

    /// Sets the text for clients that are refused.
    #[must_use]
    pub fn with_description(self, description: Option<&str>) -> Self {
        Self { description: description.map(Into::into), ..self }
    }

    /// The limit's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a wider limit of another one.
    #[must_use]
    pub const fn is_wider(&self) -> bool {
        self.wider_than.is_some()
    }

    /// Whether it is the limit with this name, or a wider limit of it.
    #[must_use]
    pub fn belongs_to(&self, limit: &str) -> bool {
        self.wider_than.as_deref().unwrap_or(&self.name) == limit
    }
}
