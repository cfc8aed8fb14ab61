//! The parser of commands: input in any pieces, every bound, every kind of malformed input.

#![expect(clippy::unwrap_used, reason = "what helps tests fails them")]

use tollgate_resp::{Bounds, CommandParser, ProtocolError};
use tollgate_testing::random::Random;

/// Every command in a stream, as the server reads it; and the error that ends it, if any.
fn all(pieces: &[&[u8]], bounds: Bounds) -> (Vec<Vec<Vec<u8>>>, Option<ProtocolError>) {
    let (mut parser, mut buffer, mut commands) = (CommandParser::new(bounds), Vec::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            match parser.parse(&buffer) {
                Ok(Some(length)) => {
                    let argument = |number| parser.argument(&buffer, number).unwrap().to_vec();
                    commands.push((0..parser.len()).map(argument).collect());
                    buffer.drain(..length);
                }
                Ok(None) => break,
                Err(error) => return (commands, Some(error)),
            }
        }
    }
    (commands, None)
}

fn words(text: &[&str]) -> Vec<Vec<u8>> {
    text.iter().map(|word| word.as_bytes().to_vec()).collect()
}

const STREAM: &[u8] =
    b"*6\r\n$11\r\nCL.THROTTLE\r\n$7\r\nuser123\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n$1\r\n1\r\n\
    PING\r\n\r\n*0\r\n*-1\r\nSET \"a b\\x41\\n\" 'it\\'s'\n*2\r\n$4\r\nECHO\r\n$0\r\n\r\n";

fn wanted() -> Vec<Vec<Vec<u8>>> {
    vec![
        words(&["CL.THROTTLE", "user123", "15", "30", "60", "1"]),
        words(&["PING"]),
        vec![],
        vec![],
        vec![],
        words(&["SET", "a bA\n", "it's"]),
        words(&["ECHO", ""]),
    ]
}

#[test]
fn a_stream_cut_at_any_byte_gives_the_same_commands() {
    for cut in 0..=STREAM.len() {
        let (first, second) = STREAM.split_at(cut);
        assert_eq!(all(&[first, second], Bounds::default()), (wanted(), None), "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = STREAM.chunks(1).collect();
    assert_eq!(all(&bytes, Bounds::default()), (wanted(), None));
}

#[test]
fn an_argument_is_any_bytes() {
    let (commands, error) = all(&[b"*2\r\n$4\r\nECHO\r\n$8\r\n\0\xff\r\n*1\r\n\r\n"], Bounds::default());
    assert_eq!((commands, error), (vec![vec![b"ECHO".to_vec(), b"\0\xff\r\n*1\r\n".to_vec()]], None));
}

#[test]
fn every_malformed_command_is_an_error_wherever_it_is_cut() {
    let bounds = Bounds { elements: 8, bulk_bytes: 16, total_bytes: 64, line_bytes: 32, depth: 4 };
    let long_inline = [b'x'; 40];
    let cases: &[(&[u8], ProtocolError)] = &[
        (b"*-2\r\n", ProtocolError::ArrayLength),
        (b"*9\r\n", ProtocolError::ArrayLength),
        (b"*1048577\r\n", ProtocolError::ArrayLength),
        (b"*+1\r\n", ProtocolError::ArrayLength),
        (b"*01\r\n", ProtocolError::ArrayLength),
        (b"*\r\n", ProtocolError::ArrayLength),
        (b"*1x\r\n", ProtocolError::ArrayLength),
        (b"*1\rx", ProtocolError::ArrayLength),
        (b"*99999999999999999999999999", ProtocolError::ArrayLength),
        (b"*18446744073709551617\r\n", ProtocolError::ArrayLength),
        (b"*1\r\n$-1\r\n", ProtocolError::BulkLength),
        (b"*1\r\n$-2\r\n", ProtocolError::BulkLength),
        (b"*1\r\n$17\r\n", ProtocolError::BulkLength),
        (b"*1\r\n$536870913\r\n", ProtocolError::BulkLength),
        (b"*1\r\n$1e1\r\n", ProtocolError::BulkLength),
        (b"*1\r\n$ 1\r\n", ProtocolError::BulkLength),
        (b"*1\r\n*1\r\n", ProtocolError::NotBulk(b'*')),
        (b"*1\r\n:1\r\n", ProtocolError::NotBulk(b':')),
        (b"*1\r\n$4\r\nPINGxx", ProtocolError::BulkEnd),
        (b"*1\r\n$4\r\nPING\n\n", ProtocolError::BulkEnd),
        (b"*4\r\n$16\r\n0123456789abcdef\r\n$16\r\n0123456789abcdef\r\n$16\r\n", ProtocolError::TooLong),
        (&long_inline, ProtocolError::InlineTooLong),
        (b"SET \"a\n", ProtocolError::Quotes),
        (b"SET 'a\n", ProtocolError::Quotes),
        (b"SET 'a'b\n", ProtocolError::Quotes),
        (b"SET \"a\"b\n", ProtocolError::Quotes),
        (b"a b c d e f g h i\n", ProtocolError::ArrayLength),
    ];
    for (input, error) in cases {
        for cut in 0..input.len() {
            let (first, second) = input.split_at(cut);
            let (commands, found) = all(&[first, second], bounds);
            assert_eq!((commands.len(), found), (0, Some(*error)), "{} cut at {cut}", input.escape_ascii());
        }
    }
}

#[test]
fn nothing_is_waited_for_beyond_the_bounds() {
    let bounds = Bounds { elements: 4, bulk_bytes: 8, total_bytes: 32, line_bytes: 16, depth: 4 };
    let mut random = Random::new(26);
    let alphabet = b"*$:+-0123456789\r\n abc\"'\\x\0\xff";
    for case in 0..200_000 {
        let (mut parser, mut buffer) = (CommandParser::new(bounds), Vec::new());
        loop {
            buffer.push(random.pick(alphabet));
            match parser.parse(&buffer) {
                Ok(None) => assert!(
                    buffer.len() <= 32 + 8,
                    "case {case}: waits for more than {}",
                    buffer.escape_ascii()
                ),
                Ok(Some(length)) => {
                    assert_eq!(length, buffer.len(), "case {case}: a command ends with its last byte");
                    break;
                }
                Err(_) => break,
            }
        }
    }
}
