//! `Tollgate-Degraded`: one token that says what stood in for the state of a key. A setting of `ResponseConfig` enables it.

use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_engine::Degradation;

use crate::response::config::ResponseConfig;

static NAME: HeaderName = HeaderName::from_static("tollgate-degraded");

/// What the header says. Its tokens name no limit, because a limit may be hidden.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Degraded {
    /// The header is disabled.
    #[default]
    Untold,
    /// The header is enabled.
    Told(Degradation),
}

impl Degraded {
    pub(crate) const fn of(degradation: Degradation, config: &ResponseConfig) -> Self {
        if config.degraded { Self::Told(degradation) } else { Self::Untold }
    }

    /// Writes it in place of what the upstream sent under this name, which is not about these limits.
    pub(crate) fn write(self, headers: &mut HeaderMap) {
        let Self::Told(degradation) = self else { return };
        let token = match degradation {
            Degradation::None => {
                headers.remove(&NAME);
                return;
            }
            Degradation::Overflow => "full",
            Degradation::Local => "local",
            Degradation::Uncounted => "uncounted",
            Degradation::Unknown => "unknown",
            // One that this crate does not know.
            _ => "unknown",
        };
        headers.insert(&NAME, HeaderValue::from_static(token));
    }
}
