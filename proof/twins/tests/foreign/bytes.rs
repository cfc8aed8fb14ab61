//! States as bytes, put together by hand as the documentation has them. Nothing is asserted here.

/// A number of seven bytes.
pub(crate) fn seven(number: u64) -> Vec<u8> {
    number.to_be_bytes()[1..].to_vec()
}

/// By whose numbers it was charged, and since when: any will do.
pub(crate) const ERA: [u8; 8] = [7; 8];

pub(crate) fn state(tag: u8, numbers: &[u64]) -> Vec<u8> {
    std::iter::once(tag).chain(ERA).chain(numbers.iter().flat_map(|number| seven(*number))).collect()
}

/// A debt of one unit, in short.
pub(crate) fn debt(tag: u8) -> Vec<u8> {
    [state(tag, &[1, 1]), vec![0, 0, 0, 0, 1]].concat()
}

pub(crate) fn list(tag: u8, gone: u32, numbers: &[u64]) -> Vec<u8> {
    let mut bytes = state(tag, &[]);
    bytes.extend_from_slice(&gone.to_be_bytes());
    bytes.extend(numbers.iter().flat_map(|number| seven(*number)));
    bytes
}

pub(crate) fn two_counts(start: u64, end: u64, counts: [u64; 2]) -> Vec<u8> {
    let mut bytes = state(0x33, &[start, end]);
    counts.iter().for_each(|count| bytes.extend_from_slice(&count.to_be_bytes()[3..]));
    bytes
}
