//! Compares what a benchmark found with the targets on record in `bench/targets.txt`. A missed target is an error that names it.
//!
//! A target names a figure of the tables that the benchmark prints, so that what is judged is what is published:
//!
//! ```text
//! BENCHMARK | TABLE | ROW | COLUMN | at least NUMBER
//! BENCHMARK | - START OF A LINE | at most NUMBER
//! ```
//!
//! A table goes by its title up to a colon, or by its first header cell if it has no title. `A / B` is the first column B from column A on.
#![expect(clippy::float_arithmetic, reason = "figures of benchmarks; no limit is decided by them")]

use std::fs;

use crate::run::root;

const FILE: &str = "bench/targets.txt";

/// One line of the file.
#[derive(Debug)]
struct Target<'a> {
    /// As it stands in the file, for messages.
    line: &'a str,
    benchmark: &'a str,
    place: Place<'a>,
    bound: Bound,
}

/// Where a figure is printed.
#[derive(Debug)]
enum Place<'a> {
    Cell {
        table: &'a str,
        row: &'a str,
        column: &'a str,
    },
    /// A list item that begins so.
    Item(&'a str),
}

#[derive(Clone, Copy, Debug)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn parse(text: &str) -> Option<Self> {
        match text.split_once("at least ") {
            Some(("", number)) => Some(Self::AtLeast(figure(number)?)),
            _ => Some(Self::AtMost(figure(text.strip_prefix("at most ")?)?)),
        }
    }

    fn is_met_by(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(least) => figure >= least,
            Self::AtMost(most) => figure <= most,
        }
    }
}

/// Compares the tables of a benchmark with its targets.
///
/// # Errors
/// With every target that was missed, and every figure that is not in the tables.
pub(crate) fn judge(benchmark: &str, printed: &str) -> Result<(), String> {
    let text = fs::read_to_string(root().join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    let missed = missed(&parse(&text)?, benchmark, printed)?;
    if missed.is_empty() {
        return Ok(());
    }
    Err(format!("targets missed ({FILE}):\n{}", missed.join("\n")))
}

/// The lines of the file that are no comments.
fn parse(text: &str) -> Result<Vec<Target<'_>>, String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let target = |line| target(line).ok_or_else(|| format!("{FILE}: cannot read `{line}`"));
    lines.map(target).collect()
}

fn target(line: &str) -> Option<Target<'_>> {
    let parts: Vec<&str> = line.split(" | ").map(str::trim).collect();
    let (benchmark, place, bound) = match parts.as_slice() {
        [benchmark, table, row, column, bound] => (benchmark, Place::Cell { table, row, column }, bound),
        [benchmark, item, bound] => (benchmark, Place::Item(item.strip_prefix("- ")?), bound),
        _ => return None,
    };
    Some(Target { line, benchmark, place, bound: Bound::parse(bound)? })
}

/// What is to be said of each target of this benchmark that is not met.
fn missed(targets: &[Target<'_>], benchmark: &str, printed: &str) -> Result<Vec<String>, String> {
    let mut judged = 0;
    let mut missed = Vec::new();
    for target in targets.iter().filter(|target| target.benchmark == benchmark) {
        judged += 1;
        match found(&target.place, printed).and_then(|cell| Some((figure(cell)?, cell))) {
            Some((figure, _)) if target.bound.is_met_by(figure) => {}
            Some((_, cell)) => missed.push(format!("  {}; found {cell}", target.line)),
            None => missed.push(format!("  {}; there is no such figure", target.line)),
        }
    }
    if judged == 0 { Err(format!("{FILE} has no target for the benchmark {benchmark}")) } else { Ok(missed) }
}

/// The text that has the figure.
fn found<'a>(place: &Place<'_>, printed: &'a str) -> Option<&'a str> {
    match *place {
        Place::Item(start) => printed.lines().find_map(|line| line.strip_prefix("- ")?.strip_prefix(start)),
        Place::Cell { table, row, column } => {
            let mut title = "";
            let mut header: Option<Vec<&str>> = None;
            for line in printed.lines() {
                if let Some(new) = line.strip_prefix("### ") {
                    (title, header) = (new, None);
                } else if !line.starts_with('|') {
                    header = None;
                } else if let Some(header) = &header {
                    let cells = cells(line);
                    let is_table = title.split(':').next() == Some(table) || header.first() == Some(&table);
                    if is_table && cells.first() == Some(&row) {
                        return cells.get(column_at(header, column)?).copied();
                    }
                } else {
                    header = Some(cells(line));
                }
            }
            None
        }
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}

/// The place of a column. `A / B` is the first B from A on.
fn column_at(header: &[&str], column: &str) -> Option<usize> {
    let from = |name: &str, start: usize| {
        header.iter().enumerate().skip(start).find(|(_, cell)| **cell == name).map(|(place, _)| place)
    };
    match column.split_once(" / ") {
        Some((first, then)) => from(then, from(first, 0)?),
        None => from(column, 0),
    }
}

/// The number at the start of a text, times in nanoseconds: `1.04 s, …`, `49,810 (41,793–52,281)`, `541 ms`.
fn figure(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | ','));
    let (number, rest) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.trim_end_matches(['.', ',']).replace(',', "").parse().ok()?;
    let unit = rest.trim_start().split(|letter: char| !letter.is_alphabetic()).next().unwrap_or_default();
    let times = match unit {
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => 1.0,
    };
    Some(number * times)
}

