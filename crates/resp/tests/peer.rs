//! Our codec against an independent one, `resp-rs`: the same values from the same bytes, in both protocols.

#![expect(clippy::unwrap_used, reason = "what helps tests fails them")]

use bytes::Bytes;
use resp_rs::{ParseError, resp2, resp3};
use tollgate_resp::{Bounds, CommandParser, Protocol, Value, Writer, parse_value};
use tollgate_testing::random::Random;

fn of_resp2(frame: &resp2::Frame) -> Value {
    match frame {
        resp2::Frame::SimpleString(text) => Value::Simple(text.to_vec()),
        resp2::Frame::Error(text) => Value::Error(text.to_vec()),
        resp2::Frame::Integer(number) => Value::Integer(*number),
        resp2::Frame::BulkString(None) | resp2::Frame::Array(None) => Value::Null,
        resp2::Frame::BulkString(Some(text)) => Value::Bulk(text.to_vec()),
        resp2::Frame::Array(Some(frames)) => Value::Array(frames.iter().map(of_resp2).collect()),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the peer knows streams and floats, which no server of ours sends"
)]
fn of_resp3(frame: &resp3::Frame) -> Option<Value> {
    let all = |frames: &[resp3::Frame]| frames.iter().map(of_resp3).collect::<Option<Vec<_>>>();
    Some(match frame {
        resp3::Frame::SimpleString(text) => Value::Simple(text.to_vec()),
        resp3::Frame::Error(text) | resp3::Frame::BlobError(text) => Value::Error(text.to_vec()),
        resp3::Frame::Integer(number) => Value::Integer(*number),
        resp3::Frame::BulkString(None) | resp3::Frame::Array(None) | resp3::Frame::Null => Value::Null,
        resp3::Frame::BulkString(Some(text)) => Value::Bulk(text.to_vec()),
        resp3::Frame::VerbatimString { payload } => Value::Bulk(payload.to_vec()),
        resp3::Frame::Boolean(value) => Value::Boolean(*value),
        resp3::Frame::Array(Some(frames)) | resp3::Frame::Set(frames) | resp3::Frame::Push(frames) => {
            Value::Array(all(frames)?)
        }
        resp3::Frame::Map(pairs) => {
            let pair = |(key, value): &(resp3::Frame, resp3::Frame)| Some((of_resp3(key)?, of_resp3(value)?));
            Value::Map(pairs.iter().map(pair).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Writes a random value, as our server would.
fn write(random: &mut Random, reply: &mut Writer<'_>, depth: u64) {
    let text = ["", "OK", "granted", "ERR it failed", "\u{e9}"][usize::try_from(random.below(5)).unwrap()];
    match random.below(if depth == 0 { 7 } else { 10 }) {
        0 => reply.simple(text),
        1 => reply.error(text),
        2 => reply.integer(i64::from_ne_bytes(random.any().to_ne_bytes())),
        3 => reply.integer(i64::try_from(random.below(20)).unwrap() - 10),
        4 => reply
            .bulk([&b""[..], b"\r\n$-1\r\n", b"\0\xff", b"key"][usize::try_from(random.below(4)).unwrap()]),
        5 => reply.null(),
        6 => reply.boolean(random.one_in(2)),
        kind => {
            let length = random.below(4);
            let count = usize::try_from(length).unwrap();
            let values = match kind {
                7 => {
                    reply.array(count);
                    length
                }
                8 => {
                    reply.set(count);
                    length
                }
                _ => {
                    reply.map(count);
                    length * 2
                }
            };
            (0..values).for_each(|_| write(random, reply, depth - 1));
        }
    }
}

#[test]
fn what_we_write_both_read_alike_and_nobody_reads_a_part_of_it() {
    let bounds = Bounds::default();
    for case in 0..20_000 {
        let mut random = Random::case(26, case);
        for protocol in [Protocol::Resp2, Protocol::Resp3] {
            let mut bytes = Vec::new();
            write(&mut random, &mut Writer::new(&mut bytes, protocol), 3);
            let shown = bytes.escape_ascii().to_string();
            let (ours, length) =
                parse_value(&bytes, &bounds).unwrap().unwrap_or_else(|| panic!("incomplete: {shown}"));
            assert_eq!(length, bytes.len(), "{shown}");
            let input = Bytes::from(bytes.clone());
            let theirs = match protocol {
                Protocol::Resp2 => {
                    of_resp2(&resp2::parse_frame(input).unwrap_or_else(|why| panic!("{shown}: {why:?}")).0)
                }
                Protocol::Resp3 => {
                    of_resp3(&resp3::parse_frame(input).unwrap_or_else(|why| panic!("{shown}: {why:?}")).0)
                        .unwrap()
                }
            };
            assert_eq!(ours, theirs, "{shown}");
            let cut = usize::try_from(random.below(bytes.len() as u64)).unwrap();
            assert_eq!(parse_value(&bytes[..cut], &bounds), Ok(None), "{shown} cut at {cut}");
            assert!(matches!(
                resp3::parse_frame(Bytes::copy_from_slice(&bytes[..cut])),
                Err(ParseError::Incomplete)
            ));
        }
    }
}

/// Ours is stricter: numbers have one form, and sizes have bounds. What it takes, the peer takes alike.
#[test]
fn what_we_accept_of_damaged_input_the_peer_accepts_alike() {
    let bounds = Bounds { elements: 64, bulk_bytes: 64, total_bytes: 4_096, line_bytes: 64, depth: 8 };
    let mut accepted = 0;
    for case in 0..100_000 {
        let mut random = Random::case(27, case);
        let mut bytes = Vec::new();
        write(&mut random, &mut Writer::new(&mut bytes, Protocol::Resp2), 2);
        for _ in 0..random.within(1, 3) {
            let at = usize::try_from(random.below(bytes.len() as u64)).unwrap();
            bytes[at] = random.pick(b"*$:+-019\r\nx");
        }
        if let Ok(Some((ours, length))) = parse_value(&bytes, &bounds)
            && is_resp2(&bytes[..length])
        {
            let (theirs, rest) = resp2::parse_frame(Bytes::from(bytes.clone()))
                .unwrap_or_else(|why| panic!("{}: {why:?}", bytes.escape_ascii()));
            assert_eq!(
                (ours, length),
                (of_resp2(&theirs), bytes.len() - rest.len()),
                "{}",
                bytes.escape_ascii()
            );
            accepted += 1;
        }
    }
    assert!(accepted > 10_000, "{accepted}");
}

/// Whether no type of RESP3 begins in the input.
fn is_resp2(bytes: &[u8]) -> bool {
    !bytes.iter().any(|byte| b"_#,(!=%~>|".contains(byte))
}

#[test]
fn commands_have_the_arguments_that_the_peer_reads() {
    for case in 0..20_000 {
        let mut random = Random::case(28, case);
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, Protocol::Resp2);
        let count = usize::try_from(random.within(1, 8)).unwrap();
        writer.array(count);
        for _ in 0..count {
            let length = usize::try_from(random.magnitude(300)).unwrap();
            let argument: Vec<u8> = (0..length).map(|_| random.pick(b"ab\r\n$*\0\xff")).collect();
            writer.bulk(&argument);
        }
        let mut parser = CommandParser::new(Bounds::default());
        let cut = usize::try_from(random.below(bytes.len() as u64)).unwrap();
        assert_eq!(parser.parse(&bytes[..cut]), Ok(None));
        assert_eq!(parser.parse(&bytes), Ok(Some(bytes.len())));
        let ours =
            (0..parser.len()).map(|at| Value::Bulk(parser.argument(&bytes, at).unwrap().to_vec())).collect();
        let (theirs, _) = resp2::parse_frame(Bytes::from(bytes.clone())).unwrap();
        assert_eq!(Value::Array(ours), of_resp2(&theirs));
    }
}
