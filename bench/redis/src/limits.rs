//! The numbers that everybody is measured under: the same for all. What is made of them is elsewhere.

/// Seconds of a day.
pub(crate) const DAY: u64 = 86_400;

/// Buckets hold so many, and get as many a week: no load here can empty one.
pub(crate) const BURST: u64 = 100;

/// Seconds of a week. One charge of a bucket stays for more than an hour and a half, so that no key is forgotten in a run, however
/// busy the machine is.
pub(crate) const WEEK: u64 = 7 * DAY;

/// A log grants so many in any day, unless something else is said.
pub(crate) const LOG_LIMIT: u64 = 10;

/// The limits of logs over which their length is shown.
pub(crate) const LOG_LIMITS: [u64; 3] = [LOG_LIMIT, 100, 1_000];
