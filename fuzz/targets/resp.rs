//! Any bytes from a Redis client: the same commands however they are cut, nothing waited for beyond the bounds, and replies read alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_resp::{Bounds, CommandParser, ProtocolError, parse_value};

const BOUNDS: Bounds = Bounds { elements: 16, bulk_bytes: 64, total_bytes: 256, line_bytes: 64, depth: 4 };

type Commands = (Vec<Vec<Vec<u8>>>, Option<ProtocolError>);

fn commands<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Commands {
    let (mut parser, mut buffer, mut commands) = (CommandParser::new(BOUNDS), Vec::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            match parser.parse(&buffer) {
                Ok(Some(length)) => {
                    assert!(length > 0 && length <= buffer.len());
                    let argument = |number| parser.argument(&buffer, number).expect("it is there").to_vec();
                    commands.push((0..parser.len()).map(argument).collect());
                    buffer.drain(..length);
                }
                Ok(None) => {
                    assert!(buffer.len() <= BOUNDS.total_bytes + 2 * 26, "nothing is waited for beyond the bounds");
                    break;
                }
                Err(error) => return (commands, Some(error)),
            }
        }
    }
    (commands, None)
}

fuzz_target!(|input: &[u8]| {
    let bytewise = commands(input.chunks(1));
    // In pieces of seven, an error may come before the rest of the piece that it is in is read; the commands before it are the same.
    let (pieces, error) = commands(input.chunks(7));
    assert_eq!((&pieces, error), (&bytewise.0, bytewise.1));
    if let Ok(Some((value, length))) = parse_value(input, &BOUNDS) {
        assert_eq!(parse_value(&input[..length], &BOUNDS), Ok(Some((value, length))));
        for cut in 0..length {
            assert_eq!(parse_value(&input[..cut], &BOUNDS), Ok(None), "a part is incomplete");
        }
    }
});
