//! The table: finds a key's slot, locks it, or makes room for a new one. `moving.rs` resizes it.
//!
//! **Where a key is.** A key's identity is a number of [`Table::id_bits`] bits, evenly spread. Its *home* is the line that
//! lies as far into the table as the identity lies in its range, so the order of identities is the order of lines, whatever
//! the size of the table. A key stands in its home or, if that was full, in one of the lines after it; a search ends at the
//! first line with a slot that was never used. Such slots only get fewer, so a key that was put somewhere stays reachable.
//!
//! **Who may do what.** A slot changes only under its lock. A new key is put in only under the lock of the first slot of
//! its home, so that nobody puts it in twice. Nobody waits for a lock while holding another one: who cannot have the second
//! lets go of the first and starts over. (The one who moves a line waits, and there is one at a time.) So nothing can
//! deadlock, and a thread that has lost the processor holds up the few keys it has locked, and nobody else.
//!
//! A refusal needs no lock at all: it only has to read a slot as it was at one moment.

use std::sync::OnceLock;

use super::map::RegionMap;
use super::mover_lock::MoverLock;
use super::placement::FreeSlots;
use super::region::Region;
use super::slot::{LINE_SLOTS, Line, REST_BITS, REST_MASK, Slot, Tag};
use super::slot_guard::{HomeGuard, KeyPosition, SlotGuard};
pub(crate) use super::slot_owner::{KeyWorth, SlotOwner};
use crate::sync::{AtomicU64, Ordering, pause};

/// Regions are of sizes that are powers of two, and are used again: two of each size are enough for 2^32 lines.
pub(crate) const REGIONS_MAX: usize = 64;

/// A search for room looks at so many lines at the most; then there is none. On average it looks at one or two.
pub(crate) const REACH_LINES_MAX: usize = 512;

/// The whole of what is known about keys: slots, in one region or, while the table grows, in two.
#[derive(Debug)]
pub(crate) struct Table {
    pub(super) areas: [RegionInUse; REGIONS_MAX],
    /// Which regions are in use, and how far the one has been moved to the other: see [`RegionMap`].
    pub(super) map: AtomicU64,
    /// Held by the one who moves lines.
    pub(super) mover: AtomicU64,
    /// How many lines of the newest region are set up.
    pub(super) ready: AtomicU64,
    pub(super) homes_min: usize,
    /// How many bits of a hash are not part of an identity.
    spare_bits: u32,
}

/// A region, if it is there, and how much of it is in use.
#[derive(Debug)]
pub(super) struct RegionInUse {
    /// Never freed before the table is, so that whoever comes too late still finds memory.
    pub(super) region: OnceLock<Region>,
    /// How many of its lines are homes.
    pub(super) homes: AtomicU64,
    /// How many of its slots are not empty.
    pub(super) used: AtomicU64,
}

/// Where a key is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Home {
    pub(super) region: usize,
    pub(super) line: usize,
    /// The turn in which that was so.
    pub(super) turn: u64,
}

/// Somebody else was in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Contended;

/// In how many lines, from its home on, a key may stand: one in so many of them all. The fewer, the more of an identity follows from
/// where a key stands.
pub(super) const fn reach(homes: usize) -> usize {
    let reach = homes / 64;
    if reach > REACH_LINES_MAX {
        REACH_LINES_MAX
    } else if reach == 0 {
        1
    } else {
        reach
    }
}

impl Table {
    /// A table that begins with so many lines, and grows; `None` if there is no memory.
    pub(crate) fn new(homes_min: usize) -> Option<Self> {
        let homes_min = homes_min.max(1);
        // The identity is kept in the tag but for the bits that follow from the place; in a small table those are fewer.
        let from_place = (homes_min / reach(homes_min)).max(1).ilog2();
        let table = Self {
            areas: std::array::from_fn(|_| RegionInUse {
                region: OnceLock::new(),
                homes: AtomicU64::new(0),
                used: AtomicU64::new(0),
            }),
            map: AtomicU64::new(RegionMap { newest: 0, oldest: None, turn: 0, frontier: 0 }.pack()),
            mover: AtomicU64::new(0),
            ready: AtomicU64::new(0),
            homes_min,
            spare_bits: 64 - REST_BITS - from_place,
        };
        table.open(0, homes_min)?;
        table.set_up_to(table.lines(0).len());
        Some(table)
    }

    /// The identity of a key with this hash: its highest bits.
    #[inline]
    pub(crate) const fn id(&self, hash: u64) -> u64 {
        hash >> self.spare_bits
    }

    /// How many bits of a hash make an identity.
    pub(crate) const fn id_bits(&self) -> u32 {
        64 - self.spare_bits
    }

