//! Formats numbers as decimal digits and as header values.

use http::HeaderValue;

use crate::response::header_cache::HeaderCache;

/// All two-digit numbers.
const PAIRS: [[u8; 2]; 100] = pairs();

thread_local! {
    /// Recently used values: the same small numbers recur.
    static VALUES: HeaderCache<u64> = const { HeaderCache::new() };
}

/// A number as a header value.
pub(crate) fn value(number: u64) -> HeaderValue {
    let remembered = VALUES.try_with(|values| values.value(number, number, || written(number)));
    // The thread-local is gone while a thread ends.
    remembered.unwrap_or_else(|_| written(number))
}

/// Formats a header value. Digits are valid in every header.
fn written(number: u64) -> HeaderValue {
    HeaderValue::from_bytes(in_digits(number, &mut [b'0'; 20])).unwrap_or(HeaderValue::from_static("0"))
}

/// A number as decimal digits, at most 20.
#[inline]
pub(crate) fn in_digits(mut number: u64, text: &mut [u8; 20]) -> &[u8] {
    let mut start = text.len();
    // Two digits at a time, to halve the divisions.
    for (place, two) in text.as_chunks_mut::<2>().0.iter_mut().enumerate().rev() {
        let pair = usize::try_from(number % 100).unwrap_or(0);
        *two = PAIRS.get(pair).copied().unwrap_or(*b"00");
        start = place.wrapping_mul(2).wrapping_add(usize::from(number < 10));
        number /= 100;
        if number == 0 {
            break;
        }
    }
    text.get(start..).unwrap_or(&[])
}

const fn pairs() -> [[u8; 2]; 100] {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    let (mut tens, mut ones) = (b'0', b'0');
    while number < pairs.len() {
        pairs[number] = [tens, ones];
        (tens, ones) = if ones == b'9' { (tens + 1, b'0') } else { (tens, ones + 1) };
        number += 1;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_as_the_standard_library_writes_it() {
        let ends = (0..64).flat_map(|bits| [(1 << bits) - 1, 1 << bits]);
        let tens = (0..20).flat_map(|power| [10_u64.pow(power) - 1, 10_u64.pow(power)]);
        for number in (0..2_000).chain(ends).chain(tens).chain([u64::MAX]) {
            assert_eq!(in_digits(number, &mut [b'0'; 20]), number.to_string().as_bytes());
        }
    }
}
