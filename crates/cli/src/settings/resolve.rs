//! Merges flags, variables and a file into settings, by precedence. Reports all errors at once.

use std::collections::HashMap;
use std::ffi::OsString;

use tollgate_http::text::shown;
use tollgate_policy::{Diagnostic, Place, Severity, Sources};

use super::config_file::ConfigFile;
use super::files::{Opened, ReadFile, Unknown, is_same};
use super::partial::Draft;
use super::setting::Setting;
use super::source::{Given, Problem, Said};
use super::value::Value;
use super::{Settings, environment, flags, table};
use crate::cli::ServeArgs;

/// Settings that can be used.
#[derive(Debug)]
pub struct Resolved {
    /// The settings.
    pub settings: Settings,
    /// Every setting as it is in force, in the order of the documentation.
    pub in_force: Vec<InForce>,
    /// What could be better.
    pub warnings: Vec<Problem>,
    /// The file that some of them stand in, if there is one.
    pub config: Option<String>,
    /// The files that were read, for places in them.
    pub sources: Sources,
}

/// A setting in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InForce {
    /// Its path, such as `timeouts.header`.
    pub path: String,
    /// Its value, as a file has it.
    pub value: Value,
    /// Where it comes from.
    pub given: Given,
    /// Whether it names a file with a secret, or by mistake is one.
    pub is_secret: bool,
}

/// Settings that cannot be used, and why.
#[derive(Debug)]
pub struct Unusable {
    /// Everything that was found. At least one is an error.
    pub problems: Vec<Problem>,
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
) -> Result<Resolved, Unusable> {
    let Gathered { mut problems, mut said, config, mut opened } = gather(args, environment, read_file);
    let asks = asks(&said);
    policy(&mut said, &config, (&mut opened, asks));
    let sources = told(opened, &mut problems);
    let (draft, given) = apply(said, &mut problems);
    if asks == Asks::Nobody && draft.url.is_none() && config.is_ok() {
        problems.push(Problem::error(
            "nothing says where requests go; give --upstream, TOLLGATE_UPSTREAM_URL, or `upstream: { url: … }` under `serve`; or an \
             endpoint that clients ask for decisions: --grpc, --resp or --api",
        ));
    }
    let (settings, together) = draft.finish(&|path| given.get(path).cloned());
    problems.extend(together);
    if problems.iter().any(|problem| problem.severity() == Severity::Error) {
        return Err(Unusable { problems, sources });
    }
    let in_force = in_force(draft, &given);
    let config = config.ok().flatten().map(|file| file.name);
    Ok(Resolved { settings, in_force, warnings: problems, config, sources })
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
fn asks(said: &[Said]) -> Asks {
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
pub(super) struct Gathered<'a> {
    pub(super) problems: Vec<Problem>,
    pub(super) said: Vec<Said>,
    config: Result<Option<ConfigFile>, Unknown>,
    pub(super) opened: Opened<'a>,
}

/// Gathers it. What is wrong with the files is still in what was [opened](told).
pub(super) fn gather<'a>(
    args: &ServeArgs,
    environment: &[(OsString, OsString)],
    read_file: ReadFile<'a>,
) -> Gathered<'a> {
    let mut problems = Vec::new();
    let variables = environment::read(environment, &mut problems);
    let flags = flags::read(args, &mut problems);
    let named = named_policy(variables.said.iter().chain(&flags));
    let mut opened = Opened::new(read_file);
    let config = args.config.as_ref().or(variables.config.as_ref());
    let config = opened.config(config.map(String::as_str), named.as_ref().map(|(name, _)| name.as_str()));
    let mut said = Vec::new();
    if let Ok(Some(file)) = &config {
        let written = file.serve.iter().flatten().cloned();
        said.extend(written.map(|of| Said { path: of.path, value: of.value, given: Given::File(of.place) }));
    }
    said.extend(variables.said.into_iter().chain(flags));
    Gathered { problems, said, config, opened }
}

