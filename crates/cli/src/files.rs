//! Files, standard input, the environment and the wall clock: the only file that accesses them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_algorithms::Micros;
use tollgate_policy::DOCUMENT_BYTES_MAX;

/// The argument for standard input.
pub(crate) const DASH: &str = "-";
/// The name of standard input in messages. Paths in it are relative to the current folder.
pub(crate) const STANDARD_INPUT: &str = "<stdin>";
/// Size of pieces when a file is read in pieces.
const CHUNK_BYTES: usize = 64 << 10;

/// Reads a text file. The error is a short message.
///
/// A file of more than [`DOCUMENT_BYTES_MAX`] is refused, before it is read if its size is known.
pub(crate) fn read(name: &str) -> Result<String, String> {
    let file = open(name)?;
    let bytes = file.metadata().map_or(0, |about| about.len());
    if bytes > u64::try_from(DOCUMENT_BYTES_MAX).unwrap_or(u64::MAX) {
        return Err(too_long(DOCUMENT_BYTES_MAX));
    }
    text_of_length(file, usize::try_from(bytes).unwrap_or(0), DOCUMENT_BYTES_MAX)
}

fn too_long(bytes_max: usize) -> String {
    format!("it has more than {bytes_max} bytes: split it with $ref")
}

/// Reads a text file; `None` if it does not exist.
pub(crate) fn read_if_there(name: &str) -> Result<Option<String>, String> {
    match fs::exists(name) {
        Ok(false) => Ok(None),
        // What keeps it from being looked for keeps it from being read, and is said there.
        Ok(true) | Err(_) => read(name).map(Some),
    }
}

/// Returns true if the path exists.
pub(crate) fn is_there(name: &str) -> bool {
    fs::exists(name).unwrap_or(false)
}

/// Whether there is a folder of this name.
pub(crate) fn is_folder(name: &str) -> bool {
    fs::metadata(name).is_ok_and(|about| about.is_dir())
}

/// The files in a folder and in those below it, sorted by name. Hidden ones, links to folders and folders of packages are left out.
pub(crate) fn below(folder: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        let told = |error: io::Error| format!("{} cannot be read: {}", folder.display(), why(&error));
        for entry in fs::read_dir(&folder).map_err(told)? {
            let entry = entry.map_err(told)?;
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") || name == "node_modules" {
                continue;
            }
            // Of `.` names begin without it, as documents name one another.
            let path = if folder.as_os_str() == "." { PathBuf::from(name) } else { folder.join(name) };
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if let Some(name) = path.to_str() {
                found.push(name.strip_prefix("./").unwrap_or(name).to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// What a file is that is no text, by its first bytes, and what to do.
pub(crate) fn binary(bytes: &[u8]) -> Option<String> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x1f\x8b", "it is compressed with gzip: decompress it first, with `gunzip`"),
        (b"\x28\xb5\x2f\xfd", "it is compressed with zstd: decompress it first, with `unzstd`"),
        (b"\xfd7zXZ\0", "it is compressed with xz: decompress it first, with `unxz`"),
        (b"BZh", "it is compressed with bzip2: decompress it first, with `bunzip2`"),
        (b"PK\x03\x04", "it is a ZIP archive: unpack it first"),
        (b"%PDF-", "it is a PDF: name the document in YAML or JSON"),
        (b"\xff\xfe", "it is UTF-16: save it as UTF-8"),
        (b"\xfe\xff", "it is UTF-16: save it as UTF-8"),
    ];
    if let Some((_, what)) = KINDS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some((*what).to_owned());
    }
    match bytes {
        // The `{`, `o` or blank of a document in two bytes, of which the other is empty.
        [0, first, ..] | [first, 0, ..] if *first != 0 && first.is_ascii() => {
            Some("it is UTF-16: save it as UTF-8".into())
        }
        [b'\x89', b'P', b'N', b'G', ..] | [0x7f, b'E', b'L', b'F', ..] | [0, ..] => {
            Some("it is a binary file: name the document in YAML or JSON".into())
        }
        _ => None,
    }
}

