//! "Did you mean …?": the nearest of the words that would have been right. It only suggests; nothing is corrected silently.

/// Words longer than this are not compared: nobody mistypes a word of this length into a field's name.
const WORD_CHARS_MAX: usize = 40;

/// The nearest known word, if it is near enough to have been meant.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_', ' '], "");
    let given = plain(word);
    let distances = known.into_iter().map(|known| (distance(&given, &plain(known)), known));
    let (distance, nearest) = distances.min_by_key(|(distance, _)| *distance)?;
    // One slip in three letters, two in seven: `global` is not a mistyped `local`.
    (distance.saturating_mul(4) <= given.chars().count().saturating_add(1)).then_some(nearest)
}

/// What other limiters call it.
const SYNONYMS: &[(&str, &str)] = &[
    ("average", "refill_rate"),
    ("burst", "capacity"),
    ("by", "consumer_key"),
    ("dry_run", "mode"),
    ("duration", "window"),
    ("fail_open", "when_store_fails"),
    ("identifier", "consumer_key"),
    ("interval", "window"),
    ("key", "consumer_key"),
    ("leak_rate", "refill_rate"),
    ("max", "limit"),
    ("max_requests", "limit"),
    ("overrides", "tier_overrides"),
    ("per", "window"),
    ("period", "window"),
    ("plans", "tier_overrides"),
    ("quota", "limit"),
    ("rate", "refill_rate"),
    ("requests", "limit"),
    ("shadow", "mode"),
    ("tiers", "tier_overrides"),
    ("weight", "cost"),
];

/// `did you mean …?`, or nothing: a word that another limiter uses for it goes before one that only looks like it.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<_> = known.into_iter().collect();
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == word).map(|(_, ours)| *ours);
    let synonym = synonym.filter(|ours| known.contains(ours));
    synonym.or_else(|| nearest(word, known)).map(|meant| format!("did you mean `{meant}`?"))
}

/// How many characters have to be put in, left out, replaced or swapped with their neighbour.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().take(WORD_CHARS_MAX).collect();
    let to: Vec<char> = to.chars().take(WORD_CHARS_MAX).collect();
    let mut before = vec![0; to.len().saturating_add(1)];
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i.saturating_add(1)];
        for (j, b) in to.iter().enumerate() {
            let at = |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX);
            let kept = at(&above, j).saturating_add(usize::from(a != b));
            let left_out = at(&above, j.saturating_add(1)).saturating_add(1);
            let put_in = at(&row, j).saturating_add(1);
            let mut best = kept.min(left_out).min(put_in);
            let previous =
                |list: &[char], index: usize| index.checked_sub(1).and_then(|at| list.get(at)).copied();
            if previous(&from, i) == Some(*b) && previous(&to, j) == Some(*a) {
                best = best.min(at(&before, j.saturating_sub(1)).saturating_add(1));
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}

#[test]
fn near_words_are_suggested_and_far_ones_are_not() {
    let known = ["capacity", "refill_rate", "limit", "window", "window_seconds"];
    let table = [
        ("capcity", Some("capacity")),
        ("refillRate", Some("refill_rate")),
        ("refil_rate", Some("refill_rate")),
        ("limits", Some("limit")),
        ("windowSeconds", Some("window_seconds")),
        ("winodw", Some("window")),
        ("colour", None),
        ("lomit", Some("limit")),
        ("lammit", None),
        ("", None),
    ];
    for (word, wanted) in table {
        assert_eq!(nearest(word, known), wanted, "{word}");
    }
}