/// Adds what is wrong with the files that were opened, and gives them, for places in them.
pub(super) fn told(opened: Opened<'_>, problems: &mut Vec<Problem>) -> Sources {
    let Opened { sources, findings, problems: more, .. } = opened;
    problems.extend(more);
    problems.extend(findings.all().iter().cloned().map(Problem::InFile));
    if findings.more() > 0 {
        problems.push(Problem::error(format!("{} more are not listed", findings.more())));
    }
    sources
}

/// The policy that is named last: the strongest one.
fn named_policy<'s>(said: impl DoubleEndedIterator<Item = &'s Said>) -> Option<(String, Given)> {
    let said = said.rev().find(|said| said.path == "policy")?;
    match &said.value {
        Some(Value::Text(name)) => Some((name.clone(), said.given.clone())),
        _ => None,
    }
}

/// There has to be one policy: the one that is named, or the file with settings itself; or none, if there is no gateway.
fn policy(
    said: &mut Vec<Said>,
    config: &Result<Option<ConfigFile>, Unknown>,
    (opened, asks): (&mut Opened<'_>, Asks),
) {
    let Ok(config) = config else { return };
    let own = config.as_ref().and_then(|file| Some((file, file.policy?)));
    let Some((name, given)) = named_policy(said.iter()) else {
        match own {
            Some((file, _)) => {
                let value = Some(Value::Text(file.name.clone()));
                said.push(Said { path: "policy".into(), value, given: Given::Itself });
            }
            // Of a name that is wrong, that has been said.
            None if said.iter().any(|said| said.path == "policy") => {}
            None if asks == Asks::Clients => {}
            None => opened.problems.push(Problem::error(
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
            opened.problems.push(Problem::about(Severity::Error, Some(&given), &message, "name a policy"));
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
        let given = Given::File(other.place);
        let help = "leave it out, or leave out --config";
        opened.problems.push(Problem::about(Severity::Warning, Some(&given), &message, help));
    }
}

fn two_policies(other: &str, file: &ConfigFile, (field, place): (&str, Place)) -> Problem {
    let message = format!("there are two policies: {other}, and {} itself", shown(&file.name));
    Problem::InFile(Diagnostic {
        label: format!("`{field}` makes this file a policy"),
        help: Some("enforce one of them: leave out the other, or give `--config none`".into()),
        ..Diagnostic::new(Severity::Error, "two-policies", place, message)
    })
}

/// Puts all that was said into a draft: the later, the stronger.
pub(super) fn apply(said: Vec<Said>, problems: &mut Vec<Problem>) -> (Draft, HashMap<String, Given>) {
    let mut draft = Draft::default();
    let mut given = HashMap::new();
    for Said { path, value, given: by } in said {
        if let (Some(slot), Some(value)) = (table::slot(&path, &mut draft), value)
            && let Err(why) = slot.put(value)
        {
            let message = format!("`{path}` {why}");
            problems.push(Problem::about(Severity::Error, Some(&by), &message, "give another value"));
        }
        given.insert(path, by);
    }
    (draft, given)
}

/// Every setting and where it comes from.
fn in_force(mut draft: Draft, given: &HashMap<String, Given>) -> Vec<InForce> {
    let settings = Setting::all().into_iter();
    let each = settings.filter_map(|setting| {
        let value = table::slot(&setting.path, &mut draft)?.get();
        let value = value.or_else(|| setting.off().map(Value::Off))?;
        let given = given.get(&setting.path).cloned().unwrap_or(Given::Default);
        let is_secret = setting.is_secret();
        Some(InForce { path: setting.path, value, given, is_secret })
    });
    each.collect()
}

/// Every setting that holds by itself: the default of each, as a file has it; nothing for those that have to be given.
#[must_use]
pub fn defaults() -> Vec<(Setting, Option<Value>)> {
    let mut draft = Draft::default();
    let each = Setting::all().into_iter().map(|setting| {
        let value = table::slot(&setting.path, &mut draft).and_then(super::field::Slot::get);
        let value = value.or_else(|| setting.off().map(Value::Off));
        (setting, value)
    });
    each.collect()
}
