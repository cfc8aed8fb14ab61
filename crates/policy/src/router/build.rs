//! Adds templates and builds the router from them. Not the search.

use super::case_fold::fold;
use super::overlap::OverlapSearch;
use super::table::Table;
use super::trie::{NONE, Trie};
use super::{AddedTemplate, LenientSearch, LenientTable, Router, RouterBuilder, RouterError};
use crate::template::{Case, Template};

impl RouterBuilder {
    /// No templates.
    #[must_use]
    pub fn new() -> Self {
        Self { trie: Trie::new(Case::Kept), segments: Vec::new(), comparisons: 0 }
    }

    /// Adds a template. A template that is refused leaves no trace.
    ///
    /// # Errors
    /// If it cannot be told apart from one that was added before, or a limit is reached.
    pub fn add(&mut self, template: &Template) -> Result<AddedTemplate, RouterError> {
        self.add_beside(template, &mut |_| false)
    }

    /// As [`add`](Self::add), but a template that was added before and may not be told apart from this one is asked about by its
    /// id: if it may stand beside this one, it does, and a path that matches both has both, in any order.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_beside(
        &mut self,
        template: &Template,
        may_stand: &mut dyn FnMut(u32) -> bool,
    ) -> Result<AddedTemplate, RouterError> {
        let segments = template.segments();
        let there = self.trie.get(segments);
        if there != NONE {
            return Ok(AddedTemplate::Same(there));
        }
        let comparisons = &mut self.comparisons;
        OverlapSearch { trie: &self.trie, comparisons, may_stand }.check(segments)?;
        let id = self.trie.insert(segments)?;
        self.segments.push(segments.clone());
        Ok(AddedTemplate::New(id))
    }

    /// The router for all that was added.
    ///
    /// # Errors
    /// [`RouterError::TooTangled`], if a search could take more than [`STEPS_MAX`](super::STEPS_MAX) steps.
    pub fn build(self, loose: LenientSearch) -> Result<Router, RouterError> {
        let loose = match loose {
            LenientSearch::Yes => Some(self.loose()?),
            LenientSearch::No => None,
        };
        Ok(Router { strict: Table::new(self.trie, &|_| 1)?, loose })
    }

    fn loose(&self) -> Result<LenientTable, RouterError> {
        let mut trie = Trie::new(Case::Ignored);
        let mut members: Vec<Vec<u32>> = Vec::new();
        for (segments, id) in self.segments.iter().zip(0..) {
            let folded = fold(segments);
            match members.get_mut(trie.get(&folded) as usize) {
                Some(group) => group.push(id),
                None => {
                    trie.insert(&folded)?;
                    members.push(vec![id]);
                }
            }
        }
        let count = |group: u32| members.get(group as usize).map_or(0, |ids| ids.len() as u64);
        Ok(LenientTable { table: Table::new(trie, &count)?, members })
    }
}

impl Default for RouterBuilder {
    fn default() -> Self {
        Self::new()
    }
}
