//! Texts kept once each, in one piece of memory, with a number for each. It forgets nothing and sorts nothing.

use std::hash::{BuildHasher, RandomState};

use super::NONE;

/// Texts, each with a number (from 0, in the order of coming) and the line on which it came first.
#[derive(Default)]
pub(super) struct Names {
    texts: String,
    /// Where each text ends; the next one begins there.
    ends: Vec<u32>,
    lines: Vec<u32>,
}

impl Names {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text with this number; empty if there is none.
    pub(super) fn text(&self, number: u32) -> &str {
        let place = number as usize;
        let end = |place: usize| self.ends.get(place).map_or(0, |end| *end as usize);
        let start = place.checked_sub(1).map_or(0, end);
        self.texts.get(start..end(place)).unwrap_or_default()
    }

    /// The line on which the text came first; 0 if there is none.
    pub(super) fn line(&self, number: u32) -> u32 {
        self.lines.get(number as usize).copied().unwrap_or_default()
    }

    /// Every text with its number and line.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &str, u32)> {
        (0u32..).zip(&self.lines).map(|(number, line)| (number, self.text(number), *line))
    }

    pub(super) fn forget_lines(&mut self) {
        self.lines = Vec::new();
    }

    pub(super) fn shrink(&mut self) {
        self.texts.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.lines.shrink_to_fit();
    }

    pub(super) fn bytes(&self) -> usize {
        self.texts.capacity() + (self.ends.capacity() + self.lines.capacity()) * size_of::<u32>()
    }

    fn add(&mut self, text: &str, line: u32) -> Option<u32> {
        let number = u32::try_from(self.ends.len()).ok().filter(|number| *number != NONE)?;
        let end = u32::try_from(self.texts.len() + text.len()).ok()?;
        self.texts.push_str(text);
        self.ends.push(end);
        self.lines.push(line);
        Some(number)
    }
}

/// Finds the number of a text while texts are being added. Only for loading: what is loaded does not need it.
///
/// Open addressing over numbers, with a byte of the hash for each, so that a search seldom reads a text that is not
/// the wanted one. Some of these texts are chosen by strangers (a name at sign-up), and could be chosen to fall on
/// one place; so the hash is keyed, and the key is new for each index. No result depends on it.
#[derive(Default)]
pub(super) struct Index {
    /// For each place: 0 if it is free, else a byte of the hash that is not 0.
    tags: Vec<u8>,
    numbers: Vec<u32>,
    hasher: RandomState,
}

impl Index {
    /// The number of this text, and whether it is new. `None` if `names` has no room for it: four billion texts, or
    /// four gibibytes of them.
    pub(super) fn number(&mut self, names: &mut Names, text: &str, line: u32) -> Option<(u32, bool)> {
        if names.len() >= self.tags.len() / 4 * 3 {
            self.grow(names);
        }
        let hash = self.hasher.hash_one(text);
        let place = match self.search(hash, |number| names.text(number) == text) {
            Ok(number) => return Some((number, false)),
            Err(place) => place,
        };
        let number = names.add(text, line)?;
        self.put(place, hash, number);
        Some((number, true))
    }

    /// The number that is wanted, or the place where it goes. A quarter of the places is free, so the search ends.
    fn search(&self, hash: u64, wanted: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let mask = self.tags.len().wrapping_sub(1);
        let mut place = usize::try_from(hash & mask as u64).unwrap_or_default();
        loop {
            let found = self.tags.get(place).copied().unwrap_or_default();
            if found == 0 {
                return Err(place);
            }
            if found == tag(hash)
                && let Some(number) = self.numbers.get(place).copied().filter(|number| wanted(*number))
            {
                return Ok(number);
            }
            place = (place + 1) & mask;
        }
    }

    fn put(&mut self, place: usize, hash: u64, number: u32) {
        if let (Some(free), Some(slot)) = (self.tags.get_mut(place), self.numbers.get_mut(place)) {
            *free = tag(hash);
            *slot = number;
        }
    }

    fn grow(&mut self, names: &Names) {
        let size = (self.tags.len() * 2).max(16);
        // The old places go before the new ones come: all is found again from the names.
        (self.tags, self.numbers) = (Vec::new(), Vec::new());
        (self.tags, self.numbers) = (vec![0; size], vec![0; size]);
        for (number, text, _) in names.iter() {
            let hash = self.hasher.hash_one(text);
            if let Err(place) = self.search(hash, |_| false) {
                self.put(place, hash, number);
            }
        }
    }
}

/// A byte of the hash that the place does not come from.
fn tag(hash: u64) -> u8 {
    hash.to_be_bytes()[0].max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_one_number_and_its_first_line() {
        let (mut names, mut index) = (Names::default(), Index::default());
        for round in 0..2 {
            for number in 0..1_000u32 {
                let text = if number == 7 { String::new() } else { format!("name {number}") };
                let known = index.number(&mut names, &text, number + round * 5_000);
                assert_eq!(known, Some((number, round == 0)));
            }
        }
        assert_eq!(names.len(), 1_000);
        assert_eq!((names.text(7), names.text(999), names.text(1_000)), ("", "name 999", ""));
        assert_eq!((names.line(999), names.line(1_000)), (999, 0));
    }
}
