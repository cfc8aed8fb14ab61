//! A plain connection: commands out, answers in, any number of them on the way. What they mean is not known here.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A server that owes an answer for so long has failed. Everything may stand still for a minute on a shared machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// How much is read at once.
const READ_BYTES: usize = 1 << 16;

/// An answer, or the first part of one with several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// A number.
    Number(i64),
    /// Any bytes.
    Text(Vec<u8>),
}

/// A connection, and what has come on it.
pub(crate) struct Connection {
    stream: UnixStream,
    come: Vec<u8>,
    /// How much of it has been taken.
    taken: usize,
}

impl Connection {
    /// Connects to a socket.
    pub(crate) fn open(socket: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", socket.display());
        let stream = UnixStream::connect(socket).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        Ok(Self { stream, come: Vec::with_capacity(READ_BYTES), taken: 0 })
    }

    /// Sends commands that are written out.
    pub(crate) fn send(&mut self, commands: &[u8]) -> Result<(), String> {
        self.stream.write_all(commands).map_err(|error| format!("cannot send to the server: {error}"))
    }

    /// One command, and its answer.
    pub(crate) fn tell(&mut self, words: &[&[u8]]) -> Result<Said, String> {
        let mut command = Vec::new();
        write_command(&mut command, words);
        self.send(&command)?;
        self.answer()
    }

    /// The next answer, whenever it comes.
    pub(crate) fn answer(&mut self) -> Result<Said, String> {
        loop {
            if let Some(said) = self.next()? {
                return Ok(said);
            }
            self.wait()?;
        }
    }

    /// The next answer, if it has come whole.
    pub(crate) fn next(&mut self) -> Result<Option<Said>, String> {
        let Some((said, length)) = answer(&self.come[self.taken..])? else { return Ok(None) };
        self.taken += length;
        Ok(Some(said))
    }

    /// All parts of the next answer, if it has come whole; of one that is no list, itself.
    pub(crate) fn next_parts(&mut self) -> Result<Option<Vec<Said>>, String> {
        let Some((parts, length)) = parts(&self.come[self.taken..])? else { return Ok(None) };
        self.taken += length;
        Ok(Some(parts))
    }

    /// Waits until more has come.
    pub(crate) fn wait(&mut self) -> Result<(), String> {
        self.come.drain(..self.taken);
        self.taken = 0;
        let mut buffer = [0; READ_BYTES];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err("the server closed a connection".into()),
            Ok(bytes) => {
                self.come.extend_from_slice(&buffer[..bytes]);
                Ok(())
            }
            Err(error) => Err(format!("no answer from the server: {error}")),
        }
    }
}

/// Adds a command.
pub(crate) fn write_command<W: AsRef<[u8]>>(to: &mut Vec<u8>, words: &[W]) {
    write_head(to, b'*', words.len());
    for word in words {
        write_head(to, b'$', word.as_ref().len());
        to.extend_from_slice(word.as_ref());
        to.extend_from_slice(b"\r\n");
    }
}

fn write_head(to: &mut Vec<u8>, sign: u8, number: usize) {
    // Vectors take all that is written.
    let _ = write!(to, "{}{number}\r\n", char::from(sign));
}

/// The first answer of some bytes and its length. Nothing if there is no whole one.
///
/// # Errors
/// When it is an error, or not an answer at all.
fn answer(bytes: &[u8]) -> Result<Option<(Said, usize)>, String> {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\r') else { return Ok(None) };
    let Some((sign, line)) = bytes[..end].split_first() else {
        return Err("an empty line is no answer".into());
    };
    let head = end + 2;
    let number = || {
        let number = std::str::from_utf8(line).ok().and_then(|text| text.parse::<i64>().ok());
        number.ok_or_else(|| format!("not a number: `{}`", String::from_utf8_lossy(line)))
    };
    match *sign {
        b'-' => Err(format!("the server said: {}", String::from_utf8_lossy(line))),
        b'+' => Ok((bytes.len() >= head).then(|| (Said::Text(line.to_vec()), head))),
        b':' => Ok((bytes.len() >= head).then_some((Said::Number(number()?), head))),
        b'$' => {
            let Ok(length) = usize::try_from(number()?) else {
                return Ok((bytes.len() >= head).then_some((Said::Text(Vec::new()), head)));
            };
            let all = head + length + 2;
            Ok((bytes.len() >= all).then(|| (Said::Text(bytes[head..head + length].to_vec()), all)))
        }
        b'*' => {
            let (mut first, mut at) = (None, head);
            for _ in 0..number()? {
                let Some((said, length)) = answer(bytes.get(at..).unwrap_or_default())? else {
                    return Ok(None);
                };
                first = first.or(Some(said));
                at += length;
            }
            Ok((bytes.len() >= at).then(|| (first.unwrap_or(Said::Number(0)), at)))
        }
        other => Err(format!("not an answer: it begins with {other}")),
    }
}

