//! The key table of a consumers file: hashes of API keys, sorted, each with its consumer.

/// The hash of a key, where it was written, and whose it is.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) hash: [u8; 32],
    pub(super) line: u32,
    pub(super) consumer: u32,
    /// The column at which the hash begins. Lines are short enough; see the largest that a loader takes.
    pub(super) column: u16,
}

/// Rows, laid down in sixteen buckets by the first four bits of the hash. One bucket at a time is sorted into the table
/// and thrown away, so that the rows and the table are never both whole in memory.
#[derive(Default)]
pub(super) struct KeyRows {
    buckets: [Vec<Row>; 16],
    len: usize,
}

/// How many bytes of a hash the table keeps. Whether two keys are the same was decided on all 32. A stranger who looks for a
/// key that is found by half a hash must try 2^128 / keys, at ten million keys 2^104 keys.
const KEPT: usize = 16;

/// The keys, sorted by hash. A search looks at a short run of them, or, should someone have written hashes that crowd
/// together into the file, at no more than the logarithm of the table. A lookup leaves nothing behind. So nobody who
/// only sends keys can make a search longer, however many hashes they compute.
#[derive(Default)]
pub(super) struct KeyTable {
    hashes: Vec<[u8; KEPT]>,
    consumers: Vec<u32>,
    /// Where the hashes that begin with these bits start; one more at the end.
    starts: Vec<u32>,
    bits: u32,
}

/// Two rows with the same key, or with hashes so alike that only a made-up hash can be the cause.
pub(super) struct DuplicateKey {
    pub(super) first: Row,
    pub(super) again: Row,
}

impl KeyRows {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, row: Row) {
        let bucket = usize::from(row.hash[0] >> 4);
        if let Some(bucket) = self.buckets.get_mut(bucket) {
            bucket.push(row);
            self.len += 1;
        }
    }

    /// The table; `twice` is told of every key that is there twice.
    pub(super) fn into_table(self, mut twice: impl FnMut(DuplicateKey)) -> KeyTable {
        let mut table = KeyTable {
            hashes: Vec::with_capacity(self.len),
            consumers: Vec::with_capacity(self.len),
            ..KeyTable::default()
        };
        for mut bucket in self.buckets {
            bucket.sort_unstable_by_key(|row| (kept(row), row.line));
            for pair in bucket.windows(2) {
                if let [first, again] = pair
                    && kept(first) == kept(again)
                {
                    twice(DuplicateKey { first: *first, again: *again });
                }
            }
            table.hashes.extend(bucket.iter().map(kept));
            table.consumers.extend(bucket.iter().map(|row| row.consumer));
        }
        table.index();
        table
    }
}

fn kept(row: &Row) -> [u8; KEPT] {
    row.hash.first_chunk().copied().unwrap_or_default()
}

impl KeyTable {
    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.hashes.capacity() * KEPT
            + (self.consumers.capacity() + self.starts.capacity()) * size_of::<u32>()
    }

    /// Whose key has this hash.
    pub(super) fn find(&self, hash: &[u8; 32]) -> Option<u32> {
        let wanted: &[u8; KEPT] = hash.first_chunk()?;
        let prefix = self.prefix(wanted);
        let start = *self.starts.get(prefix)? as usize;
        let end = *self.starts.get(prefix + 1)? as usize;
        let run = self.hashes.get(start..end)?;
        // This comparison may end early, and who measures it may learn how many bits of a hash are right. That helps nobody to
        // a key: its hash can be computed, but not turned back, so there is no next bit to guess.
        let place = run.binary_search(wanted).ok()?;
        self.consumers.get(start + place).copied()
    }

    fn prefix(&self, hash: &[u8; KEPT]) -> usize {
        let first = u32::from_be_bytes(hash.first_chunk().copied().unwrap_or_default());
        (u64::from(first) >> (32 - self.bits)).try_into().unwrap_or_default()
    }

    /// About eight hashes to a run: half a byte of index for each.
    fn index(&mut self) {
        self.bits = (self.hashes.len() / 8).checked_ilog2().unwrap_or(0);
        let mut starts = vec![0u32; (1 << self.bits) + 1];
        for hash in &self.hashes {
            if let Some(count) = starts.get_mut(self.prefix(hash) + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        self.starts = starts;
    }
}