    #[inline]
    pub(super) fn lines(&self, region: usize) -> &[Line] {
        self.areas.get(region).and_then(|area| area.region.get()).map_or(&[], Region::lines)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a number of lines in memory")]
    pub(super) fn homes(&self, region: usize) -> usize {
        self.areas.get(region).map_or(1, |area| area.homes.load(Ordering::Relaxed) as usize)
    }

    /// The line that lies as far into a table as the identity in its range.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the product's upper half is below `homes`")]
    pub(super) fn line_of(&self, id: u64, homes: usize) -> usize {
        ((u128::from(id << self.spare_bits) * homes as u128) >> 64) as usize
    }

    #[inline]
    pub(super) fn home(&self, id: u64) -> Home {
        self.home_on(RegionMap::unpack(self.map.load(Ordering::Acquire)), id)
    }

    #[inline]
    pub(super) fn home_on(&self, map: RegionMap, id: u64) -> Home {
        if let Some(oldest) = map.oldest {
            let line = self.line_of(id, self.homes(oldest));
            if line >= map.frontier {
                return Home { region: oldest, line, turn: map.turn };
            }
        }
        Home { region: map.newest, line: self.line_of(id, self.homes(map.newest)), turn: map.turn }
    }

    /// The identity of the key in a slot, from its tag and its place.
    pub(super) fn id_at(&self, tag: Tag, line: usize, homes: usize) -> u64 {
        // The first identity whose home is near enough for it to stand here.
        let first = line.saturating_sub(reach(homes) - 1) as u128;
        let from = ((first << self.id_bits()) / homes.max(1) as u128) & u128::from(u64::MAX);
        #[expect(clippy::cast_possible_truncation, reason = "masked above")]
        let from = from as u64;
        from.wrapping_add(tag.rest().wrapping_sub(from) & REST_MASK)
    }

    /// The lines in which a key is looked for.
    #[inline]
    pub(super) fn path(&self, region: usize, line: usize) -> &[Line] {
        let lines = self.lines(region).get(line..).unwrap_or(&[]);
        lines.get(..reach(self.homes(region))).unwrap_or(lines)
    }

    #[inline]
    pub(super) fn slot_of(path: &[Line], id: u64) -> Option<(&Slot, Tag)> {
        for line in path {
            let mut last = false;
            for slot in &line.0 {
                let tag = slot.tag();
                if tag.is_of(id) {
                    return Some((slot, tag));
                }
                last |= tag == Tag::EMPTY;
            }
            if last {
                return None;
            }
        }
        None
    }

    /// The tag and value of a key as they were at one moment; `None` if it was not there.
    pub(crate) fn read(&self, id: u64) -> Option<(&Slot, Tag, u64)> {
        for times in 0_u32.. {
            if let Ok(read) = self.try_read(id) {
                return read;
            }
            pause(times);
        }
        None
    }

    /// As [`read`](Self::read), but waits for nobody.
    pub(crate) fn try_read(&self, id: u64) -> Result<Option<(&Slot, Tag, u64)>, Contended> {
        let home = self.home(id);
        match Self::slot_of(self.path(home.region, home.line), id) {
            Some((slot, tag)) => slot.value_of(tag).map(|value| Some((slot, tag, value))).ok_or(Contended),
            None if self.home(id) == home => Ok(None),
            None => Err(Contended),
        }
    }

    /// Locks the home of a key that is to be charged elsewhere, or its slot if it has one, so that nobody else is at it; `None` if that
    /// is one of ours already. With it comes the slot, if it has one. Its slot has to be as it was seen: who has got one since is not
    /// to be charged elsewhere.
    pub(crate) fn try_hold(
        &self,
        (id, seen): (u64, Option<Tag>),
        ours: &[SlotGuard<'_>],
        held: &[HomeGuard<'_>],
    ) -> Result<(Option<HomeGuard<'_>>, Option<&Slot>), Contended> {
        let home = self.home(id);
        let path = self.path(home.region, home.line);
        let found = Self::slot_of(path, id);
        if found.map(|(_, tag)| tag) != seen {
            return Err(Contended);
        }
        let slot =
            found.map(|(slot, _)| slot).or_else(|| path.first().map(|line| &line.0[0])).ok_or(Contended)?;
        let is_ours = ours.iter().any(|locked| std::ptr::eq(locked.slot, slot))
            || held.iter().any(|held| std::ptr::eq(held.0, slot));
        let taken = if is_ours { None } else { Some(slot.try_lock().ok_or(Contended)?) };
        let is_still = |(slot, tag): (&Slot, Tag)| (std::ptr::from_ref(slot), tag);
        if self.home(id) == home && Self::slot_of(path, id).map(is_still) == found.map(is_still) {
            return Ok((taken.map(|value| HomeGuard(slot, value)), found.map(|(slot, _)| slot)));
        }
        taken.into_iter().for_each(|value| slot.unlock(value));
        Err(Contended)
    }

    /// Locks a slot that was just read, if it still is as it was.
    #[inline]
    pub(crate) fn lock_as_read<'a>(slot: &'a Slot, tag: Tag, value: u64) -> Option<SlotGuard<'a>> {
        if !slot.try_lock_at(value) {
            return None;
        }
        if slot.tag() != tag {
            slot.unlock(value);
            return None;
        }
        Some(SlotGuard { slot, tag, value, home: None, used: None })
    }

    /// Locks the slot of a key, or one that it can have; an empty one only if `roomy`. Waits for nobody.
    pub(crate) fn try_lock(
        &self,
        id: u64,
        roomy: bool,
        keeper: &impl SlotOwner,
    ) -> Result<KeyPosition<'_>, Contended> {
        let home = self.home(id);
        let path = self.path(home.region, home.line);
        if let Some((slot, _)) = Self::slot_of(path, id) {
            let value = slot.try_lock().ok_or(Contended)?;
            let tag = slot.tag();
            if tag.is_of(id) {
                return Ok(KeyPosition::Slot(SlotGuard { slot, tag, value, home: None, used: None }));
            }
            slot.unlock(value);
            return Err(Contended);
        }
        let first = path.first().map(|line| &line.0[0]).ok_or(Contended)?;
        let value = first.try_lock().ok_or(Contended)?;
        if self.home(id) != home {
            first.unlock(value);
            return Err(Contended);
        }
        match self.room((home.region, path), id, (first, value), keeper) {
            Ok(Some(locked)) if roomy || !locked.was_empty() => {
                let used = self.areas.get(home.region).map(|area| &area.used).filter(|_| locked.was_empty());
                Ok(KeyPosition::Slot(SlotGuard { used, ..locked }))
            }
            Ok(Some(locked)) => {
                // The slot is given back; its home stays held.
                if locked.home.is_some() {
                    locked.slot.unlock(locked.value);
                }
                Ok(KeyPosition::Full(HomeGuard(first, value)))
            }
            Ok(None) => Ok(KeyPosition::Full(HomeGuard(first, value))),
            Err(Contended) => {
                first.unlock(value);
                Err(Contended)
            }
        }
    }