/// All parts of the first answer of some bytes, and its length. Nothing if there is no whole one.
///
/// # Errors
/// When one of them is an error, or not an answer at all.
fn parts(bytes: &[u8]) -> Result<Option<(Vec<Said>, usize)>, String> {
    let Some((first, length)) = answer(bytes)? else { return Ok(None) };
    if bytes.first() != Some(&b'*') {
        return Ok(Some((vec![first], length)));
    }
    let head = bytes.iter().position(|byte| *byte == b'\n').map_or(length, |end| end + 1);
    let (mut parts, mut at) = (Vec::new(), head);
    while at < length {
        let Some((said, length)) = answer(bytes.get(at..).unwrap_or_default())? else { return Ok(None) };
        parts.push(said);
        at += length;
    }
    Ok(Some((parts, length)))
}

#[cfg(test)]
mod tests {
    use super::{Said, answer, parts, write_command};

    #[test]
    fn answers_are_told_apart_and_of_a_list_the_first_part_counts() {
        let text = |text: &[u8]| Said::Text(text.to_vec());
        let cases: [(&[u8], Said); 6] = [
            (b"+OK\r\n", text(b"OK")),
            (b":-3\r\n", Said::Number(-3)),
            (b"$4\r\na\r\nb\r\n", text(b"a\r\nb")),
            (b"$-1\r\n", text(b"")),
            (b"*2\r\n:1\r\n$2\r\nab\r\n", Said::Number(1)),
            (b"*0\r\n", Said::Number(0)),
        ];
        for (bytes, said) in cases {
            let more = [bytes, b":9\r\n"].concat();
            assert_eq!(answer(&more), Ok(Some((said, bytes.len()))), "{bytes:?}");
            for part in 0..bytes.len() {
                assert_eq!(answer(&bytes[..part]), Ok(None), "{part} bytes of {bytes:?}");
            }
        }
    }

    #[test]
    fn a_list_has_its_parts_and_anything_else_is_one() {
        let cases: [(&[u8], Vec<Said>); 4] = [
            (b"*2\r\n:1\r\n$2\r\n\r\n\r\n", vec![Said::Number(1), Said::Text(b"\r\n".to_vec())]),
            (b"*0\r\n", vec![]),
            (b":7\r\n", vec![Said::Number(7)]),
            (b"$2\r\n*1\r\n", vec![Said::Text(b"*1".to_vec())]),
        ];
        for (bytes, said) in cases {
            let more = [bytes, b":9\r\n"].concat();
            assert_eq!(parts(&more), Ok(Some((said, bytes.len()))), "{bytes:?}");
            for part in 0..bytes.len() {
                assert_eq!(parts(&bytes[..part]), Ok(None), "{part} bytes of {bytes:?}");
            }
        }
    }

    #[test]
    fn an_error_is_an_error_wherever_it_stands() {
        for bytes in [&b"-NOSCRIPT no\r\n"[..], b"*2\r\n:1\r\n-ERR x\r\n", b"!3\r\n", b"\r\n"] {
            assert!(answer(bytes).is_err() && parts(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_command_has_its_words_with_their_lengths() {
        let mut command = Vec::new();
        write_command(&mut command, &[&b"GET"[..], b"a\r\nb"]);
        assert_eq!(command, b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n");
    }
}
