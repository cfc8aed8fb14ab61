//! The tables: what was asked and whether it was reached, every figure with its spread, memory, and the curve's points.
#![expect(clippy::float_arithmetic, reason = "ratios for a reader; nothing is decided by them")]

use std::fmt::Write as _;

use super::rows::{Length, Rate, Report, Spread};
use crate::markdown::{grouped, section};

/// Most of the figures are taken with so many in flight.
const IN_FLIGHT: u32 = 64;
const BUCKET: &str = "tollgate token bucket";
const LOG: &str = "tollgate log";

/// How many times as many decisions a second as whom: ours, whose, at least so many hundredths.
const FASTER: [(&str, &str, u32); 3] =
    [(BUCKET, "HMSET token bucket", 125), (BUCKET, "float GCRA", 85), (LOG, "ZSET log", 120)];
/// The same for which nothing was asked.
const BESIDES: [(&str, &str); 11] = [
    ("tollgate token bucket, 16 a call", "HMSET token bucket"),
    ("tollgate log, 16 a call", "ZSET log"),
    ("tollgate log, own client", "ZSET log"),
    (LOG, "ZSET log that tells"),
    ("tollgate log, granted", "ZSET log that tells, granted"),
    ("tollgate log, refused", "ZSET log that tells, refused"),
    ("tollgate log, granted", "ZSET log, granted"),
    ("tollgate log, refused", "ZSET log, refused"),
    (LOG, "exact ZSET log"),
    ("tollgate log, granted", "exact ZSET log, granted"),
    ("tollgate log, refused", "exact ZSET log, refused"),
];
/// How many times the server's time of one limit: at most so many hundredths, or nothing was asked.
const DEARER: [(&str, &str, &str, Option<u32>); 2] = [
    ("three limits ÷ one, the server's time", "tollgate, three limits", BUCKET, Some(180)),
    ("bare, three keys ÷ one, the server's time", "bare, three keys", "bare, one key", None),
];
/// Whose keys may take so many bytes.
const SMALLER: [(&str, u32); 2] = [(BUCKET, 160), ("tollgate GCRA", 160)];

/// All tables, with what is to be known of the subjects below them.
pub(super) fn all(report: &Report) -> String {
    let mut text = String::new();
    if let Some((keys, rounds, millis, meanwhile)) = &report.scale {
        let keys = grouped(*keys);
        let _ = writeln!(
            text,
            "{meanwhile}\n{keys} keys; {rounds} rounds of {millis} ms; median (least–most).\n"
        );
    }
    let tables = [asked(report), rates(report), lengths(report), bytes(report), curve(report)];
    for table in tables.into_iter().flatten() {
        let _ = writeln!(text, "{table}");
    }
    for (subject, note) in &report.notes {
        let _ = writeln!(text, "- *{subject}*: {note}.");
    }
    text
}

fn asked(report: &Report) -> Option<String> {
    let lines: Vec<_> = faster(report).into_iter().chain(dearer(report)).chain(smaller(report)).collect();
    let header = ["", "asked", "found", "by the server's time", "reached"].map(String::from);
    let about = "*By the server's time*: the same comparison by processor time a decision, which a busy machine changes less.";
    section("What was asked", about, &header, &lines)
}

/// How many times as many decisions a second as others, for which something was asked or nothing.
fn faster(report: &Report) -> Vec<Vec<String>> {
    let asked = FASTER.iter().map(|(ours, whose, least)| (*ours, *whose, Some(*least)));
    let line = |(ours, whose, least): (&str, &str, Option<u32>)| {
        let (mine, other) = (report.rate(ours, IN_FLIGHT)?, report.rate(whose, IN_FLIGHT)?);
        let ratio = mine.per_second.median / other.per_second.median;
        Some(vec![
            format!("{ours} ÷ {whose}, decisions/s"),
            least.map_or("–".into(), |least| format!("at least {}", hundredths(least))),
            format!("{ratio:.2}"),
            format!("{:.2}", other.cpu.median / mine.cpu.median),
            least.map_or("", |least| reached(ratio * 100.0 >= f64::from(least))).into(),
        ])
    };
    asked.chain(BESIDES.map(|(ours, whose)| (ours, whose, None))).filter_map(line).collect()
}

