//! Watches the folders of the loaded files.

use std::fmt;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::Sender;

use crate::files::{Folder, folders_of};

/// Folders that are watched. Files are not: an editor, and Kubernetes, puts another in a file's place.
#[derive(Default)]
pub(super) struct FolderWatch {
    folders: Vec<Folder>,
    /// Watches as long as it is there.
    watcher: Option<RecommendedWatcher>,
}

impl FolderWatch {
    /// Watches the folders of these files. Says whether others are watched than before: then something may have happened
    /// that nobody saw.
    ///
    /// # Errors
    /// A sentence, when a folder cannot be watched. The others are.
    pub(super) fn renew<'a>(
        &mut self,
        files: impl Iterator<Item = &'a str>,
        happened: &Sender<()>,
    ) -> Result<bool, String> {
        let mut folders: Vec<_> = files.flat_map(folders_of).collect();
        folders.sort();
        folders.dedup();
        if folders == self.folders {
            return Ok(false);
        }
        // Also if it fails: it is tried again when there is something new to try.
        self.folders = folders;
        let happened = happened.clone();
        let tell = move |event: notify::Result<Event>| {
            if event.as_ref().map_or(true, matters) {
                // One that waits stands for all.
                let _ = happened.try_send(());
            }
        };
        let mut watcher = notify::recommended_watcher(tell).map_err(|error| sentence("files", &error))?;
        let mut failed = None;
        for folder in &self.folders {
            if let Err(error) = watcher.watch(&folder.path, RecursiveMode::NonRecursive) {
                failed = Some(sentence(&folder.path.display().to_string(), &error));
            }
        }
        self.watcher = Some(watcher);
        failed.map_or(Ok(true), Err)
    }
}

fn sentence(what: &str, error: &notify::Error) -> String {
    format!("{what} cannot be watched, so it is polled: {error}")
}

/// Whether something may have changed. That a file was opened or read is our own doing, as often as not.
fn matters(event: &Event) -> bool {
    match event.kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

impl fmt::Debug for FolderWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watch({:?})", self.folders)
    }
}
