//! An allocator that counts, for tests of what does not allocate.
#![expect(unsafe_code, reason = "a global allocator is unsafe to implement; this one only counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with a count for each thread. To use it:
///
/// ```
/// use tollgate_testing::allocations::{Counting, allocations};
///
/// #[global_allocator]
/// static ALLOCATOR: Counting = Counting;
///
/// assert!(allocations(|| drop(vec![1])) > 0, "it counts");
/// assert_eq!(allocations(|| ()), 0);
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller's.
        unsafe { System.realloc(start, layout, bytes) }
    }
}

/// How often something allocates on this thread.
pub fn allocations(run: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    run();
    COUNT.get() - before
}
