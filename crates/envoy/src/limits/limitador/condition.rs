//! Conditions on descriptors and their evaluation. What is missing is neither true nor false.

/// The descriptors of a request.
pub(crate) trait Descriptors {
    /// The value of a key in a descriptor. Of a key that is there twice, the last counts, as in a map.
    fn value(&self, descriptor: usize, key: &str) -> Option<&str>;
}

/// A condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    Constant(bool),
    Compare(Text, Comparison, Text),
    /// The text is one of the list.
    In(Text, Vec<Text>),
    /// The descriptor has the key.
    Has(usize, Box<str>),
    Not(Box<Self>),
    And(Vec<Self>),
    Or(Vec<Self>),
}

/// How two texts are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    StartsWith,
    EndsWith,
    Contains,
}

/// A text: written, or of a descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Text {
    Literal(Box<str>),
    Value(usize, Box<str>),
}

impl Text {
    /// `None` if the descriptor or its key is missing.
    pub(crate) fn evaluate<'a>(&'a self, descriptors: &'a dyn Descriptors) -> Option<&'a str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Value(descriptor, key) => descriptors.value(*descriptor, key),
        }
    }

    /// The first descriptor that it reads.
    pub(crate) const fn first(&self) -> Option<usize> {
        match self {
            Self::Literal(_) => None,
            Self::Value(descriptor, _) => Some(*descriptor),
        }
    }
}

impl Condition {
    /// `None` if something that it needs is missing. As in CEL, `false && missing` is false and `true || missing` is true.
    pub(crate) fn evaluate(&self, descriptors: &dyn Descriptors) -> Option<bool> {
        match self {
            Self::Constant(constant) => Some(*constant),
            Self::Compare(left, comparison, right) => {
                let (left, right) = (left.evaluate(descriptors)?, right.evaluate(descriptors)?);
                Some(comparison.holds(left, right))
            }
            Self::In(text, list) => {
                let text = text.evaluate(descriptors)?;
                let list: Option<Vec<_>> = list.iter().map(|item| item.evaluate(descriptors)).collect();
                Some(list?.contains(&text))
            }
            Self::Has(descriptor, key) => Some(descriptors.value(*descriptor, key).is_some()),
            Self::Not(condition) => condition.evaluate(descriptors).map(|holds| !holds),
            Self::And(all) => any_is(false, all, descriptors),
            Self::Or(all) => any_is(true, all, descriptors),
        }
    }

    /// The first descriptor that it reads.
    pub(crate) fn first(&self) -> Option<usize> {
        match self {
            Self::Constant(_) => None,
            Self::Compare(left, _, right) => left.first().into_iter().chain(right.first()).min(),
            Self::In(text, list) => text.first().into_iter().chain(list.iter().filter_map(Text::first)).min(),
            Self::Has(descriptor, _) => Some(*descriptor),
            Self::Not(condition) => condition.first(),
            Self::And(all) | Self::Or(all) => all.iter().filter_map(Self::first).min(),
        }
    }
}

/// `decisive` if one of them is, whatever the others are; else its opposite if all of them are that.
fn any_is(decisive: bool, all: &[Condition], descriptors: &dyn Descriptors) -> Option<bool> {
    let mut result = Some(!decisive);
    for condition in all {
        match condition.evaluate(descriptors) {
            Some(holds) if holds == decisive => return Some(decisive),
            Some(_) => {}
            None => result = None,
        }
    }
    result
}

impl Comparison {
    fn holds(self, left: &str, right: &str) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Unequal => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::StartsWith => left.starts_with(right),
            Self::EndsWith => left.ends_with(right),
            Self::Contains => left.contains(right),
        }
    }
}
