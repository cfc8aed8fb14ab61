//! Saves a store to a file and restores it: versioned, checksummed, and replaced atomically.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use tollgate_algorithms::Micros;

use crate::hash::{Hashing, Secret};
use crate::limiter::{Inner, LimitFamily, Limiter};
use crate::store::memory::snapshot::SavedOverflow;

mod coding;
mod common;
mod paper;

#[cfg(test)]
use coding::END as END_OF_KEYS;
use coding::Malformed;
use paper::{Reader, Writer};

/// The first bytes of every snapshot.
const MAGIC: &[u8; 8] = b"TOLLGATE";
/// The layout of what follows. Another one is refused.
const VERSION: u64 = 3;
/// What a snapshot hashes to tell whether its hash is still the one that it was written with.
const TRIAL: &[u8] = b"trial";

/// Why a store could not be saved. What stands under that name is whole all the same: the file that was there before; or, if only noting
/// its new name on the disk failed, the new one.
#[derive(Debug)]
pub struct SaveError {
    file: String,
    source: io::Error,
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, source } = self;
        write!(f, "{file}: cannot save the store ({source}); an existing file is unchanged")
    }
}

impl std::error::Error for SaveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Why a store was not restored. The limiter is empty then, except after [`NoRoom`](Self::NoRoom).
#[derive(Debug)]
#[non_exhaustive]
pub enum RestoreError {
    /// The file cannot be read.
    Unreadable(String, io::Error),
    /// It is not a snapshot of a Tollgate store.
    Foreign(String),
    /// It is one of another version of the layout.
    Version(String, u64),
    /// It is torn or cut off: its checksum does not fit.
    Torn(String),
    /// Its keys were hashed in a way that this processor or this version does not know.
    Hash(String),
    /// Some keys were left out, because the budget is too small for all of them: they start afresh.
    NoRoom(String, u64),
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let afresh = "the store starts empty";
        match self {
            Self::Unreadable(file, error) => write!(f, "{file}: cannot be read ({error}): {afresh}"),
            Self::Foreign(file) => write!(f, "{file}: is not a snapshot of a Tollgate store: {afresh}"),
            Self::Version(file, version) => {
                write!(f, "{file}: has layout {version}, and this version reads layout {VERSION}: {afresh}")
            }
            Self::Torn(file) => write!(f, "{file}: is damaged (checksum mismatch): {afresh}"),
            Self::Hash(file) => {
                write!(
                    f,
                    "{file}: its keys were hashed with a method that this processor or version does not support: {afresh}"
                )
            }
            Self::NoRoom(file, keys) => {
                write!(
                    f,
                    "{file}: {keys} keys did not fit in the memory budget and start afresh: raise the budget"
                )
            }
        }
    }
}

impl std::error::Error for RestoreError {}

/// What was read from a file, but for the keys: they are read twice, to see that all are well and to take them over, and
/// not kept in between.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) hashing: Hashing,
    file: String,
    names: Vec<String>,
    common: Vec<SavedOverflow>,
    saved_at: Micros,
    all: Vec<u8>,
    /// Where in `all` the keys begin.
    keys: usize,
}

impl Limiter {
    /// Saves the store in a file, from which [`Builder::restore`](crate::Builder::restore) makes one like it. Returns how
    /// many keys were saved. What new keys have spent in common while the store was full is saved too; reservations and receipts are not.
    ///
    /// Decisions go on meanwhile, but for new keys that the table has to grow for: they wait. Keys that change are saved as
    /// they were at some moment. The file is written beside, made
    /// durable, and renamed, so there is always a whole one. It holds the secret by which keys are hashed: only its owner may
    /// read it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, file: &Path) -> Result<u64, SaveError> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let beside = file.with_added_extension(format!("{}-{number}.new", std::process::id()));
        let saved = self.0.write(&beside).and_then(|keys| {
            fs::rename(&beside, file)?;
            // The name is durable only when its folder is.
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all())?;
            Ok(keys)
        });
        saved.map_err(|source| {
            // Nothing more can be done if it cannot be removed.
            let _ = fs::remove_file(&beside);
            SaveError { file: file.display().to_string(), source }
        })
    }
}

impl Inner {
    fn write(&self, file: &Path) -> io::Result<u64> {
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(file)?;
        file.write_all(MAGIC)?;
        let mut paper = Writer::new(file);
        let now = self.clock.now();
        paper.number(VERSION);
        match &self.hashing {
            Hashing::Sip(secret) => [0, secret.0, secret.1].map(|number| paper.number(number)),
            Hashing::Vouched(seed) => [1, *seed, 0].map(|number| paper.number(number)),
            Hashing::Aes(secret, _) => [2, secret.0, secret.1].map(|number| paper.number(number)),
        };
        paper.number(self.hashing.of_name(0).of(TRIAL));
        paper.number(now.get());
        let mut keys = 0;
        self.memory.for_each_saved(now, |saved| {
            keys += 1;
            coding::write(&mut paper, saved);
        });
        coding::write_end(&mut paper);
        // After the keys: who gets a place of its own meanwhile is in both, and starts no better than it should.
        common::write_all(&mut paper, &self.memory.saved_in_common(now));
        // The names last: one that is new meanwhile may have keys already.
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let mut in_order: Vec<_> =
            names.iter().map(|(name, known)| (known.space, Arc::clone(name))).collect();
        drop(names);
        in_order.sort_unstable();
        paper.number(in_order.len() as u64);
        in_order.iter().for_each(|(_, name)| paper.bytes(name.as_bytes()));
        paper.finish()?.sync_all()?;
        Ok(keys)
    }

