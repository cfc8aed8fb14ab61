//! A server that takes no writes: nothing of a batch is written, and nothing is said to be granted.
#![cfg(test)]

use tollgate_algorithms::{Limit, Micros, Mode};
use tollgate_redis::{Command, Hit, Name, Naming, Reply, StoreError, Value};
use tollgate_twins::server::{Make, Server};
use tollgate_twins::wire::Wire;

/// Says a command: words, split at spaces.
fn say(wire: &mut Wire, words: &str) -> Value {
    let mut command = redis::Cmd::new();
    words.split(' ').for_each(|word| {
        command.arg(word);
    });
    wire.ask(&command).unwrap()
}

/// The same, with a fault and a cure that are a command each.
fn nothing_is_written_between(make: Make, (fault, cure): (&str, &str), error: &str) {
    let server = Server::start(make, &[]).unwrap();
    nothing_is_written((make, &server), |wire| drop(say(wire, fault)), cure, error);
}

/// Charges three keys of which one is there already, after something that makes the server refuse to write, and before and after
/// a command that cures it.
fn nothing_is_written(
    (make, server): (Make, &Server),
    fault: impl FnOnce(&mut Wire),
    cure: &str,
    error: &str,
) {
    let mut wire = Wire::open(server, None).unwrap();
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
    let ask = |wire: &mut Wire, ask: &Command<'_>| Reply::read(ask, &wire.ask_call(&ask.call()).unwrap());
    let dump = |wire: &mut Wire| -> Vec<Value> {
        let keys = [0, 1, 2].map(|place| hit(place).key().unwrap());
        keys.iter().map(|key| wire.ask(redis::cmd("DUMP").arg(key.as_bytes())).unwrap()).collect()
    };
    assert!(ask(&mut wire, &Command::Charge(&one)).is_ok());
    let before = dump(&mut wire);
    fault(&mut wire);
    for question in
        [Command::Charge(&one), Command::Charge(&three), Command::UpTo(one[0]), Command::Settle(one[0])]
    {
        let value = wire.ask_call(&question.call()).unwrap();
        assert!(format!("{value:?}").contains(error), "{} {value:?}", make.name());
        assert!(matches!(Reply::read(&question, &value), Err(StoreError::Disagrees(_))), "not a grant");
    }
    // What only reads still answers.
    assert!(ask(&mut wire, &Command::Peek(&three)).is_ok());
    assert_eq!(dump(&mut wire), before, "{}: nothing was written", make.name());
    say(&mut wire, cure);
    let Ok(Reply::Decided { granted, decisions }) = ask(&mut wire, &Command::Charge(&three)) else {
        panic!("no decision")
    };
    assert!(granted);
    assert_eq!(decisions.iter().map(|decision| decision.remaining).collect::<Vec<_>>(), [7, 8, 8]);
}

#[test]
fn a_server_without_memory_charges_nothing() {
    for make in Make::ALL {
        nothing_is_written_between(make, ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"), "maxmemory");
    }
}

#[test]
fn a_server_without_replicas_that_wants_some_charges_nothing() {
    for make in Make::ALL {
        let wish = ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0");
        nothing_is_written_between(make, wish, "NOREPLICAS");
    }
}

#[test]
fn a_replica_charges_nothing() {
    for make in Make::ALL {
        // Nobody answers there: it is a replica all the same.
        nothing_is_written_between(make, ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"), "READONLY");
    }
}

#[test]
fn a_server_that_cannot_save_charges_nothing() {
    for make in Make::ALL {
        let server = Server::start(make, &[]).unwrap();
        // What is to be replaced is a directory that is not empty: saving fails, whoever tries.
        std::fs::create_dir_all(server.socket().with_file_name("dump.rdb").join("full")).unwrap();
        let fault = |wire: &mut Wire| {
            wire.ask(redis::cmd("CONFIG").arg(&["SET", "save", "3600 1"])).unwrap();
            say(wire, "BGSAVE");
            let failed = |wire: &mut Wire| {
                format!("{:?}", say(wire, "INFO persistence")).contains("bgsave_status:err")
            };
            let patience = std::iter::repeat_n((), 1_000_000);
            assert!(patience.into_iter().any(|()| failed(wire)), "{} could save", make.name());
        };
        let cure = "CONFIG SET stop-writes-on-bgsave-error no";
        nothing_is_written((make, &server), fault, cure, "MISCONF");
    }
}