/// Reads standard input, within the same bounds.
pub(crate) fn read_standard_input() -> Result<String, String> {
    text(io::stdin().lock(), DOCUMENT_BYTES_MAX)
}

/// Passes a file of any size in pieces to a function.
pub(crate) fn feed(name: &str, take: &mut dyn FnMut(&[u8])) -> Result<(), String> {
    feed_up_to(name, u64::MAX, take)
}

/// Like [`feed`], with a maximum size, for endless files.
pub(crate) fn feed_up_to(name: &str, bytes_max: u64, take: &mut dyn FnMut(&[u8])) -> Result<(), String> {
    let mut file = open(name)?.take(bytes_max);
    let mut piece = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => take(piece.get(..count).unwrap_or(&[])),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(why(&error)),
        }
    }
}

/// An existing folder, identified by device and inode, because another one may take its name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    identity: (u64, u64),
}

/// The folders in which something happens when a file is written, replaced or made: its own, that of each link on the way
/// to it, and that of the file which it leads to. For a folder that is not there, the nearest one above it.
///
/// Links that lead to links in other folders are not followed step by step.
pub(crate) fn folders_of(name: &str) -> Vec<Folder> {
    let path = Path::new(name);
    let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink());
    let links = path.ancestors().skip(1).filter(|above| is_link(above)).filter_map(Path::parent);
    let real = fs::canonicalize(path).ok();
    let own = path.parent().into_iter().chain(links).chain(real.as_deref().and_then(Path::parent));
    let mut folders: Vec<_> = own.filter_map(|folder| folder.ancestors().find_map(there)).collect();
    folders.sort();
    folders.dedup();
    folders
}

fn there(folder: &Path) -> Option<Folder> {
    let path = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let about = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
    Some(Folder { path: path.into(), identity: (about.dev(), about.ino()) })
}

/// Replaces a file atomically: writes a new file next to it, then renames it, with the same mode.
///
/// A link is kept: its target is replaced.
pub(crate) fn write(name: &str, bytes: &[u8]) -> Result<(), String> {
    replace(Path::new(name), bytes).map_err(|error| format!("{name} cannot be written: {}", why(&error)))
}

fn replace(at: &Path, bytes: &[u8]) -> io::Result<()> {
    let at = fs::canonicalize(at)?;
    let mode = fs::metadata(&at)?.permissions();
    let name = at.file_name().unwrap_or_default().to_string_lossy();
    let beside = at.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = File::create_new(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.set_permissions(mode)?;
        file.sync_all()
    });
    let ended = written.and_then(|()| fs::rename(&beside, &at));
    if ended.as_ref().is_err_and(|error| error.kind() != ErrorKind::AlreadyExists) {
        // What is left behind is not a second failure.
        let _ = fs::remove_file(&beside);
    }
    ended
}

/// Writes a text file into a folder, which is created if it does not exist.
pub(crate) fn write_into(folder: &str, name: &str, bytes: &[u8]) -> Result<(), String> {
    let at = Path::new(folder);
    if fs::metadata(at).is_ok_and(|about| !about.is_dir()) {
        return Err(format!("{folder} is not a folder, so {name} cannot be written: name a folder"));
    }
    let written = fs::create_dir_all(at).and_then(|()| fs::write(at.join(name), bytes));
    written.map_err(|error| format!("{} cannot be written: {}", at.join(name).display(), why(&error)))
}

/// The environment variables of the process, which commands take as data.
#[must_use]
pub fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// The wall clock in microseconds since 1970, for the expiry of tokens and calendar windows.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the one place of the command that reads a clock; commands take `now`"
)]
pub fn wall_clock() -> Micros {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(Micros::ZERO, Micros::from_duration)
}

fn open(name: &str) -> Result<File, String> {
    let file = File::open(name).map_err(|error| why(&error))?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        return Err("it is a folder".into());
    }
    Ok(file)
}

fn text(from: impl Read, bytes_max: usize) -> Result<String, String> {
    text_of_length(from, 0, bytes_max)
}

