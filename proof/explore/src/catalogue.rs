//! The texts that are broken, one mutant at a time. Each text stands exactly once in its file, or the build fails. A text
//! that holds another comes before it.

/// A table with one thing broken.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// What it does not do.
    pub name: &'static str,
    /// What is different.
    pub edits: &'static [Edit],
    /// The scenario that notices.
    pub noticed_by: &'static str,
}

/// One changed expression.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    /// The file, without `.rs`.
    pub file: &'static str,
    /// What stands before it, if it takes that to find it.
    pub after: &'static str,
    /// The expression as it ships.
    pub shipped: &'static str,
    /// The same, broken.
    pub broken: &'static str,
}

const fn edit(file: &'static str, after: &'static str, shipped: &'static str, broken: &'static str) -> Edit {
    Edit { file, after, shipped, broken }
}

const fn mutant(name: &'static str, edits: &'static [Edit], noticed_by: &'static str) -> Mutant {
    Mutant { name, edits, noticed_by }
}

/// Every mutant.
pub const MUTANTS: &[Mutant] = &[
    mutant(
        "a new key is put in without the lock of its home",
        &[edit("table", "", "first.try_lock()", "Some(first.held() & !(1 << 63))")],
        "grow and add",
    ),
    mutant(
        "a slot is locked, and may be another key's by then",
        &[edit("table", "let tag = slot.tag();\n            if ", "tag.is_of(id)", "true")],
        "reuse and charge",
    ),
    mutant(
        "a slot that was read is locked, and may be another key's by then",
        &[edit("table", "", "slot.tag() != tag", "false")],
        "reuse with the same value",
    ),
    mutant(
        "a key that is not found was never there",
        &[edit("table", "None if ", "self.home(id) == home", "true")],
        "read and move",
    ),
    mutant(
        "two threads move at once",
        &[edit(
            "mover_lock",
            "let taken = ",
            "free && mover.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()",
            "free",
        )],
        "grow and add",
    ),
    mutant(
        "a new key is put where the table has been moved from",
        &[
            edit("table", "", "self.home(id) != home", "false"),
            edit("resize", "slot.rename(Tag::DEAD);\n            ", "slot.retire()", "slot.unlock(0)"),
        ],
        "go on moving and add",
    ),
    mutant(
        "a free slot is taken that somebody else has taken meanwhile",
        &[edit("table", "let same = ", "slot.tag() == tag", "true")],
        "two homes and one free slot",
    ),
    mutant(
        "a search ends at a slot that was used before",
        &[edit("table", "last |= ", "tag == Tag::EMPTY", "tag.vacant()")],
        "forget and charge away from home",
    ),
    mutant(
        "a value is read without its tag",
        &[edit("slot", "", "self.tag() == tag", "true")],
        "read once and reuse",
    ),
    mutant(
        "a value is read once",
        &[edit("slot", "", "self.word.load(Ordering::Acquire) == value | OPEN", "true")],
        "read, reuse and back",
    ),
    mutant(
        "a lock is let go without what was written under it",
        &[edit("slot", "self.word.store(value | OPEN, ", "Ordering::Release", "Ordering::Relaxed")],
        "read once and reuse",
    ),
    mutant(
        "the frontier passes without what was moved",
        &[edit(
            "resize",
            "RegionMap { frontier: from.line + 1, ..map }.pack(), ",
            "Ordering::Release",
            "Ordering::Relaxed",
        )],
        "read and move",
    ),
    mutant(
        "old slots are given up before the frontier passes",
        &[edit(
            "resize",
            "moved = self.put(region, id, (tag, slot.held()), keeper).map(|()| ",
            "count + 1",
            "{ slot.rename(Tag::DEAD); slot.unlock(0); count + 1 }",
        )],
        "read and move",
    ),
    mutant(
        "a slot that is set up again does not show that the table has moved",
        &[edit("slot", "self.tag.store(Tag::EMPTY.0, ", "Ordering::Release", "Ordering::Relaxed")],
        "come late with a refusal",
    ),
    mutant(
        "a batch of words that cannot have all its locks keeps those it has",
        &[edit("fast_path", "ours.for_each(|((slot, _, value), _)| ", "slot.unlock(*value)", "()")],
        "a batch of words each, in opposite order",
    ),
    mutant(
        "a batch of words writes before it has all its locks",
        &[edit("fast_path", "Some(_) => ", "Table::lock_as_read(slot, tag, value).is_some()", "true")],
        "batches of words in opposite order",
    ),
    mutant(
        "a batch charges a cell in common for a key that has got a slot",
        &[edit("table", "", "found.map(|(_, tag)| tag) != seen", "false")],
        "batches without a cell and one that comes",
    ),
    mutant(
        "a key that gets a slot starts afresh, whatever it was charged in common",
        &[edit(
            "overflow",
            "self.used.store(cells.pools, Ordering::Release);\n        }\n        ",
            "cells.get(family, share_of(id), now).cloned()",
            "None",
        )],
        "a batch without room and a key that goes",
    ),
    mutant(
        "a key without a cell for its numbers owes there what others owe",
        &[edit(
            "apply",
            "",
            "self.take_out(known, whose, now, Some(&cells))",
            "StateInDecision::new(common.clone())",
        )],
        "numbers without a cell, one by one",
    ),
    mutant(
        "what a key is charged in common is not charged in its slot",
        &[edit("apply", "if ", "same && charged > 0", "false")],
        "numbers without a cell, one by one",
    ),
    mutant(
        "what a key of a batch is charged in common is not charged in its slot",
        &[edit("batch", "(", "charged(member.id)", "0")],
        "numbers without a cell, in a batch",
    ),
    mutant(
        "a key of a batch without a cell for its numbers owes there what others owe",
        &[edit("batch", "let known = ", "grip.others.known(number)", "None::<(Tag, u64)>")],
        "numbers without a cell, in a batch",
    ),
    mutant(
        "a batch takes a key for one with a cell that has lost it",
        &[edit("batch_lock", "Some(locked) if ", "member.has_place(locked.tag)", "true")],
        "a batch and a cell that goes",
    ),
    mutant(
        "a key is dropped for its cell that was charged a moment ago",
        &[edit("evict", "if ", "is_spent(&value)", "true")],
        "a cell that is looked for",
    ),
    mutant(
        "a key that is put in for a batch of words starts afresh, whatever it was charged in common",
        &[edit(
            "insert",
            "&& ",
            "self.shared.start_of(None, &hit.limit.family(), hit.id, at.now).is_none()",
            "true",
        )],
        "batches without room and a key that goes",
    ),
    mutant(
        "a key is put in for a batch of words that somebody has put in and charged meanwhile",
        &[edit("insert", "let is_plain = ", "locked.known().is_none()", "true")],
        "batches of new keys in opposite order",
    ),
    mutant(
        "a key has a permit more than its limit",
        &[edit("in_flight", "", "in_flight < limit.min(COUNT_MAX)", "in_flight <= limit")],
        "two want the last permit",
    ),
    mutant(
        "a permit that is given back stays counted",
        &[edit(
            "in_flight",
            "a permit is given back once\");\n            (PermitCounts { enforced: ",
            "counts.enforced.saturating_sub(1)",
            "counts.enforced",
        )],
        "a permit is given back and taken",
    ),
    mutant(
        "a key with room does not count what keys without room hold",
        &[edit("in_flight", "", "counts.enforced.saturating_add(overflow.enforced())", "counts.enforced")],
        "permits without room and a key that goes",
    ),
    mutant(
        "a key without room is counted when it may have got some",
        &[edit("in_flight", "let answer = ", "no_room()", "{ held.leave(); return no_room(); }")],
        "permits without room and a key that goes",
    ),
    mutant(
        "who joins a line does not look whether a permit was given back just before",
        &[edit(
            "in_line",
            "if let Ok((counted, before)) = ",
            "take(books, id, limit)",
            "Err::<(PermitLocation, u32), u32>(0)",
        )],
        "a permit is given back and somebody joins",
    ),
    mutant(
        "a permit that somebody waits for is given back to nobody",
        &[edit("in_flight", "PermitMode::FirstInLine if ", "counts.has_waiters", "false")],
        "a permit is given back and somebody leaves",
    ),
    mutant(
        "the permit of one who leaves is lost",
        &[edit("in_line", "Some((PermitLocation::Slot, _)) => ", "books.table.give_back_for_good(id)", "()")],
        "a permit is given back and somebody leaves",
    ),
    mutant(
        "nobody is granted the permit of one who leaves",
        &[edit(
            "in_line",
            "// Whoever is first now may have had to wait for this one only.\n            ",
            "self.hand_on(&mut queues, books, id)",
            "Wakers::new()",
        )],
        "a permit is given back and somebody leaves",
    ),
    mutant(
        "a newcomer overtakes those who wait",
        &[edit(
            "in_flight",
            "let is_turn = ",
            "wish == PermitMode::FirstInLine || !counts.has_waiters",
            "true",
        )],
        "a permit is given back and somebody overtakes",
    ),
    mutant(
        "a member that was served keeps its turn",
        &[edit("lanes", "line.turn == place && ", "(served || length == 0)", "(length == 0)")],
        "members take turns for a permit",
    ),
    mutant(
        "it is not noted that nobody waits any more",
        &[edit(
            "in_line",
            "wakers.extend(queues.take_waker(first));\n        }\n        ",
            "books.table.note_waiters(id, false)",
            "false",
        )],
        "a permit is given back and somebody overtakes",
    ),
];
