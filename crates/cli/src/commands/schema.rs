//! `tollgate schema`: prints or writes the JSON Schemas of documents (for editors) and of JSON output (for programs).

use std::io::{self, Write};

use clap::ValueEnum;
use tollgate_policy::limit_schema;

use crate::cli::{SchemaArgs, SchemaKind};
use crate::settings::native_schema;
use crate::{Exit, files};

/// Prints a schema, or writes it (without a choice: all of them) into a folder.
///
/// # Errors
/// When the output cannot be written. A folder that cannot be is told on `err`.
pub fn run(args: &SchemaArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let Some(folder) = &args.write else {
        let which = args.which.unwrap_or(SchemaKind::Limit);
        writeln!(out, "{}", text(which).trim_end())?;
        return Ok(Exit::Fine);
    };
    let all = args.which.map_or_else(|| SchemaKind::value_variants().to_vec(), |which| vec![which]);
    for which in all {
        let name = file_name(which);
        if let Err(why) = files::write_into(folder, name, format!("{}\n", text(which).trim_end()).as_bytes())
        {
            writeln!(err, "tollgate: {why}")?;
            return Ok(Exit::Usage);
        }
        writeln!(out, "{name}")?;
    }
    Ok(Exit::Fine)
}

fn text(which: SchemaKind) -> String {
    match which {
        SchemaKind::Limit => limit_schema(),
        SchemaKind::Native => native_schema(),
        SchemaKind::LintConfig => include_str!("../../schemas/lint-config.schema.json").into(),
        SchemaKind::LintOutput => include_str!("../../schemas/lint-output.schema.json").into(),
        SchemaKind::ExplainOutput => include_str!("../../schemas/explain-output.schema.json").into(),
        SchemaKind::DiffOutput => include_str!("../../schemas/diff-output.schema.json").into(),
        SchemaKind::TestOutput => include_str!("../../schemas/test-output.schema.json").into(),
        SchemaKind::AnnotateOutput => include_str!("../../schemas/annotate-output.schema.json").into(),
        SchemaKind::DoctorOutput => include_str!("../../schemas/doctor-output.schema.json").into(),
    }
}

/// What a schema is called in a folder.
const fn file_name(which: SchemaKind) -> &'static str {
    match which {
        SchemaKind::Limit => "x-rate-limit.schema.json",
        SchemaKind::Native => "tollgate.schema.json",
        SchemaKind::LintConfig => "lint-config.schema.json",
        SchemaKind::LintOutput => "lint-output.schema.json",
        SchemaKind::ExplainOutput => "explain-output.schema.json",
        SchemaKind::DiffOutput => "diff-output.schema.json",
        SchemaKind::TestOutput => "test-output.schema.json",
        SchemaKind::AnnotateOutput => "annotate-output.schema.json",
        SchemaKind::DoctorOutput => "doctor-output.schema.json",
    }
}
