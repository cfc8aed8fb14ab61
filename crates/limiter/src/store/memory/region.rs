//! Memory for slots: zeroed, in huge pages where available, released in pieces.
#![expect(
    unsafe_code,
    reason = "memory is asked of the system and given back to it: see the safety argument"
)]
//!
//! Why not a `Vec`: a table grows by moving to a larger one a few lines at a time. A thread may still be looking at a line
//! that has just been moved away, so that memory must stay readable; but ten million keys must not take twice their room.
//! Only the system can do both: the addresses stay, the pages go, and whoever still looks sees zeros. And a table
//! in huge pages needs fewer of the processor's page entries.
//!
//! **Safety.** A region owns its mapping from [`Region::new`] to `drop`, and lends out only `&[Line]` that borrow it. A line
//! is atomics and nothing else, for which any bits are a valid value, all zeros included; so is memory that the system gives
//! or takes away in between, which is the same as a store of zeros by another thread.

use super::slot::Line;

/// Memory for some number of lines.
#[derive(Debug)]
pub(crate) struct Region {
    mapping: system::Mapping,
    start: std::ptr::NonNull<Line>,
    lines: usize,
}

// SAFETY: a region is memory full of atomics, owned by it alone; any thread may use or free it.
unsafe impl Send for Region {}
// SAFETY: as above; what is shared are `&[Line]`, and a line is `Sync`.
unsafe impl Sync for Region {}

/// The size of a huge page. Pieces are given back in this size.
pub(crate) const PIECE_BYTES: usize = 2 << 20;

impl Region {
    /// Memory for so many lines, all zeros; `None` if the system has no more.
    pub(crate) fn new(lines: usize) -> Option<Self> {
        let bytes = lines.checked_mul(size_of::<Line>())?.max(1);
        let mapping = system::Mapping::new(bytes)?;
        let start = std::ptr::NonNull::new(mapping.start().cast::<Line>())?;
        Some(Self { mapping, start, lines })
    }

    /// All of it.
    #[inline]
    pub(crate) fn lines(&self) -> &[Line] {
        // SAFETY: `start` is the beginning of at least `lines` lines of a mapping (see `new`), aligned to a line, that lives
        // as long as `self`; its bytes are initialised, to zeros, and valid for `Line`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.lines) }
    }

    /// Gives the memory of lines that nobody needs any more back to the system, as far as it lies in whole pieces. They
    /// read as zeros from then on. Where the system cannot do that, they stay.
    pub(crate) fn give_back(&self, from: usize, to: usize) {
        let per_piece = PIECE_BYTES / size_of::<Line>();
        let to = if to >= self.lines { self.lines } else { to - to % per_piece };
        let from = from.next_multiple_of(per_piece);
        if from < to {
            self.mapping.give_back(from * size_of::<Line>(), (to - from) * size_of::<Line>());
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    //! Linux: an anonymous mapping, aligned to a huge page if it is as large as one.

    use std::ffi::c_void;

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    use super::PIECE_BYTES;

    #[derive(Debug)]
    pub(super) struct Mapping {
        first: *mut c_void,
        bytes: usize,
        /// How much is left out at the beginning, so that huge pages fit. Memory that is not touched costs nothing.
        left_out: usize,
    }

    impl Mapping {
        pub(super) fn new(bytes: usize) -> Option<Self> {
            let spare = if bytes >= PIECE_BYTES { PIECE_BYTES } else { 0 };
            let all = bytes.checked_add(spare)?;
            let (protection, flags) =
                (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
            // SAFETY: a new mapping at an address of the system's choice touches no memory of ours.
            let first = unsafe { mmap_anonymous(std::ptr::null_mut(), all, protection, flags) }.ok()?;
            if spare == 0 {
                return Some(Self { first, bytes: all, left_out: 0 });
            }
            let mapping = Self {
                first,
                bytes: all,
                left_out: first.addr().next_multiple_of(PIECE_BYTES) - first.addr(),
            };
            // SAFETY: advice on a mapping that was just made. Where it is not taken, pages are small: slower, not wrong.
            let _ = unsafe { madvise(mapping.start(), bytes, Advice::LinuxHugepage) };
            Some(mapping)
        }

        pub(super) fn start(&self) -> *mut c_void {
            self.first.wrapping_byte_add(self.left_out)
        }

        /// Turns a part, both ends of which lie on the border of a page or at the end of all, to zeros.
        pub(super) fn give_back(&self, from: usize, bytes: usize) {
            // SAFETY: the part lies inside the mapping, and everything in it may turn to zeros. If the advice is not
            // taken, it stays as it is, which the caller allows.
            let _ = unsafe { madvise(self.start().wrapping_byte_add(from), bytes, Advice::LinuxDontNeed) };
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: it was mapped by `new`, and nobody uses it any more. Where the system cannot, it stays mapped.
            let _ = unsafe { munmap(self.first, self.bytes) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    //! Anywhere else: the allocator. Nothing is given back before the end.

    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ffi::c_void;

    #[derive(Debug)]
    pub(super) struct Mapping {
        first: *mut c_void,
        layout: Layout,
    }

    impl Mapping {
        pub(super) fn new(bytes: usize) -> Option<Self> {
            let layout = Layout::from_size_align(bytes, 64).ok()?;
            // SAFETY: the size is at least 1.
            let first = unsafe { alloc_zeroed(layout) };
            (!first.is_null()).then_some(Self { first: first.cast(), layout })
        }

        pub(super) fn start(&self) -> *mut c_void {
            self.first
        }

        pub(super) fn give_back(&self, _from: usize, _bytes: usize) {}
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: it was allocated with this layout, and nobody uses it any more.
            unsafe { dealloc(self.first.cast(), self.layout) };
        }
    }
}
