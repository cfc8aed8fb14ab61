//! The memory store, as it ships, on the memory of an exploration: its files, put together by the build script. What is below is
//! how a small one is made.

pub(crate) mod prefetch;
pub(crate) mod region;

include!(concat!(env!("OUT_DIR"), "/memory.rs"));

thread_local! {
    static HOMES_MAX: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// To how many lines the store's table may grow: where it ships, that follows from its budget.
fn homes_max_here() -> usize {
    HOMES_MAX.with(std::cell::Cell::get)
}

impl Memory {
    /// A store whose table begins with so many lines and may have so many, and with room for so many chunks of cells.
    pub(crate) fn small(homes: usize, homes_max: usize, chunks: usize) -> Self {
        HOMES_MAX.with(|most| most.set(homes_max));
        let table = Table::new(homes).expect("there is memory");
        Self {
            table,
            rates: Rates::new(),
            cells: LargeStates::new(chunks.saturating_sub(1) * LargeStates::CHUNK_BYTES),
            shared: OverflowBuckets::new(usize::MAX),
            // It is the number of chunks that bounds the cells, unless there are to be none.
            budget: if chunks == 0 { 0 } else { usize::MAX },
            reserved: AtomicUsize::new(0),
            start: Micros::ZERO,
            dropped: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            calendar: Calendar::default(),
            looked: AtomicU64::new(0),
            swept: AtomicU64::new(0),
            returns: ReturningKeys::new(),
        }
    }

    /// Moves all of the table, if it can be moved.
    pub(crate) fn move_all(&self, now: Micros) {
        let at = StoreAtInstant::new(self, now);
        self.table.make_room(&at);
        while self.table.is_moving() {
            crate::sync::pause(0);
            self.table.help(usize::MAX, &at);
        }
    }
}
