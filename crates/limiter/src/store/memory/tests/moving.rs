//! A move without room for a key: the line returns to its place, and the move continues when there is room.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::super::map::RegionMap;
use super::super::slot::{LINE_SLOTS, Tag};
use super::super::slot_guard::KeyPosition;
use super::super::table::{KeyWorth, SlotOwner, Table, reach};
use crate::sync::Ordering;

/// The homes that the table has at first, and after the move. Four lines become one.
const HOMES: usize = 16_384;
const HOMES_AFTER: usize = HOMES / 4;

/// Says which values are as good as none: those below a bound.
struct Below(Cell<u64>);

impl SlotOwner for Below {
    fn worth(&self, _tag: Tag, value: u64) -> KeyWorth {
        if value < self.0.get() { KeyWorth::Stale } else { KeyWorth::Live }
    }

    fn dropped(&self, _tag: Tag, _value: u64) {}

    fn homes_max(&self) -> usize {
        HOMES
    }

    fn is_time_to_look(&self) -> bool {
        true
    }
}

fn map(table: &Table) -> RegionMap {
    RegionMap::unpack(table.map.load(Ordering::Acquire))
}

/// Puts a key in; `false` if there is no room.
fn put(table: &Table, keeper: &Below, id: u64, value: u64) -> bool {
    match table.try_lock(id, true, keeper) {
        Ok(KeyPosition::Slot(locked)) => locked.write(Tag::new(id, 1), value),
        Ok(KeyPosition::Full(held)) => {
            held.leave();
            return false;
        }
        Err(busy) => panic!("nobody else is there: {busy:?}"),
    }
    true
}

fn contents(table: &Table) -> BTreeMap<u64, u64> {
    let mut all = BTreeMap::new();
    table.for_each(|slot| {
        if let Some((id, _, value)) = slot {
            assert_eq!(all.insert(id, value), None, "{id} stands twice");
        }
    });
    all
}

#[test]
fn a_move_that_finds_no_room_is_undone_and_goes_on_later() {
    // The smallest that a table gets is what it begins with; from there it is moved to more homes, and then back.
    let table = Table::new(HOMES_AFTER).unwrap();
    let keeper = Below(Cell::new(0));
    let id = |line: usize, number: u64| ((line as u64) << (table.id_bits() - HOMES.ilog2())) + number;
    while table.homes(map(&table).newest) < HOMES {
        assert!(table.make_room(&keeper));
        while table.is_moving() {
            table.help(usize::MAX, &keeper);
        }
    }
    // Two live keys in each of four neighbouring lines, which become one; others that are about to be as good as none.
    let line = HOMES / 2;
    let mut expected = BTreeMap::new();
    for (line, number) in (line..line + 4).flat_map(|line| [(line, 1), (line, 2)]) {
        assert!(put(&table, &keeper, id(line, number), 100));
        expected.insert(id(line, number), 100);
    }
    for other in (0..HOMES).filter(|other| other.abs_diff(line) > 2 * reach(HOMES)) {
        for number in 0..2 {
            assert!(put(&table, &keeper, id(other, number), 1));
        }
    }
    keeper.0.set(10);
    table.begin(0, &keeper);
    assert!(table.is_moving());
    // The first of the four lines is moved; then new keys take all the room there is for the keys of the others, but for one.
    while map(&table).frontier <= line {
        assert!(table.help(1, &keeper));
    }
    let room = reach(HOMES_AFTER) * LINE_SLOTS - 2;
    for number in 0..room as u64 - 1 {
        assert!(put(&table, &keeper, id(line, 10 + number), 50), "{number} of {room}");
        expected.insert(id(line, 10 + number), 50);
    }
    for _ in 0..3 {
        table.help(1, &keeper);
        assert_eq!(map(&table).frontier, line + 1, "there is room for one of the two keys");
        let mut all = contents(&table);
        all.retain(|_, value| *value >= 10);
        assert_eq!(all, expected);
        for (id, value) in &expected {
            assert_eq!(table.read(*id).map(|read| read.2), Some(*value), "it is found where it stands");
        }
    }
    // The new ones are over: the move goes on, to its end.
    keeper.0.set(60);
    expected.retain(|_, value| *value >= 60);
    while table.is_moving() {
        table.help(usize::MAX, &keeper);
    }
    let mut all = contents(&table);
    all.retain(|_, value| *value >= 60);
    assert_eq!(all, expected);
}
