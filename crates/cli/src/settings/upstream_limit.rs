//! The limit on how many requests the upstream works on at once, as it is set.

use std::time::Duration;

use tollgate_algorithms::Micros;
use tollgate_algorithms::adaptive::AdaptiveConfig;
use tollgate_policy::numbers::{Algorithm, MethodName, Numbers, RawNumbers};

/// A limit on how many requests an upstream works on at once, which follows what it can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpstreamLimit {
    /// How it is found. `None`: there is no limit.
    pub method: Option<MethodName>,
    /// The mean latency above which it shrinks, for `aimd`.
    pub target: Option<Duration>,
    /// The lowest limit.
    pub min: u32,
    /// The highest.
    pub max: u32,
    /// What it starts with.
    pub initial: u32,
}

impl Default for UpstreamLimit {
    fn default() -> Self {
        let default = AdaptiveConfig::default();
        let ((min, max), initial) = (default.range(), default.start());
        Self { method: None, target: None, min, max, initial }
    }
}

impl UpstreamLimit {
    /// The limit's configuration; `None` if there is no limit, or none that can be kept, which is found when settings are read.
    #[must_use]
    pub fn config(&self) -> Option<AdaptiveConfig> {
        let numbers = RawNumbers {
            method: self.method,
            target: self.target.map(Micros::from_duration),
            min: Some(self.min.into()),
            max: Some(self.max.into()),
            initial: Some(self.initial.into()),
            ..RawNumbers::default()
        };
        match numbers.build(Algorithm::Adaptive) {
            Ok(Numbers::Adaptive { config, .. }) if self.method.is_some() => Some(config),
            _ => None,
        }
    }
}
