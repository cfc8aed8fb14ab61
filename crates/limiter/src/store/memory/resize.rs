//! Grows, shrinks and sweeps the table: moves it to another region, one line at a time, on the callers' threads. Blocks only
//! callers whose key is in the line being moved.

use super::map::RegionMap;
use super::mover_lock::{MoverLock, lock_if, wait_for};
use super::region::{PIECE_BYTES, Region};
use super::slot::{LINE_SLOTS, Line, Slot, Tag};
use super::table::{Contended, KeyWorth, REGIONS_MAX, SlotOwner, Table, reach};
use crate::sync::{Ordering, pause};

/// A new key moves this many lines at the most while the table grows. (A fifth of the new room is left when the last line
/// has been moved.)
pub(crate) const MOVED_LINES_PER_NEW_KEY: usize = 8;
/// A new key that finds no room moves this many at a time until there is some: in a tiny table, where that happens by
/// chance, or when whoever is moving has lost the processor.
pub(crate) const MOVED_LINES_FOR_ROOM: usize = 512;
/// A charge on a known key moves this many.
pub(crate) const MOVED_LINES_PER_CHARGE: usize = 1;
/// So many lines are looked at to estimate how many keys are alive.
const SAMPLED_LINES: usize = 64;

/// The table moves when it is this full, in thousandths...
const LOAD_MAX: u64 = 780;
/// ... to where its live keys fill it so far.
const LOAD_AFTER_MOVE: u64 = 650;
/// A table that cannot grow is full at this load: new keys get a slot only in place of one that is as good as none.
const LOAD_FULL: u64 = 880;

/// Below so many homes a table doubles.
const HOMES_SMALL: usize = 8_192;
/// A table that has so many homes, 256 KiB, does not shrink to fewer: a smaller one saves too little.
const HOMES_KEPT: usize = 4_096;

impl Table {
    /// Takes a region into use, with so many homes.
    pub(super) fn open(&self, region: usize, homes: usize) -> Option<()> {
        let lines = homes.checked_add(reach(homes))?;
        let area = self.areas.get(region)?;
        if area.region.get().is_none() {
            // Rounded up, so that there are few sizes and regions can be used again: what is not touched takes no memory.
            area.region.set(Region::new(lines.next_power_of_two())?).ok()?;
        }
        area.homes.store(homes as u64, Ordering::Relaxed);
        area.used.store(0, Ordering::Relaxed);
        self.ready.store(0, Ordering::Relaxed);
        Some(())
    }

    /// Makes lines of the newest region ready for use.
    pub(super) fn set_up_to(&self, lines: usize) {
        self.set_up(RegionMap::unpack(self.map.load(Ordering::Relaxed)).newest, lines);
    }

    #[expect(clippy::cast_possible_truncation, reason = "a number of lines in memory")]
    fn set_up(&self, region: usize, lines: usize) {
        let ready = self.ready.load(Ordering::Relaxed) as usize;
        let all = self.lines(region);
        for line in all.get(ready..lines.min(all.len())).unwrap_or(&[]) {
            line.0.iter().for_each(Slot::set_up);
        }
        self.ready.store(ready.max(lines) as u64, Ordering::Relaxed);
    }

    /// Whether a new key may take an empty slot. If the table is getting full, begins to move it.
    pub(crate) fn has_room(&self, keeper: &impl SlotOwner) -> bool {
        let map = RegionMap::unpack(self.map.load(Ordering::Acquire));
        let load = self.load(map.newest);
        if load >= LOAD_MAX && map.oldest.is_none() && self.is_worth_looking(map.newest, keeper) {
            self.begin(0, keeper);
        }
        load < LOAD_FULL
    }

    /// Whether it takes so little memory that it need not be kept small.
    pub(crate) fn is_small(&self) -> bool {
        let map = RegionMap::unpack(self.map.load(Ordering::Relaxed));
        self.homes(map.newest) < HOMES_KEPT
    }

    /// Whether empty slots are so many that a new key takes one rather than the slot of a key that may come back.
    pub(super) fn has_plenty(&self, region: usize) -> bool {
        self.used_in(region).saturating_mul(1_000) < self.slots(region).saturating_mul(LOAD_MAX)
    }

