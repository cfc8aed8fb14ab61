//! Holds idle connections: opens them, makes one request on each, and keeps them until its input ends. It measures
//! nothing.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use crate::measure::document::REQUEST;
use crate::response::{Come, look};

/// A gateway that takes longer for one answer has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens the connections, prints `ready`, waits for the end of its input, and then makes a second request on each: a
/// gateway that had closed them would only seem to be small. Prints how many were still there.
pub(crate) fn run(port: u16, count: usize) -> Result<(), String> {
    let mut held = Vec::with_capacity(count);
    for number in 0..count {
        let failed = |error| format!("connection {number} of {count}: {error}");
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        ask(&mut stream).map_err(failed)?;
        held.push(stream);
    }
    println!("ready");
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    std::io::stdin().read_to_end(&mut Vec::new()).map_err(|error| error.to_string())?;
    println!("{}", held.iter_mut().filter_map(|stream| ask(stream).ok()).count());
    Ok(())
}

/// One request, and its answer.
fn ask(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(REQUEST.as_bytes())?;
    let (mut buffer, mut filled) = ([0; 4096], 0);
    loop {
        let more = stream.read(&mut buffer[filled..])?;
        filled += more;
        match look(&buffer[..filled]) {
            Come::Whole(200) => return Ok(()),
            Come::Part if more > 0 => {}
            Come::Part => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Come::Whole(status) => return Err(std::io::Error::other(format!("status {status}"))),
            Come::Odd => return Err(std::io::Error::other("an answer that cannot be read")),
        }
    }
}