    /// Fills an empty store with what was saved.
    pub(crate) fn take_over(&self, contents: Contents) -> Result<(), RestoreError> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        for (space, name) in (0..).zip(contents.names) {
            names.insert(name.into(), LimitFamily { space, ..LimitFamily::default() });
        }
        drop(names);
        let now = self.clock.now();
        let mut left_out = 0;
        let mut paper = Reader::at(&contents.all, contents.keys);
        // It has been read before, to the end.
        while let Ok(Some(saved)) = coding::read(&mut paper) {
            left_out += u64::from(!self.memory.put_back(&saved, contents.saved_at, now));
        }
        let saved_at = contents.saved_at;
        for saved in contents.common {
            left_out += u64::from(!self.memory.put_back_in_common(saved, saved_at, now));
        }
        if left_out > 0 { Err(RestoreError::NoRoom(contents.file, left_out)) } else { Ok(()) }
    }
}

/// Reads a file, and believes nothing in it before its checksum has been found right.
pub(crate) fn read(path: &Path) -> Result<Contents, RestoreError> {
    let file = path.display().to_string();
    let all = fs::read(path).map_err(|error| RestoreError::Unreadable(file.clone(), error))?;
    if !all.starts_with(MAGIC) {
        return Err(RestoreError::Foreign(file));
    }
    let Some(mut paper) = Reader::new(&all, MAGIC.len()) else { return Err(RestoreError::Torn(file)) };
    match paper.number() {
        Ok(VERSION) => {}
        Ok(version) => return Err(RestoreError::Version(file, version)),
        Err(Malformed) => return Err(RestoreError::Torn(file)),
    }
    let (head, common, names) = contents(&mut paper).map_err(|Malformed| RestoreError::Torn(file.clone()))?;
    let SnapshotHeader { hashing, trial, saved_at, keys } = head;
    let Some(hashing) = hashing.filter(|hashing| hashing.of_name(0).of(TRIAL) == trial) else {
        return Err(RestoreError::Hash(file));
    };
    Ok(Contents { hashing, file, names, common, saved_at, all, keys })
}

/// What comes before the keys, and where they begin.
struct SnapshotHeader {
    /// `None` if the processor has no AES.
    hashing: Option<Hashing>,
    trial: u64,
    saved_at: Micros,
    keys: usize,
}

fn contents(paper: &mut Reader<'_>) -> Result<(SnapshotHeader, Vec<SavedOverflow>, Vec<String>), Malformed> {
    let hashing = match (paper.number()?, paper.number()?, paper.number()?) {
        (0, first, second) => Some(Hashing::Sip(Secret(first, second))),
        (1, seed, _) => Some(Hashing::Vouched(seed)),
        (2, first, second) => Hashing::aes(Secret(first, second)),
        _ => return Err(Malformed),
    };
    let (trial, saved_at) = (paper.number()?, Micros::new(paper.number()?));
    let keys = paper.position();
    while coding::read(paper)?.is_some() {}
    let common = common::read_all(paper)?;
    let mut names = Vec::new();
    for _ in 0..paper.number()? {
        names.push(String::from_utf8(paper.bytes()?.to_vec()).map_err(|_| Malformed)?);
    }
    Ok((SnapshotHeader { hashing, trial, saved_at, keys }, common, names))
}

#[cfg(test)]
mod tests {
    use super::{END_OF_KEYS, Hashing, MAGIC, Secret, TRIAL, VERSION, Writer, read};
    use std::io::Write as _;

    use tollgate_testing::folder::Folder;

    /// What is said of a file that is whole, and has these numbers in it.
    fn said(name: &str, numbers: &[u64]) -> String {
        let folder = Folder::new(name);
        let path = folder.at().join("snapshot");
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(MAGIC).unwrap();
        let mut paper = Writer::new(file);
        numbers.iter().for_each(|number| paper.number(*number));
        paper.finish().unwrap();
        read(&path).map_or_else(|error| error.to_string(), |_| "read".into())
    }

    #[test]
    fn a_file_of_another_layout_or_hash_is_refused_by_name() {
        let trial = Hashing::Sip(Secret(7, 8)).of_name(0).of(TRIAL);
        let numbers = |version, trial| [version, 0, 7, 8, trial, 1_000, END_OF_KEYS, 0, 0];
        assert_eq!(said("well", &numbers(VERSION, trial)), "read");
        let other = said("later", &numbers(VERSION + 1, trial));
        assert!(
            other.ends_with("has layout 4, and this version reads layout 3: the store starts empty"),
            "{other}"
        );
        let hash = said("hash", &numbers(VERSION, trial ^ 1));
        assert!(
            hash.contains(
                "its keys were hashed with a method that this processor or version does not support"
            ),
            "{hash}"
        );
        // A way that nobody knows is not a whole file.
        let torn = said("way", &[VERSION, 3, 7, 8, trial, 1_000, END_OF_KEYS, 0, 0]);
        assert!(torn.contains("is damaged"), "{torn}");
    }
}
