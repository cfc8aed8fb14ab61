//! Invalid replies: each is a named error, and none is a grant.

use tollgate_algorithms::{Limit, Micros, Mode};

use crate::{Command, Hit, Name, Naming, Reply, StoreError, Value};

fn names() -> [Name; 3] {
    ["a", "b", "c"].map(|limit| Naming::new([1; 16]).name(limit, b"ada"))
}

#[test]
fn an_answer_that_is_cut_anywhere_is_never_a_grant() {
    let (limit, names) = (Limit::token_bucket(5, 1, Micros::SECOND).unwrap(), names());
    let hits = names.each_ref().map(|name| Hit { limit: &limit, name, cost: 1, mode: Mode::Enforced });
    // By a count of 1, since the beginning, at 9, one unit of a million in a cell.
    let numbers = [(3, 1), (5, 0), (7, 9), (7, 1), (5, 1_000_000_u64)];
    let bytes = numbers.iter().flat_map(|(size, number)| number.to_be_bytes()[8 - size..].to_vec());
    let state: Vec<u8> = std::iter::once(0x31).chain(bytes).collect();
    let head = vec![0, 0, 0, 0, 0, 0, 21];
    let answers: [(Command<'_>, Vec<u8>); 3] = [
        (Command::Charge(&hits[..1]), [head.clone(), state.clone()].concat()),
        (Command::Charge(&hits), [head.clone(), vec![28; 3], state.repeat(3)].concat()),
        (Command::UpTo(hits[0]), [head.clone(), vec![0, 0, 0, 0, 0, 0, 0, 1], state].concat()),
    ];
    for (ask, whole) in answers {
        assert!(Reply::read(&ask, &Value::BulkString(whole.clone())).is_ok(), "{ask:?}");
        for length in 0..whole.len() {
            let cut = Reply::read(&ask, &Value::BulkString(whole[..length].to_vec()));
            // Where the last state is cut off whole, a key was never seen: that is an answer too.
            let is_whole = length == 7 && matches!(ask, Command::Charge([_]))
                || length == 15 && matches!(ask, Command::UpTo(_));
            assert_eq!(cut.is_ok(), is_whole, "{ask:?}, {length} bytes: {cut:?}");
        }
    }
}

#[test]
fn a_verdict_that_is_not_the_cores_is_an_error() {
    let (limit, names) = (Limit::token_bucket(5, 1, Micros::SECOND).unwrap(), names());
    let hit = |cost| [Hit { limit: &limit, name: &names[0], cost, mode: Mode::Enforced }];
    for (cost, last, agrees) in [(1, 21, true), (1, 20, false), (6, 20, true), (6, 21, false)] {
        let value = Value::BulkString(vec![0, 0, 0, 0, 0, 0, last]);
        let read = Reply::read(&Command::Charge(&hit(cost)), &value);
        assert_eq!(read.is_ok(), agrees, "{read:?}");
        assert!(agrees || matches!(read, Err(StoreError::Disagrees(_))));
    }
}

#[test]
fn a_foreign_key_is_named_and_a_key_that_there_is_not_is_none() {
    let (limit, names) = (Limit::token_bucket(5, 1, Micros::SECOND).unwrap(), names());
    let hits = names.each_ref().map(|name| Hit { limit: &limit, name, cost: 1, mode: Mode::Enforced });
    let Err(StoreError::Foreign(why)) = Reply::read(&Command::Charge(&hits), &Value::Int(-2)) else {
        panic!("not an error")
    };
    assert!(why.contains(&hits[1].key().unwrap().to_string()) && why.contains("delete it"), "{why}");
    for place in [-4, 0, 1, i64::MIN, i64::MAX] {
        let read = Reply::read(&Command::Charge(&hits), &Value::Int(place));
        assert!(matches!(read, Err(StoreError::Disagrees(_))), "{place}: {read:?}");
    }
}

#[test]
fn what_is_not_a_string_is_an_error() {
    let name = names()[0];
    for value in [Value::Nil, Value::Array(vec![]), Value::SimpleString("OK".into())] {
        assert!(matches!(Reply::read(&Command::Reset(&name), &value), Err(StoreError::Disagrees(_))));
    }
}
