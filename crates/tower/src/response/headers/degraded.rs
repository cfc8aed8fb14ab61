//! `Tollgate-Degraded`: one token that names what replaced the state of a key. `ResponseConfig` enables it.

use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_engine::Degradation;

use crate::response::config::ResponseConfig;

static NAME: HeaderName = HeaderName::from_static("tollgate-degraded");

/// The value of the header. It names no limit, because a limit may be hidden.
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

    /// Writes the header. An upstream's header of this name is replaced, because it is not about these limits.
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
