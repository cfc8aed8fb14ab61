//! Prints rows with aligned columns, for terminals.

/// Rows as lines: every column as wide as its widest cell, two spaces between, and no spaces at the ends.
///
/// A row may be shorter than others. Cells are printed as they are: callers must escape untrusted text.
pub(crate) fn lines(rows: &[Vec<String>]) -> Vec<String> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &Vec<String>| {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let blank = width.saturating_add(2).saturating_sub(cell.chars().count());
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', blank));
        }
        line.truncate(line.trim_end().len());
        line
    };
    rows.iter().map(line).collect()
}

#[test]
fn columns_stand_under_each_other_and_lines_end_with_their_text() {
    let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let rows = [row(&["a", "of", "what"]), row(&["längst", "1"]), row(&["", "100 %", "x"])];
    assert_eq!(lines(&rows), ["a       of     what", "längst  1", "        100 %  x"]);
    assert!(lines(&[]).is_empty());
}
