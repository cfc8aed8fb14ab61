//! How long a response is, from what has come of it. It knows only what tiny responses need: a status and a length.

/// What has come of a response.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Come {
    /// Not all of it.
    Part,
    /// All, with this status.
    Whole(u16),
    /// Something that cannot be read here.
    Odd,
}

/// Looks at all bytes since the response began.
pub(crate) fn look(bytes: &[u8]) -> Come {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Come::Part };
    let Ok(head) = std::str::from_utf8(&bytes[..end]) else { return Come::Odd };
    let status = head.get(9..12).and_then(|digits| digits.parse().ok());
    let (Some(status), Some(length)) = (status, length(head)) else { return Come::Odd };
    match bytes.len().cmp(&(end + 4 + length)) {
        std::cmp::Ordering::Less => Come::Part,
        std::cmp::Ordering::Equal => Come::Whole(status),
        // Nobody asked for more.
        std::cmp::Ordering::Greater => Come::Odd,
    }
}

fn length(head: &str) -> Option<usize> {
    field(head, "content-length")?.parse().ok()
}

/// The value of a field, if the head has it.
pub(crate) fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    fields.into_iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

#[test]
fn a_response_is_whole_when_its_length_has_come() {
    let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    for cut in 0..response.len() {
        assert_eq!(look(&response[..cut]), Come::Part, "{cut} bytes");
    }
    assert_eq!(look(response), Come::Whole(200));
    assert_eq!(look(b"HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n"), Come::Whole(429));
}

#[test]
fn what_cannot_be_read_is_odd() {
    let odd: [&[u8]; 4] = [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokmore",
        b"\xff\r\n\r\n",
    ];
    for bytes in odd {
        assert_eq!(look(bytes), Come::Odd, "{}", String::from_utf8_lossy(bytes));
    }
}
