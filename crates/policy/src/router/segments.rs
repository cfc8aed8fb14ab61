//! A path cut into its segments, for a search that may come back to them. It looks nothing up.

use crate::template::Case;
use tollgate_http::path::SEGMENTS_MAX;
use tollgate_http::path::plain::marks;

/// Where the segments of a path begin and end.
pub(super) struct Segments<'p> {
    path: &'p [u8],
    /// Small numbers, since all of it is written for every search.
    ranges: [(u16, u16); SEGMENTS_MAX],
    count: usize,
}

impl<'p> Segments<'p> {
    /// None yet: see [`cut`](Self::cut). It is filled where it stands, since it is large to move.
    #[inline]
    pub(super) const fn none(path: &'p str) -> Self {
        Self { path: path.as_bytes(), ranges: [(0, 0); SEGMENTS_MAX], count: 0 }
    }

    /// Cuts the path from this byte on, which stands behind a slash. Returns nothing if the path is not normalised. Where case
    /// is ignored, so are `;parameters` and empty segments.
    #[inline]
    pub(super) fn cut(&mut self, case: Case, from: usize) -> Option<()> {
        // A longer path is none that was normalised.
        let end = u16::try_from(self.path.len()).ok()?;
        let from = u16::try_from(from).ok()?;
        match case {
            Case::Kept => self.cut_strictly(from, end),
            Case::Ignored => self.cut_loosely(from),
        }
    }

    /// How many there are.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// The one at this place, from 0; `None` behind the last.
    #[inline]
    pub(super) fn text(&self, at: usize) -> Option<&'p [u8]> {
        let (begin, end) = *self.ranges.get(at).filter(|_| at < self.count)?;
        self.path.get(usize::from(begin)..usize::from(end))
    }

    fn push(&mut self, begin: u16, end: u16) -> Option<()> {
        *self.ranges.get_mut(self.count)? = (begin, end);
        self.count += 1;
        Some(())
    }

    /// Looks for slashes in eight bytes at a time.
    #[inline]
    fn cut_strictly(&mut self, from: u16, end: u16) -> Option<()> {
        let (chunks, rest) = self.path.get(usize::from(from)..)?.as_chunks::<8>();
        let (mut begin, mut at) = (from, from);
        for chunk in chunks {
            let mut slashes = marks(u64::from_le_bytes(*chunk), b'/');
            while slashes != 0 {
                let slash = at + place_of(slashes);
                self.push(begin, slash)?;
                begin = slash + 1;
                slashes &= slashes - 1;
            }
            at += 8;
        }
        for (byte, slash) in rest.iter().zip(at..) {
            if *byte == b'/' {
                self.push(begin, slash)?;
                begin = slash + 1;
            }
        }
        self.push(begin, end)
    }

    fn cut_loosely(&mut self, from: u16) -> Option<()> {
        let mut begin = usize::from(from);
        for segment in self.path.get(begin..)?.split(|byte| *byte == b'/') {
            let text = segment.split(|byte| *byte == b';').next().unwrap_or_default();
            if !text.is_empty() {
                self.push(u16::try_from(begin).ok()?, u16::try_from(begin + text.len()).ok()?)?;
            }
            begin += segment.len() + 1;
        }
        Some(())
    }
}

/// Which byte the lowest of these bits is in.
fn place_of(bits: u64) -> u16 {
    u16::try_from(bits.trailing_zeros() / 8).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_testing::dice::Dice;

    fn texts(path: &str, case: Case) -> Option<Vec<&[u8]>> {
        let mut segments = Segments::none(path);
        path.starts_with('/').then(|| segments.cut(case, 1))??;
        (0..segments.count()).map(|at| segments.text(at)).collect()
    }

    #[test]
    fn any_path_is_cut_at_its_slashes_and_nowhere_else() {
        let mut cut = 0;
        for seed in 0..100_000 {
            let mut dice = Dice::new(seed);
            let soup = dice.soup(b"////ab.%;\x00\x7f\x2e\x30\x2f", 90);
            let path = format!("/{}", String::from_utf8(soup).unwrap());
            let parts: Vec<&[u8]> = path.as_bytes()[1..].split(|byte| *byte == b'/').collect();
            let expected = (parts.len() <= SEGMENTS_MAX).then_some(parts);
            cut += u32::from(expected.is_some());
            assert_eq!(texts(&path, Case::Kept), expected, "seed {seed}: {path:?}");
        }
        assert!(cut > 90_000, "{cut}");
    }

    #[test]
    fn a_lenient_server_sees_neither_parameters_nor_empty_segments() {
        let table: [(&str, Option<Vec<&[u8]>>); 5] = [
            ("/Login;x=1/", Some(vec![b"Login"])),
            ("/;x/a//b;/", Some(vec![b"a", b"b"])),
            ("/", Some(vec![])),
            ("", None),
            ("login", None),
        ];
        for (path, expected) in table {
            assert_eq!(texts(path, Case::Ignored), expected, "{path}");
        }
    }

    #[test]
    fn a_path_longer_than_any_that_was_normalised_is_not_cut() {
        let longest = format!("/{}", "a".repeat(usize::from(u16::MAX) - 1));
        for case in [Case::Kept, Case::Ignored] {
            assert!(texts(&longest, case).is_some());
            assert_eq!(texts(&format!("{longest}a"), case), None);
        }
    }
}
