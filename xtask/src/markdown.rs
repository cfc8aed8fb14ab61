//! Tables in Markdown whose columns are aligned, so that they can be read as text too. What stands in them is not known here.

use std::fmt::Write as _;

/// A title, a sentence and a table. None if there are no lines.
pub(crate) fn section(title: &str, about: &str, header: &[String], lines: &[Vec<String>]) -> Option<String> {
    lines.first()?;
    let cells = |column: usize| {
        lines.iter().filter_map(move |line| line.get(column)).map(|cell| cell.chars().count())
    };
    let wide =
        |(column, name): (usize, &String)| cells(column).max().unwrap_or(0).max(name.chars().count()).max(3);
    let widths: Vec<usize> = header.iter().enumerate().map(wide).collect();
    let mut text = format!("### {title}\n\n{about}\n\n");
    let mut put = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column == 0 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        let _ = writeln!(text, "| {} |", padded.collect::<Vec<_>>().join(" | "));
    };
    put(header);
    let rules = widths.iter().enumerate().map(|(column, width)| {
        if column == 0 { "-".repeat(*width) } else { format!("{}:", "-".repeat(width - 1)) }
    });
    put(&rules.collect::<Vec<_>>());
    lines.iter().for_each(|line| put(line));
    Some(text)
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group));
    groups.collect::<Vec<_>>().join(",")
}

#[test]
fn thousands_stand_apart() {
    assert_eq!(
        [grouped(100_u32), grouped(10_000_u32), grouped(10_000_000_u32)],
        ["100", "10,000", "10,000,000"]
    );
}

#[test]
fn a_table_without_lines_is_none_and_columns_are_aligned() {
    let header = ["", "a"].map(String::from);
    assert_eq!(section("T", "About.", &header, &[]), None);
    let table = section("T", "About.", &header, &[vec!["x".into(), "12345".into()]]).unwrap();
    assert_eq!(table, "### T\n\nAbout.\n\n|     |     a |\n| --- | ----: |\n| x   | 12345 |\n");
}
