//! Where a search starts: the regions in use, and the home line of a key. `table.rs` searches.

use super::prefetch::{matching, prefetch_pair};
use super::slot::{Line, Slot, Tag};
use super::table::{RegionInUse, Table};
use crate::sync::Ordering;

/// Six bits each for the two regions, one that says that there are two, some for the turn, and the rest for the frontier.
const REGION_BITS: u32 = 6;
const REGION_MASK: u64 = (1 << REGION_BITS) - 1;
const IS_MOVING: u64 = 1 << (2 * REGION_BITS);
const TURN_SHIFT: u32 = 2 * REGION_BITS + 1;
const FRONTIER_SHIFT: u32 = 32;
const TURN_MASK: u64 = (1 << (FRONTIER_SHIFT - TURN_SHIFT)) - 1;

/// What a table's word about its regions says, unpacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RegionMap {
    pub(super) newest: usize,
    /// The region that is being moved from.
    pub(super) oldest: Option<usize>,
    /// How often the table has begun to move, as far as it fits: who was away for long sees that it has, though it may
    /// have come back.
    pub(super) turn: u64,
    /// The first line of the oldest region whose keys have not been moved yet.
    pub(super) frontier: usize,
}

impl RegionMap {
    pub(super) fn pack(self) -> u64 {
        let oldest = self.oldest.map_or(0, |oldest| (oldest as u64) << REGION_BITS | IS_MOVING);
        let turn = (self.turn & TURN_MASK) << TURN_SHIFT;
        self.newest as u64 | oldest | turn | (self.frontier as u64) << FRONTIER_SHIFT
    }

    #[inline]
    pub(super) fn unpack(packed: u64) -> Self {
        let oldest = (packed >> REGION_BITS & REGION_MASK) as usize;
        Self {
            newest: (packed & REGION_MASK) as usize,
            oldest: (packed & IS_MOVING != 0).then_some(oldest),
            turn: packed >> TURN_SHIFT & TURN_MASK,
            frontier: (packed >> FRONTIER_SHIFT) as usize,
        }
    }
}

/// Where a key is looked for first; nowhere, if the table is being set up.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Probe<'a>(pub(super) Option<&'a Line>);

impl<'a> Probe<'a> {
    /// Fetches the line, and does not wait for it.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.0.into_iter().for_each(prefetch_pair);
    }

    /// The slot, tag and value of a key of a certain kind, if it stands in its home and nobody is at it. Whether tag and
    /// value belong together is still to be seen: by [`Slot::is_still`], or under the slot's lock.
    #[inline(always)]
    pub(crate) fn read(&self, id: u64, kind: u16) -> Option<(&'a Slot, Tag, u64)> {
        let (line, tag) = (self.0?, Tag::new(id, kind));
        let found = matching(std::array::from_fn(|slot| line.0[slot].tag()), tag);
        let slot = line.0.get(usize::try_from(found.trailing_zeros()).ok()?)?;
        Some((slot, tag, slot.value()?))
    }
}

impl Table {
    /// Where a key is looked for first.
    #[inline(always)]
    pub(crate) fn spot<'a>(&'a self, id: u64) -> Probe<'a> {
        let map = RegionMap::unpack(self.map.load(Ordering::Acquire));
        if map.oldest.is_some() {
            return self.spot_on(map, id);
        }
        let line_in = |area: &'a RegionInUse| {
            #[expect(clippy::cast_possible_truncation, reason = "a number of lines in memory")]
            let line = self.line_of(id, area.homes.load(Ordering::Relaxed) as usize);
            area.region.get()?.lines().get(line)
        };
        Probe(self.areas.get(map.newest).and_then(line_in))
    }

    /// The same while the table is being moved.
    #[cold]
    #[inline(never)]
    fn spot_on(&self, map: RegionMap, id: u64) -> Probe<'_> {
        let home = self.home_on(map, id);
        Probe(self.lines(home.region).get(home.line))
    }
}
