//! Priorities under one concurrency limit: lower classes are refused earlier, and the highest has a reserve.

/// How important a request is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Priority {
    /// Refused first, such as prefetching and batch jobs.
    Low,
    /// Ordinary traffic.
    #[default]
    Normal,
    /// Refused after ordinary traffic.
    High,
    /// Refused only when the whole limit is used, such as health checks and payments.
    Critical,
}

impl Priority {
    /// How many requests may be in flight, of all classes, for one of this class to be admitted.
    ///
    /// A twentieth of the limit, at least one, is reserved for critical requests; each class below `High` leaves a third of
    /// the limit's square root, at least one, to the classes above it. This is trunk reservation: it needs no state, and
    /// uses the whole limit while there is no overload. Every class may use an idle server, even if the limit is 1.
    ///
    /// ```
    /// use tollgate_algorithms::adaptive::Priority;
    /// let shares = [Priority::Critical, Priority::High, Priority::Normal, Priority::Low].map(|class| class.share(40));
    /// assert_eq!(shares, [40, 38, 36, 34]);
    /// ```
    #[must_use]
    pub fn share(self, limit: u32) -> u32 {
        let reserve = (limit / 20).max(1);
        let step = (limit.isqrt() / 3).max(1);
        let share = match self {
            Self::Critical => limit,
            Self::High => limit.saturating_sub(reserve),
            Self::Normal => limit.saturating_sub(reserve).saturating_sub(step),
            Self::Low => limit.saturating_sub(reserve).saturating_sub(step.saturating_mul(2)),
        };
        // Without traffic of a higher class nothing would ever be admitted, and the limit could not recover.
        share.max(limit.min(1))
    }

    /// Whether a request of this class is admitted under a limit beside so many in flight.
    #[must_use]
    pub fn is_admitted(self, limit: u32, in_flight: u32) -> bool {
        in_flight < self.share(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::Priority;

    const CLASSES: [Priority; 4] = [Priority::Low, Priority::Normal, Priority::High, Priority::Critical];

    #[test]
    fn a_higher_class_never_gets_less_and_critical_gets_all() {
        for limit in 0..=70_000 {
            let shares = CLASSES.map(|class| class.share(limit));
            assert!(shares.is_sorted(), "{limit}: {shares:?}");
            assert_eq!(shares[3], limit);
            assert!(limit == 0 || shares[0] >= 1, "{limit}: {shares:?}");
        }
    }

    #[test]
    fn each_class_leaves_room_to_the_next() {
        for limit in 4..=70_000 {
            let shares = CLASSES.map(|class| class.share(limit));
            assert!(shares.windows(2).all(|pair| pair[0] < pair[1]), "{limit}: {shares:?}");
        }
    }

    #[test]
    fn a_critical_request_is_refused_only_at_the_limit() {
        assert!(Priority::Critical.is_admitted(40, 39) && !Priority::Critical.is_admitted(40, 40));
        assert!(Priority::Low.is_admitted(40, 33) && !Priority::Low.is_admitted(40, 34));
    }
}
