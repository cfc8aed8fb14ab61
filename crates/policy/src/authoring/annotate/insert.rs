//! Inserts entries into a map of a document, in the style of its neighbours. `plan` decides which entries.

use super::layout::Layout;
use super::piece::{Piece, Shape, Style};
use crate::document::tree::{Entry, Kind, Value};

/// A new entry.
pub(super) type NewEntry = (&'static str, Piece);

/// An insertion to make.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Edit {
    pub(super) at: usize,
    /// Indentation: of two insertions at one offset, the deeper goes first.
    pub(super) depth: usize,
    pub(super) text: String,
}

/// A map to extend, with its context.
#[derive(Clone, Copy, Debug)]
pub(super) struct InsertionPoint<'t> {
    pub(super) layout: Layout<'t>,
    /// The enclosing map and the entry in it; `None` for the root.
    pub(super) holder: Option<(Value<'t>, Entry<'t>)>,
    pub(super) map: Value<'t>,
    /// Whether new entries may go on one line if their neighbours do.
    pub(super) short: bool,
}

/// Why the map cannot be extended, as the end of a sentence.
pub(super) type NotExtensible = &'static str;

impl<'t> InsertionPoint<'t> {
    /// The value under a key of this map.
    pub(super) fn below(self, entry: Entry<'t>) -> Self {
        Self { holder: Some((self.map, entry)), map: entry.value, ..self }
    }

    /// Adds entries after the last one.
    pub(super) fn add(self, new: &[NewEntry]) -> Result<Edit, NotExtensible> {
        let node = self.layout.raw(self.map).ok_or("cannot be found")?;
        let last = self.map.entries().last();
        match (&node.kind, node.is_flow(), last) {
            (Kind::Alias(_), ..) => Err("is a YAML alias, shared with other entries: write it out"),
            (Kind::Map { .. }, false, Some(last)) => self.add_to_block(last, new),
            (Kind::Map { .. }, true, Some(last)) => Ok(self.add_to_flow(last, new)),
            (Kind::Map { .. }, _, None) => Ok(self.add_to_empty(new)),
            (Kind::Scalar { .. }, ..) if self.layout.is_blank(self.map) => self.add_below_key(new),
            (Kind::Scalar { .. } | Kind::List { .. }, ..) => Err("is not a map"),
        }
    }

    fn add_to_block(self, last: Entry<'t>, new: &[NewEntry]) -> Result<Edit, NotExtensible> {
        let layout = self.layout;
        let indent =
            layout.indent(last.key_at.start).ok_or("ends with a key that does not start its line")?;
        let inline = self.one_line(last.value);
        let shape = if inline.is_some() { Shape::Inline } else { Shape::Block };
        let double = layout.slice(last.key_at.start as usize, last.key_at.end as usize).starts_with('"');
        let style = Style {
            shape,
            indent: indent.to_owned(),
            unit: self.step(),
            quote: if double { '"' } else { '\'' },
            pad: inline.unwrap_or(" "),
            ..self.plain_style()
        };
        let lines =
            new.iter().map(|(key, piece)| format!("{}{indent}{}", style.newline, style.entry(key, piece)));
        let at = layout.past_comments(layout.block_end(last.value), indent.len());
        Ok(Edit { at, depth: indent.len(), text: lines.collect() })
    }

    /// Adds lines below a key without a value.
    fn add_below_key(self, new: &[NewEntry]) -> Result<Edit, NotExtensible> {
        let layout = self.layout;
        let (holder, entry) = self.holder.ok_or("is empty")?;
        if layout.raw(holder).is_none_or(|node| node.is_flow()) {
            return Err("is empty: write `{}`");
        }
        let outer = layout.indent(entry.key_at.start).ok_or("is a key that does not start its line")?;
        let indent = format!("{outer}{}", self.step());
        let style = Style { indent: indent.clone(), unit: self.step(), ..self.plain_style() };
        let lines =
            new.iter().map(|(key, piece)| format!("{}{indent}{}", style.newline, style.entry(key, piece)));
        let at = layout.past_comments(layout.block_end(self.map), indent.len());
        Ok(Edit { at, depth: indent.len(), text: lines.collect() })
    }