fn dearer(report: &Report) -> Vec<Vec<String>> {
    let line = |(name, more, one, most): (&str, &str, &str, Option<u32>)| {
        let (more, one) = (report.rate(more, IN_FLIGHT)?, report.rate(one, IN_FLIGHT)?);
        let ratio = more.cpu.median / one.cpu.median;
        Some(vec![
            name.into(),
            most.map_or("–".into(), |most| format!("at most {}", hundredths(most))),
            format!("{ratio:.2}"),
            format!("{ratio:.2}"),
            most.map_or("", |most| reached(ratio * 100.0 <= f64::from(most))).into(),
        ])
    };
    DEARER.into_iter().filter_map(line).collect()
}

fn smaller(report: &Report) -> Vec<Vec<String>> {
    let line = |(subject, most): (&str, u32)| {
        let bytes = report.bytes_of(subject)?;
        Some(vec![
            format!("{subject}, bytes per key"),
            format!("at most {most}"),
            format!("{bytes:.1}"),
            String::new(),
            reached(bytes <= f64::from(most)).into(),
        ])
    };
    SMALLER.into_iter().filter_map(line).collect()
}

const fn reached(is: bool) -> &'static str {
    if is { "yes" } else { "**no**" }
}

fn hundredths(number: u32) -> String {
    format!("{:.2}", f64::from(number) / 100.0)
}

fn rates(report: &Report) -> Option<String> {
    let header =
        ["", "decisions/s", "server's µs per decision", "of its core, %", "granted, %"].map(String::from);
    let line = |subject: &&str| {
        let rate = report.rate(subject, IN_FLIGHT)?;
        Some(vec![
            (*subject).to_string(),
            whole(rate),
            micros(rate.cpu),
            rate.busy.to_string(),
            rate.granted.to_string(),
        ])
    };
    let lines: Vec<_> = report.subjects().iter().filter_map(line).collect();
    let about = "*Of its core*: well below 100 says that the client, or somebody else, took the rest.";
    section(&format!("Decisions with {IN_FLIGHT} in flight"), about, &header, &lines)
}

/// Logs of different lengths: a line for each kind and length, and how many times as fast ours is.
fn lengths(report: &Report) -> Option<String> {
    let header = [
        "",
        "limit",
        "keys",
        "decisions/s",
        "server's µs per decision",
        "tollgate log ÷ it",
        "by the server's time",
        "bytes per key",
    ]
    .map(String::from);
    let line = |length: &Length| {
        let ours =
            report.lengths.iter().find(|other| other.limit == length.limit && other.rate.subject == LOG)?;
        let (mine, rate) = (&ours.rate, &length.rate);
        let is_ours = rate.subject == LOG;
        let ratio = |ratio: f64| if is_ours { String::new() } else { format!("{ratio:.2}") };
        let bytes = report.length_bytes_of(&rate.subject, length.limit);
        Some(vec![
            rate.subject.clone(),
            grouped(length.limit),
            grouped(length.keys),
            whole(rate),
            micros(rate.cpu),
            ratio(mine.per_second.median / rate.per_second.median),
            ratio(rate.cpu.median / mine.cpu.median),
            bytes.map_or(String::new(), |bytes| format!("{bytes:.1}")),
        ])
    };
    let lines: Vec<_> = report.lengths.iter().filter_map(line).collect();
    let about = "Half of the logs are full, and refuse; half have half of it, and grant. The longer they are, the fewer: there are as many charges in \
                 all. Redis keeps a sorted set of up to 128 entries as a list that is walked, and a longer one as a table and a skip list.";
    section("Over the length of the log", about, &header, &lines)
}

fn bytes(report: &Report) -> Option<String> {
    let line = |(subject, bytes): &(String, f64)| vec![subject.clone(), format!("{bytes:.1}")];
    let lines: Vec<_> = report.bytes.iter().map(line).collect();
    let about = "What the server has allocated for all keys, names and expiries included, divided by the number of clients.";
    section("Memory", about, &["", "bytes per client"].map(String::from), &lines)
}

fn curve(report: &Report) -> Option<String> {
    let numbers = report.in_flight();
    let line = |subject: &&str| {
        let points: Vec<_> = numbers
            .iter()
            .map(|number| {
                report.rate(subject, *number).map_or(String::new(), |rate| rounded(rate.per_second.median))
            })
            .collect();
        let measured = points.iter().filter(|point| !point.is_empty()).count();
        (measured > 1).then(|| [(*subject).to_string()].into_iter().chain(points).collect::<Vec<_>>())
    };
    let lines: Vec<_> = report.subjects().iter().filter_map(line).collect();
    let header: Vec<_> = [String::new()]
        .into_iter()
        .chain(numbers.iter().map(|number| format!("{number} in flight")))
        .collect();
    let about = "Decisions a second.\n\n![Decisions a second over the number in flight](in-flight.svg)";
    section("Over the number in flight", about, &header, &lines)
}

