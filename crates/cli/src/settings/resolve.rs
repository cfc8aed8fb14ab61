//! Merges flags, variables and a file into settings, by precedence. Reports all errors at once.

use std::collections::HashMap;
use std::ffi::OsString;

use tollgate_http::text::shown;
use tollgate_policy::{Diagnostic, Place, Severity, Sources};

use super::config_file::ConfigFile;
use super::files::{OpenedFiles, ReadFile, UnusableFile, is_same};
use super::partial::PartialSettings;
use super::setting::Setting;
use super::source::{GivenSetting, SettingProblem, SettingSource};
use super::value::Value;
use super::{Settings, environment, flags, table};
use crate::cli::ServeArgs;

/// Settings that can be used.
#[derive(Debug)]
pub struct ResolvedSettings {
    /// The settings.
    pub settings: Settings,
    /// Every setting as it is in force, in the order of the documentation.
    pub in_force: Vec<ResolvedSetting>,
    /// What could be better.
    pub warnings: Vec<SettingProblem>,
    /// The file that some of them stand in, if there is one.
    pub config: Option<String>,
    /// The files that were read, for places in them.
    pub sources: Sources,
}

/// A setting in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResolvedSetting {
    /// Its path, such as `timeouts.header`.
    pub path: String,
    /// Its value, as a file has it.
    pub value: Value,
    /// Where it comes from.
    pub given: SettingSource,
    /// Whether it names a file with a secret, or by mistake is one.
    pub is_secret: bool,
}

/// Settings that cannot be used, and why.
#[derive(Debug)]
pub struct SettingsError {
    /// Everything that was found. At least one is an error.
    pub problems: Vec<SettingProblem>,
    /// The files that were read, for places in them.
    pub sources: Sources,
}

/// Makes settings of flags, the environment, and the file with settings.
///
/// A flag counts before a variable, a variable before the file, and the file before what holds by itself. The file is the one
/// of `--config` or `TOLLGATE_CONFIG`; else the policy, if it is a Tollgate file with a section `serve`; else
/// [`CONFIG`](super::CONFIG) in the current folder, if it is there. The policy is the one of `--policy`, `TOLLGATE_POLICY` or
/// `serve.policy`; else the file itself.
///
/// # Errors
/// Everything that is wrong with any of them, also where something stronger would have counted.
pub fn resolve(
    args: &ServeArgs,
    environment: &[(OsString, OsString)],
    read_file: ReadFile<'_>,
) -> Result<ResolvedSettings, SettingsError> {
    let CollectedSettings { mut problems, mut said, config, mut opened } =
        gather(args, environment, read_file);
    let asks = asks(&said);
    policy(&mut said, &config, (&mut opened, asks));
    let sources = told(opened, &mut problems);
    let (draft, given) = apply(said, &mut problems);
    if asks == Asks::Nobody && draft.url.is_none() && config.is_ok() {
        problems.push(SettingProblem::error(
            "nothing says where requests go; give --upstream, TOLLGATE_UPSTREAM_URL, or `upstream: { url: … }` under `serve`; or an \
             endpoint that clients ask for decisions: --grpc, --resp or --api",
        ));
    }
    let (settings, together) = draft.finish(&|path| given.get(path).cloned());
    problems.extend(together);
    if problems.iter().any(|problem| problem.severity() == Severity::Error) {
        return Err(SettingsError { problems, sources });
    }
    let in_force = in_force(draft, &given);
    let config = config.ok().flatten().map(|file| file.name);
    Ok(ResolvedSettings { settings, in_force, warnings: problems, config, sources })
}

/// Who asks for decisions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asks {
    /// Nothing says where requests go, or that somebody asks.
    Nobody,
    /// Requests go through a gateway.
    Gateway,
    /// Only clients of endpoints. They may bring limits of their own.
    Clients,
}

/// Who asks, by what was said. Of what is wrong, that has been said already.
fn asks(said: &[GivenSetting]) -> Asks {
    let listens = |path: &str| {
        let last = said.iter().rev().find(|said| said.path == path);
        last.is_some_and(|said| !matches!(said.value, Some(Value::Off(_))))
    };
    if listens("upstream.url") {
        Asks::Gateway
    } else if ["grpc.listen", "resp.listen", "api.listen"].into_iter().any(listens) {
        Asks::Clients
    } else {
        Asks::Nobody
    }
}

/// All that flags, the environment and the file with settings say, the stronger later.
pub(super) struct CollectedSettings<'a> {
    pub(super) problems: Vec<SettingProblem>,
    pub(super) said: Vec<GivenSetting>,
    config: Result<Option<ConfigFile>, UnusableFile>,
    pub(super) opened: OpenedFiles<'a>,
}

/// Gathers it. What is wrong with the files is still in what was [opened](told).
pub(super) fn gather<'a>(
    args: &ServeArgs,
    environment: &[(OsString, OsString)],
    read_file: ReadFile<'a>,
) -> CollectedSettings<'a> {
    let mut problems = Vec::new();
    let variables = environment::read(environment, &mut problems);
    let flags = flags::read(args, &mut problems);
    let named = named_policy(variables.said.iter().chain(&flags));
    let mut opened = OpenedFiles::new(read_file);
    let config = args.config.as_ref().or(variables.config.as_ref());
    let config = opened.config(config.map(String::as_str), named.as_ref().map(|(name, _)| name.as_str()));
    let mut said = Vec::new();
    if let Ok(Some(file)) = &config {
        let written = file.serve.iter().flatten().cloned();
        said.extend(written.map(|of| GivenSetting {
            path: of.path,
            value: of.value,
            given: SettingSource::File(of.place),
        }));
    }
    said.extend(variables.said.into_iter().chain(flags));
    CollectedSettings { problems, said, config, opened }
}

