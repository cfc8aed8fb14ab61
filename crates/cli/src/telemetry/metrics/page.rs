//! The text format of Prometheus (0.0.4).

use std::fmt::Write;

use super::latency::{LatencySum, bounds};

/// The type of the text, as a response names it.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Every name begins so.
const PREFIX: &str = "tollgate_";

/// A label and its value.
pub(super) type Label<'a> = (&'static str, &'a str);

/// What a family of numbers is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// It only goes up.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// The text, as far as it is written.
#[derive(Debug, Default)]
pub(super) struct MetricsText(String);

/// Writing into a string does not fail.
const INTO_STRING: &str = "a string takes what is written";

impl MetricsText {
    /// Begins a family: everything of one name. Its numbers follow.
    pub(super) fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> MetricFamily<'_> {
        let word = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        self.head(name, word, help);
        MetricFamily { page: self, name }
    }

    /// A family of one number.
    pub(super) fn number(&mut self, (name, kind): (&'static str, Kind), help: &str, value: u64) {
        self.family(name, kind, help).number(&[], value);
    }

    /// A histogram, in seconds.
    pub(super) fn histogram(&mut self, name: &'static str, help: &str, sum: &LatencySum) {
        self.head(name, "histogram", help);
        let mut within = 0_u64;
        for (bound, count) in bounds().zip(sum.counts) {
            within = within.wrapping_add(count);
            writeln!(self.0, "{PREFIX}{name}_bucket{{le=\"{}\"}} {within}", seconds(bound))
                .expect(INTO_STRING);
        }
        let all = sum.counts.iter().fold(0_u64, |all, count| all.wrapping_add(*count));
        writeln!(self.0, "{PREFIX}{name}_bucket{{le=\"+Inf\"}} {all}").expect(INTO_STRING);
        writeln!(self.0, "{PREFIX}{name}_sum {}", seconds(sum.nanos)).expect(INTO_STRING);
        writeln!(self.0, "{PREFIX}{name}_count {all}").expect(INTO_STRING);
    }

    /// The text.
    pub(super) fn text(self) -> String {
        self.0
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        writeln!(self.0, "# HELP {PREFIX}{name} {help}").expect(INTO_STRING);
        writeln!(self.0, "# TYPE {PREFIX}{name} {kind}").expect(INTO_STRING);
    }
}

/// A family that was begun.
pub(super) struct MetricFamily<'a> {
    page: &'a mut MetricsText,
    name: &'static str,
}

impl MetricFamily<'_> {
    /// One of its numbers.
    pub(super) fn number(&mut self, labels: &[Label<'_>], value: u64) {
        self.line(labels, &value.to_string());
    }

    /// One of its numbers, a time in nanoseconds, in seconds.
    pub(super) fn seconds(&mut self, labels: &[Label<'_>], nanos: u64) {
        self.line(labels, &seconds(nanos));
    }

    fn line(&mut self, labels: &[Label<'_>], value: &str) {
        let text = &mut self.page.0;
        write!(text, "{PREFIX}{}", self.name).expect(INTO_STRING);
        for (index, (label, value)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            write!(text, "{before}{label}=\"{}\"", escaped(value)).expect(INTO_STRING);
        }
        let after = if labels.is_empty() { "" } else { "}" };
        writeln!(text, "{after} {value}").expect(INTO_STRING);
    }
}

/// A label's value as the format wants it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Nanoseconds as seconds, exactly, without zeros at the end.
fn seconds(nanos: u64) -> String {
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_so_that_no_name_ends_a_line() {
        let mut page = MetricsText::default();
        let mut family = page.family("a", Kind::Counter, "Help.");
        family.number(&[("limit", "x\"} 1\n# \\"), ("outcome", "b")], 7);
        let expected = "# HELP tollgate_a Help.\n# TYPE tollgate_a counter\n\
                        tollgate_a{limit=\"x\\\"} 1\\n# \\\\\",outcome=\"b\"} 7\n";
        assert_eq!(page.text(), expected);
    }

    #[test]
    fn nanoseconds_are_seconds_exactly() {
        for (nanos, text) in [
            (0, "0"),
            (128, "0.000000128"),
            (1_000_000_000, "1"),
            (10_000_000_000, "10"),
            (68_719_476_736, "68.719476736"),
            (u64::MAX, "18446744073.709551615"),
        ] {
            assert_eq!(seconds(nanos), text);
        }
    }

    #[test]
    fn buckets_count_all_that_are_within_them() {
        let mut sum = LatencySum::default();
        sum.counts[0] = 2;
        sum.counts[1] = 3;
        *sum.counts.last_mut().unwrap() = 1;
        sum.nanos = 1_500_000_000;
        let mut page = MetricsText::default();
        page.histogram("t_seconds", "Help.", &sum);
        let text = page.text();
        for line in [
            "tollgate_t_seconds_bucket{le=\"0.000000128\"} 2\n",
            "tollgate_t_seconds_bucket{le=\"0.000000256\"} 5\n",
            "tollgate_t_seconds_bucket{le=\"68.719476736\"} 5\n",
            "tollgate_t_seconds_bucket{le=\"+Inf\"} 6\n",
            "tollgate_t_seconds_sum 1.5\n",
            "tollgate_t_seconds_count 6\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
