//! Figures of several rounds: their median, and from where to where they went. What they are figures of is not known here.

/// One figure for each round.
#[derive(Default, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Spread(Vec<u64>);

impl Spread {
    /// Adds a round's figure.
    pub(crate) fn push(&mut self, figure: u64) {
        self.0.push(figure);
    }

    /// The median; of an even number the lower of both; 0 if there is none.
    pub(crate) fn median(&self) -> u64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0)
    }

    /// Each round's figure less another's of the same round: what is added, without what both have in common. Never below
    /// nothing.
    pub(crate) fn beyond(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(more, less)| more.saturating_sub(*less)).collect())
    }

    /// Each round's figure as ten-thousandths of another's of the same round. What slows a shared machine down for a while slows
    /// both, so this says more than to compare medians.
    pub(crate) fn over(&self, other: &Self) -> Self {
        let share = |(one, other): (&u64, &u64)| (one * 10_000 + other / 2).checked_div(*other).unwrap_or(0);
        Self(self.0.iter().zip(&other.0).map(share).collect())
    }

    /// The median and the ends, in units of 1,000, with one decimal: `18.5 (17.9–20.2)`.
    pub(crate) fn thousandths(&self) -> String {
        let (low, high) = self.ends();
        format!("{} ({}–{})", thousandths(self.median()), thousandths(low), thousandths(high))
    }

    /// The median and the ends, with separators: `52,100 (48,000–53,211)`.
    pub(crate) fn whole(&self) -> String {
        let (low, high) = self.ends();
        format!("{} ({}–{})", whole(self.median()), whole(low), whole(high))
    }

    fn ends(&self) -> (u64, u64) {
        let low = self.0.iter().min().copied().unwrap_or(0);
        (low, self.0.iter().max().copied().unwrap_or(0))
    }
}

/// In units of 1,000, with one decimal, rounded.
pub(crate) fn thousandths(figure: u64) -> String {
    let tenths = (figure + 50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// With separators.
pub(crate) fn whole(figure: u64) -> String {
    let digits = figure.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How many times as much one is as the other, with two decimals; nothing to compare with is `–`.
pub(crate) fn ratio(one: u64, other: u64) -> String {
    if other == 0 {
        return "–".into();
    }
    let hundredths = (one * 100 + other / 2) / other;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

#[test]
fn a_median_is_in_the_middle_whatever_the_order() {
    for (figures, median) in [(vec![], 0), (vec![7], 7), (vec![9, 1, 5], 5), (vec![4, 1, 3, 2], 2)] {
        assert_eq!(Spread(figures.clone()).median(), median, "{figures:?}");
    }
}

#[test]
fn figures_are_shown_for_people() {
    assert_eq!(Spread(vec![18_460, 17_940, 20_210]).thousandths(), "18.5 (17.9–20.2)");
    assert_eq!(Spread(vec![52_100, 9, 1_053_211]).whole(), "52,100 (9–1,053,211)");
    assert_eq!([ratio(70, 100), ratio(200, 100), ratio(1, 0)], ["0.70", "2.00", "–"]);
}

#[test]
fn what_is_added_and_compared_is_taken_round_by_round() {
    let (more, less) = (Spread(vec![10, 20, 5]), Spread(vec![4, 5, 6]));
    assert_eq!(more.beyond(&less), Spread(vec![6, 15, 0]));
    assert_eq!(more.over(&less), Spread(vec![25_000, 40_000, 8_333]));
    assert_eq!(more.over(&Spread(vec![0])), Spread(vec![0]));
}