#[cfg(test)]
mod tests {
    use super::{FILE, figure, missed, parse};
    use crate::run::root;

    const PRINTED: &str = "### Many keys\n\nAbout.\n\n\
        |       | 1 thread | ratio | 2 threads | ratio |\n|---|--:|--:|--:|--:|\n\
        | ours  |     50.0 |  2.00 |      60.0 |  1.50 |\n| peer  |    100.0 |  1.00 |      90.0 |  1.00 |\n\n\
        - Limits cost ours 7.4 % of CPU.\n\n\
        | document | compiled in |\n|---|---|\n| YAML, 10 bytes | 541 ms (480 to 841) |\n";

    fn missed_by(targets: &str) -> Vec<String> {
        missed(&parse(targets).unwrap(), "memory", PRINTED).unwrap()
    }

    #[test]
    fn a_target_that_is_missed_is_named_with_what_was_found() {
        let target = "memory | Many keys | ours | 2 threads / ratio | at least 1.51";
        assert_eq!(missed_by(target), [format!("  {target}; found 1.50")]);
        let target = "memory | document | YAML, 10 bytes | compiled in | at most 0.5 s";
        assert_eq!(missed_by(target), [format!("  {target}; found 541 ms (480 to 841)")]);
        assert_eq!(missed_by("memory | - Limits cost ours | at most 7.3").len(), 1);
    }

    #[test]
    fn a_target_that_is_met_exactly_is_met() {
        let targets = "# a comment\n\nmemory | Many keys | ours | 1 thread | at most 50\n\
                       memory | Many keys | ours | ratio | at least 2\n\
                       memory | Many keys | ours | 2 threads / ratio | at least 1.5\n\
                       memory | document | YAML, 10 bytes | compiled in | at most 541 ms\n\
                       memory | - Limits cost ours | at most 7.4\n\
                       redis | Many keys | ours | ratio | at least 9\n";
        assert_eq!(missed_by(targets), [""; 0]);
    }

    /// A figure that is renamed or no longer measured must not pass.
    #[test]
    fn a_figure_that_is_not_there_is_a_target_missed() {
        for place in ["Few keys | ours | ratio", "Many keys | theirs | ratio", "Many keys | ours | 3 threads"]
        {
            let missed = missed_by(&format!("memory | {place} | at least 1"));
            assert!(missed[0].ends_with("there is no such figure"), "{missed:?}");
        }
        assert!(missed(&[], "memory", PRINTED).is_err(), "a benchmark without targets");
    }

    #[test]
    fn a_line_that_is_no_target_is_an_error() {
        for line in ["memory | a | b | c | about 3", "memory | a | at most 3", "memory | at most 3"] {
            assert!(parse(line).unwrap_err().contains(line));
        }
    }

    #[test]
    fn figures_are_read_with_their_units() {
        let read = ["1.04 s, lines made in it", "49,810 (41,793–52,281)", "541 ms", "283 µs", "53 MB", "–"];
        assert_eq!(
            read.map(figure).map(|figure| figure.map(|figure| format!("{figure}"))),
            [Some("1040000000"), Some("49810"), Some("541000000"), Some("283000"), Some("53"), None]
                .map(|figure| figure.map(String::from))
        );
    }

    /// Whoever reads only the overview sees what was measured: its figures are those of the appendix, and its ratios are right.
    #[test]
    fn the_overview_quotes_the_appendix() {
        let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap();
        let (overview, appendix) = (read("docs/BENCHMARKS.md"), read("docs/benchmarks/APPENDIX.md"));
        let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',');
        let measured: Vec<_> = appendix.split(|letter| !is_part(letter)).collect();
        let mut rows = 0;
        for line in overview.lines().filter(|line| line.starts_with('|')) {
            let [_, ours, theirs, ratio] = super::cells(line)[..] else { panic!("four cells: {line}") };
            let Some(stated) = figure(ratio.trim_matches('*')) else { continue };
            for cell in [ours, theirs] {
                let number = cell.split(' ').next().unwrap();
                assert!(measured.contains(&number), "the appendix has no {number}: {line}");
            }
            let (ours, theirs) = (figure(ours).unwrap(), figure(theirs).unwrap());
            let ratio_is = |computed: f64| (computed - stated).abs() <= stated * 0.05;
            assert!(ratio_is(ours / theirs) || ratio_is(theirs / ours), "another ratio: {line}");
            assert_eq!(ratio.starts_with("**"), stated < 1.0, "losses are bold: {line}");
            rows += 1;
        }
        assert!(rows > 15, "{rows} rows");
    }

    /// Targets are results already achieved: the published tables meet every one of them.
    #[test]
    fn the_published_tables_meet_the_targets() {
        let read = |file: &str| std::fs::read_to_string(root().join(file)).unwrap();
        let (text, document) = (read(FILE), read("docs/benchmarks/APPENDIX.md"));
        let targets = parse(&text).unwrap();
        for benchmark in ["memory", "inflight", "policy", "gateway", "redis"] {
            let begin = format!("<!-- {benchmark} -->");
            let (_, rest) = document.split_once(&begin).unwrap();
            let (tables, _) = rest.split_once(&format!("<!-- end of {benchmark} -->")).unwrap();
            assert_eq!(missed(&targets, benchmark, tables).unwrap(), [""; 0]);
        }
    }
}
