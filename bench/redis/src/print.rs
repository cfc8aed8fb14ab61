//! The lines on standard output: one measurement each, its parts apart by tabs. Who reads them is not known here.

use crate::figures::Figures;
use crate::rounds::{Cell, Scale};
use crate::subject::Subject;

/// `#`, a subject, and what a reader of its figures should know.
pub(crate) fn note(subject: &Subject) {
    if !subject.note.is_empty() {
        println!("#\t{}\t{}", subject.name, subject.note);
    }
}

/// `scale`, keys, rounds, milliseconds of one load; then how far to trust the figures, as a sentence.
pub(crate) fn scale(scale: Scale, meanwhile: &str) {
    println!("scale\t{}\t{}\t{}\t{meanwhile}", scale.keys, scale.rounds, scale.time.as_millis());
}

/// `bytes`, a subject, and ten times the bytes of memory that a key takes.
pub(crate) fn bytes(subject: &str, tenths: u64) {
    println!("bytes\t{subject}\t{tenths}");
}

/// `length`, a subject, how many its logs grant, how many keys; then figures as of a rate.
pub(crate) fn length(cell: &Cell<'_>, limit: u64, keys: u32) {
    println!("length\t{}\t{limit}\t{keys}\t{}", cell.subject.name, figures(cell));
}

/// `length bytes`, a subject, how many its logs grant, and ten times the bytes of memory that a key takes.
pub(crate) fn length_bytes(subject: &str, limit: u64, tenths: u64) {
    println!("length bytes\t{subject}\t{limit}\t{tenths}");
}

/// `rate`, a subject, how many were in flight; then its figures.
pub(crate) fn rate(cell: &Cell<'_>) {
    println!("rate\t{}\t{}\t{}", cell.subject.name, cell.in_flight, figures(cell));
}

/// Median, least and most of decisions a second and of the server's nanoseconds a decision; medians of the per cent of its core that
/// was busy, and of those granted.
fn figures(cell: &Cell<'_>) -> String {
    let of = |figure: fn(&Figures) -> u64| ends(cell.figures.iter().map(figure).collect());
    let (rate, cpu) = (of(|figures| figures.per_second), of(|figures| figures.cpu));
    let (busy, granted) = (of(|figures| figures.busy), of(|figures| figures.granted));
    let all = [rate[0], rate[1], rate[2], cpu[0], cpu[1], cpu[2], busy[0], granted[0]];
    all.map(|figure| figure.to_string()).join("\t")
}

/// The median (of an even number the lower of both), the least and the most.
fn ends(mut figures: Vec<u64>) -> [u64; 3] {
    figures.sort_unstable();
    let at = |place: usize| figures.get(place).copied().unwrap_or(0);
    [at(figures.len().saturating_sub(1) / 2), at(0), at(figures.len().saturating_sub(1))]
}

#[test]
fn a_median_is_in_the_middle_whatever_the_order() {
    for (figures, expected) in
        [(vec![], [0, 0, 0]), (vec![7], [7, 7, 7]), (vec![9, 1, 5], [5, 1, 9]), (vec![4, 1, 3, 2], [2, 1, 4])]
    {
        assert_eq!(ends(figures.clone()), expected, "{figures:?}");
    }
}
