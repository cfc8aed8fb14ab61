//! The lanes of each key: those who wait for one key in order of arrival, or one such line for each member of it, served in turn.

use std::collections::HashMap;

use foldhash::fast::FixedState;

/// No lane, and nobody in it.
pub(super) const NONE: u32 = u32::MAX;
/// The member of those who are in the one line of their key.
pub(crate) const NO_MEMBER: u64 = 0;

/// The lanes of any number of keys. The lanes of a key are a ring, and one of them has the turn.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// The first lane that nobody is in; the others follow.
    free: u32,
    keys: HashMap<u64, Line, FixedState>,
    /// The lanes of members.
    members: HashMap<(u64, u64), u32, FixedState>,
    /// Of each key with members: how many of their lanes are longer than 0, 1, 2 and so on.
    depths: HashMap<u64, Vec<u32>, FixedState>,
}

/// The waiters of one member in order of arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) key: u64,
    member: u64,
    pub(super) first: u32,
    pub(super) last: u32,
    length: u32,
    /// The neighbours in the ring.
    before: u32,
    after: u32,
}

/// All who wait for a key.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// The lane whose first is the first of the key.
    turn: u32,
    /// The lane of those without a member.
    plain: u32,
    length: u32,
    /// How much of the limit they take together.
    weight: u64,
}

impl Default for Lanes {
    fn default() -> Self {
        let (keys, members, depths) = Default::default();
        Self { lanes: Vec::new(), free: NONE, keys, members, depths }
    }
}

impl Lanes {
    pub(super) fn get(&self, lane: u32) -> Option<&Lane> {
        self.lanes.get(lane as usize)
    }

    pub(super) fn get_mut(&mut self, lane: u32) -> Option<&mut Lane> {
        self.lanes.get_mut(lane as usize)
    }

    /// The lane whose turn it is.
    pub(super) fn turn(&self, key: u64) -> Option<&Lane> {
        self.get(self.keys.get(&key)?.turn)
    }

    pub(super) fn length(&self, key: u64) -> u32 {
        self.keys.get(&key).map_or(0, |line| line.length)
    }

    pub(super) fn weight(&self, key: u64) -> u64 {
        self.keys.get(&key).map_or(0, |line| line.weight)
    }

    pub(super) fn keys(&self) -> Vec<u64> {
        self.keys.keys().copied().collect()
    }

    /// How many of a member wait.
    pub(super) fn length_of(&self, key: u64, member: u64) -> u32 {
        self.find(key, member).and_then(|lane| self.get(lane)).map_or(0, |lane| lane.length)
    }

    /// How many are served before a newcomer, at most: of each other lane as many as of its own, and one more.
    pub(super) fn ahead(&self, key: u64, member: u64) -> u32 {
        if member == NO_MEMBER {
            return self.length(key);
        }
        let own = self.length_of(key, member);
        let longer = self.depths.get(&key).map_or(&[][..], Vec::as_slice);
        let others: u32 = longer.iter().take((own as usize).saturating_add(1)).sum();
        others.saturating_add(self.length_of(key, NO_MEMBER).min(own.saturating_add(1)))
    }

    fn find(&self, key: u64, member: u64) -> Option<u32> {
        if member == NO_MEMBER {
            self.keys.get(&key).map(|line| line.plain).filter(|lane| *lane != NONE)
        } else {
            self.members.get(&(key, member)).copied()
        }
    }

    /// The lane that a newcomer joins; a new one is served after all others. `None` if there are as many as can be counted.
    pub(super) fn find_or_add(&mut self, key: u64, member: u64) -> Option<u32> {
        if let Some(lane) = self.find(key, member) {
            return Some(lane);
        }
        let lane =
            self.add(Lane { key, member, first: NONE, last: NONE, length: 0, before: NONE, after: NONE })?;
        let line = self.keys.entry(key).or_insert(Line { turn: lane, plain: NONE, length: 0, weight: 0 });
        let turn = line.turn;
        if member == NO_MEMBER {
            line.plain = lane;
        } else {
            self.members.insert((key, member), lane);
        }
        let last = self.get(turn).map_or(lane, |turn| turn.before);
        let last = if last == NONE { lane } else { last };
        self.link(last, lane);
        self.link(lane, turn);
        Some(lane)
    }

    fn add(&mut self, lane: Lane) -> Option<u32> {
        if let Some(free) = self.lanes.get_mut(self.free as usize) {
            let place = std::mem::replace(&mut self.free, free.after);
            *free = lane;
            return Some(place);
        }
        let place = u32::try_from(self.lanes.len()).ok().filter(|place| *place != NONE)?;
        self.lanes.push(lane);
        Some(place)
    }

    /// Makes two lanes neighbours.
    fn link(&mut self, before: u32, after: u32) {
        if let Some(lane) = self.get_mut(before) {
            lane.after = after;
        }
        if let Some(lane) = self.get_mut(after) {
            lane.before = before;
        }
    }

    /// Counts somebody who has joined a lane.
    pub(super) fn count(&mut self, place: u32, weight: u64) {
        let Some(lane) = self.get_mut(place) else { return };
        let (key, member, before) = (lane.key, lane.member, lane.length);
        lane.length = before.saturating_add(1);
        if let Some(line) = self.keys.get_mut(&key) {
            line.length = line.length.saturating_add(1);
            line.weight = line.weight.saturating_add(weight);
        }
        if member != NO_MEMBER {
            let depths = self.depths.entry(key).or_default();
            match depths.get_mut(before as usize) {
                Some(depth) => *depth = depth.saturating_add(1),
                None => depths.push(1),
            }
        }
    }

    /// Somebody has left a lane. If that was the first of all, and was served, it is the next lane's turn.
    pub(super) fn uncount(&mut self, place: u32, weight: u64, served: bool) {
        let Some(lane) = self.get_mut(place) else { return };
        lane.length = lane.length.saturating_sub(1);
        let Lane { key, member, length, after, .. } = *lane;
        if member != NO_MEMBER
            && let Some(depths) = self.depths.get_mut(&key)
        {
            if let Some(depth) = depths.get_mut(length as usize) {
                *depth = depth.saturating_sub(1);
            }
            while depths.last() == Some(&0) {
                depths.pop();
            }
        }
        let Some(line) = self.keys.get_mut(&key) else { return };
        line.length = line.length.saturating_sub(1);
        line.weight = line.weight.saturating_sub(weight);
        if line.turn == place && (served || length == 0) {
            line.turn = after;
        }
        if length == 0 {
            self.remove(place);
        }
    }

    /// Removes an empty lane.
    fn remove(&mut self, place: u32) {
        let Some(Lane { key, member, before, after, .. }) = self.get(place).copied() else { return };
        self.link(before, after);
        if member != NO_MEMBER {
            self.members.remove(&(key, member));
        } else if let Some(line) = self.keys.get_mut(&key) {
            line.plain = NONE;
        }
        if self.length(key) == 0 {
            self.keys.remove(&key);
            self.depths.remove(&key);
        }
        let free = std::mem::replace(&mut self.free, place);
        if let Some(lane) = self.get_mut(place) {
            lane.after = free;
        }
    }
}
