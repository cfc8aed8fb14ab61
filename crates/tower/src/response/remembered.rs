//! Values of fields that a thread wrote not long ago, and shares instead of writing them again. What they say is not known here.

use std::cell::RefCell;

use http::HeaderValue;

/// So many values are remembered, some ten kilobytes. Of two that fall into one place, the last one is kept.
const PLACES: usize = 128;

/// Values by what they say, for one thread. To share one takes a third of the time of writing it, which needs memory of its own.
#[derive(Debug)]
pub(crate) struct Remembered<K> {
    /// Empty until it is first used.
    places: RefCell<Vec<Option<(K, HeaderValue)>>>,
}

impl<K: Copy + PartialEq> Remembered<K> {
    pub(crate) const fn new() -> Self {
        Self { places: RefCell::new(Vec::new()) }
    }

    /// The value that says this: remembered, or written. `mixed` is a number in whose last bits such that are often asked for in turns
    /// differ.
    #[inline]
    pub(crate) fn value(&self, says: K, mixed: u64, write: impl FnOnce() -> HeaderValue) -> HeaderValue {
        let Ok(mut places) = self.places.try_borrow_mut() else { return write() };
        if places.is_empty() {
            places.resize_with(PLACES, || None);
        }
        let place = usize::try_from(mixed).unwrap_or(usize::MAX) % PLACES;
        match places.get_mut(place) {
            Some(Some((known, value))) if *known == says => value.clone(),
            Some(other) => other.insert((says, write())).1.clone(),
            None => write(),
        }
    }
}

#[test]
fn what_falls_into_one_place_is_not_taken_for_another() {
    let values = Remembered::new();
    let mut written = 0;
    // In turns, so that each takes the place of the one before, and then one again and again.
    for number in [0, 128, 0, 256, 1, 129, 1, 1, 1, u64::MAX] {
        let value = values.value(number, number, || {
            written += 1;
            HeaderValue::from(number)
        });
        assert_eq!(value, number.to_string());
    }
    assert_eq!(written, 8, "the last two of 1 were remembered");
}
