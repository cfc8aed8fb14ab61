//! The numbers of an adaptive limit: its method, its range, and where in it the limit starts.

use tollgate_algorithms::Micros;
use tollgate_algorithms::adaptive::{AdaptiveConfig, Method};

use super::{NumbersError, RawNumbers};

/// How an adaptive limit follows the latency, as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum MethodName {
    /// `gradient2`
    #[default]
    Gradient2,
    /// `vegas`
    Vegas,
    /// `gradient`
    Gradient,
    /// `aimd`, which needs a `target`
    Aimd,
}

impl MethodName {
    /// Every method, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Gradient2, Self::Vegas, Self::Gradient, Self::Aimd];

    /// The name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gradient2 => "gradient2",
            Self::Vegas => "vegas",
            Self::Gradient => "gradient",
            Self::Aimd => "aimd",
        }
    }

    /// The name of a method.
    #[must_use]
    pub const fn of(method: Method) -> Self {
        match method {
            Method::Gradient2 => Self::Gradient2,
            Method::Vegas => Self::Vegas,
            Method::Gradient => Self::Gradient,
            Method::Aimd { .. } => Self::Aimd,
        }
    }
}

/// The settings that these numbers make. What is not written has its default; `initial` then lies within the range.
pub(super) fn config(written: &RawNumbers) -> Result<AdaptiveConfig, NumbersError> {
    let method = match (written.method.unwrap_or_default(), written.target) {
        (MethodName::Aimd, None) => return Err(NumbersError::TargetMissing),
        (MethodName::Aimd, Some(Micros::ZERO)) => return Err(NumbersError::TargetZero),
        (MethodName::Aimd, Some(target)) => Method::Aimd { target },
        (method, Some(_)) => return Err(NumbersError::TargetForeign { method: method.name() }),
        (MethodName::Gradient2, None) => Method::Gradient2,
        (MethodName::Vegas, None) => Method::Vegas,
        (MethodName::Gradient, None) => Method::Gradient,
    };
    let config = AdaptiveConfig::new(method);
    let (least, most) = config.range();
    let number = |written: Option<u64>, default: u32| {
        written.map_or(default, |number| u32::try_from(number).unwrap_or(u32::MAX))
    };
    let min = number(written.min, least);
    let max = number(written.max, most.max(min));
    let initial = number(written.initial, config.start().clamp(min, max.max(min)));
    config.with_range(min, initial, max).map_err(|_| {
        let field = if written.min == Some(0) {
            "min"
        } else if max > tollgate_algorithms::adaptive::LIMIT_MAX || min > max {
            if written.max.is_some() { "max" } else { "min" }
        } else {
            "initial"
        };
        NumbersError::AdaptiveRange { field, min, initial, max }
    })
}
