//! JSON as the API reads it: whole numbers only, no member twice, and errors that name the member as a JSON pointer.

use std::fmt;

use http::StatusCode;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use tollgate_http::text::shown;

use super::problem::Problem;

/// The largest number. A larger one is an error: other programs cannot hold it exactly.
pub(super) const NUMBER_MAX: u64 = (1 << 53) - 1;

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Null,
    Flag(bool),
    Number(u64),
    /// A number that is none here: negative, with a fraction or an exponent, or too large.
    BadNumber,
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Value {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Flag(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::BadNumber => "not a whole number from 0 to 9007199254740991, written with digits only",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Map(_) => "an object",
        }
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(if number <= NUMBER_MAX { Value::Number(number) } else { Value::BadNumber })
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        Ok(Value::BadNumber)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::BadNumber)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map: Vec<(String, Value)> = Vec::new();
        while let Some((name, value)) = entries.next_entry::<String, Value>()? {
            if map.len() >= MEMBERS_MAX {
                return Err(Error::custom(format!("an object has more than {MEMBERS_MAX} members")));
            }
            if map.iter().any(|(known, _)| *known == name) {
                return Err(Error::custom(format!("the member `{}` is there twice", shown(&name))));
            }
            map.push((name, value));
        }
        Ok(Value::Map(map))
    }
}

/// Members of one object; more are an error. The comparison of their names takes time by the square of it.
pub(super) const MEMBERS_MAX: usize = 128;

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Reads a body. It nests at most 128 levels.
///
/// # Errors
/// 400, with the line and the column.
pub(super) fn parse(body: &[u8]) -> Result<Value, Problem> {
    serde_json::from_slice(body)
        .map_err(|error| bad(String::new(), &format!("the body is not JSON: {error}")))
}

/// A problem with a member.
pub(super) fn bad(pointer: String, detail: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, detail).at(pointer)
}

/// An object that is read member by member. What is not read is an error.
#[derive(Debug)]
pub(super) struct Object {
    pointer: String,
    members: Vec<(String, Value)>,
}

impl Object {
    /// A value that has to be an object. `pointer` is its place in the body.
    pub(super) fn new(value: Value, pointer: String) -> Result<Self, Problem> {
        if let Value::Map(members) = value {
            return Ok(Self { pointer, members });
        }
        Err(bad(pointer, &format!("an object is expected here, and this is {}", value.kind())))
    }

    /// The pointer of a member.
    pub(super) fn pointer(&self, name: &str) -> String {
        format!("{}/{}", self.pointer, name.replace('~', "~0").replace('/', "~1"))
    }

    /// A problem with a member.
    pub(super) fn bad(&self, name: &str, detail: &str) -> Problem {
        bad(self.pointer(name), &format!("`{name}` {detail}"))
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.members.iter().position(|(known, _)| known == name)?;
        Some(self.members.swap_remove(at).1)
    }

    fn wrong<T>(&self, name: &str, wanted: &str, value: &Value) -> Result<T, Problem> {
        Err(self.bad(name, &format!("is {}: {wanted} is expected", value.kind())))
    }

    fn missing(&self, name: &str) -> Problem {
        bad(self.pointer.clone(), &format!("the member `{name}` is missing"))
    }

    /// A string of at most so many characters.
    pub(super) fn text(&mut self, name: &str, chars_max: usize) -> Result<Option<String>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Text(text)) => match text.chars().count() {
                count if count <= chars_max => Ok(Some(text)),
                count => {
                    Err(self.bad(name, &format!("has {count} characters, and may have at most {chars_max}")))
                }
            },
            Some(other) => self.wrong(name, "a string", &other),
        }
    }

    /// The same, which has to be there.
    pub(super) fn required_text(&mut self, name: &str, chars_max: usize) -> Result<String, Problem> {
        self.text(name, chars_max)?.ok_or_else(|| self.missing(name))
    }

    /// A whole number from the first to the second.
    pub(super) fn number(&mut self, name: &str, (least, most): (u64, u64)) -> Result<Option<u64>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Number(number)) if (least..=most).contains(&number) => Ok(Some(number)),
            Some(Value::Number(_)) => Err(self.bad(name, &format!("is not from {least} to {most}"))),
            Some(other) => self.wrong(name, "a whole number", &other),
        }
    }

    /// The same, which has to be there.
    pub(super) fn required_number(&mut self, name: &str, range: (u64, u64)) -> Result<u64, Problem> {
        self.number(name, range)?.ok_or_else(|| self.missing(name))
    }

    /// A boolean; false if it is not there.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool, Problem> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Flag(flag)) => Ok(flag),
            Some(other) => self.wrong(name, "a boolean", &other),
        }
    }

    /// An array of at least one and at most so many objects.
    pub(super) fn objects(&mut self, name: &str, most: usize) -> Result<Option<Vec<Self>>, Problem> {
        let items = match self.take(name) {
            None => return Ok(None),
            Some(Value::List(items)) => items,
            Some(other) => return self.wrong(name, "an array", &other),
        };
        if items.is_empty() || items.len() > most {
            return Err(self.bad(name, &format!("has {} items: 1 to {most} are expected", items.len())));
        }
        let pointer = self.pointer(name);
        let each = items.into_iter().enumerate();
        each.map(|(place, item)| Self::new(item, format!("{pointer}/{place}")))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// An object.
    pub(super) fn object(&mut self, name: &str) -> Result<Option<Self>, Problem> {
        self.take(name).map(|value| Self::new(value, self.pointer(name))).transpose()
    }

    /// All members, which have to be strings.
    pub(super) fn entries(&self) -> Result<Vec<(&str, &str)>, Problem> {
        let each = self.members.iter().map(|(name, value)| {
            let Value::Text(text) = value else { return self.wrong(name, "a string", value) };
            Ok((name.as_str(), text.as_str()))
        });
        each.collect()
    }

    /// The end: nothing else may be there.
    pub(super) fn end(self) -> Result<(), Problem> {
        match self.members.first() {
            None => Ok(()),
            Some((name, _)) => {
                Err(bad(self.pointer(name), &format!("the member `{}` is not known here", shown(name))))
            }
        }
    }
}

#[cfg(test)]
mod tests;