    fn add_to_flow(self, last: Entry<'t>, new: &[NewEntry]) -> Edit {
        let style = self.flow_style(self.map, last);
        let between = if style.shape == Shape::Pretty {
            format!("{}{}", style.newline, style.indent)
        } else {
            style.blank.to_owned()
        };
        let entries = match self.one_line(last.value) {
            Some(pad) => Style { shape: Shape::Inline, pad, ..style },
            None => style,
        };
        let text =
            new.iter().map(|(key, piece)| format!(",{between}{}", entries.entry(key, piece))).collect();
        Edit { at: self.layout.flow_end(&last), depth: 0, text }
    }

    /// Adds entries to `{}`, in the style of the enclosing map.
    fn add_to_empty(self, new: &[NewEntry]) -> Edit {
        let layout = self.layout;
        let outer = self.holder.filter(|(holder, _)| holder.is_flow());
        let style = outer.map_or_else(
            || Style { shape: Shape::Inline, ..self.plain_style() },
            |(holder, entry)| self.flow_style(holder, entry),
        );
        let (start, end) =
            layout.raw(self.map).map_or((0, 0), |node| (node.start as usize, node.end as usize));
        let inside = layout.slice(start.saturating_add(1), end.saturating_sub(1));
        let (before, after, entries) = if style.shape == Shape::Pretty {
            let indent = format!("{}{}", style.indent, style.unit);
            let line = format!("{}{indent}", style.newline);
            (line, format!("{}{}", style.newline, style.indent), Style { indent, ..style })
        } else {
            (style.pad.to_owned(), style.pad.to_owned(), style)
        };
        let between = if entries.shape == Shape::Pretty { before.as_str() } else { entries.blank };
        let printed: Vec<_> = new.iter().map(|(key, piece)| entries.entry(key, piece)).collect();
        let after = if inside.is_empty() { after.as_str() } else { "" };
        let text = format!("{before}{}{after}", printed.join(&format!(",{between}")));
        Edit { at: start.saturating_add(1), depth: 0, text }
    }

    /// What stands inside of the braces of a neighbour on one line, if new entries are to look like it.
    fn one_line(self, neighbour: Value<'t>) -> Option<&'static str> {
        let node = self.layout.raw(neighbour).filter(|node| node.is_flow() && self.short)?;
        let text = self.layout.slice(node.start as usize, node.end as usize);
        let filled = neighbour.entries().next().is_some() && !text.contains('\n');
        filled.then(|| self.pad(node.start))
    }

    /// What stands inside of the brace that stands here.
    fn pad(self, brace: u32) -> &'static str {
        let text = self.layout.slice(brace as usize, self.layout.text.len());
        if text.starts_with("{ ") { " " } else { "" }
    }

    /// How entries of a flow map are written, seen from one of them.
    fn flow_style(self, map: Value<'t>, entry: Entry<'t>) -> Style {
        let layout = self.layout;
        let (start, end) = layout.raw(map).map_or((0, 0), |node| (node.start, node.end));
        let key = layout.slice(entry.key_at.start as usize, entry.key_at.end as usize);
        let json = key.starts_with('"');
        let colon = layout.slice(entry.key_at.end as usize, layout.text.len()).trim_start();
        let tight =
            json && colon.strip_prefix(':').is_some_and(|after| !after.starts_with(char::is_whitespace));
        let own_line = layout.indent(entry.key_at.start);
        let closing = layout.indent(end.saturating_sub(1));
        let unit = own_line.and_then(|own| own.strip_prefix(closing?)).filter(|unit| !unit.is_empty());
        Style {
            shape: if own_line.is_some() { Shape::Pretty } else { Shape::Inline },
            indent: own_line.unwrap_or("").to_owned(),
            unit: unit.map_or_else(|| layout.unit(), Into::into),
            json,
            blank: if tight { "" } else { " " },
            pad: if own_line.is_some() && !json { " " } else { self.pad(start) },
            ..self.plain_style()
        }
    }

    /// How a block of this map is indented: as its neighbours are, or what it stands in, or the document.
    fn step(self) -> String {
        let own = self.layout.step(self.map);
        let outer = || self.layout.step(self.holder?.0);
        own.or_else(outer).unwrap_or_else(|| self.layout.unit())
    }

    /// Where nothing shows a style.
    fn plain_style(self) -> Style {
        Style {
            shape: Shape::Block,
            indent: String::new(),
            unit: self.layout.unit(),
            newline: self.layout.newline,
            json: false,
            quote: '\'',
            blank: " ",
            pad: " ",
        }
    }
}
