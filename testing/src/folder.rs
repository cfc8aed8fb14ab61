//! A temporary folder of a test's own, removed when it is dropped.

use std::fs;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// An empty folder that nobody else uses.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates a folder. The name is part of its path, to tell whose it is if it is left behind.
    ///
    /// # Panics
    /// If it cannot be created.
    #[must_use]
    pub fn new(name: &str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let at = std::env::temp_dir().join(format!("tollgate-{name}-{}-{number}", std::process::id()));
        // A process of the same number may have left one behind.
        let _ = fs::remove_dir_all(&at);
        fs::create_dir_all(&at).expect("a temporary folder can be created");
        Self(at)
    }

    /// The folder, for somebody who removes it, or leaves it behind.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        ManuallyDrop::new(self).0.clone()
    }

    /// The folder.
    #[must_use]
    pub fn at(&self) -> &Path {
        &self.0
    }

    /// The path of an entry as text, whether the entry exists or not.
    ///
    /// # Panics
    /// If the path is not UTF-8.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("the path is UTF-8").into()
    }

    /// Writes a file into it, and returns its path.
    ///
    /// # Panics
    /// If the file cannot be written.
    #[expect(clippy::must_use_candidate, reason = "most who put a file there know where it is")]
    pub fn put(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.0.join(name), bytes).expect("a temporary file can be written");
        self.path(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that is left behind fails no test.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn folders_of_one_name_are_different_and_go_with_their_values() {
    let (one, two) = (Folder::new("folder"), Folder::new("folder"));
    let file = one.put("file", b"text");
    assert!(Path::new(&file).exists() && !Path::new(&two.path("file")).exists());
    drop(one);
    assert!(!Path::new(&file).exists() && two.at().exists());
}
