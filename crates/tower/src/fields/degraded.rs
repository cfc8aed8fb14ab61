//! `Tollgate-Degraded`: one word on what stood in for a limit's own count. Whether it is told is a setting of `answers`.

use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate::{Kind, Source, Verdict};
use tollgate_algorithms::Mode;

use crate::answers::Answers;

static NAME: HeaderName = HeaderName::from_static("tollgate-degraded");

/// What a response says about it. Of several limits, the one counts that is known worst: so they are in order.
///
/// Its words are tokens of structured fields. They name no limit, because a limit may be hidden.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Degraded {
    /// The settings say to tell nobody.
    #[default]
    Untold,
    /// Every limit was decided by its key's own state.
    No,
    /// A key had no room, and was counted together with others.
    Full,
    /// A limit was counted in this process alone, with its share.
    Local,
    /// A limit was not counted at all.
    Uncounted,
    /// Nothing is known of any limit.
    Unknown,
}

impl Degraded {
    /// What is said of a verdict; without one, no limit met the request. Limits that refuse nobody do not matter to clients.
    pub(crate) fn of(verdict: Option<&Verdict>, answers: &Answers) -> Self {
        if !answers.degraded {
            return Self::Untold;
        }
        let Some(verdict) = verdict else { return Self::No };
        if let Kind::Unavailable(_) = verdict.kind() {
            return Self::Unknown;
        }
        let enforced = verdict.answers().iter().filter(|answer| answer.mode() == Mode::Enforced);
        enforced.map(|answer| by(answer.source())).fold(Self::No, Self::max)
    }

    /// Writes it in place of what the upstream sent under this name: that is not about our limits.
    pub(crate) fn write(self, headers: &mut HeaderMap) {
        let word = match self {
            Self::Untold => return,
            Self::No => {
                headers.remove(&NAME);
                return;
            }
            Self::Full => "full",
            Self::Local => "local",
            Self::Uncounted => "uncounted",
            Self::Unknown => "unknown",
        };
        headers.insert(&NAME, HeaderValue::from_static(word));
    }
}

const fn by(source: Source) -> Degraded {
    match source {
        Source::Own | Source::Remembered | Source::Unasked => Degraded::No,
        Source::Common => Degraded::Full,
        Source::Share => Degraded::Local,
        Source::Nothing => Degraded::Uncounted,
    }
}
