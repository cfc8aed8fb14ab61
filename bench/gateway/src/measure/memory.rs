//! Resident memory: at rest, and with thousands of idle connections that have each made one request.

use std::fmt::Write;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use super::contestant::{Contestant, Place, Setup, Whose};
use super::document::Limits;
use super::spread::{Spread, thousandths};
use crate::process::leashed;

/// Idle connections.
const CONNECTIONS: u64 = 10_000;

/// The table.
pub(crate) fn table(place: &Place, rounds: usize) -> Result<String, String> {
    let mut text = String::from(
        "### Resident memory, one worker\n\n\
         |  | at rest, MB | with 10,000 idle connections, MB | bytes per connection |\n|---|---|---|---|\n",
    );
    for whose in [Whose::Tollgate, Whose::Nginx] {
        let (mut rest, mut held, mut each, mut name) =
            (Spread::default(), Spread::default(), Spread::default(), String::new());
        for _ in 0..rounds {
            let setup = Setup { limits: Limits::Generous, workers: 1, cores: "0" };
            let contestant = Contestant::gateway(place, whose, setup)?;
            let before = contestant.process.resident_bytes()?;
            let after = with_connections(&contestant)?;
            rest.push(before);
            held.push(after);
            each.push(after.saturating_sub(before) / CONNECTIONS);
            name = contestant.name;
        }
        let [rest, held] = [rest, held].map(|bytes| thousandths(bytes.median() / 1_000));
        let _ = writeln!(text, "| {name} | {rest} | {held} | {} |", each.whole());
    }
    Ok(text)
}

/// What is resident while the connections are held.
fn with_connections(contestant: &Contestant) -> Result<u64, String> {
    let me = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let words =
        [me.display().to_string(), "hold".into(), contestant.port.to_string(), CONNECTIONS.to_string()];
    let mut command = leashed("1", &words)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let holder = command.spawn().map_err(|error| format!("cannot hold connections: {error}"))?;
    let mut holder = Holder(holder);
    let Some(output) = holder.0.stdout.take() else { return Err("the holder has no output".into()) };
    let mut output = BufReader::new(output);
    let mut line = String::new();
    output.read_line(&mut line).map_err(|error| format!("the holder: {error}"))?;
    if line != "ready\n" {
        let mut said = String::new();
        holder.0.stderr.take().map(|mut errors| errors.read_to_string(&mut said));
        return Err(contestant.process.failed(&format!("did not hold connections: {said}")));
    }
    let resident = contestant.process.resident_bytes()?;
    drop(holder.0.stdin.take());
    let mut still = String::new();
    output.read_line(&mut still).map_err(|error| format!("the holder: {error}"))?;
    if still.trim() != CONNECTIONS.to_string() {
        return Err(contestant.process.failed(&format!("kept only {} of the connections", still.trim())));
    }
    Ok(resident)
}

/// Ends with what it is held by.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
