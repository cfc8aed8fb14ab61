//! The scripts that ship, by the server's own clock: the core's answers at that time, and keys that go by themselves.
#![cfg(test)]

use tollgate_algorithms::{Limit, Micros, Mode, Window};
use tollgate_redis::{Naming, Reply, StateKind, Value};
use tollgate_twins::asked::{Asked, Owned};
use tollgate_twins::compare::stored;
use tollgate_twins::server::{Make, Server};
use tollgate_twins::wire::Wire;
use tollgate_twins::world::{World, plain};

/// Limits that are exhausted and recover several times in a few thousand calls.
fn quick() -> Vec<Limit> {
    let window = Micros::from_millis(20);
    vec![
        Limit::token_bucket(20, 1_000, Micros::SECOND).unwrap(),
        Limit::leaky_bucket(5, 7, Micros::from_millis(3)).unwrap(),
        Limit::gcra(3, 1, Micros::from_millis(2)).unwrap(),
        Limit::fixed_window(30, Window::Every(window)).unwrap(),
        Limit::sliding_window(30, window).unwrap(),
        Limit::sliding_window_buckets(30, window, 7).unwrap(),
        Limit::sliding_window_log(30, window).unwrap(),
    ]
}

/// The server's time in microseconds.
fn time(wire: &mut Wire) -> u64 {
    let Value::Array(parts) = wire.ask(&redis::cmd("TIME")).unwrap() else { panic!("no time") };
    let number = |value: &Value| -> u64 {
        let Value::BulkString(digits) = value else { panic!("{value:?}") };
        std::str::from_utf8(digits).unwrap().parse().unwrap()
    };
    number(&parts[0]) * 1_000_000 + number(&parts[1])
}

/// The time that a script says it decided at: the first seven bytes, without their last bit.
fn decided_at(value: &Value) -> Micros {
    let Value::BulkString(bytes) = value else { panic!("{value:?}") };
    Micros::new(bytes[..7].iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)) >> 1)
}

#[test]
fn what_ships_answers_as_the_core_does_at_the_servers_time() {
    for make in Make::ALL {
        let server = Server::start(make, &[]).unwrap();
        let mut wire = Wire::open(&server, None).unwrap();
        for (place, limit) in quick().into_iter().enumerate() {
            let name = Naming::new([1; 16]).name(&place.to_string(), b"ada");
            let key = name.of(StateKind::of_limit(&limit).unwrap());
            let asked = Asked::Charge(vec![Owned { key: 0, name, limit, cost: 1, mode: Mode::Enforced }]);
            let (mut world, mut refused, mut last) = (World::new(1), 0, 0);
            for _ in 0..2_000 {
                let value = wire.ask_call(&asked.with(|ask| ask.call())).unwrap();
                let now = decided_at(&value);
                assert!(now.get() >= last && time(&mut wire) >= now.get(), "{limit}: a clock of its own");
                last = now.get();
                let reply = asked.with(|ask| Reply::read(ask, &value)).unwrap();
                assert_eq!(reply, world.answer(&asked, now), "{}, {limit}", make.name());
                refused += u64::from(matches!(reply, Reply::Decided { granted: false, .. }));
            }
            assert!(refused > 0, "{}, {limit}: nothing was refused", make.name());
            let found = wire.ask(redis::cmd("GET").arg(key.as_bytes())).unwrap();
            // It may have drained, and be gone, by now.
            let found = stored(limit.algorithm().unwrap(), &found).unwrap();
            assert!(found.is_none() || found == world.state(0, &limit).cloned().map(plain), "{limit}");
        }
    }
}

#[test]
fn a_key_goes_by_itself_when_it_has_drained_and_not_before() {
    for make in Make::ALL {
        let server = Server::start(make, &[]).unwrap();
        let mut wire = Wire::open(&server, None).unwrap();
        for (place, limit) in quick().into_iter().enumerate() {
            let name = Naming::new([2; 16]).name(&place.to_string(), b"ada");
            let key = name.of(StateKind::of_limit(&limit).unwrap());
            let asked = Asked::Charge(vec![Owned { key: 0, name, limit, cost: 3, mode: Mode::Enforced }]);
            let value = wire.ask_call(&asked.with(|ask| ask.call())).unwrap();
            let Ok(Reply::Decided { decisions, .. }) = asked.with(|ask| Reply::read(ask, &value)) else {
                panic!("no decision")
            };
            let drained = decisions[0].at.get() + decisions[0].reset_after.get();
            // What is asked of the server is its own time, so that a machine that stands still proves nothing wrong.
            let deadline = drained + 60_000_000;
            loop {
                let before = time(&mut wire);
                let is_there = wire.ask(redis::cmd("EXISTS").arg(key.as_bytes())).unwrap() == Value::Int(1);
                let after = time(&mut wire);
                if !is_there {
                    assert!(
                        after >= drained,
                        "{}, {limit}: gone {} us too early",
                        make.name(),
                        drained - after
                    );
                    break;
                }
                assert!(before < deadline, "{}, {limit}: still there", make.name());
            }
        }
    }
}

#[test]
fn a_key_that_has_lost_its_time_to_live_gets_one_with_its_next_charge() {
    for make in Make::ALL {
        let server = Server::start(make, &[]).unwrap();
        let mut wire = Wire::open(&server, None).unwrap();
        for limit in [
            Limit::token_bucket(20, 1, Micros::HOUR).unwrap(),
            Limit::sliding_window_log(20, Micros::HOUR).unwrap(),
            Limit::fixed_window(20, Window::Every(Micros::HOUR)).unwrap(),
        ] {
            let name = Naming::new([3; 16]).name(&limit.to_string(), b"ada");
            let key = name.of(StateKind::of_limit(&limit).unwrap());
            let asked = Asked::Charge(vec![Owned { key: 0, name, limit, cost: 1, mode: Mode::Enforced }]);
            let call = asked.with(|ask| ask.call());
            wire.ask_call(&call).unwrap();
            wire.ask(redis::cmd("PERSIST").arg(key.as_bytes())).unwrap();
            assert_eq!(wire.ask(redis::cmd("PTTL").arg(key.as_bytes())), Ok(Value::Int(-1)));
            wire.ask_call(&call).unwrap();
            let Ok(Value::Int(kept)) = wire.ask(redis::cmd("PTTL").arg(key.as_bytes())) else { panic!() };
            assert!(kept > 0, "{limit}: {kept}");
        }
    }
}
