//! Counts the top-level fields of a GraphQL document, without a schema. Conditional fields count in full.

use std::collections::HashMap;

use super::tokens::{Token, Tokens};

/// So deep may brackets nest; a deeper document is not counted, and costs the most.
const DEPTH_MAX: usize = 256;

/// What stands at the top of one operation or fragment.
#[derive(Default, Debug)]
struct Selection<'a> {
    /// Fields, each alias one.
    fields: u64,
    /// Fragments that are spread there, each as often as it is.
    spreads: Vec<&'a str>,
}

/// The fields at the top of all operations, with fragments in place; `None` if it is no document.
pub(super) fn count(text: &str) -> Option<u64> {
    let mut tokens = Tokens::new(text);
    let (mut operations, mut fragments) = (Vec::new(), HashMap::new());
    let mut described = false;
    while let Some(token) = tokens.next() {
        match token {
            Token::Sign(b'{') if !described => operations.push(selection(&mut tokens)?),
            Token::Name("query" | "mutation" | "subscription") => {
                until_selection(&mut tokens)?;
                operations.push(selection(&mut tokens)?);
            }
            Token::Name("fragment") => {
                let Some(Token::Name(name)) = tokens.next() else { return None };
                until_selection(&mut tokens)?;
                // Of two with one name, the upstream may take the other.
                if name == "on" || fragments.insert(name, selection(&mut tokens)?).is_some() {
                    return None;
                }
            }
            // A description before a definition.
            Token::Value if !described => {
                described = true;
                continue;
            }
            Token::Name(_) | Token::Sign(_) | Token::Spread | Token::Value | Token::Wrong => return None,
        }
        described = false;
    }
    let counts = expanded(&fragments)?;
    let mut sum: u64 = 0;
    for operation in &operations {
        sum = sum.saturating_add(total(operation, &counts)?);
    }
    Some(sum).filter(|_| !operations.is_empty() && !described)
}

/// Steps over name, variables and directives, up to the selection's bracket.
fn until_selection<'a>(tokens: &mut Tokens<'a>) -> Option<()> {
    loop {
        match tokens.next()? {
            Token::Sign(b'{') => return Some(()),
            Token::Sign(b'(') => balanced(tokens, b')')?,
            Token::Name(_) | Token::Sign(b'@') => {}
            Token::Sign(_) | Token::Spread | Token::Value | Token::Wrong => return None,
        }
    }
}

/// Steps over everything up to the bracket that closes one that was taken.
fn balanced(tokens: &mut Tokens<'_>, closing: u8) -> Option<()> {
    let mut open = vec![closing];
    while let Some(closing) = open.last().copied() {
        match tokens.next()? {
            Token::Sign(sign) if sign == closing => {
                open.pop();
            }
            Token::Sign(b'(') => open.push(b')'),
            Token::Sign(b'[') => open.push(b']'),
            Token::Sign(b'{') => open.push(b'}'),
            Token::Sign(b')' | b']' | b'}') | Token::Wrong => return None,
            Token::Sign(_) | Token::Name(_) | Token::Spread | Token::Value => {}
        }
        if open.len() > DEPTH_MAX {
            return None;
        }
    }
    Some(())
}

