//! Settings in force, printed as a file could have them, each with where it comes from. What they do is not known here.

use std::io::{self, Write};

use super::resolve::Resolved;
use crate::table;

/// Prints every setting. It is YAML: under the same names in a file, it means the same.
///
/// Names of files are as seen from the current folder.
///
/// # Errors
/// When it cannot be written.
pub fn print(resolved: &Resolved, out: &mut dyn Write) -> io::Result<()> {
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
        rows.push(vec![format!("{indent}{name}: {}", setting.value), format!("# {given}")]);
    }
    table::lines(&rows).iter().try_for_each(|line| writeln!(out, "{line}"))
}
