//! The tables: every workload with its spread and its ratio to the governor that it is compared with. It
//! judges nothing.
#![expect(clippy::float_arithmetic, reason = "ratios for a reader; nothing is decided by them")]

use std::fmt::Write as _;

use super::rows::{Report, Row};
use crate::markdown::{grouped, section};

const BY_DEFAULT: &str = "governor String";
const FAST_HASHER: &str = "governor String, fast hasher";
/// Workloads in nanoseconds per decision: name, title, whom the ratio is to.
const TIMED: [(&str, &str, &str); 11] = [
    ("refused", "One hot key, refused", FAST_HASHER),
    ("granted", "One hot key, granted", FAST_HASHER),
    ("uniform", "Many keys, each as often as any other", BY_DEFAULT),
    ("zipf", "Many keys, Zipf", BY_DEFAULT),
    ("scattered", "Many keys, and their names from all over the memory too", BY_DEFAULT),
    ("ticked", "Many keys, a ticked clock", BY_DEFAULT),
    ("batches", "Many keys, batches of 32", BY_DEFAULT),
    ("together", "Many keys, three limits all or none against one", BY_DEFAULT),
    ("idle", "Many keys that owe nothing any more, three limits against one", BY_DEFAULT),
    ("drained-tenth", "A tenth of the keys, each drained a millisecond after a hit", BY_DEFAULT),
    ("drained", "Many keys, each drained a millisecond after a hit", BY_DEFAULT),
];

/// All tables, with what is to be known of the subjects below them. A workload that was not measured has
/// none.
pub(super) fn all(report: &Report) -> String {
    let timed = TIMED.into_iter().map(|(workload, title, base)| timed(report, workload, title, base));
    let rest = [curve(report), rss(report), latency(report)];
    let mut text: String = timed.chain(rest).flatten().map(|section| format!("{section}\n")).collect();
    for (subject, note) in &report.notes {
        let _ = writeln!(text, "- *{subject}*: {note}.");
    }
    text
}

fn timed(report: &Report, workload: &str, title: &str, base: &str) -> Option<String> {
    let header = ["", "1 thread", "spread", "ratio", "2 threads", "spread", "ratio", "granted, %"];
    let line = |subject: &&str| {
        let of = |threads| report.find(workload, threads, subject);
        let ratio = |threads| ratio(report.find(workload, threads, base), of(threads));
        let spread =
            |threads| of(threads).map_or(String::new(), |row| format!("{:.0}–{:.0}", row.least, row.most));
        let granted = |row: &Row| row.granted.map(|granted| format!("{granted:.0}"));
        vec![
            (*subject).to_string(),
            figure(of(1)),
            spread(1),
            ratio(1),
            figure(of(2)),
            spread(2),
            ratio(2),
            of(1).and_then(granted).unwrap_or_default(),
        ]
    };
    let lines: Vec<_> = report.subjects(workload).iter().map(line).collect();
    let about = format!("Nanoseconds per decision and thread. Ratio: how many times as fast as *{base}*.");
    section(title, &about, &header.map(String::from), &lines)
}

fn curve(report: &Report) -> Option<String> {
    let sizes = report.sizes("curve");
    let about = "Nanoseconds per decision, one thread, each key as often as any other.\n\n\
                 ![Nanoseconds per decision over the number of keys](keys.svg)";
    let header: Vec<_> = [String::new()]
        .into_iter()
        .chain(sizes.iter().map(|size| format!("{} keys", grouped(*size))))
        .collect();
    let line = |subject: &&str| {
        let points = sizes.iter().map(|size| figure(report.find(&format!("curve-{size}"), 1, subject)));
        [(*subject).to_string()].into_iter().chain(points).collect()
    };
    let lines: Vec<_> = report.subjects("curve-").iter().map(line).collect();
    section("Over the number of keys", about, &header, &lines)
}

