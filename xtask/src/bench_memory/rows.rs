//! What the measuring program prints, read: one measurement a line, its parts apart by tabs. Not how it is
//! shown.

/// One measurement.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) workload: String,
    pub(super) threads: u32,
    pub(super) subject: String,
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) most: f64,
    /// How many of a hundred decisions were granted, if that was counted.
    pub(super) granted: Option<f64>,
}

/// All that a run printed.
#[derive(Debug, Default)]
pub(super) struct Report {
    rows: Vec<Row>,
    /// A subject, and what a reader of its figures should know.
    pub(super) notes: Vec<(String, String)>,
}

impl Report {
    /// Reads every line.
    ///
    /// # Errors
    /// With the line that is neither a measurement nor a note.
    pub(super) fn parse(printed: &str) -> Result<Self, String> {
        let mut report = Self::default();
        for line in printed.lines() {
            let parts: Vec<&str> = line.split('\t').collect();
            if let ["#", subject, note] = parts.as_slice() {
                report.notes.push(((*subject).into(), (*note).into()));
            } else {
                report.rows.push(row(&parts).ok_or_else(|| format!("no measurement: `{line}`"))?);
            }
        }
        Ok(report)
    }

    /// One measurement, if it was made.
    pub(super) fn find(&self, workload: &str, threads: u32, subject: &str) -> Option<&Row> {
        let same = |row: &&Row| row.workload == workload && row.threads == threads && row.subject == subject;
        self.rows.iter().find(same)
    }

    /// Who was measured in workloads whose name begins so, in the order of the lines.
    pub(super) fn subjects(&self, workload: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| row.workload.starts_with(workload)) {
            if !found.contains(&row.subject.as_str()) {
                found.push(&row.subject);
            }
        }
        found
    }

    /// The numbers of keys behind a workload's name, as in `curve-10000`, from few to many.
    pub(super) fn sizes(&self, workload: &str) -> Vec<u32> {
        let size = |row: &Row| row.workload.strip_prefix(workload)?.strip_prefix('-')?.parse().ok();
        let mut sizes: Vec<u32> = self.rows.iter().filter_map(size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

fn row(parts: &[&str]) -> Option<Row> {
    let [workload, threads, subject, median, least, most, granted] = parts else { return None };
    Some(Row {
        workload: (*workload).into(),
        threads: threads.parse().ok()?,
        subject: (*subject).into(),
        median: median.parse().ok()?,
        least: least.parse().ok()?,
        most: most.parse().ok()?,
        granted: if *granted == "-" { None } else { Some(granted.parse().ok()?) },
    })
}

#[cfg(test)]
mod tests {
    use super::Report;

    #[test]
    fn lines_and_notes_are_told_apart() {
        let printed =
            "#\ta, b\ta sketch\nzipf\t2\ta, b\t12.5\t11.0\t14.0\t77.3\nrss-1000\t1\tc\t80.0\t80.0\t80.0\t-\n";
        let report = Report::parse(printed).unwrap();
        assert_eq!(report.notes, [("a, b".to_string(), "a sketch".to_string())]);
        let row = report.find("zipf", 2, "a, b").unwrap();
        assert_eq!(
            format!("{} {} {} {:?}", row.median, row.least, row.most, row.granted),
            "12.5 11 14 Some(77.3)"
        );
        assert_eq!(report.find("rss-1000", 1, "c").unwrap().granted, None);
        assert!(report.find("zipf", 1, "a, b").is_none());
    }

    #[test]
    fn a_line_that_is_no_measurement_is_shown() {
        for line in ["zipf\t2\ta\t12.5", "zipf\ttwo\ta\t1\t1\t1\t-"] {
            assert!(Report::parse(line).unwrap_err().contains(line));
        }
    }

    #[test]
    fn sizes_are_in_order_and_once_each() {
        let line = |size: u32, subject: &str| format!("curve-{size}\t1\t{subject}\t1\t1\t1\t100.0\n");
        let report = Report::parse(&(line(100, "b") + &line(10, "a") + &line(10, "b"))).unwrap();
        assert_eq!((report.sizes("curve"), report.subjects("curve-")), (vec![10, 100], vec!["b", "a"]));
        assert!(report.sizes("rss").is_empty());
    }
}