    /// Whether it is worth looking again for room, after [`make_room`](Self::make_room): the table is moving, or can.
    /// `roomy` is what [`has_room`](Self::has_room) said before: it may have moved since.
    pub(crate) fn could_grow(&self, roomy: bool, keeper: &impl SlotOwner) -> bool {
        let map = RegionMap::unpack(self.map.load(Ordering::Acquire));
        let grows = map.oldest.is_some() || self.homes(map.newest) < keeper.homes_max();
        grows || (!roomy && self.has_room(keeper))
    }

    /// Begins to move because a new key found no room where it has to be, and moves a good part at once. Returns whether
    /// it is worth looking again: something has changed, or somebody else had the right to move.
    pub(crate) fn make_room(&self, keeper: &impl SlotOwner) -> bool {
        let before = self.map.load(Ordering::Acquire);
        let map = RegionMap::unpack(before);
        let begun = map.oldest.is_some() || self.begin(self.homes(map.newest) / 5 * 6 + 1, keeper);
        let helped = self.help(MOVED_LINES_FOR_ROOM, keeper);
        !(begun && helped) || self.map.load(Ordering::Acquire) != before
    }

    /// A table that can grow is moved when it is full; one that cannot, only if that gets rid of something.
    fn is_worth_looking(&self, newest: usize, keeper: &impl SlotOwner) -> bool {
        self.homes(newest) < keeper.homes_max() || keeper.is_time_to_look()
    }

    /// How full a region is, in thousandths.
    fn load(&self, region: usize) -> u64 {
        self.used_in(region).saturating_mul(1_000) / self.slots(region).max(1)
    }

    /// Begins to move, if that makes room: to as many homes as the live keys need, or more. Returns `false` if somebody else
    /// had the right to.
    pub(crate) fn begin(&self, homes_wanted: usize, keeper: &impl SlotOwner) -> bool {
        let Some(_alone) = MoverLock::try_new(&self.mover) else { return false };
        let map = RegionMap::unpack(self.map.load(Ordering::Acquire));
        if map.oldest.is_some() {
            return true;
        }
        let (estimate, homes_now) = (self.estimate(map.newest, keeper), self.homes(map.newest));
        let fitting = estimate.kept.saturating_mul(1_000) / (LOAD_AFTER_MOVE * LINE_SLOTS as u64) + 1;
        // A small table doubles: there are only so many regions.
        let doubled = if homes_now < HOMES_SMALL && fitting > homes_now as u64 { homes_now * 2 } else { 0 };
        let homes = usize::try_from(fitting).unwrap_or(usize::MAX).max(homes_wanted).max(doubled);
        // Not much smaller at once: new keys keep coming while it moves.
        let least = (homes_now / 4).max(homes_now.min(HOMES_KEPT));
        let homes = homes.max(least).min(keeper.homes_max()).max(self.homes_min);
        let staying = if Self::keeps_idle(homes, keeper) { estimate.kept } else { estimate.live };
        let load_then = staying.saturating_mul(1_000) / (homes * LINE_SLOTS) as u64;
        // At its largest, a table moves only to get rid of keys that are as good as none, and only if that helps.
        let helps = homes > homes_now || load_then.saturating_mul(9) / 8 < self.load(map.newest);
        let region = if helps { self.free_region(&map, homes) } else { None };
        let opened = region.filter(|region| self.open(*region, homes).is_some());
        if let Some(region) = opened {
            let moving = RegionMap {
                newest: region,
                oldest: Some(map.newest),
                turn: map.turn.wrapping_add(1),
                frontier: 0,
            };
            self.map.store(moving.pack(), Ordering::Release);
        }
        true
    }

    /// A region that is not in use and large enough, or not there yet.
    fn free_region(&self, map: &RegionMap, homes: usize) -> Option<usize> {
        let lines = homes.checked_add(reach(homes))?;
        let fits = |region: &usize| {
            let there = self.lines(*region).len();
            *region != map.newest && there >= lines
        };
        let fresh = |region: &usize| self.areas.get(*region).is_some_and(|area| area.region.get().is_none());
        let tightest = (0..REGIONS_MAX).filter(fits).min_by_key(|region| self.lines(*region).len());
        tightest.or_else(|| (0..REGIONS_MAX).find(fresh))
    }

    /// Whether a move to so many homes takes idle keys along. A table that cannot grow any more needs their slots.
    fn keeps_idle(homes: usize, keeper: &impl SlotOwner) -> bool {
        homes < keeper.homes_max()
    }

