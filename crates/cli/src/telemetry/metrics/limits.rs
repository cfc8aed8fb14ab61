//! Decisions by limit: a bounded number of series, without limits that no longer exist.

use std::collections::BTreeMap;

use tollgate::Source;
use tollgate_algorithms::Mode;
use tollgate_policy::Policy;

use super::counter::Counter;
use super::page::{Kind, MetricsText};

/// Maximum number of limits with their own series. Further ones are counted together, as [`OTHER`].
pub const LIMIT_SERIES_MAX: usize = 1_000;
/// What limits beyond [`LIMIT_SERIES_MAX`] are called together.
pub const OTHER: &str = "other";

/// The counters of one limit. A copy counts at the same ones.
#[derive(Clone, Default, Debug)]
pub struct LimitMeters {
    /// Hits that it granted. In a request that another limit refused they were not charged.
    pub granted: Counter,
    /// Hits that it refused.
    pub refused: Counter,
    /// Hits that it would have refused if it were enforced.
    pub shadow_refused: Counter,
    /// Hits of which it could not be told.
    pub unavailable: Counter,
    /// Hits that were decided by a cell that new keys have in common, because there was no room: these are also counted above.
    pub overflowed: Counter,
}

impl LimitMeters {
    /// Counts a hit.
    pub fn count(&self, granted: bool, mode: Mode, source: Source) {
        match (granted, mode) {
            (true, _) => self.granted.inc(),
            (false, Mode::Enforced) => self.refused.inc(),
            (false, Mode::Shadow) => self.shadow_refused.inc(),
        }
        if source == Source::Common {
            self.overflowed.inc();
        }
    }
}

/// The limits that are counted.
#[derive(Default, Debug)]
pub(super) struct Limits {
    /// The policy's file, without its folder.
    policy: String,
    by_name: BTreeMap<String, LimitMeters>,
}

impl Limits {
    /// The counters of a policy's limits, by number. A limit that was there before goes on counting; one that is gone is
    /// dropped, and what requests in flight still add to it is not shown.
    pub(super) fn renew(&mut self, policy: &Policy) -> Vec<LimitMeters> {
        let file = policy.sources().iter().next().map_or("", |(_, source)| source.name());
        self.policy = file.rsplit('/').next().unwrap_or_default().into();
        let mut before = std::mem::take(&mut self.by_name);
        let names = policy.limits().iter().map(|limit| limit.name.as_str());
        names
            .map(|name| {
                let own = self.by_name.len() < LIMIT_SERIES_MAX || self.by_name.contains_key(name);
                let name = if own { name } else { OTHER };
                let known = self.by_name.entry(name.into());
                known.or_insert_with(|| before.remove(name).unwrap_or_default()).clone()
            })
            .collect()
    }

    /// Writes them down.
    pub(super) fn write(&self, page: &mut MetricsText) {
        let help = "Hits by policy file, limit and result.";
        let mut family = page.family("decisions_total", Kind::Counter, help);
        for (name, meters) in &self.by_name {
            let outcomes = [
                ("granted", &meters.granted),
                ("refused", &meters.refused),
                ("shadow_refused", &meters.shadow_refused),
                ("unavailable", &meters.unavailable),
            ];
            for (outcome, counter) in outcomes {
                let labels = [("policy", self.policy.as_str()), ("limit", name), ("outcome", outcome)];
                family.number(&labels, counter.get());
            }
        }
        let help = "Hits decided by an overflow bucket because memory was full.";
        let mut family = page.family("decisions_overflowed_total", Kind::Counter, help);
        for (name, meters) in &self.by_name {
            family.number(&[("policy", &self.policy), ("limit", name)], meters.overflowed.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(names: impl IntoIterator<Item = String>) -> Policy {
        let mut text = String::from("tollgate: 1\nroutes:\n");
        for (route, name) in names.into_iter().enumerate() {
            text.push_str(&format!(
                "  - path: /r{route}\n    rate_limit: {{ name: '{name}', algorithm: fixed_window, limit: 5, window: 10 s }}\n"
            ));
        }
        Policy::parse("folder/limits.yaml", &text).unwrap()
    }

    fn page(limits: &Limits) -> String {
        let mut page = MetricsText::default();
        limits.write(&mut page);
        page.text()
    }

    fn names(names: &[&str]) -> Policy {
        policy(names.iter().map(|name| (*name).to_owned()))
    }

    #[test]
    fn a_limit_goes_on_counting_after_a_reload_and_one_that_is_gone_is_not_shown() {
        let mut limits = Limits::default();
        let first = limits.renew(&names(&["a", "b"]));
        first[0].granted.inc();
        first[1].refused.inc();
        let second = limits.renew(&names(&["c", "b"]));
        second[1].refused.inc();
        // A request that was in flight counts where it began, and does no harm.
        first[0].granted.inc();
        let text = page(&limits);
        let line = "tollgate_decisions_total{policy=\"limits.yaml\",limit=\"b\",outcome=\"refused\"} 2\n";
        assert!(text.contains(line), "{text}");
        assert!(!text.contains("limit=\"a\"") && text.contains("limit=\"c\""), "{text}");
    }

    #[test]
    fn a_hit_that_a_cell_in_common_decided_is_counted_twice() {
        let mut limits = Limits::default();
        let meters = limits.renew(&names(&["a"]));
        meters[0].count(true, Mode::Enforced, Source::Own);
        meters[0].count(false, Mode::Enforced, Source::Common);
        meters[0].count(true, Mode::Enforced, Source::Common);
        meters[0].count(false, Mode::Shadow, Source::Share);
        let text = page(&limits);
        let mut counted: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        counted.retain(|line| !line.ends_with(" 0"));
        let wanted = ["granted\"} 2", "refused\"} 1", "shadow_refused\"} 1", "limit=\"a\"} 2"];
        assert_eq!(counted.len(), wanted.len(), "{text}");
        for (line, wanted) in counted.iter().zip(wanted) {
            assert!(line.ends_with(wanted), "{line}");
        }
    }

    #[test]
    fn limits_beyond_the_most_are_counted_together_and_so_is_one_that_is_called_other() {
        let mut limits = Limits::default();
        let own = LIMIT_SERIES_MAX - 1;
        let many =
            (0..own).map(|number| format!("l{number}")).chain(["other".into(), "x".into(), "y".into()]);
        let meters = limits.renew(&policy(many));
        meters.iter().for_each(|meters| meters.granted.inc());
        let text = page(&limits);
        let line = "limit=\"other\",outcome=\"granted\"} 3\n";
        assert!(text.contains(line) && !text.contains("limit=\"x\""), "{text}");
        assert_eq!(text.matches("outcome=\"granted\"").count(), LIMIT_SERIES_MAX);
        assert_eq!(text.matches("limit=\"other\",outcome=\"granted\"").count(), 1);
    }
}
