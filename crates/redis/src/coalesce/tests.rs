//! Which calls can be coalesced, and what is sent for them.

use tollgate_algorithms::{Limit, Micros, Mode, Window};

use super::TOGETHER_MAX;
use crate::{Call, Command, Hit, Naming};

fn bucket(burst: u64) -> Limit {
    Limit::token_bucket(burst, 1, Micros::SECOND).unwrap()
}

/// A charge of one limit, on a key of its own for each limit.
fn charge(limit: &Limit) -> Call {
    let name = Naming::new([1; 16]).name(&limit.to_string(), b"ada");
    Command::Charge(&[Hit { limit, name: &name, cost: 1, mode: Mode::Enforced }]).call()
}

#[test]
fn calls_of_one_script_become_one_with_each_ones_key_and_argument() {
    let calls: Vec<_> = [3, 4, 3].map(|burst| charge(&bucket(burst))).into();
    let one = Call::together(&calls).unwrap();
    let names: Vec<_> = calls.iter().map(|call| call.names[0]).collect();
    let arguments: Vec<_> = calls.iter().map(|call| call.arguments[0].clone()).collect();
    assert_eq!((one.names.as_slice(), one.arguments.as_slice()), (&names[..], &arguments[..]));
    assert!(one.writes.may_be() && one.script.digest != calls[0].script.digest);
}

#[test]
fn as_many_as_may_go_together_and_no_more() {
    let calls = vec![charge(&bucket(3)); TOGETHER_MAX + 1];
    for count in 0..=TOGETHER_MAX + 1 {
        let together = Call::together(&calls[..count]);
        let expected = (2..=TOGETHER_MAX).contains(&count).then_some(count);
        assert_eq!(together.map(|call| call.names.len()), expected, "{count} calls");
    }
}

#[test]
fn each_kind_of_limit_goes_with_its_own_kind_only() {
    let window = Micros::SECOND;
    let limits = [
        vec![bucket(3), Limit::gcra(3, 1, window).unwrap(), Limit::leaky_bucket(3, 1, window).unwrap()],
        vec![
            Limit::fixed_window(3, Window::Every(window)).unwrap(),
            Limit::fixed_window(4, Window::Every(window)).unwrap(),
        ],
        vec![Limit::sliding_window(3, window).unwrap(), Limit::sliding_window(4, window).unwrap()],
        vec![
            Limit::sliding_window_log(3, window).unwrap(),
            Limit::sliding_window_buckets(3, window, 2).unwrap(),
        ],
    ];
    let calls = limits.map(|limits| limits.iter().map(charge).collect::<Vec<_>>());
    for (place, kind) in calls.iter().enumerate() {
        assert!(Call::together(kind).is_some(), "{kind:?}");
        let other = &calls[(place + 1) % calls.len()];
        assert!(Call::together(&[kind[0].clone(), other[0].clone()]).is_none());
    }
}

#[test]
fn what_is_not_a_charge_of_one_limit_goes_alone() {
    let (limit, naming) = (bucket(3), Naming::new([1; 16]));
    let names = ["a", "b"].map(|limit| naming.name(limit, b"ada"));
    let hits = names.each_ref().map(|name| Hit { limit: &limit, name, cost: 1, mode: Mode::Enforced });
    let asks = [
        Command::Charge(&hits),
        Command::Peek(&hits),
        Command::UpTo(hits[0]),
        Command::Settle(hits[0]),
        Command::Reset(&names[0]),
    ];
    for ask in asks {
        assert!(Call::together(&[ask.call(), ask.call()]).is_none(), "{ask:?}");
    }
    let mut odd = charge(&limit);
    odd.names.push(names[1].of(crate::StateKind::Debt));
    assert!(Call::together(&[charge(&limit), odd.clone()]).is_none(), "a call that somebody changed");
    assert!(Call::together(&[odd.clone(), odd]).is_none());
}

#[test]
fn what_all_of_them_ask_alike_is_sent_once() {
    for count in 2..=TOGETHER_MAX {
        let calls = vec![charge(&bucket(3)); count];
        let mut one = Call::together(&calls).unwrap();
        let expected = if count == 2 { 2 } else { 1 };
        assert_eq!((one.names.len(), one.arguments.len()), (count, expected));
        assert!(one.arguments.iter().all(|argument| *argument == calls[0].arguments[0]));
        let other = [&calls[1..], &[charge(&bucket(4))]].concat();
        one = Call::together(&other).unwrap();
        assert_eq!((one.names.len(), one.arguments.len()), (count, count), "one of them asks something else");
    }
}
