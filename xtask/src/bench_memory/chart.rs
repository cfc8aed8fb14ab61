//! The curve of time per decision over the number of keys: what is drawn of a report. How it is drawn is in `chart.rs` above.

use super::rows::Report;
use crate::chart::{self, Chart};

/// The whole drawing.
///
/// # Errors
/// When there are fewer than two points to draw.
pub(super) fn draw(report: &Report) -> Result<String, String> {
    let numbers = report.sizes("curve");
    let time = |size: u32, subject: &str| Some(report.find(&format!("curve-{size}"), 1, subject)?.median);
    let points = |subject| numbers.iter().filter_map(|size| Some((*size, time(*size, subject)?))).collect();
    let lines = report.subjects("curve-").into_iter().map(|subject| (subject, points(subject))).collect();
    chart::draw(&Chart {
        title: "Nanoseconds per decision over the number of keys",
        heading: "Time per decision, one thread, uniform keys",
        across: "keys",
        up: "nanoseconds per decision",
        lines,
        numbers,
    })
}

#[cfg(test)]
mod tests {
    use super::draw;
    use crate::bench_memory::rows::Report;

    fn point(size: u32, subject: &str, time: f64) -> String {
        format!("curve-{size}\t1\t{subject}\t{time}\t{time}\t{time}\t100.0\n")
    }

    #[test]
    fn every_subject_has_a_line_and_every_measurement_a_point() {
        let printed =
            point(10_000, "a <b>", 20.0) + &point(100_000, "a <b>", 80.0) + &point(10_000, "c", 5.0);
        let drawing = draw(&Report::parse(&printed).unwrap()).unwrap();
        assert_eq!(drawing.matches("<polyline").count(), 2);
        // Three measurements, and one for each subject in the legend.
        assert_eq!(drawing.matches("<circle").count(), 5);
        assert!(
            drawing.contains("a &lt;b&gt;") && drawing.contains("100,000") && drawing.ends_with("</svg>\n")
        );
        assert_eq!(drawing.matches('<').count(), drawing.matches('>').count());
    }

    #[test]
    fn a_single_size_is_no_curve() {
        let report = |printed: &str| Report::parse(printed).unwrap();
        assert!(draw(&report("")).is_err() && draw(&report(&point(10_000, "a", 20.0))).is_err());
    }
}
