//! The settings of the shared store alone, for commands that start no gateway.

use std::ffi::OsString;

use tollgate_policy::Severity;

use super::StoreSettings;
use super::files::ReadFile;
use super::resolve::{CollectedSettings, SettingsError, apply, gather, told};
use crate::cli::ServeArgs;

/// The store that `serve` would use with these flags, variables and files, put together as it does.
///
/// # Errors
/// Everything that is wrong with any of them.
pub(crate) fn store(
    args: &ServeArgs,
    environment: &[(OsString, OsString)],
    read_file: ReadFile<'_>,
) -> Result<StoreSettings, SettingsError> {
    let CollectedSettings { mut problems, said, opened, .. } = gather(args, environment, read_file);
    let sources = told(opened, &mut problems);
    let (draft, _) = apply(said, &mut problems);
    if problems.iter().any(|problem| problem.severity() == Severity::Error) {
        return Err(SettingsError { problems, sources });
    }
    Ok(draft.settings.store)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "tollgate: 1\nserve:\n  store: { url: redis://file, budget: 40ms }\n";

    fn stored(args: &ServeArgs, variables: &[(&str, &str)]) -> Result<StoreSettings, Vec<String>> {
        let variables: Vec<_> = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let read = &mut |name: &str| Ok((name == "gateway.yaml").then(|| FILE.to_owned()));
        store(args, &variables, read).map_err(|unusable| {
            unusable.problems.iter().map(|problem| problem.line(&unusable.sources)).collect()
        })
    }

    #[test]
    fn a_store_needs_neither_a_policy_nor_an_upstream() {
        let args = |store: Option<&str>, config: Option<&str>| ServeArgs {
            store: store.map(Into::into),
            config: config.map(Into::into),
            ..ServeArgs::default()
        };
        let url = |stored: Result<StoreSettings, _>| {
            stored.map(|at: StoreSettings| (at.url, at.budget.as_millis()))
        };
        let told = |url: Option<&str>, budget| Ok((url.map(str::to_owned), budget));
        let file = Some("gateway.yaml");
        assert_eq!(url(stored(&args(None, None), &[])), told(None, 25));
        assert_eq!(url(stored(&args(Some("redis://flag"), None), &[])), told(Some("redis://flag"), 25));
        assert_eq!(url(stored(&args(None, file), &[])), told(Some("redis://file"), 40));
        let variable = [("TOLLGATE_STORE_URL", "redis://variable")];
        assert_eq!(url(stored(&args(None, file), &variable)), told(Some("redis://variable"), 40));
        assert_eq!(url(stored(&args(Some("redis://flag"), file), &variable)), told(Some("redis://flag"), 40));
    }

    #[test]
    fn what_is_wrong_is_told_without_the_password() {
        let args = ServeArgs { store: Some("http://:hunter2@host".into()), ..ServeArgs::default() };
        let problems = stored(&args, &[("TOLLGATE_WORKRES", "1")]).expect_err("both are wrong");
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems.iter().all(|problem| !problem.contains("hunter2")), "{problems:?}");
    }
}
