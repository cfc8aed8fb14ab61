//! Storage for states that do not fit in one word: windows, lists, and unusual rates. A cell is used only under the lock of the
//! slot that refers to it.

use std::sync::{OnceLock, PoisonError};

use tollgate_algorithms::{Micros, State};

use crate::sync::{AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering};

/// Cells are made so many at a time, of 80 bytes each.
const CHUNK_CELLS: usize = 512;

/// What the allocator takes for a list besides its entries.
pub(crate) const LIST_OVERHEAD_BYTES: usize = 16;

/// One state that does not fit in a word.
#[derive(Debug, Default)]
pub(crate) struct LargeState {
    kept: Mutex<StateAtTime>,
    /// From this instant on it is as good as none.
    over: AtomicU64,
}

/// What is in a cell.
#[derive(Debug, Default)]
pub(crate) struct StateAtTime {
    /// Where the key stands.
    pub(crate) state: Option<State>,
    /// Under which numbers it was last charged: see [`Registered::mark`](crate::limit::LimitInner).
    pub(crate) limit: u32,
    /// When it was last charged.
    pub(crate) at: Micros,
}

/// Where the chunks are.
type ChunkDirectory = Box<[OnceLock<Box<[LargeState]>>]>;

/// All cells.
#[derive(Debug)]
pub(crate) struct LargeStates {
    chunks: OnceLock<ChunkDirectory>,
    chunks_max: usize,
    made: AtomicUsize,
    free: Mutex<Vec<u32>>,
    /// What lists take besides their cells.
    lists: AtomicUsize,
}

impl LargeStates {
    /// What a chunk takes.
    pub(crate) const CHUNK_BYTES: usize = CHUNK_CELLS * (size_of::<LargeState>() + size_of::<u32>());

    /// Cells that take so many bytes at the most.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            chunks: OnceLock::new(),
            chunks_max: (bytes_max / Self::CHUNK_BYTES).saturating_add(1),
            made: AtomicUsize::new(0),
            free: Mutex::new(Vec::new()),
            lists: AtomicUsize::new(0),
        }
    }

    fn free(&self) -> MutexGuard<'_, Vec<u32>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A free cell. A new chunk is made only if `may_grow`; `None` if there is no room.
    pub(crate) fn take(&self, may_grow: impl FnOnce() -> bool) -> Option<u64> {
        let mut free = self.free();
        if let Some(number) = free.pop() {
            return Some(number.into());
        }
        let chunk = self.made.load(Ordering::Relaxed);
        if chunk >= self.chunks_max || !may_grow() {
            return None;
        }
        let directory = || std::iter::repeat_with(OnceLock::new).take(self.chunks_max).collect();
        let chunks = self.chunks.get_or_init(directory);
        chunks
            .get(chunk)?
            .get_or_init(|| std::iter::repeat_with(LargeState::default).take(CHUNK_CELLS).collect());
        self.made.store(chunk + 1, Ordering::Release);
        let first = u32::try_from(chunk * CHUNK_CELLS).ok()?;
        let last = first.checked_add(u32::try_from(CHUNK_CELLS).ok()?)?;
        free.extend((first + 1..last).rev());
        Some(first.into())
    }

    /// Empties a cell and makes it free.
    pub(crate) fn give_back(&self, number: u64) {
        if let Some(cell) = self.get(number) {
            let kept = std::mem::take(&mut *cell.open());
            self.lists.fetch_sub(kept.list_bytes(), Ordering::Relaxed);
            cell.over.store(0, Ordering::Release);
        }
        if let Ok(number) = u32::try_from(number) {
            self.free().push(number);
        }
    }

    /// The cell with a number.
    pub(crate) fn get(&self, number: u64) -> Option<&LargeState> {
        let number = usize::try_from(number).ok()?;
        self.chunks.get()?.get(number / CHUNK_CELLS)?.get()?.get(number % CHUNK_CELLS)
    }

    /// Notes that a list has grown or shrunk.
    pub(crate) fn note_list(&self, before: usize, after: usize) {
        if after >= before {
            self.lists.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.lists.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    /// What all of it takes.
    pub(crate) fn bytes(&self) -> usize {
        let directory = self.chunks.get().map_or(0, |chunks| size_of_val(&**chunks));
        self.made.load(Ordering::Relaxed) * Self::CHUNK_BYTES + self.lists.load(Ordering::Relaxed) + directory
    }
}

impl LargeState {
    /// What is in it. Nobody else wants it: the slot that names it is locked.
    pub(crate) fn open(&self) -> MutexGuard<'_, StateAtTime> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes from when on it is as good as none.
    pub(crate) fn set_over(&self, at: Micros) {
        self.over.store(at.get(), Ordering::Release);
    }

    /// From when on it is as good as none.
    pub(crate) fn over(&self) -> Micros {
        Micros::new(self.over.load(Ordering::Acquire))
    }

    /// Whether it is as good as none.
    pub(crate) fn is_over(&self, now: Micros) -> bool {
        self.over.load(Ordering::Acquire) <= now.get()
    }
}

impl StateAtTime {
    /// What its list takes on the heap.
    pub(crate) fn list_bytes(&self) -> usize {
        match &self.state {
            Some(State::SlidingWindowBuckets(list) | State::SlidingWindowLog(list)) => {
                let entries = list.heap_bytes();
                if entries == 0 { 0 } else { entries + LIST_OVERHEAD_BYTES }
            }
            Some(
                State::TokenBucket(_)
                | State::LeakyBucket(_)
                | State::Gcra(_)
                | State::FixedWindow(_)
                | State::SlidingWindow(_),
            )
            | None => 0,
        }
    }
}
