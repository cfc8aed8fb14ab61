//! The severity of advice by code, from the lint settings file and the flags.

use std::io::{self, Write};

use tollgate_http::text::shown;
use tollgate_policy::Severity;
use tollgate_policy::lint::{Config, Level};

use crate::cli::LintArgs;
use crate::{Exit, files, lint_codes, render};

/// The file with settings of `lint`, unless another one is named.
const CONFIG_FILE: &str = ".tollgate-lint.yaml";

/// The severity of advice, by code.
#[derive(Debug, Default)]
pub(super) struct Severities {
    /// The last of a code counts.
    levels: Vec<(String, Level)>,
    pub(super) strict: bool,
}

/// What was chosen.
pub(super) enum SeverityChoice {
    These(Severities),
    /// It cannot be told what was: that was printed, and this is how it ends.
    Wrong(Exit),
}

/// What is said of a code that is no advice's.
fn not_advice(code: &str, codes: &[&str]) -> String {
    let shown = shown(code);
    if lint_codes::meaning(code).is_some() {
        return format!(
            "`{shown}` is an error, and errors stay errors; there is the advice {}",
            codes.join(", ")
        );
    }
    match tollgate_policy::nearest(code, codes.iter().copied()) {
        Some(near) => format!("there is no advice `{shown}`: did you mean `{near}`?"),
        None => format!("there is no advice `{shown}`; there is {}", codes.join(", ")),
    }
}

impl Severities {
    /// What the file and the flags say; flags go before the file.
    pub(super) fn chosen(args: &LintArgs, err: &mut dyn Write) -> io::Result<SeverityChoice> {
        let codes: Vec<_> = lint_codes::ADVICE.iter().map(|(code, _)| *code).collect();
        let named = args.config.as_deref();
        let text = match named {
            Some(name) => files::read(name).map(Some),
            None => files::read_if_there(CONFIG_FILE),
        };
        let name = named.unwrap_or(CONFIG_FILE);
        let text = match text {
            Ok(text) => text,
            Err(why) => {
                writeln!(err, "tollgate: {} cannot be read: {why}", shown(name))?;
                return Ok(SeverityChoice::Wrong(Exit::Usage));
            }
        };
        let config = match text.map(|text| Config::parse(name, text, &codes)) {
            None => Config::default(),
            Some(Ok(config)) => config,
            Some(Err(refused)) => {
                for finding in refused.findings.all() {
                    writeln!(err, "{}\n", render::draw(finding, &refused.sources))?;
                }
                return Ok(SeverityChoice::Wrong(Exit::Usage));
            }
        };
        let allowed = args.allow.iter().map(|code| (code.clone(), Level::Off));
        let flags = args.severity.iter().map(|flag| (flag.code.clone(), flag.level)).chain(allowed);
        let flags: Vec<_> = flags.collect();
        if let Some((code, _)) = flags.iter().find(|(code, _)| !codes.contains(&code.as_str())) {
            writeln!(err, "tollgate: {}", not_advice(code, &codes))?;
            return Ok(SeverityChoice::Wrong(Exit::Usage));
        }
        let levels = config.severity.into_iter().chain(flags).collect();
        Ok(SeverityChoice::These(Self { levels, strict: config.strict || args.strict }))
    }

    /// The severity of a finding; `None` if it is not shown.
    pub(super) fn of(&self, code: &str, severity: Severity) -> Option<Severity> {
        if severity == Severity::Error {
            return Some(severity);
        }
        match self.levels.iter().rev().find(|(known, _)| known == code) {
            None => Some(severity),
            Some((_, Level::Off)) => None,
            Some((_, Level::Shown(chosen))) => Some(*chosen),
        }
    }

    /// Whether findings of a severity fail the check.
    pub(super) fn fails(&self, severity: Severity) -> bool {
        match severity {
            Severity::Error => true,
            Severity::Warning => self.strict,
            Severity::Note => false,
        }
    }
}
