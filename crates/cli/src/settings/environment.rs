//! Settings from environment variables, passed in as data. `files` reads the process's own.

use std::ffi::OsString;

use tollgate_http::text::shown;
use tollgate_policy::section::nearest;

use super::setting::{PREFIX, Setting};
use super::source::{GivenSetting, SettingProblem, SettingSource};

/// The variable that names the file with settings.
pub(super) const CONFIG: &str = "TOLLGATE_CONFIG";

/// What variables say.
#[derive(Debug, Default)]
pub(super) struct EnvironmentSettings {
    /// The file with settings.
    pub(super) config: Option<String>,
    /// The settings.
    pub(super) said: Vec<GivenSetting>,
}

/// Reads every variable that begins with [`PREFIX`]. One that is not known is an error: it would be ignored silently.
pub(super) fn read(
    environment: &[(OsString, OsString)],
    problems: &mut Vec<SettingProblem>,
) -> EnvironmentSettings {
    let settings = Setting::all();
    let mut ours: Vec<_> = environment
        .iter()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
        .filter(|(name, value)| name.starts_with(PREFIX) && !is_service_link(name, &value.to_string_lossy()))
        .collect();
    // The order of an environment means nothing, and messages are easier to read in one order.
    ours.sort();
    let mut variables = EnvironmentSettings::default();
    for (name, value) in ours {
        let setting = settings.iter().find(|setting| setting.variable() == name);
        if setting.is_none() && name != CONFIG {
            problems.push(unknown(&name, &settings));
            continue;
        }
        let Some(value) = value.to_str().filter(|value| !value.is_empty()) else {
            let what = if value.is_empty() { "is set to nothing" } else { "is not UTF-8" };
            problems.push(SettingProblem::error(format!("{name} {what}: give it a value, or unset it")));
            continue;
        };
        let Some(setting) = setting else {
            variables.config = Some(value.into());
            continue;
        };
        let read = setting.parse(value);
        let read = read.map_err(|why| problems.push(SettingProblem::value(&name, '=', value, &why))).ok();
        variables.said.push(GivenSetting {
            path: setting.path.clone(),
            value: read,
            given: SettingSource::Variable(name),
        });
    }
    variables
}

fn unknown(name: &str, settings: &[Setting]) -> SettingProblem {
    let known: Vec<_> = settings.iter().map(Setting::variable).chain([CONFIG.into()]).collect();
    // What all of them begin with makes none of them nearer.
    let rest = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    let rests: Vec<_> = known.iter().map(|known| rest(known)).collect();
    let near = nearest(&rest(name), rests.iter().map(String::as_str)).map(|near| format!("{PREFIX}{near}"));
    // `--upstream` is a flag, and its setting has a longer name.
    let begun = known.iter().find(|known| known.starts_with(&format!("{name}_"))).cloned();
    let help = begun.or(near).map_or_else(
        || "`tollgate serve --print-config` shows every setting".into(),
        |meant| format!("did you mean `{meant}`?"),
    );
    SettingProblem::error(format!("the variable {} is not known; {help}", shown(name)))
}

/// Whether Kubernetes has put the variable there: it tells every container of all services beside it, such as one that is
/// called `tollgate` (`TOLLGATE_SERVICE_HOST`, `TOLLGATE_PORT_80_TCP_ADDR`). They are no settings, and no slips.
fn is_service_link(name: &str, value: &str) -> bool {
    let of_port = name.split_once("_PORT_").is_some_and(|(_, rest)| {
        let mut parts = rest.split('_');
        let number = parts.next().is_some_and(|number| number.parse::<u16>().is_ok());
        number && matches!(parts.next(), Some("TCP" | "UDP" | "SCTP"))
    });
    let whole = name.ends_with("_PORT") && value.contains("://");
    of_port || whole || name.ends_with("_SERVICE_HOST") || name.contains("_SERVICE_PORT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> (Vec<String>, Vec<SettingProblem>) {
        let environment: Vec<_> = pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut problems = Vec::new();
        let said = read(&environment, &mut problems).said;
        (said.into_iter().map(|said| format!("{}={:?}", said.path, said.value)).collect(), problems)
    }

    #[test]
    fn variables_of_others_are_not_looked_at() {
        let links = [
            ("PATH", "/bin"),
            ("TOLLGATE", "x"),
            ("TOLLGATE_SERVICE_HOST", "10.0.0.1"),
            ("TOLLGATE_SERVICE_PORT", "80"),
            ("TOLLGATE_SERVICE_PORT_HTTP", "80"),
            ("TOLLGATE_PORT", "tcp://10.0.0.1:80"),
            ("TOLLGATE_PORT_80_TCP", "tcp://10.0.0.1:80"),
            ("TOLLGATE_PORT_80_TCP_ADDR", "10.0.0.1"),
            ("TOLLGATE_CANARY_PORT_9180_TCP_PROTO", "tcp"),
            ("TOLLGATE_CANARY_SERVICE_HOST", "10.0.0.1"),
        ];
        assert_eq!(of(&links), (Vec::new(), Vec::new()));
        // None of our own is taken for one of these.
        for setting in Setting::all() {
            assert!(!is_service_link(&setting.variable(), "tcp://10.0.0.1:80"), "{}", setting.path);
        }
    }

    #[test]
    fn what_is_wrong_with_variables_is_said_all_at_once_by_their_names() {
        let (said, problems) = of(&[
            ("TOLLGATE_TIMEOUTS_HEADER", "10"),
            ("TOLLGATE_TIMOUTS_HEADER", "10s"),
            ("TOLLGATE_COLOUR", "red"),
            ("TOLLGATE_PORT", "8080"),
            ("TOLLGATE_UPSTREAM", "http://a"),
            ("TOLLGATE_MEMORY", ""),
            ("TOLLGATE_UPSTREAM_URL", "http://me:secret@a"),
            ("TOLLGATE_LISTEN", "127.0.0.1:80, [::1]:80"),
        ]);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said.contains(&"timeouts.header=None".into()), "{said:?}");
        let sentences = [
            "the variable TOLLGATE_COLOUR is not known; `tollgate serve --print-config` shows every setting",
            "TOLLGATE_MEMORY is set to nothing: give it a value, or unset it",
            "the variable TOLLGATE_PORT is not known; `tollgate serve --print-config` shows every setting",
            "TOLLGATE_TIMEOUTS_HEADER=10 has no unit: write `10s` for seconds",
            "the variable TOLLGATE_TIMOUTS_HEADER is not known; did you mean `TOLLGATE_TIMEOUTS_HEADER`?",
            "the variable TOLLGATE_UPSTREAM is not known; did you mean `TOLLGATE_UPSTREAM_URL`?",
            "TOLLGATE_UPSTREAM_URL: The upstream's URL has a user name before `@`, and none is sent: leave it out",
        ];
        assert_eq!(problems, sentences.map(SettingProblem::error));
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_not_text_is_an_error() {
        use std::os::unix::ffi::OsStringExt;
        let mut problems = Vec::new();
        let value = OsString::from_vec(vec![0xff]);
        read(&[("TOLLGATE_MEMORY".into(), value)], &mut problems);
        let wanted = SettingProblem::error("TOLLGATE_MEMORY is not UTF-8: give it a value, or unset it");
        assert_eq!(problems, [wanted]);
    }
}
