//! The atomics of the table, as an exploration sees them: each access is a point where another thread may come in, and a
//! load may return any value that the memory order allows. Not the ones that ship.

pub(crate) use loom::sync::atomic::Ordering;

/// A number in memory.
#[derive(Debug)]
pub(crate) struct AtomicU64 {
    value: loom::sync::atomic::AtomicU64,
    /// Written after each access. The search for orders that matter goes by the latest access only; a load by the thread
    /// that writes next would hide one by another thread. So every access is a write to something.
    turn: loom::sync::atomic::AtomicU64,
}

impl AtomicU64 {
    #[track_caller]
    pub(crate) fn new(value: u64) -> Self {
        Self { value: loom::sync::atomic::AtomicU64::new(value), turn: loom::sync::atomic::AtomicU64::new(0) }
    }

    #[track_caller]
    pub(crate) fn load(&self, order: Ordering) -> u64 {
        let loaded = self.value.load(order);
        dbg_note(self, || format!("load {loaded:x} {order:?}"));
        self.end_turn();
        loaded
    }

    /// Nothing is let go of on the way out of a failed exploration: it would go on, and nobody would stop it.
    #[track_caller]
    pub(crate) fn store(&self, value: u64, order: Ordering) {
        if !std::thread::panicking() {
            self.value.store(value, order);
            dbg_note(self, || format!("store {value:x} {order:?}"));
            self.end_turn();
        }
    }

    #[track_caller]
    pub(crate) fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        let found = self.value.compare_exchange(current, new, success, failure);
        dbg_note(self, || format!("cas {current:x}->{new:x} {found:x?}"));
        self.end_turn();
        found
    }

    #[track_caller]
    pub(crate) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        let before = self.value.fetch_add(value, order);
        self.end_turn();
        before
    }

    /// Nobody comes in between: whoever has to come before this comes before the access.
    fn end_turn(&self) {
        loom::stop_exploring();
        self.turn.store(0, Ordering::Relaxed);
        loom::explore();
    }
}

/// Lets the others go on: without that, there would be no end to the ways of waiting.
pub(crate) fn pause(_times: u32) {
    loom::thread::yield_now();
}

thread_local! { pub(crate) static TR: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
static ON: bool = std::env::var("TRACE").is_ok(); }
#[track_caller]
fn dbg_note(a: &AtomicU64, f: impl FnOnce() -> String) {
    if ON.with(|o| *o) {
        let l = std::panic::Location::caller();
        let t = format!("{:?}", loom::thread::current().id());
        let s = format!("{t} {:p} {}:{} {}", a, l.file().rsplit('/').next().unwrap(), l.line(), f());
        TR.with_borrow_mut(|v| v.push(s));
    }
}