/// Reads a selection whose bracket was taken, with the inline fragments in it: they stand where they are written.
fn selection<'a>(tokens: &mut Tokens<'a>) -> Option<Selection<'a>> {
    let mut found = Selection::default();
    let mut open: usize = 1;
    // Whether a field, a spread or an inline fragment is at hand, to which arguments or directives may belong.
    let mut at_hand = Expected::Nothing;
    while open > 0 {
        at_hand = match (tokens.next()?, at_hand) {
            (Token::Name(_), Expected::Directive(of)) => of.again(),
            // The field behind an alias is not another one.
            (Token::Name(_), Expected::Alias) => Expected::Field,
            (Token::Name("on"), Expected::Spread) => {
                let Some(Token::Name(_)) = tokens.next() else { return None };
                Expected::Inline
            }
            (Token::Name(name), Expected::Spread) => {
                found.spreads.push(name);
                Expected::Fragment
            }
            (Token::Name(_), Expected::Nothing | Expected::Name | Expected::Field | Expected::Fragment) => {
                found.fields = found.fields.saturating_add(1);
                Expected::Name
            }
            (Token::Sign(b':'), Expected::Name) => Expected::Alias,
            (Token::Sign(b'('), Expected::Name | Expected::Field) => {
                balanced(tokens, b')')?;
                Expected::Field
            }
            (Token::Sign(b'('), Expected::Fragment | Expected::Inline) => {
                balanced(tokens, b')')?;
                at_hand
            }
            (Token::Sign(b'@'), Expected::Name | Expected::Field) => {
                Expected::Directive(DirectiveTarget::Field)
            }
            (Token::Sign(b'@'), Expected::Fragment) => Expected::Directive(DirectiveTarget::Fragment),
            (Token::Sign(b'@'), Expected::Spread | Expected::Inline) => {
                Expected::Directive(DirectiveTarget::Inline)
            }
            (Token::Sign(b'{'), Expected::Name | Expected::Field) => {
                balanced(tokens, b'}')?;
                Expected::Nothing
            }
            (Token::Sign(b'{'), Expected::Spread | Expected::Inline) if open < DEPTH_MAX => {
                open = open.saturating_add(1);
                Expected::Nothing
            }
            (Token::Spread, Expected::Nothing | Expected::Name | Expected::Field | Expected::Fragment) => {
                Expected::Spread
            }
            (
                Token::Sign(b'}'),
                Expected::Nothing | Expected::Name | Expected::Field | Expected::Fragment,
            ) => {
                open = open.saturating_sub(1);
                Expected::Nothing
            }
            (Token::Name(_) | Token::Sign(_) | Token::Spread | Token::Value | Token::Wrong, _) => {
                return None;
            }
        };
    }
    // A selection of nothing is not GraphQL.
    Some(found).filter(|found| found.fields > 0 || !found.spreads.is_empty())
}

/// What the next token may belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expected {
    Nothing,
    /// `a`, which is a field, or its alias.
    Name,
    /// A field with something behind its name.
    Field,
    /// `a:`
    Alias,
    /// `...`
    Spread,
    /// `...F`
    Fragment,
    /// `... on T`
    Inline,
    /// `@`, whose name is next.
    Directive(DirectiveTarget),
}

/// What a directive belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DirectiveTarget {
    Field,
    Fragment,
    Inline,
}

impl DirectiveTarget {
    const fn again(self) -> Expected {
        match self {
            Self::Field => Expected::Field,
            Self::Fragment => Expected::Fragment,
            Self::Inline => Expected::Inline,
        }
    }
}

