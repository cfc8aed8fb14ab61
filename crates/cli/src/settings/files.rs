//! Finds and opens the files that contain settings.

use std::path::{Component, Path};

use tollgate_http::text::shown;
use tollgate_policy::{Findings, Sources};

use super::config_file::ConfigFile;
use super::source::SettingProblem;
use crate::files::DASH;

/// The file with settings in the current folder, if nobody names another one.
pub const CONFIG: &str = "tollgate.yaml";
/// What is named in place of a file for none, also if there is one in the current folder.
const NO_CONFIG: &str = "none";

/// Gives the text of a file by its name, nothing if there is no such file, or says in a few words why it cannot be read.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<Option<String>, String>;

/// The files that were opened, and what is wrong with them.
pub(super) struct OpenedFiles<'a> {
    read_file: ReadFile<'a>,
    files: Vec<(String, Option<ConfigFile>)>,
    pub(super) sources: Sources,
    pub(super) findings: Findings,
    pub(super) problems: Vec<SettingProblem>,
}

impl<'a> OpenedFiles<'a> {
    pub(super) fn new(read_file: ReadFile<'a>) -> Self {
        let (sources, findings) = (Sources::default(), Findings::default());
        Self { read_file, files: Vec::new(), sources, findings, problems: Vec::new() }
    }

    /// Opens a file that has to be there. Nothing if it cannot be read, which has been said.
    pub(super) fn open(&mut self, name: &str) -> Option<ConfigFile> {
        if let Some((_, file)) = self.files.iter().find(|(known, _)| is_same(known, name)) {
            return file.clone();
        }
        let text = if name == DASH {
            Err("standard input can be read once, and files are read again when they change".to_owned())
        } else {
            (self.read_file)(name).and_then(|text| text.ok_or_else(|| "there is no such file".into()))
        };
        let file = match text {
            Ok(text) => ConfigFile::read(name, &text, &mut self.sources, &mut self.findings),
            Err(why) => {
                self.problems.push(SettingProblem::error(format!("{} cannot be read: {why}", shown(name))));
                None
            }
        };
        self.files.push((name.into(), file.clone()));
        file
    }

    /// The file with settings: the one that is named, or a policy that has them too, or the one in the current folder.
    ///
    /// # Errors
    /// When it cannot be used, which has been said: what it would have said is not known.
    pub(super) fn config(
        &mut self,
        named: Option<&str>,
        policy: Option<&str>,
    ) -> Result<Option<ConfigFile>, UnusableFile> {
        if let Some(name) = named {
            if name == NO_CONFIG {
                return Ok(None);
            }
            let file = self.open(name).ok_or(UnusableFile)?;
            if !file.native {
                let name = shown(name);
                let message =
                    format!("{name} is an OpenAPI document, and has no settings; name it with --policy");
                self.problems.push(SettingProblem::error(message));
                return Err(UnusableFile);
            }
            return Ok(Some(file));
        }
        if let Some(policy) = policy {
            let file = self.open(policy).ok_or(UnusableFile)?;
            if file.serve.is_some() || is_same(policy, CONFIG) {
                return Ok(Some(file));
            }
        }
        match (self.read_file)(CONFIG) {
            Ok(None) => Ok(None),
            // Why it cannot be read is said when it is opened.
            Ok(Some(_)) | Err(_) => self.open(CONFIG).map(Some).ok_or(UnusableFile),
        }
    }
}

/// A file with settings was meant, and cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct UnusableFile;

/// Whether two names are of one file, as far as can be told without looking.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let parts = |name| Path::new(name).components().filter(|part| *part != Component::CurDir);
    parts(one).eq(parts(other))
}

#[test]
fn names_of_one_file_are_the_same() {
    for (one, other, same) in
        [("a.yaml", "./a.yaml", true), ("x/a.yaml", "x//a.yaml", true), ("a.yaml", "x/a.yaml", false)]
    {
        assert_eq!(is_same(one, other), same, "{one} and {other}");
    }
}
