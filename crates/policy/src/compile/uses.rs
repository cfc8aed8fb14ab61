//! Which limits apply to an operation, and at what cost: the nearest list, with the names and the inherited limits in it resolved.

use std::collections::HashSet;

use crate::compile::inherit::InheritedFrom;
use crate::compile::merge::MergedLimits;
use crate::compile::named;
use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::sources::Place;
use crate::model::{Cost, Level, LimitUse};
use crate::parse::limit_use::LimitReference;
use crate::parse::parsed_document::{LimitEntry, LimitsAt, Operation, ParsedDocument};

/// Limits, and where they come from.
pub(crate) type Resolved = (Vec<LimitUse>, InheritedFrom);

/// Resolves the lists of all documents.
pub(crate) struct Resolver<'a> {
    drafts: &'a [ParsedDocument],
    merged: &'a MergedLimits,
    findings: &'a mut Findings,
    /// What has been said: many operations may have the same limits.
    told: HashSet<Place>,
}

/// A list of limits: in which document, at which level.
#[derive(Clone, Copy)]
struct List<'a> {
    document: usize,
    level: Level,
    limits: &'a LimitsAt,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(
        drafts: &'a [ParsedDocument],
        merged: &'a MergedLimits,
        findings: &'a mut Findings,
    ) -> Self {
        Self { drafts, merged, findings, told: HashSet::new() }
    }

    /// The limits of an operation: the nearest list that is written.
    pub(crate) fn operation(&mut self, document: usize, operation: &Operation) -> Resolved {
        let own = operation.own.iter().map(|limits| List { document, level: Level::Operation, limits });
        let path = operation.path.iter().map(|limits| List { document, level: Level::Path, limits });
        let nearest: Vec<_> = own.chain(path).collect();
        self.nearest(&nearest, document, Some(operation))
    }

    /// The limits at the root of a document.
    pub(crate) fn root(&mut self, document: usize) -> Resolved {
        let roots = self.roots(document);
        self.first_of(&roots)
    }

    /// Reports something else about an operation.
    pub(crate) fn report(&mut self, finding: Diagnostic) {
        self.findings.push(finding);
    }

    fn nearest(&mut self, lists: &[List<'_>], document: usize, operation: Option<&Operation>) -> Resolved {
        match (lists, operation) {
            ([list, outer @ ..], _) => self.list(*list, |this| this.nearest(outer, document, operation)),
            ([], Some(operation)) => self.tags(document, operation),
            ([], None) => self.root(document),
        }
    }

    /// The roots that an operation of a document may inherit from: its own, and that of the file that names the document.
    fn roots(&self, document: usize) -> Vec<List<'a>> {
        let root = |document: usize| {
            let limits = self.drafts.get(document)?.root.as_ref()?;
            Some(List { document, level: Level::Root, limits })
        };
        let named_by = if document > 0 { root(0) } else { None };
        root(document).into_iter().chain(named_by).collect()
    }

    fn first_of(&mut self, lists: &[List<'_>]) -> Resolved {
        match lists {
            [list, outer @ ..] => self.list(*list, |this| this.first_of(outer)),
            [] => (Vec::new(), InheritedFrom::Nothing),
        }
    }

    /// The limits of all tags of an operation together, or of the root if no tag has any.
    fn tags(&mut self, document: usize, operation: &Operation) -> Resolved {
        let drafts = self.drafts;
        // What a native file says of tags holds for the documents that it names, unless they say otherwise.
        let documents = [document, 0].into_iter().take(if document == 0 { 1 } else { 2 });
        let mut limits: Vec<LimitUse> = Vec::new();
        let (mut off, mut on): (Option<Place>, Option<Place>) = (None, None);
        for (at, (tag, place)) in operation.tags.iter().enumerate() {
            let level = Level::Tag(at);
            let lists = documents.clone().filter_map(|document| {
                let limits = drafts.get(document)?.tag(tag)?.limits.as_ref()?;
                Some(List { document, level, limits })
            });
            let mut lists: Vec<_> = lists.collect();
            if lists.is_empty() {
                continue;
            }
            lists.extend(self.roots(document));
            match self.first_of(&lists) {
                (_, InheritedFrom::Off(_)) => off = Some(*place),
                (found, _) => {
                    on = Some(*place);
                    self.add(&mut limits, found, *place);
                }
            }
        }
        match (off, on) {
            (Some(off), Some(on)) => {
                let message = "this tag switches limits off, and another sets them";
                let finding = Diagnostic::error("tags-disagree", off, message).also(on, "this one sets them");
                let help = "write `x-rate-limit` on the operation itself to say which is meant";
                self.findings.push(finding.help(help));
                (limits, InheritedFrom::Tag)
            }
            (Some(off), None) => (Vec::new(), InheritedFrom::Off(off)),
            (None, Some(_)) => (limits, InheritedFrom::Tag),
            (None, None) => self.root(document),
        }
    }

    /// The limits of a list. `outer` gives those that apply if it is not there.
    fn list(&mut self, list: List<'_>, outer: impl Fn(&mut Self) -> Resolved) -> Resolved {
        let nearest = match list.level {
            Level::Operation => InheritedFrom::Operation,
            Level::Path => InheritedFrom::Path,
            Level::Tag(_) => InheritedFrom::Tag,
            Level::Root => InheritedFrom::Root,
        };
        let entries = match list.limits {
            LimitsAt::Off(place) => return (Vec::new(), InheritedFrom::Off(*place)),
            LimitsAt::These(entries) => entries,
        };
        let (mut own, mut inherited): (Vec<LimitUse>, Vec<LimitUse>) = (Vec::new(), Vec::new());
        let mut off = None;
        for entry in entries {
            match entry {
                LimitEntry::Use(LimitReference::Inherited(place)) => match outer(self) {
                    (_, InheritedFrom::Nothing) => self.nothing_inherited(*place),
                    (_, InheritedFrom::Off(place)) => off = Some(place),
                    (limits, _) => inherited = limits,
                },
                LimitEntry::Own(..) | LimitEntry::Use(LimitReference::Named { .. }) => {
                    if let Some(found) = self.entry(list, entry) {
                        let place = found.place;
                        self.add(&mut own, vec![found], place);
                    }
                }
            }
        }
        // Of an inherited limit that is used here too, the cost here counts.
        let replaces = |own: &LimitUse, outer: &LimitUse| own.limit == outer.limit && own.when.is_none();
        inherited.retain(|outer| !own.iter().any(|own| replaces(own, outer)));
        inherited.append(&mut own);
        match off {
            Some(place) if inherited.is_empty() => (inherited, InheritedFrom::Off(place)),
            _ => (inherited, nearest),
        }
    }

    fn entry(&self, list: List<'_>, entry: &LimitEntry) -> Option<LimitUse> {
        let (limit, cost, when, place) = match entry {
            LimitEntry::Own(id, when) => {
                let limit = self.merged.id(list.document, *id)?;
                (limit, None, when, self.merged.limits.get(limit.index())?.place)
            }
            LimitEntry::Use(LimitReference::Named { name, cost, when, place }) => {
                let (document, id) = named::find(self.drafts, list.document, name)?;
                (self.merged.id(document, id)?, cost.clone(), when, *place)
            }
            LimitEntry::Use(LimitReference::Inherited(_)) => return None,
        };
        let own = self.merged.limits.get(limit.index()).map(|limit| &limit.cost);
        let cost = cost.filter(|cost| Some(cost) != own);
        Some(LimitUse { limit, cost, when: when.clone(), level: list.level, place })
    }

    /// Adds limits to those that are there. Under one condition a limit applies once; that it costs two different amounts is an error at `place`.
    fn add(&mut self, limits: &mut Vec<LimitUse>, more: Vec<LimitUse>, place: Place) {
        for one in more {
            let is_same = |first: &&mut LimitUse| first.limit == one.limit && first.when == one.when;
            let Some(first) = limits.iter_mut().find(is_same) else {
                limits.push(one);
                continue;
            };
            // One tag inherits the root's limit, and another one names it: what a tag says is nearer.
            match (first.level, one.level) {
                (Level::Root, Level::Tag(_)) => {
                    *first = one;
                    continue;
                }
                (Level::Tag(_), Level::Root) => continue,
                _ if first.cost == one.cost || !self.told.insert(place) => continue,
                _ => {}
            }
            let limit = self.merged.limits.get(one.limit.index());
            let name = limit.map_or_else(String::new, |limit| tollgate_http::text::shown(&limit.name));
            let message = format!("the limit `{name}` is used twice, at different costs");
            let finding = Diagnostic::error("two-costs", place, message);
            let finding = finding.also(first.place, "it is used here").also(one.place, "and here");
            self.findings
                .push(finding.help("use it once; on the operation itself, with the cost that is meant"));
        }
    }

    fn nothing_inherited(&mut self, place: Place) {
        if self.told.insert(place) {
            let message = "there is nothing to inherit: no path, tag or root around this has a limit";
            let finding = Diagnostic::error("nothing-inherited", place, message);
            self.findings.push(finding.help("remove `use: inherited`, or write a limit at the root"));
        }
    }
}

/// What a request costs under a limit, where it is used.
pub(crate) fn cost_of<'a>(limit: &'a crate::model::PolicyLimit, at: Option<&'a LimitUse>) -> &'a Cost {
    at.and_then(|at| at.cost.as_ref()).unwrap_or(&limit.cost)
}
