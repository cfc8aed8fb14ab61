//! Rows that say the same become one: tiers of an operation, then operations. Only as they are drawn; none is lost in `Diff`.

use std::collections::HashMap;

use super::{OperationDiff, cells};

/// So many names stand in one cell. Of more, the first one does, and how many more there are.
const NAMES_MAX: usize = 5;

/// What is said of one operation and some of its tiers.
type ChangeRow = (Vec<String>, [String; 5]);

/// Operations with the same change, for the same tiers.
struct OperationGroup {
    first: String,
    second: Option<String>,
    count: usize,
    said: ChangeRow,
}

/// The rows of operations, in the order of the first of each.
pub(super) fn operations(rows: &[OperationDiff]) -> Vec<Vec<String>> {
    let mut places: HashMap<ChangeRow, usize> = HashMap::new();
    let mut folded: Vec<OperationGroup> = Vec::new();
    for of_one in rows.chunk_by(|one, next| one.name == next.name) {
        let Some(name) = of_one.first().map(|row| tollgate_http::text::shown(&row.name)) else { continue };
        for said in by_tier(of_one) {
            let next = folded.len();
            let at = *places.entry(said.clone()).or_insert(next);
            match folded.get_mut(at) {
                Some(folded) => {
                    folded.second.get_or_insert(name.clone());
                    folded.count = folded.count.saturating_add(1);
                }
                None => folded.push(OperationGroup { first: name.clone(), second: None, count: 1, said }),
            }
        }
    }
    folded.into_iter().map(row).collect()
}

/// The rows of one operation, of which those that say the same are one with several tiers.
fn by_tier(rows: &[OperationDiff]) -> Vec<ChangeRow> {
    let each = rows.iter().map(|row| (cells::tier(row.tier.as_ref()), cells::change(row)));
    grouped(each)
}

/// Names by what is said of them, in the order of the first of each.
pub(super) fn grouped<const N: usize>(
    each: impl Iterator<Item = (String, [String; N])>,
) -> Vec<(Vec<String>, [String; N])> {
    let mut places: HashMap<[String; N], usize> = HashMap::new();
    let mut groups: Vec<(Vec<String>, [String; N])> = Vec::new();
    for (name, said) in each {
        let next = groups.len();
        let at = *places.entry(said.clone()).or_insert(next);
        match groups.get_mut(at) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], said)),
        }
    }
    groups
}

fn row(folded: OperationGroup) -> Vec<String> {
    let OperationGroup { first, second, count, said: (tiers, change) } = folded;
    let name = match (count, second) {
        (2, Some(second)) => format!("{first} and {second}"),
        (0 | 1, _) | (_, None) => first,
        (count, Some(_)) => format!("{first} and {} more", count.saturating_sub(1)),
    };
    let mut row = vec![name, names(&tiers)];
    row.extend(change);
    row
}

/// Several names in one cell.
pub(super) fn names(all: &[String]) -> String {
    match all.first() {
        Some(first) if all.len() > NAMES_MAX => format!("{first} and {} more", all.len().saturating_sub(1)),
        _ => all.join(", "),
    }
}