    /// How many keys are alive, and how many are worth keeping, from a sample.
    fn estimate(&self, region: usize, keeper: &impl SlotOwner) -> LiveKeyEstimate {
        let (lines, homes) = (self.lines(region), self.homes(region));
        let (mut taken, mut live, mut kept) = (0_u64, 0_u64, 0_u64);
        for line in lines.iter().take(homes).step_by((homes / SAMPLED_LINES).max(1)) {
            for slot in &line.0 {
                let tag = slot.tag();
                taken += u64::from(tag != Tag::EMPTY);
                if tag.vacant() {
                    continue;
                }
                // One that is locked is in use.
                let worth = slot.value_of(tag).map_or(KeyWorth::Live, |value| keeper.worth(tag, value));
                live += u64::from(worth == KeyWorth::Live);
                kept += u64::from(worth != KeyWorth::Stale);
            }
        }
        let of_all = |sampled| self.used_in(region).saturating_mul(sampled).checked_div(taken).unwrap_or(0);
        LiveKeyEstimate { live: of_all(live), kept: of_all(kept) }
    }

    /// Whether the table is between two regions.
    #[inline]
    pub(crate) fn is_moving(&self) -> bool {
        RegionMap::unpack(self.map.load(Ordering::Relaxed)).oldest.is_some()
    }

    /// Moves a few lines. Returns `false` if somebody else is at it.
    pub(crate) fn help(&self, lines: usize, keeper: &impl SlotOwner) -> bool {
        let Some(_alone) = MoverLock::try_new(&self.mover) else { return false };
        for _ in 0..lines {
            let map = RegionMap::unpack(self.map.load(Ordering::Acquire));
            let Some(oldest) = map.oldest else { break };
            if map.frontier >= self.homes(oldest) + reach(self.homes(oldest)) {
                self.finish(map, oldest);
                break;
            }
            if self.move_line(map, oldest, keeper).is_err() {
                break;
            }
        }
        true
    }

    /// Moves the keys whose home is the line at the frontier, and gives the line up.
    ///
    /// First they are put where they go, while the old slots stay locked; then the frontier passes, so that they are looked
    /// for there; and only then the old slots are given up. Whoever misses a key in between finds that the frontier has
    /// passed.
    fn move_line(&self, map: RegionMap, oldest: usize, keeper: &impl SlotOwner) -> Result<(), Contended> {
        let from = MovingLine { line: map.frontier, homes: self.homes(oldest) };
        let (homes, region) = (self.homes(map.newest), map.newest);
        let keeps_idle = Self::keeps_idle(homes, keeper);
        // A key of this line may be looked for, and another one put, from the frontier on.
        self.set_up(region, (from.line + 1).saturating_mul(homes).div_ceil(from.homes) + reach(homes) + 1);
        let path = self.path(oldest, from.line);
        let first = path.first().ok_or(Contended)?;
        for slot in &first.0 {
            wait_for(slot);
        }
        let mut moved = Ok(0_usize);
        self.for_each_of(from, path, |slot, id, tag, distance| {
            let Ok(count) = moved else { return };
            let locked = if distance == 0 { Some(tag) } else { lock_if(slot, |tag| tag.is_of(id)) };
            // By now it may have another kind, or be gone.
            let Some(tag) = locked else { return };
            let is_wanted = match keeper.worth(tag, slot.held()) {
                KeyWorth::Live => true,
                KeyWorth::Idle => keeps_idle,
                KeyWorth::Stale => false,
            };
            if !is_wanted {
                keeper.dropped(tag, slot.held());
                slot.rename(Tag::DEAD);
                if distance > 0 {
                    slot.unlock(0);
                }
                return;
            }
            moved = self.put(region, id, (tag, slot.held()), keeper).map(|()| count + 1);
            if moved.is_err() {
                if distance > 0 {
                    slot.unlock(slot.held());
                }
                self.put_back(from, path, region, count);
            }
        });
        moved?;
        self.map.store(RegionMap { frontier: from.line + 1, ..map }.pack(), Ordering::Release);
        self.for_each_of(from, path, |slot, _, _, distance| {
            if distance > 0 {
                slot.rename(Tag::DEAD);
                slot.unlock(0);
            }
        });
        for slot in &first.0 {
            slot.rename(Tag::DEAD);
            slot.retire();
        }
        self.give_back_up_to(oldest, from.line + 1);
        Ok(())
    }

