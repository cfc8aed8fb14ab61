//! The settings at start-up, to find out later which of them a restart would change.

use std::ffi::OsString;
use std::fmt;

use tollgate_policy::Severity;

use super::files::ReadFile;
use super::resolve::{ResolvedSetting, ResolvedSettings, SettingsError, resolve};
use super::setting::PREFIX;
use super::source::SettingProblem;
use crate::cli::ServeArgs;
use crate::finding::printable;

/// The most errors that are told; of the others, only the number is.
const TOLD_MAX: usize = 5;

/// What the process was started with, and the settings that followed from it.
#[derive(Clone)]
pub struct Startup {
    args: ServeArgs,
    environment: Vec<(OsString, OsString)>,
    in_force: Vec<ResolvedSetting>,
}

impl Startup {
    /// What settings were resolved from, and what they are.
    #[must_use]
    pub fn new(args: &ServeArgs, environment: &[(OsString, OsString)], resolved: &ResolvedSettings) -> Self {
        let ours = environment.iter().filter(|(name, _)| name.to_string_lossy().starts_with(PREFIX));
        Self { args: args.clone(), environment: ours.cloned().collect(), in_force: resolved.in_force.clone() }
    }

    /// The paths of the settings that would be others after a restart, in the order of the documentation.
    ///
    /// # Errors
    /// In one line, why there would be no settings.
    pub(crate) fn changed(&self, read_file: ReadFile<'_>) -> Result<Vec<String>, String> {
        let now = resolve(&self.args, &self.environment, read_file);
        let now = now.map_err(|unusable| sentence(&unusable))?.in_force;
        let is_same = |setting: &ResolvedSetting, others: &[ResolvedSetting]| {
            others.iter().any(|other| same(setting, other))
        };
        let mut changed: Vec<_> = now.iter().filter(|setting| !is_same(setting, &self.in_force)).collect();
        let gone = |setting: &&ResolvedSetting| !now.iter().any(|other| other.path == setting.path);
        changed.extend(self.in_force.iter().filter(gone));
        Ok(changed.into_iter().map(|setting| setting.path.clone()).collect())
    }
}

fn same(one: &ResolvedSetting, other: &ResolvedSetting) -> bool {
    (&one.path, &one.value) == (&other.path, &other.value)
}

/// The first few errors, in one line.
fn sentence(unusable: &SettingsError) -> String {
    let is_error = |problem: &&SettingProblem| problem.severity() == Severity::Error;
    let errors = unusable.problems.iter().filter(is_error);
    let told = errors.clone().take(TOLD_MAX).map(|problem| problem.line(&unusable.sources));
    let mut all: Vec<_> = told.collect();
    if let Some(more) = errors.count().checked_sub(TOLD_MAX).filter(|more| *more > 0) {
        all.push(format!("and {more} more"));
    }
    printable(&all.join("; "))
}

impl fmt::Debug for Startup {
    /// Without values, which may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Startup({} settings)", self.in_force.len())
    }
}
