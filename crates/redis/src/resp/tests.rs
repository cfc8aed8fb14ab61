//! Frames: split at every byte, compared with the client library's parser, and beyond every bound.

use redis::parse_redis_value;
use smallvec::SmallVec;

use super::*;
use crate::{Naming, Script};

/// Answers of every kind, one after the other.
const FRAMES: &[&[u8]] = &[
    b"+OK\r\n",
    b"+PONG\r\n",
    b":0\r\n",
    b":-9007199254740993\r\n",
    b"$-1\r\n",
    b"$0\r\n\r\n",
    b"$6\r\na\r\nb\n\xff\r\n",
    b"*-1\r\n",
    b"*0\r\n",
    b"*3\r\n:1\r\n$2\r\nhi\r\n*2\r\n+OK\r\n$-1\r\n",
    b"*2\r\n-ERR inside\r\n:2\r\n",
];

/// What the client library reads, as a value of ours.
fn expected(bytes: &[u8]) -> Option<Value> {
    parse_redis_value(bytes).ok().and_then(of_library)
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the library has types of a protocol that is not spoken here"
)]
fn of_library(value: redis::Value) -> Option<Value> {
    Some(match value {
        redis::Value::Nil => Value::Nil,
        redis::Value::Int(number) => Value::Int(number),
        redis::Value::BulkString(bytes) => Value::BulkString(bytes),
        redis::Value::Array(values) => {
            Value::Array(values.into_iter().map(of_library).collect::<Option<_>>()?)
        }
        redis::Value::SimpleString(text) => Value::SimpleString(text),
        redis::Value::Okay => Value::SimpleString("OK".into()),
        redis::Value::ServerError(error) => Value::Error(match error.details() {
            None => error.code().to_owned(),
            Some(details) => format!("{} {details}", error.code()),
        }),
        _ => return None,
    })
}

#[test]
fn a_frame_reads_as_the_client_library_reads_it() {
    for bytes in FRAMES {
        let expected = expected(bytes).unwrap();
        assert_eq!(frame(bytes), Ok(Some((Frame::Value(expected), bytes.len()))), "{}", text(bytes));
    }
}

#[test]
fn a_frame_that_is_cut_anywhere_is_waited_for() {
    for bytes in FRAMES.iter().copied().chain([b"-OOM command not allowed\r\n".as_slice()]) {
        for length in 0..bytes.len() {
            assert_eq!(frame(&bytes[..length]), Ok(None), "{} cut at {length}", text(bytes));
        }
        let followed = [bytes, b":7\r\n"].concat();
        assert_eq!(frame(&followed).unwrap().unwrap().1, bytes.len());
    }
}

#[test]
fn what_is_not_the_protocol_is_refused_at_once() {
    let deep = [b"*1\r\n".repeat(9), b":1\r\n".to_vec()].concat();
    let table: [&[u8]; 12] = [
        b"\r\n",
        b"HTTP/1.1 400 Bad Request\r\n",
        b":1\n",
        b":one\r\n",
        b":9223372036854775808\r\n",
        b"$-2\r\n",
        b"$1048577\r\n",
        b"$2\r\nabc\r\n",
        b"*-2\r\n",
        b"*1048577\r\n",
        b"%1\r\n+a\r\n:1\r\n",
        &deep,
    ];
    for bytes in table {
        assert!(frame(bytes).is_err(), "{}", text(bytes));
    }
}

#[test]
fn an_array_that_announces_more_than_it_has_takes_no_memory() {
    assert_eq!(frame(b"*1048576\r\n:1\r\n"), Ok(None));
}

#[test]
fn an_answer_over_the_bound_is_not_waited_for() {
    let line = [b"+".to_vec(), vec![b'x'; FRAME_BYTES_MAX + 1]].concat();
    assert!(frame(&line).is_err());
}

#[test]
fn an_error_keeps_its_words() {
    let read = frame(b"-NOSCRIPT No matching script. Please use EVAL.\r\n").unwrap().unwrap().0;
    assert_eq!(read, Frame::Error("NOSCRIPT No matching script. Please use EVAL.".into()));
}

#[test]
fn a_call_is_packed_as_the_client_library_packs_it() {
    let script = Box::leak(Box::new(Script {
        text: "return 1".into(),
        digest: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db".into(),
    }));
    let name = Naming::new([1; 16]).name("per day", b"ada").of(crate::StateKind::Debt);
    let arguments: SmallVec<[crate::Argument; 4]> =
        [b"17".as_slice(), b"", b"\r\n\xff"].map(SmallVec::from_slice).into_iter().collect();
    let call =
        Call { script, names: SmallVec::from_slice(&[name, name]), arguments, writes: crate::Writes::Always };
    let forms = [
        (ScriptForm::Together, "EVALSHA", &script.digest),
        (ScriptForm::Digest, "EVALSHA", &script.digest),
        (ScriptForm::Text, "EVAL", &script.text),
    ];
    for (form, verb, word) in forms {
        let mut expected = redis::cmd(verb);
        expected.arg(word).arg(2).arg(name.as_bytes()).arg(name.as_bytes());
        call.arguments.iter().for_each(|argument| {
            expected.arg(argument.as_slice());
        });
        let mut packed = b"before".to_vec();
        pack(&mut packed, &call, form);
        assert_eq!(packed, [b"before", &expected.get_packed_command()[..]].concat());
    }
    assert_eq!(command(&["AUTH", "é", ""]), redis::cmd("AUTH").arg("é").arg("").get_packed_command());
}

/// Frames with bytes changed at random, from seeds: nothing panics, and what both read, both read alike.
#[test]
fn whatever_comes_is_read_as_the_client_library_reads_it_or_not_at_all() {
    let mut random = 1_u64;
    let mut draw = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % bound
    };
    let signs = b"+-:$*\r\n0129x";
    let mut read = 0;
    for _ in 0..100_000 {
        let mut bytes = FRAMES[draw(FRAMES.len())].to_vec();
        for _ in 0..draw(3) {
            let at = draw(bytes.len());
            bytes[at] = signs[draw(signs.len())];
        }
        if let Ok(Some((Frame::Value(value), length))) = frame(&bytes) {
            assert!(length <= bytes.len());
            assert_eq!(expected(&bytes[..length]), Some(value), "{}", text(&bytes));
            read += 1;
        }
    }
    assert!(read > 10_000, "only {read} were read");
}