/// As [`text`], of something whose length is probably known: a buffer that grows would be up to three times as large for a moment.
fn text_of_length(from: impl Read, length: usize, bytes_max: usize) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(length.min(bytes_max).saturating_add(1));
    let most = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    from.take(most).read_to_end(&mut bytes).map_err(|error| why(&error))?;
    if bytes.len() > bytes_max {
        return Err(too_long(bytes_max));
    }
    if let Some(what) = binary(&bytes) {
        return Err(what);
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("it is not UTF-8 at byte {at}: save it as UTF-8")
    })
}

/// Plain messages for common errors of the system.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "there are forty kinds, and most have nothing to do with files"
)]
fn why(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::IsADirectory => "it is a folder".into(),
        ErrorKind::NotADirectory => "part of its path is not a folder".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_up_to_its_bound_and_refused_beyond_it() {
        assert_eq!(text(&b"12345"[..], 5), Ok("12345".into()));
        assert_eq!(text(&b"123456"[..], 5), Err("it has more than 5 bytes: split it with $ref".into()));
        // An endless file ends the command, not the machine.
        assert!(text(io::repeat(b'x'), 5).is_err());
    }

    #[test]
    fn what_is_not_text_is_refused_with_its_place() {
        let why = text(&b"ab\xffcd"[..], 9).expect_err("it is not UTF-8");
        assert_eq!(why, "it is not UTF-8 at byte 2: save it as UTF-8");
    }

    #[test]
    fn a_binary_file_is_told_by_what_it_is() {
        let table: [(&[u8], Option<&str>); 9] = [
            (b"\x1f\x8b\x08\0\0", Some("it is compressed with gzip: decompress it first, with `gunzip`")),
            (b"PK\x03\x04\x14\0", Some("it is a ZIP archive: unpack it first")),
            (b"\xff\xfeo\0p\0", Some("it is UTF-16: save it as UTF-8")),
            (b"o\0p\0", Some("it is UTF-16: save it as UTF-8")),
            (b"\0o\0p", Some("it is UTF-16: save it as UTF-8")),
            (b"\x89PNG\r\n", Some("it is a binary file: name the document in YAML or JSON")),
            (b"\0\0\0", Some("it is a binary file: name the document in YAML or JSON")),
            (b"openapi: 3.1.0", None),
            (b"", None),
        ];
        for (bytes, expected) in table {
            assert_eq!(binary(bytes).as_deref(), expected, "{bytes:?}");
        }
        assert!(text(&b"\x1f\x8b\x08"[..], 9).is_err_and(|why| why.contains("gunzip")));
    }

    #[test]
    fn what_is_below_a_folder_is_listed_without_hidden_files_and_packages() {
        let folder = tollgate_testing::folder::Folder::new("below");
        for name in ["b", ".hidden", "node_modules"] {
            fs::create_dir(folder.at().join(name)).expect("a folder can be made");
        }
        for name in ["b/c.yaml", "a.yaml", ".hidden/x.yaml", "node_modules/y.yaml"] {
            folder.put(name, b"");
        }
        let root = folder.path("");
        let found = below(root.trim_end_matches('/')).expect("it can be read");
        let names: Vec<_> = found.iter().filter_map(|name| name.strip_prefix(&root)).collect();
        assert_eq!(
            names.iter().map(|name| name.trim_start_matches('/')).collect::<Vec<_>>(),
            ["a.yaml", "b/c.yaml"]
        );
        assert!(below("no-such-folder").is_err_and(|why| why.contains("there is no such file")));
    }

    #[test]
    fn folders_and_missing_files_are_told_apart() {
        assert_eq!(read("no-such-file.yaml"), Err("there is no such file".into()));
        assert_eq!(read("."), Err("it is a folder".into()));
        assert_eq!(read_if_there("no-such-file.yaml"), Ok(None));
        assert_eq!(read_if_there("."), Err("it is a folder".into()));
        assert_eq!(feed("no-such-file.csv", &mut |_| {}), Err("there is no such file".into()));
    }
}