fn rss(report: &Report) -> Option<String> {
    let sizes = report.sizes("rss");
    let mut header = vec![String::new()];
    header.extend(sizes.iter().flat_map(|size| [format!("{} keys", grouped(*size)), "ratio".into()]));
    let line = |subject: &&str| {
        let mut line = vec![(*subject).to_string()];
        for size in &sizes {
            let of = |subject| report.find(&format!("rss-{size}"), 1, subject);
            line.extend([figure(of(subject)), ratio(of(BY_DEFAULT), of(subject))]);
        }
        line
    };
    let lines: Vec<_> = report.subjects("rss-").iter().map(line).collect();
    let about = format!(
        "Resident bytes per live key, its name included. Ratio: how many times as many *{BY_DEFAULT}* takes."
    );
    section("Memory", &about, &header, &lines)
}

fn latency(report: &Report) -> Option<String> {
    let figures = ["insert-p50", "insert-p99.99", "insert-worst", "live-p50", "live-p99.99", "live-worst"];
    let header = ["", "new: p50", "p99.99", "worst", "live: p50", "p99.99", "worst"];
    let line = |subject: &&str| {
        let time = |name| report.find(name, 1, subject).map_or(String::new(), |row| time(row.median));
        [(*subject).to_string()].into_iter().chain(figures.map(time)).collect()
    };
    let lines: Vec<_> = report.subjects("insert-").iter().map(line).collect();
    let about = "Single decisions, one thread, the stopwatch's own time included: while every key is new,\n\
                 and while all of them are live.";
    section("The slowest decisions", about, &header.map(String::from), &lines)
}

fn figure(row: Option<&Row>) -> String {
    row.map_or(String::new(), |row| format!("{:.*}", usize::from(row.median < 100.0), row.median))
}

/// How many times as good it is: the other's figure divided by its own.
fn ratio(base: Option<&Row>, row: Option<&Row>) -> String {
    base.zip(row).map_or(String::new(), |(base, row)| format!("{:.2}", base.median / row.median))
}

/// Nanoseconds, in the unit that is easy to read.
fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        few if few < 10_000.0 => format!("{few:.0} ns"),
        more if more < 10_000_000.0 => format!("{:.0} µs", more / 1e3),
        many => format!("{:.0} ms", many / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::{all, time};
    use crate::bench_memory::rows::Report;

    #[test]
    fn a_ratio_says_how_many_times_as_fast_it_is() {
        let printed = "uniform\t1\tours\t50.0\t48.0\t60.0\t100.0\n\
                       uniform\t1\tgovernor String\t125.0\t120.0\t140.0\t100.0\n";
        let text = all(&Report::parse(printed).unwrap());
        let line = |name: &str| text.lines().find(|line| line.starts_with(&format!("| {name}"))).unwrap();
        let cells =
            |name: &str| line(name).split('|').map(|cell| cell.trim().to_string()).collect::<Vec<_>>();
        assert_eq!(cells("ours")[2..5], ["50.0", "48–60", "2.50"]);
        assert_eq!(cells("governor String")[2..5], ["125", "120–140", "1.00"]);
    }

    #[test]
    fn a_hot_key_is_compared_with_the_fast_hasher() {
        let printed = "refused\t2\tours\t10\t10\t10\t0.0\nrefused\t2\tgovernor String\t40\t40\t40\t0.0\n\
                       refused\t2\tgovernor String, fast hasher\t20\t20\t20\t0.0\n";
        let text = all(&Report::parse(printed).unwrap());
        assert!(text.lines().any(|line| line.starts_with("| ours ") && line.contains(" 2.00 ")));
        assert!(text.contains("as fast as *governor String, fast hasher*"));
    }

    #[test]
    fn what_was_not_measured_has_no_table_and_notes_stand_last() {
        let text = all(&Report::parse("#\ta\ta sketch\nrss-1000\t1\ta\t80.0\t80.0\t80.0\t-\n").unwrap());
        assert_eq!(text.matches("### ").count(), 1);
        assert!(text.contains("1,000 keys") && text.ends_with("- *a*: a sketch.\n"));
    }

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!([time(335.0), time(61_439.0), time(33_833_133.0)], ["335 ns", "61 µs", "34 ms"]);
    }
}
