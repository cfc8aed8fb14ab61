//! `tollgate import`: converts the limits of other software into a policy, and says what could not be converted.

#[cfg(feature = "envoy")]
mod descriptors;
mod native;
mod nginx;

use std::io::{self, Write};

use crate::cli::{ImportArgs, ImportSource};
use crate::finding::printable;
use crate::{Exit, files};
use native::Imported;

/// The longest file in bytes. A longer one is an error.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Converts a file, and prints the policy.
///
/// # Errors
/// When the output cannot be written. What is wrong with the file is told on `err`.
pub fn run(args: &ImportArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let text = match read(&args.file) {
        Ok(text) => text,
        Err(why) => {
            writeln!(err, "tollgate: {}", printable(&why))?;
            return Ok(Exit::Usage);
        }
    };
    let imported = match args.from {
        ImportSource::Envoy | ImportSource::Limitador => of_descriptors(&args.file, &text),
        ImportSource::Nginx => nginx::import(&args.file, &text),
    };
    match imported {
        Err(errors) => {
            for error in errors {
                writeln!(err, "{}", printable(&error))?;
            }
            Ok(Exit::Findings)
        }
        Ok(imported) => {
            out.write_all(imported.text(&args.file).as_bytes())?;
            for (what, notes) in [("not converted", &imported.lost), ("check", &imported.assumed)] {
                for note in notes {
                    writeln!(err, "{what}: {}", printable(note))?;
                }
            }
            Ok(if imported.lost.is_empty() { Exit::Fine } else { Exit::Findings })
        }
    }
}

fn read(name: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = files::feed_up_to(name, FILE_BYTES_MAX, &mut |piece| bytes.extend_from_slice(piece));
    read.map_err(|why| format!("{name} cannot be read: {why}"))?;
    String::from_utf8(bytes).map_err(|_| format!("{name} is not a text file"))
}

#[cfg(feature = "envoy")]
fn of_descriptors(name: &str, text: &str) -> Result<Imported, Vec<String>> {
    descriptors::import(name, text)
}

#[cfg(not(feature = "envoy"))]
fn of_descriptors(_: &str, _: &str) -> Result<Imported, Vec<String>> {
    Err(vec!["this `tollgate` was built without the feature `envoy`".into()])
}