/// Decisions a second, with the ends.
fn whole(rate: &Rate) -> String {
    let Spread { median, least, most } = rate.per_second;
    format!("{} ({}–{})", rounded(median), rounded(least), rounded(most))
}

/// Nanoseconds as microseconds, with the ends.
fn micros(time: Spread) -> String {
    format!("{:.1} ({:.1}–{:.1})", time.median / 1e3, time.least / 1e3, time.most / 1e3)
}

/// A whole number, with its thousands apart.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was read as a u32")]
fn rounded(number: f64) -> String {
    grouped(number as u32)
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::bench_redis::rows::Report;

    fn rate(subject: &str, in_flight: u32, rate: u32, cpu: u32) -> String {
        format!("rate\t{subject}\t{in_flight}\t{rate}\t{rate}\t{rate}\t{cpu}\t{cpu}\t{cpu}\t99\t100\n")
    }

    /// The cells of the line that begins so.
    fn cells(text: &str, name: &str) -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with(&format!("| {name}"))).unwrap();
        line.split('|').map(|cell| cell.trim().to_string()).collect()
    }

    #[test]
    fn what_was_asked_is_reached_at_the_number_and_not_before() {
        let ours = rate("tollgate token bucket", 64, 75_000, 10_000) + "bytes\ttollgate token bucket\t1600\n";
        let cases = [(60_000, "1.25", "yes"), (60_300, "1.24", "**no**")];
        for (peer, ratio, reached) in cases {
            let printed = ours.clone() + &rate("HMSET token bucket", 64, peer, 12_000);
            let text = all(&Report::parse(&printed).unwrap());
            let line = cells(&text, "tollgate token bucket ÷ HMSET token bucket");
            assert_eq!(line[2..6], ["at least 1.25", ratio, "1.20", reached]);
            assert_eq!(cells(&text, "tollgate token bucket, bytes")[2..4], ["at most 160", "160.0"]);
        }
    }

    #[test]
    fn three_limits_are_compared_by_the_servers_time() {
        for (cpu, reached) in [(18_000, "yes"), (18_100, "**no**")] {
            let printed = rate("tollgate token bucket", 64, 75_000, 10_000)
                + &rate("tollgate, three limits", 64, 1_000, cpu);
            let line = cells(&all(&Report::parse(&printed).unwrap()), "three limits ÷ one");
            assert_eq!((line[2].as_str(), line[5].as_str()), ("at most 1.80", reached));
        }
    }

    #[test]
    fn logs_are_compared_with_those_of_their_length() {
        let length = |subject: &str, limit: u32, rate: u32, cpu: u32| {
            format!("length\t{subject}\t{limit}\t500\t{rate}\t{rate}\t{rate}\t{cpu}\t{cpu}\t{cpu}\t99\t50\n")
        };
        let printed = length("tollgate log", 10, 50_000, 20_000)
            + &length("ZSET log", 10, 60_000, 17_000)
            + &length("tollgate log", 1_000, 40_000, 25_000)
            + &length("ZSET log", 1_000, 20_000, 45_000)
            + "length bytes\tZSET log\t1000\t800004\n";
        let text = all(&Report::parse(&printed).unwrap());
        let found: Vec<_> = text.lines().filter(|line| line.starts_with("| ZSET log")).collect();
        for (line, expected) in found.iter().zip([["0.83", "0.85", ""], ["2.00", "1.80", "80000.4"]]) {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            assert_eq!(cells[6..9], expected, "{line}");
        }
        assert_eq!((found.len(), cells(&text, "tollgate log")[6].as_str()), (2, ""));
    }

    #[test]
    fn figures_have_their_spread_and_notes_stand_last() {
        let printed = "rate\ta\t64\t72000\t70000\t75500\t12340\t11000\t14000\t99\t50\n\
                       scale\t1000000\t5\t1300\tMeanwhile.\n#\ta\tslow\n";
        let text = all(&Report::parse(printed).unwrap());
        assert_eq!(cells(&text, "a")[2..6], ["72,000 (70,000–75,500)", "12.3 (11.0–14.0)", "99", "50"]);
        assert!(text.contains("1,000,000 keys; 5 rounds of 1300 ms") && text.ends_with("- *a*: slow.\n"));
        assert!(!text.contains("Over the number in flight"), "one point is no curve");
    }
}