/// Adds what is wrong with the files that were opened, and gives them, for places in them.
pub(super) fn told(opened: OpenedFiles<'_>, problems: &mut Vec<SettingProblem>) -> Sources {
    let OpenedFiles { sources, findings, problems: more, .. } = opened;
    problems.extend(more);
    problems.extend(findings.all().iter().cloned().map(SettingProblem::InFile));
    if findings.more() > 0 {
        problems.push(SettingProblem::error(format!("{} more are not listed", findings.more())));
    }
    sources
}

/// The policy that is named last: the strongest one.
fn named_policy<'s>(
    said: impl DoubleEndedIterator<Item = &'s GivenSetting>,
) -> Option<(String, SettingSource)> {
    let said = said.rev().find(|said| said.path == "policy")?;
    match &said.value {
        Some(Value::Text(name)) => Some((name.clone(), said.given.clone())),
        _ => None,
    }
}

/// There has to be one policy: the one that is named, or the file with settings itself; or none, if there is no gateway.
fn policy(
    said: &mut Vec<GivenSetting>,
    config: &Result<Option<ConfigFile>, UnusableFile>,
    (opened, asks): (&mut OpenedFiles<'_>, Asks),
) {
    let Ok(config) = config else { return };
    let own = config.as_ref().and_then(|file| Some((file, file.policy?)));
    let Some((name, given)) = named_policy(said.iter()) else {
        match own {
            Some((file, _)) => {
                let value = Some(Value::Text(file.name.clone()));
                said.push(GivenSetting { path: "policy".into(), value, given: SettingSource::Itself });
            }
            // Of a name that is wrong, that has been said.
            None if said.iter().any(|said| said.path == "policy") => {}
            None if asks == Asks::Clients => {}
            None => opened.problems.push(SettingProblem::error(
                "nothing says which policy is enforced; give --policy, TOLLGATE_POLICY, or limits in the file with settings",
            )),
        }
        return;
    };
    if let Some(file) = config
        && is_same(&file.name, &name)
    {
        if own.is_none() {
            let message = format!("{} has settings, and no limits, routes or documents", shown(&name));
            opened.problems.push(SettingProblem::about(
                Severity::Error,
                Some(&given),
                &message,
                "name a policy",
            ));
        }
        return;
    }
    if let Some((file, (field, place))) = own {
        let by = given.shown(&opened.sources);
        opened.problems.push(two_policies(&format!("{} by {by}", shown(&name)), file, (field, place)));
    }
    if let (Some(other), Some(config)) = (opened.open(&name), config)
        && other.serve.is_some()
    {
        let message = format!("this section has no effect: the settings stand in {}", shown(&config.name));
        let given = SettingSource::File(other.place);
        let help = "leave it out, or leave out --config";
        opened.problems.push(SettingProblem::about(Severity::Warning, Some(&given), &message, help));
    }
}

fn two_policies(other: &str, file: &ConfigFile, (field, place): (&str, Place)) -> SettingProblem {
    let message = format!("there are two policies: {other}, and {} itself", shown(&file.name));
    SettingProblem::InFile(Diagnostic {
        label: format!("`{field}` makes this file a policy"),
        help: Some("enforce one of them: leave out the other, or give `--config none`".into()),
        ..Diagnostic::new(Severity::Error, "two-policies", place, message)
    })
}

/// Puts all that was said into a draft: the later, the stronger.
pub(super) fn apply(
    said: Vec<GivenSetting>,
    problems: &mut Vec<SettingProblem>,
) -> (PartialSettings, HashMap<String, SettingSource>) {
    let mut draft = PartialSettings::default();
    let mut given = HashMap::new();
    for GivenSetting { path, value, given: by } in said {
        if let (Some(slot), Some(value)) = (table::slot(&path, &mut draft), value)
            && let Err(why) = slot.put(value)
        {
            let message = format!("`{path}` {why}");
            problems.push(SettingProblem::about(Severity::Error, Some(&by), &message, "give another value"));
        }
        given.insert(path, by);
    }
    (draft, given)
}

/// Every setting and where it comes from.
fn in_force(mut draft: PartialSettings, given: &HashMap<String, SettingSource>) -> Vec<ResolvedSetting> {
    let settings = Setting::all().into_iter();
    let each = settings.filter_map(|setting| {
        let value = table::slot(&setting.path, &mut draft)?.get();
        let value = value.or_else(|| setting.off().map(Value::Off))?;
        let given = given.get(&setting.path).cloned().unwrap_or(SettingSource::Default);
        let is_secret = setting.is_secret();
        Some(ResolvedSetting { path: setting.path, value, given, is_secret })
    });
    each.collect()
}

/// Every setting that holds by itself: the default of each, as a file has it; nothing for those that have to be given.
#[must_use]
pub fn defaults() -> Vec<(Setting, Option<Value>)> {
    let mut draft = PartialSettings::default();
    let each = Setting::all().into_iter().map(|setting| {
        let value = table::slot(&setting.path, &mut draft).and_then(super::field::FieldSlot::get);
        let value = value.or_else(|| setting.off().map(Value::Off));
        (setting, value)
    });
    each.collect()
}