    /// A slot on a path that a new key can have, locked. The lock of the first slot of the path is held.
    pub(super) fn room<'a>(
        &self,
        (region, path): (usize, &'a [Line]),
        id: u64,
        first: (&'a Slot, u64),
        keeper: &impl SlotOwner,
    ) -> Result<Option<SlotGuard<'a>>, Contended> {
        let mut rooms = FreeSlots::default();
        for line in path {
            for slot in &line.0 {
                let tag = slot.tag();
                if tag.is_of(id) {
                    return Err(Contended);
                }
                let held = std::ptr::eq(slot, first.0).then_some(first.1);
                rooms.note((slot, tag), held, keeper);
            }
            if rooms.empty.is_some() {
                break;
            }
        }
        let Some((slot, tag)) = rooms.best(self.has_plenty(region)) else { return Ok(None) };
        if std::ptr::eq(slot, first.0) {
            return Ok(Some(Self::vacated(slot, tag, first.1, None, keeper)));
        }
        let value = slot.try_lock().ok_or(Contended)?;
        let same = slot.tag() == tag;
        if same && (tag.vacant() || keeper.is_as_good_as_none(tag, value)) {
            return Ok(Some(Self::vacated(slot, tag, value, Some(first), keeper)));
        }
        slot.unlock(value);
        Err(Contended)
    }

    fn vacated<'a>(
        slot: &'a Slot,
        tag: Tag,
        value: u64,
        home: Option<(&'a Slot, u64)>,
        keeper: &impl SlotOwner,
    ) -> SlotGuard<'a> {
        if tag.vacant() {
            return SlotGuard { slot, tag, value: 0, home, used: None };
        }
        keeper.dropped(tag, value);
        slot.rename(Tag::DEAD);
        SlotGuard { slot, tag: Tag::DEAD, value: 0, home, used: None }
    }

    /// Calls for every key, under its lock, and with `None` at the end of every line, under no lock. The table does not move
    /// meanwhile.
    pub(crate) fn for_each(&self, mut each: impl FnMut(Option<(u64, Tag, u64)>)) {
        let _alone = MoverLock::new(&self.mover);
        let map = RegionMap::unpack(self.map.load(Ordering::Acquire));
        for region in map.oldest.into_iter().chain([map.newest]) {
            let homes = self.homes(region);
            for (number, line) in self.lines(region).iter().enumerate().take(homes + reach(homes)) {
                for slot in &line.0 {
                    let mut times = 0;
                    // A slot that has been given up cannot be locked, and has no key.
                    while !slot.tag().vacant() {
                        if let Some(value) = slot.try_lock() {
                            let tag = slot.tag();
                            if !tag.vacant() {
                                each(Some((self.id_at(tag, number, homes), tag, value)));
                            }
                            slot.unlock(value);
                            break;
                        }
                        pause(times);
                        times = u32::saturating_add(times, 1);
                    }
                }
                each(None);
            }
        }
    }

    /// How many slots are in use, by keys or by what is left of them.
    pub(crate) fn used(&self) -> u64 {
        let map = RegionMap::unpack(self.map.load(Ordering::Acquire));
        self.used_in(map.newest) + map.oldest.map_or(0, |oldest| self.used_in(oldest))
    }

    /// How many slots of a region are not empty.
    pub(super) fn used_in(&self, region: usize) -> u64 {
        self.areas.get(region).map_or(0, |area| area.used.load(Ordering::Relaxed))
    }

    /// How many slots there are.
    pub(super) fn slots(&self, region: usize) -> u64 {
        (self.homes(region) * LINE_SLOTS) as u64
    }
}
