//! Reads a small file with a maximum size.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest file that is read for a connection. All the system's certificates together are a quarter of a megabyte.
const BYTES_MAX: u64 = 4 << 20;

/// Reads a file. It blocks the thread.
///
/// # Errors
/// A sentence that says what could not be read, which file, and why.
pub(crate) fn read(what: &str, path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let opened = File::open(path);
    let read = opened.and_then(|file| file.take(BYTES_MAX.saturating_add(1)).read_to_end(&mut bytes));
    read.map_err(|error| format!("{what} cannot be read: {}: {error}", path.display()))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > BYTES_MAX {
        return Err(format!("{what} cannot be read: {} is longer than {BYTES_MAX} bytes", path.display()));
    }
    Ok(bytes)
}

#[test]
fn a_file_without_an_end_is_not_read_to_its_end() {
    let error = read("the password", Path::new("/dev/zero")).unwrap_err();
    assert_eq!(error, "the password cannot be read: /dev/zero is longer than 4194304 bytes");
}
