//! The lines on standard output: one measurement each, its parts apart by tabs. Who reads them is not known
//! here.

use crate::subject::Candidate;

/// `#`, a subject, and what a reader of its figures should know.
pub(crate) fn note(candidate: &Candidate) {
    if !candidate.note.is_empty() {
        println!("#\t{}\t{}", candidate.name, candidate.note);
    }
}

/// Workload, threads, subject, the median, the least and the most of its figures, how many of a hundred were
/// granted.
pub(crate) fn times(workload: &str, threads: usize, subject: &str, figures: &[f64], granted: Option<f64>) {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (least, most) = (sorted.first().copied().unwrap_or(0.0), sorted.last().copied().unwrap_or(0.0));
    let granted = granted.map_or("-".into(), |granted| format!("{granted:.1}"));
    println!("{workload}\t{threads}\t{subject}\t{:.1}\t{least:.1}\t{most:.1}\t{granted}", median(&sorted));
}

/// The middle one, or the mean of the two in the middle.
fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match (sorted.get(half), sorted.len() % 2) {
        (None, _) => 0.0,
        (Some(&upper), 1) => upper,
        (Some(&upper), _) => f64::midpoint(sorted[half - 1], upper),
    }
}

#[test]
fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
    assert_eq!(median(&[1.0, 2.0, 9.0]).total_cmp(&2.0), std::cmp::Ordering::Equal);
    assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]).total_cmp(&3.0), std::cmp::Ordering::Equal);
}
