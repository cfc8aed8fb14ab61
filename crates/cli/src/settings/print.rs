//! Prints the settings in force with their sources, in the format of a file.

use std::io::{self, Write};

use super::resolve::ResolvedSettings;
use super::value::Value;
use crate::table;

/// What is printed for a value that may be a secret.
const HIDDEN: &str = "'***'";

/// Prints every setting. It is YAML: under the same names in a file, it means the same.
///
/// Names of files are as seen from the current folder. What stands in place of the name of a file with a secret, and
/// names no file by `is_there`, may be the secret itself: it is not printed.
///
/// # Errors
/// When it cannot be written.
pub fn print(
    resolved: &ResolvedSettings,
    is_there: &dyn Fn(&str) -> bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut rows = vec![vec!["tollgate: 1".to_owned()], vec!["serve:".to_owned()]];
    let mut open = "";
    for setting in &resolved.in_force {
        let (group, name) = setting.path.split_once('.').unwrap_or(("", &setting.path));
        if group != open {
            rows.extend((!group.is_empty()).then(|| vec![format!("  {group}:")]));
            open = group;
        }
        let indent = if group.is_empty() { "  " } else { "    " };
        let given = setting.given.shown(&resolved.sources);
        let is_hidden = setting.is_secret && matches!(&setting.value, Value::Text(file) if !is_there(file));
        let (value, given) = if is_hidden {
            (HIDDEN.to_owned(), format!("{given}; not shown, because there is no such file"))
        } else {
            (setting.value.to_string(), given)
        };
        rows.push(vec![format!("{indent}{name}: {value}"), format!("# {given}")]);
    }
    table::lines(&rows).iter().try_for_each(|line| writeln!(out, "{line}"))
}
