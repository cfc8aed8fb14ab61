//! The traces in `testdata/twins`, played by the core and by every server: each line as it stands there.
#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

use tollgate_algorithms::Algorithm;
use tollgate_redis::{Reply, StateKind};
use tollgate_testing::snapshot;
use tollgate_twins::compare::stored;
use tollgate_twins::server::{Make, Server};
use tollgate_twins::vectors::{Answers, played};
use tollgate_twins::wire::Wire;
use tollgate_twins::world::World;

/// Plays every algorithm's file, each with a key that nobody has seen.
fn every_file(mut answers: impl FnMut(Algorithm, &str, &str)) {
    for algorithm in Algorithm::ALL {
        let path = format!("{}/../../testdata/twins/{algorithm}.txt", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(PathBuf::from(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(
            text.lines().filter(|line| line.contains(" -> ")).count() > 30,
            "{path} says hardly anything"
        );
        answers(algorithm, &path, &text);
    }
}

fn same(path: &str, text: &str, answers: Answers<'_>) {
    let again = played(text, answers).unwrap();
    for (number, (written, now)) in text.lines().zip(again.lines()).enumerate() {
        assert_eq!(now, written, "{path}, line {}", number + 1);
    }
}

#[test]
fn the_core_answers_as_it_is_written() {
    every_file(|_, path, text| {
        let mut world = World::new(1);
        let again = played(text, &mut |asked, now| {
            let reply = world.answer(asked, now);
            Ok((reply, asked.hits().first().and_then(|hit| world.state(0, &hit.limit)).cloned()))
        });
        snapshot::check(Path::new(path), &again.unwrap()).unwrap_or_else(|why| panic!("{why}"));
    });
}

#[test]
fn every_server_answers_as_it_is_written() {
    for make in Make::ALL {
        let server = Server::start(make, &[]).unwrap();
        every_file(|algorithm, path, text| {
            let mut wire = Wire::open(&server, None).unwrap();
            wire.ask(&redis::cmd("FLUSHALL")).unwrap();
            same(&format!("{}, {path}", make.name()), text, &mut |asked, now| {
                let value = wire.ask_call(&asked.with(|ask| ask.call_at(now)))?;
                let reply = asked.with(|ask| Reply::read(ask, &value)).map_err(|error| error.to_string())?;
                let Some((_, _, name)) =
                    asked.keys().into_iter().find(|(_, kind, _)| *kind == StateKind::of(algorithm))
                else {
                    return Err("it is about no key".into());
                };
                let state = stored(algorithm, &wire.ask(redis::cmd("GET").arg(name.as_bytes()))?)?;
                Ok((reply, state))
            });
        });
    }
}