    /// Every key whose home is a certain line, wherever it stands: its slot, identity, tag, and how far it is from home.
    fn for_each_of<'a>(
        &self,
        from: MovingLine,
        path: &'a [Line],
        mut each: impl FnMut(&'a Slot, u64, Tag, usize),
    ) {
        for (distance, line) in path.iter().enumerate() {
            let mut last = false;
            for slot in &line.0 {
                let tag = slot.tag();
                last |= tag == Tag::EMPTY;
                if !tag.vacant() {
                    let id = self.id_at(tag, from.line + distance, from.homes);
                    if self.line_of(id, from.homes) == from.line {
                        each(slot, id, tag, distance);
                    }
                }
            }
            if last {
                break;
            }
        }
    }

    /// Puts a key into the newest region.
    fn put(
        &self,
        region: usize,
        id: u64,
        (tag, value): (Tag, u64),
        keeper: &impl SlotOwner,
    ) -> Result<(), Contended> {
        let homes = self.homes(region);
        let path = self.path(region, self.line_of(id, homes));
        let first = path.first().map(|line| &line.0[0]).ok_or(Contended)?;
        let first_value = wait_for(first);
        let mut times = 0;
        let room = loop {
            match self.room((region, path), id, (first, first_value), keeper) {
                Ok(room) => break room,
                Err(Contended) => pause(times),
            }
            times = u32::saturating_add(times, 1);
        };
        let Some(locked) = room else {
            first.unlock(first_value);
            return Err(Contended);
        };
        if locked.was_empty() {
            self.areas.get(region).map(|area| area.used.fetch_add(1, Ordering::Relaxed));
        }
        locked.write(Tag::new(id, tag.kind()), value);
        Ok(())
    }

    /// Undoes half a line: one of its keys found no room. The table stays between its regions until there is some.
    fn put_back(&self, from: MovingLine, path: &[Line], region: usize, count: usize) {
        let mut left = count;
        self.for_each_of(from, path, |slot, id, tag, distance| {
            let Some(less) = left.checked_sub(1) else { return };
            left = less;
            let there = self.path(region, self.line_of(id, self.homes(region)));
            let copy = Self::slot_of(there, id).map(|(copy, _)| copy);
            let copy = copy.filter(|copy| lock_if(copy, |tag| tag.is_of(id)).is_some());
            match copy {
                Some(copy) => {
                    copy.rename(Tag::DEAD);
                    copy.unlock(0);
                    slot.rename(tag);
                }
                // It has become as good as none meanwhile, and somebody else has its place.
                None => slot.rename(Tag::DEAD),
            }
            if distance > 0 {
                slot.unlock(slot.held());
            }
        });
        for slot in path.first().map_or(&[][..], |line| &line.0) {
            slot.unlock(slot.held());
        }
    }

    /// The last line has been moved.
    fn finish(&self, map: RegionMap, oldest: usize) {
        let homes = self.homes(map.newest);
        self.set_up(map.newest, homes + reach(homes));
        self.map.store(RegionMap { oldest: None, frontier: 0, ..map }.pack(), Ordering::Release);
        if let Some(region) = self.areas.get(oldest).and_then(|area| area.region.get()) {
            region.give_back(0, region.lines().len());
        }
    }

    fn give_back_up_to(&self, region: usize, line: usize) {
        const LINES_PER_PIECE: usize = PIECE_BYTES / size_of::<Line>();
        if line.is_multiple_of(LINES_PER_PIECE)
            && let Some(region) = self.areas.get(region).and_then(|area| area.region.get())
        {
            region.give_back(line - LINES_PER_PIECE, line);
        }
    }

    /// How much memory the slots take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let map = RegionMap::unpack(self.map.load(Ordering::Acquire));
        let lines = |region: usize| self.homes(region) + reach(self.homes(region));
        let Some(oldest) = map.oldest else { return lines(map.newest).saturating_mul(size_of::<Line>()) };
        let ready = usize::try_from(self.ready.load(Ordering::Relaxed)).unwrap_or(usize::MAX);
        let now = ready.saturating_add(lines(oldest).saturating_sub(map.frontier));
        // What it is about to take is taken.
        now.max(lines(map.newest)).saturating_mul(size_of::<Line>())
    }
}

/// How many keys of a region are alive, and how many are worth keeping: those, and the idle ones.
#[derive(Clone, Copy)]
struct LiveKeyEstimate {
    live: u64,
    kept: u64,
}

/// A line that is being moved, and how many homes its region has.
#[derive(Clone, Copy)]
struct MovingLine {
    line: usize,
    homes: usize,
}
