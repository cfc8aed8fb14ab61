//! Encoded commands: each key once, numbers in the expected form, and costs clamped without changing the result.

use tollgate_algorithms::{Limit, Micros, Mode, Receipt, Window};

use crate::{Call, Command, Hit, KeyName, Name, Naming, StateKind};

fn names() -> [Name; 5] {
    ["a", "b", "c", "d", "e"].map(|limit| Naming::new([1; 16]).name(limit, b"ada"))
}

fn debts(names: &[Name; 5]) -> [KeyName; 5] {
    names.map(|name| name.of(StateKind::Debt))
}

fn bucket() -> Limit {
    Limit::token_bucket(5, 1, Micros::SECOND).unwrap()
}

fn log() -> Limit {
    Limit::sliding_window_log(5, Micros::SECOND).unwrap()
}

const fn hit<'a>(limit: &'a Limit, name: &'a Name, cost: u64, mode: Mode) -> Hit<'a> {
    Hit { limit, name, cost, mode }
}

/// Bytes 1 to 7 of the first argument: the cost.
fn cost_of(call: &Call) -> u64 {
    call.arguments[0][1..8].iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

#[test]
fn a_cost_is_sent_as_the_smallest_that_is_answered_alike() {
    let (limit, none, name) = (bucket(), Limit::gcra(0, 1, Micros::new(u64::MAX)).unwrap(), names()[0]);
    for (cost, charge, up_to, settle) in
        [(0, 0, 0, 0), (5, 5, 5, 5), (6, 6, 5, 6), (11, 6, 5, 10), (1 << 53, 6, 5, 10), (u64::MAX, 6, 5, 10)]
    {
        let hit = hit(&limit, &name, cost, Mode::Enforced);
        assert_eq!(cost_of(&Command::Charge(&[hit]).call()), charge);
        assert_eq!(cost_of(&Command::UpTo(hit).call()), up_to);
        assert_eq!(cost_of(&Command::Settle(hit).call()), settle);
    }
    let hit = hit(&none, &name, u64::MAX, Mode::Enforced);
    assert_eq!(cost_of(&Command::UpTo(hit).call()), 1, "more than nothing is asked, and refused");
    assert_eq!(Command::Charge(&[hit]).call().arguments[0][22..], [0, 15, 255, 255, 255, 255, 255, 255][1..]);
}

#[test]
fn costs_on_one_key_add_up_without_going_round() {
    let (limit, names) = (bucket(), names());
    let hits = [
        hit(&limit, &names[0], u64::MAX, Mode::Enforced),
        hit(&limit, &names[0], 2, Mode::Enforced),
        hit(&limit, &names[1], 2, Mode::Enforced),
    ];
    let call = Command::Charge(&hits).call();
    assert_eq!((call.names.as_slice(), cost_of(&call)), (&debts(&names)[..2], 6));
    assert_eq!((call.arguments.len(), call.arguments[0].len()), (1, 58), "two limits in one argument");
}

#[test]
fn each_name_is_sent_once_in_the_order_of_the_first_hit() {
    let (limit, names) = (bucket(), names());
    let places = [3, 1, 3, 0, 1, 4, 2];
    let hits = places.map(|place: usize| hit(&limit, &names[place], 1, Mode::Enforced));
    for ask in [Command::Charge(&hits), Command::Peek(&hits)] {
        let call = ask.call();
        assert_eq!(call.names.as_slice(), [3, 1, 0, 4, 2].map(|place: usize| debts(&names)[place]));
        assert_eq!(call.arguments.len(), 5, "more than a few keys have an argument each");
    }
}

#[test]
fn what_has_no_limit_is_not_sent() {
    let (limit, names) = (bucket(), names());
    let free = hit(&Limit::Unlimited, &names[0], 7, Mode::Enforced);
    for ask in [
        Command::Charge(&[free]),
        Command::Charge(&[free, free]),
        Command::Peek(&[free]),
        Command::UpTo(free),
    ] {
        let call = ask.call();
        assert!(call.names.is_empty() && call.arguments.is_empty(), "{ask:?}");
    }
    let both = [free, hit(&limit, &names[1], 1, Mode::Enforced)];
    assert_eq!(Command::Charge(&both).call().names.as_slice(), [debts(&names)[1]]);
}

#[test]
fn what_may_write_says_so() {
    let (limit, names) = (bucket(), names());
    let [free, one] = [0, 1].map(|cost| hit(&limit, &names[0], cost, Mode::Enforced));
    let other = Limit::fixed_window(5, Window::Every(Micros::SECOND)).unwrap();
    let receipts = [limit, other].map(|limit| Receipt { at: Micros::new(1), cost: 1, limit });
    let rows = [
        (Command::Charge(&[one]), true),
        (Command::Charge(&[one, one]), true),
        (Command::Charge(&[free]), false),
        (Command::Charge(&[free, hit(&limit, &names[1], 0, Mode::Enforced)]), false),
        (Command::Charge(&[free, hit(&limit, &names[1], 1, Mode::Enforced)]), true),
        (Command::Peek(&[one]), false),
        (Command::UpTo(one), true),
        (Command::Settle(one), true),
        (Command::Refund(one, &receipts[0], 1), true),
        // Void: the key is only looked at.
        (Command::Refund(one, &receipts[1], 1), false),
        (Command::Reset(&names[0]), true),
    ];
    for (ask, writes) in rows {
        assert_eq!(ask.call().writes.may_be(), writes, "{ask:?}");
    }
}

#[test]
fn a_shadow_hit_and_each_hit_on_a_list_are_told_after_the_limit() {
    let (limit, list, names) = (bucket(), log(), names());
    let shadow = [hit(&limit, &names[0], 2, Mode::Enforced), hit(&limit, &names[0], 9, Mode::Shadow)];
    let argument = Command::Charge(&shadow).call().arguments[0].clone();
    assert_eq!(argument[29..], [1, 0, 0, 0, 0, 0, 0, 6]);
    let twice = [1, 3].map(|cost| hit(&list, &names[0], cost, Mode::Enforced));
    let argument = Command::Charge(&twice).call().arguments[0].clone();
    // After the numbers comes their mark.
    assert_eq!(argument[36..], [2, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 4], "the sums up to each");
}

#[test]
fn a_call_is_about_the_key_of_its_limits_kind_and_a_reset_about_all_kinds() {
    let name = names()[0];
    let window = Limit::fixed_window(5, Window::Every(Micros::HOUR)).unwrap();
    let gcra = Limit::gcra(5, 1, Micros::HOUR).unwrap();
    let key = |limit| Command::Charge(&[hit(limit, &name, 1, Mode::Enforced)]).call().names;
    let bucket = bucket();
    assert_eq!(key(&bucket), key(&gcra), "buckets and GCRA share their states");
    assert_eq!(key(&window).as_slice(), [name.of(StateKind::FixedWindow)]);
    assert_eq!(key(&log()).as_slice(), [name.of(StateKind::Log)]);
    let keys = Command::Reset(&name).call().names;
    assert_eq!(keys.as_slice(), StateKind::ALL.map(|kind| name.of(kind)));
}
