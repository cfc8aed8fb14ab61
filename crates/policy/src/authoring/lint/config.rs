//! The settings of `lint` in a file of their own: which advice is how severe, and whether warnings fail.

use crate::compile::load::RejectedPolicy;
use crate::document::diagnostic::{Diagnostic, Findings, Severity};
use crate::document::read;
use crate::document::sources::{Place, Source};
use crate::document::suggest;
use crate::document::tree::Value;
use crate::parse::context::{Context, Trees};
use crate::parse::schema_fields::{Field, FieldType};
use tollgate_http::text::shown;

/// The severity of a code, or that it is not shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Not shown, and not counted.
    Off,
    /// Shown with this severity.
    Shown(Severity),
}

impl Level {
    /// Every level, by its name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("error", Self::Shown(Severity::Error)),
        ("warning", Self::Shown(Severity::Warning)),
        ("note", Self::Shown(Severity::Note)),
        ("off", Self::Off),
    ];

    /// The level of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, level)| level)
    }
}

/// What a file says about `lint`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Config {
    /// Whether warnings fail.
    pub strict: bool,
    /// The severity of codes.
    pub severity: Vec<(String, Level)>,
}

/// The fields of the file.
const FIELDS: &[Field] = &[
    Field {
        name: "strict",
        kind: FieldType::Word(&["true", "false"]),
        needed: false,
        about: "Whether warnings fail the check, as with `--strict`.",
    },
    Field {
        name: "severity",
        kind: FieldType::Other("severities"),
        needed: false,
        about: "The severity of advice by its code: `error`, `warning`, `note`, or `off`.",
    },
];

impl Config {
    /// Reads the file. `codes` are the codes of advice: only these have a severity that can be changed.
    ///
    /// # Errors
    /// When something is wrong with it: all of it at once.
    pub fn parse(name: &str, text: String, codes: &[&str]) -> Result<Self, RejectedPolicy> {
        let mut trees = Trees::default();
        let mut findings = Findings::default();
        let file = trees.sources.add(Source::new(name, text));
        let tree = trees.sources.shared(file).and_then(|source| read::read(file, source, &mut findings));
        trees.trees.extend(tree.map(|tree| (file, tree)));
        let mut config = Self::default();
        let mut context = Context::new(&trees);
        if let Some(tree) = trees.trees.get(&file) {
            config.read(tree.value(), codes, &mut context);
        }
        findings.append(context.findings);
        findings.sort();
        if findings.has_errors() {
            return Err(RejectedPolicy { sources: trees.sources, findings, consumers: None });
        }
        Ok(config)
    }

    fn read<'t>(&mut self, root: Value<'t>, codes: &[&str], context: &mut Context<'t>) {
        let Some(root) = context.map(root, "a file of settings of lint") else { return };
        context.unknown_fields(root, &[FIELDS], "a file of settings of lint");
        if let Some(value) = root.get("strict") {
            self.strict = context.word(value, "strict", &["true", "false"]) == Some("true");
        }
        let Some(severity) = root.get("severity") else { return };
        let Some(severity) = context.map(severity, "`severity`") else { return };
        for entry in severity.entries() {
            if !codes.contains(&entry.key) {
                unknown_code((entry.key, entry.key_at), codes, context);
            }
            let levels = Level::ALL.map(|(name, _)| name);
            let level = context.word(entry.value, entry.key, &levels).and_then(Level::named);
            self.severity.extend(level.map(|level| (entry.key.to_owned(), level)));
        }
    }
}

fn unknown_code((code, at): (&str, Place), codes: &[&str], context: &mut Context<'_>) {
    let message = format!("there is no advice `{}`", shown(code));
    let help = suggest::did_you_mean(code, codes.iter().copied())
        .unwrap_or_else(|| format!("its codes are {}; errors stay errors", codes.join(", ")));
    context.findings.push(Diagnostic::error("unknown-code", at, message).help(help));
}