/// The fields of every fragment, with those that it spreads in place. `None` if one leads back to itself, or nowhere.
///
/// Each is looked at twice however often it is spread, so that fragments which double one another cost nothing to count.
fn expanded<'a>(fragments: &HashMap<&'a str, Selection<'a>>) -> Option<HashMap<&'a str, u64>> {
    let mut counts = HashMap::with_capacity(fragments.len());
    for start in fragments.keys() {
        // Those that wait for what they spread, and how far each has come.
        let mut waiting: Vec<(&'a str, usize)> = vec![(start, 0)];
        let mut open = std::collections::HashSet::from([*start]);
        while let Some((name, next)) = waiting.pop() {
            if counts.contains_key(name) {
                open.remove(name);
                continue;
            }
            let fragment = fragments.get(name)?;
            match fragment.spreads.get(next) {
                None => {
                    counts.insert(name, total(fragment, &counts)?);
                    open.remove(name);
                }
                Some(spread) => {
                    waiting.push((name, next.saturating_add(1)));
                    if !counts.contains_key(spread) {
                        if !open.insert(spread) {
                            return None;
                        }
                        waiting.push((spread, 0));
                    }
                }
            }
        }
    }
    Some(counts)
}

/// A selection's own fields, and those of what it spreads.
fn total(selection: &Selection<'_>, counts: &HashMap<&str, u64>) -> Option<u64> {
    let spread = |sum: u64, name: &&str| Some(sum.saturating_add(*counts.get(name)?));
    selection.spreads.iter().try_fold(selection.fields, spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_at_the_top_are_counted_whatever_stands_around_them() {
        let table: &[(&str, u64)] = &[
            ("{ a }", 1),
            ("{ a b, c }", 3),
            ("{ a: x b: x }", 2),
            ("{ a: x(id: 1) { y z } b { c { d } } }", 2),
            ("query { a }", 1),
            ("query Q($a: [Int!]! = [1, 2], $o: In = {x: \"}\"}) @d(o: {y: [1]}) { a b }", 2),
            ("mutation { a } subscription S { b c }", 3),
            ("{ query: query on: on { on } fragment }", 3),
            ("{ a @include(if: false) b @x @y(z: \"{\") { c } d }", 3),
            ("{ ... on T { a b } ... { c } ... @x { d } ... on T @x(y: 1) { e { f } } }", 5),
            ("{ ... { ... on T { a } b } c }", 3),
            ("{ a ...F b } fragment F on T { c d }", 4),
            ("fragment F on T { c ...G } { ...F ...F } fragment G on T @x { d e }", 6),
            ("{ a # } b\n c }", 2),
            ("{ a(x: \"\"\"} \\\"\"\" { \"\"\") b }", 2),
            ("\"what it does\" query { a } \"\"\"and\"\"\" fragment F on T { b }", 1),
            ("\u{feff}{a}", 1),
        ];
        for (text, wanted) in table {
            assert_eq!(count(text), Some(*wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_document_is_not_counted() {
        let table = [
            "",
            "a",
            "{",
            "{}",
            "{ a",
            "{ a }}",
            "}",
            "{ a(}) }",
            "{ a([) }",
            "{ a: }",
            "{ : a }",
            "{ ... }",
            "{ a: b: c }",
            "{ a(x: 1): b }",
            "{ a @x: b }",
            "{ ... on }",
            "{ ...F }",
            "fragment F on T { a }",
            "{ a } fragment F on T { a } fragment F on T { b }",
            "{ ...F } fragment F on T { ...F }",
            "{ ...F } fragment F on T { ...G } fragment G on T { ...F }",
            "type T { a: Int }",
            "{ a } x",
            "{ a ? }",
            "{ a \"b\" }",
            "{ a } \"end\"",
            "query",
            "query {",
            "query Q",
            "\"a\" { b }",
            "{ @a }",
            "{ a @ }",
            "{ a(b: \"c) }",
            "{ { a } }",
            "{ a { b } { c } }",
            "{ $a }",
        ];
        for text in table {
            assert_eq!(count(text), None, "{text}");
        }
    }

    /// Each fragment spreads the next twice: 2^1000 fields, which no counter holds and no upstream serves.
    #[test]
    fn fragments_that_double_one_another_are_counted_at_once() {
        let mut text = String::from("{ ...F0 }");
        for i in 0..1_000 {
            text.push_str(&format!("fragment F{i} on T {{ ...F{} ...F{} }}", i + 1, i + 1));
        }
        text.push_str("fragment F1000 on T { a }");
        assert_eq!(count(&text), Some(u64::MAX));
    }

    #[test]
    fn what_is_deeper_than_anybody_writes_is_not_counted() {
        for (open, close) in [("{a", "}"), ("{...", "}"), ("{a(x:[", "])}")] {
            let nested = |depth: usize| format!("{}{{a}}{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(count(&nested(DEPTH_MAX * 4)), None, "{open}");
        }
        let nested = |depth: usize| format!("{}{{b}}{}", "{a".repeat(depth), "}".repeat(depth));
        assert_eq!(count(&nested(DEPTH_MAX - 1)), Some(1));
        assert_eq!(count(&nested(100_000)), None);
    }
}
