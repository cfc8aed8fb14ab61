//! How many operations have a limit, by method and by tag.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use serde_json::{Value, json};
use tollgate_policy::lint::{self, Group, Share};

use crate::finding::{counted, printable};
use crate::table;

/// So many groups are drawn, those with the fewest limits first. Of the others only the number is told; programs get all.
const GROUPS_MAX: usize = 20;

/// Of all documents.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    whole: Share,
    by_method: Groups,
    by_tag: Groups,
}

/// By the name of a method or of a tag. `None` is every method, or no tag.
type Groups = BTreeMap<Option<String>, Share>;

impl Coverage {
    /// Adds what was counted in another document.
    pub(super) fn add(&mut self, more: lint::Coverage) {
        add(&mut self.whole, more.whole);
        for (groups, more) in [(&mut self.by_method, more.by_method), (&mut self.by_tag, more.by_tag)] {
            for Group { name, share } in more {
                add(groups.entry(name).or_default(), share);
            }
        }
    }

    /// Draws a table of methods and one of tags, where there are several and an operation has no limit.
    pub(super) fn tables(&self, out: &mut dyn Write) -> io::Result<()> {
        let partial = self.whole.limited < self.whole.all;
        for (what, none, groups) in
            [("METHOD", "(every)", &self.by_method), ("TAG", "(no tag)", &self.by_tag)]
        {
            if partial && groups.len() > 1 {
                drawn(what, none, groups).iter().try_for_each(|line| writeln!(out, "{line}"))?;
                writeln!(out)?;
            }
        }
        Ok(())
    }

    /// Every number, for programs. A name that is `null` is every method, or no tag.
    pub(super) fn json(&self, object: &mut serde_json::Map<String, Value>) {
        let numbers = |share: &Share, into: &mut serde_json::Map<String, Value>| {
            into.insert("operations".into(), json!(share.all));
            into.insert("limited".into(), json!(share.limited));
            into.insert("switched_off".into(), json!(share.off));
        };
        numbers(&self.whole, object);
        for (list, what, groups) in
            [("by_method", "method", &self.by_method), ("by_tag", "tag", &self.by_tag)]
        {
            let groups = groups.iter().map(|(name, share)| {
                let mut group = serde_json::Map::new();
                group.insert(what.into(), json!(name));
                numbers(share, &mut group);
                Value::Object(group)
            });
            object.insert(list.into(), groups.collect());
        }
    }
}

const fn add(sum: &mut Share, more: Share) {
    sum.all = sum.all.saturating_add(more.all);
    sum.limited = sum.limited.saturating_add(more.limited);
    sum.off = sum.off.saturating_add(more.off);
}

/// The lines of a table.
fn drawn(what: &str, none: &str, groups: &Groups) -> Vec<String> {
    let mut sorted: Vec<_> = groups.iter().collect();
    // Stable: by name, where two are limited alike.
    sorted.sort_by_key(|(_, share)| share.percent());
    let head = [what, "LIMITED", "OF", "PERCENT", "SWITCHED OFF"].map(str::to_owned).to_vec();
    let rows = sorted.iter().take(GROUPS_MAX).map(|(name, share)| {
        let name = name.as_ref().map_or_else(|| none.to_owned(), |name| printable(name));
        let percent = format!("{} %", share.percent());
        vec![name, share.limited.to_string(), share.all.to_string(), percent, share.off.to_string()]
    });
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    let mut lines = table::lines(&rows);
    let more = sorted.len().saturating_sub(GROUPS_MAX);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}

/// `; 12 of 14 operations are limited (85 %)`, rounded down.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Share { all, limited, off } = self.whole;
        if all == 0 {
            return f.write_str("; there are no operations");
        }
        let (are, percent) = (if all == 1 { "is" } else { "are" }, self.whole.percent());
        write!(f, "; {limited} of {} {are} limited ({percent} %)", counted(all, "operation"))?;
        if off > 0 { write!(f, ", {off} switched off on purpose") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(all: usize, limited: usize, off: usize) -> Share {
        Share { all, limited, off }
    }

    #[test]
    fn coverage_is_rounded_down() {
        let told = |all, limited, off| {
            Coverage { whole: share(all, limited, off), ..Coverage::default() }.to_string()
        };
        assert_eq!(told(14, 12, 0), "; 12 of 14 operations are limited (85 %)");
        assert_eq!(told(14, 12, 2), "; 12 of 14 operations are limited (85 %), 2 switched off on purpose");
        assert_eq!(told(1, 1, 0), "; 1 of 1 operation is limited (100 %)");
        assert_eq!(told(0, 0, 0), "; there are no operations");
    }

    #[test]
    fn documents_are_counted_together_and_the_least_limited_come_first() {
        let group = |name: &str, share| Group { name: Some(name.into()), share };
        let mut coverage = Coverage::default();
        for _ in 0..2 {
            let by_method = vec![group("GET", share(3, 3, 0)), group("POST", share(1, 0, 1))];
            coverage.add(lint::Coverage { whole: share(4, 3, 1), by_method, by_tag: Vec::new() });
        }
        let mut out = Vec::new();
        coverage.tables(&mut out).expect("memory takes all");
        let text = String::from_utf8(out).expect("it is text");
        let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
        assert_eq!(lines.get(1), Some(&vec!["POST", "0", "2", "0", "%", "2"]), "{text}");
        assert_eq!(lines.get(2), Some(&vec!["GET", "6", "6", "100", "%", "0"]), "{text}");
    }

    #[test]
    fn more_groups_than_are_drawn_are_counted() {
        let named = |number: usize| (Some(format!("tag {number}")), share(1, 0, 0));
        let groups: Groups = (0..GROUPS_MAX + 3).map(named).collect();
        let lines = drawn("TAG", "(no tag)", &groups);
        assert_eq!((lines.len(), lines.last().map(String::as_str)), (GROUPS_MAX + 2, Some("and 3 more")));
    }
}
