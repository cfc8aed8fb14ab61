//! A server that takes no writes: nothing of a batch is written, and nothing is said to be granted.
#![cfg(test)]

use redis::Value;
use tollgate_core::{Limit, Micros, Mode};
use tollgate_redis::{Ask, Hit, Name, Naming, Reply, StoreError};
use tollgate_twins::server::{Make, Server};
use tollgate_twins::wire::Wire;

/// Charges three keys of which one is there already, between two commands: one makes the server refuse to write, the other cures it.
fn nothing_is_written(make: Make, (fault, cure): (&str, &str), error: &str) {
    let server = Server::start(make, &[]).unwrap();
    let mut wire = Wire::open(&server, None).unwrap();
    let limits = [
        Limit::token_bucket(9, 1, Micros::HOUR).unwrap(),
        Limit::sliding_window(9, Micros::HOUR).unwrap(),
        Limit::sliding_window_log(9, Micros::HOUR).unwrap(),
    ];
    let naming = Naming::new([3; 16]);
    let names: Vec<Name> = (0..3).map(|limit: u8| naming.name(&limit.to_string(), b"ada")).collect();
    let hit =
        |place: usize| Hit { limit: &limits[place], name: &names[place], cost: 1, mode: Mode::Enforced };
    let (one, three) = ([hit(0)], [0, 1, 2].map(hit));
    let ask = |wire: &mut Wire, ask: &Ask<'_>| Reply::read(ask, &wire.ask_call(&ask.call()).unwrap());
    let say = |wire: &mut Wire, words: &str| {
        let mut command = redis::Cmd::new();
        words.split(' ').for_each(|word| {
            command.arg(word);
        });
        wire.ask(&command).unwrap();
    };
    let dump = |wire: &mut Wire| -> Vec<Value> {
        names.iter().map(|name| wire.ask(redis::cmd("DUMP").arg(name.as_bytes())).unwrap()).collect()
    };
    assert!(ask(&mut wire, &Ask::Charge(&one)).is_ok());
    let before = dump(&mut wire);
    say(&mut wire, fault);
    for question in [Ask::Charge(&one), Ask::Charge(&three), Ask::UpTo(one[0]), Ask::Settle(one[0])] {
        let value = wire.ask_call(&question.call()).unwrap();
        assert!(format!("{value:?}").contains(error), "{} {value:?}", make.name());
        assert!(matches!(Reply::read(&question, &value), Err(StoreError::Disagrees(_))), "not a grant");
    }
    // What only reads still answers.
    assert!(ask(&mut wire, &Ask::Peek(&three)).is_ok());
    assert_eq!(dump(&mut wire), before, "{}: nothing was written", make.name());
    say(&mut wire, cure);
    let Ok(Reply::Decided { granted, decisions }) = ask(&mut wire, &Ask::Charge(&three)) else {
        panic!("no decision")
    };
    assert!(granted);
    assert_eq!(decisions.iter().map(|decision| decision.remaining).collect::<Vec<_>>(), [7, 8, 8]);
}

#[test]
fn a_server_without_memory_charges_nothing() {
    for make in Make::ALL {
        nothing_is_written(make, ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"), "maxmemory");
    }
}

#[test]
fn a_server_without_replicas_that_wants_some_charges_nothing() {
    for make in Make::ALL {
        let wish = ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0");
        nothing_is_written(make, wish, "NOREPLICAS");
    }
}

#[test]
fn a_replica_charges_nothing() {
    for make in Make::ALL {
        // Nobody answers there: it is a replica all the same.
        nothing_is_written(make, ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"), "READONLY");
    }
}
