//! The claims of a token, and how a token falls into its parts. It believes nothing: whether a signature was checked is
//! only remembered here.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

use serde_json::{Map, Value};

use super::strict::Strict;
use super::{JwtRefusal, TOKEN_BYTES_MAX};

pub(super) type Object = Map<String, Value>;

/// What a token says of its bearer.
#[derive(Clone, PartialEq, Eq)]
pub struct Claims {
    object: Object,
    verified: bool,
}

/// A claim that can stand in a key or choose a tier: a text, a whole number, or yes or no. Shown as its canonical text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimValue<'a> {
    /// A text, perhaps empty.
    Text(&'a str),
    /// A whole number, as JSON can hold it in 64 bits, with or without a sign.
    Integer(i128),
    /// `true` or `false`.
    Flag(bool),
}

impl<'a> ClaimValue<'a> {
    /// The canonical text: the text itself, decimal digits, `true` or `false`.
    #[must_use]
    pub fn text(&self) -> Cow<'a, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Integer(number) => Cow::Owned(number.to_string()),
            Self::Flag(true) => Cow::Borrowed("true"),
            Self::Flag(false) => Cow::Borrowed("false"),
        }
    }
}

impl Display for ClaimValue<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Claims {
    pub(super) const fn verified(object: Object) -> Self {
        Self { object, verified: true }
    }

    /// Whether the signature of the token was checked. If not, anyone may have written these claims.
    #[must_use]
    pub const fn is_verified(&self) -> bool {
        self.verified
    }

    /// The claim of this name, or at this path: `realm_access.plan` is the claim of that name if there is one, else `plan` inside
    /// the object `realm_access`. Where several readings are possible, the longest name is taken at each step.
    ///
    /// Lists, objects, `null` and numbers that are not whole are no values, and are not found.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<ClaimValue<'_>> {
        let (mut object, mut path) = (&self.object, path);
        loop {
            if let Some(value) = object.get(path) {
                return simple(value);
            }
            (object, path) = path.rmatch_indices('.').find_map(|(dot, _)| {
                let inner = object.get(path.get(..dot)?)?.as_object()?;
                Some((inner, path.get(dot + 1..)?))
            })?;
        }
    }
}

/// Without the values: they may be anything about anyone.
impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.object.keys().collect();
        f.debug_struct("Claims").field("names", &names).field("verified", &self.verified).finish()
    }
}

fn simple(value: &Value) -> Option<ClaimValue<'_>> {
    match value {
        Value::String(text) => Some(ClaimValue::Text(text)),
        Value::Bool(flag) => Some(ClaimValue::Flag(*flag)),
        Value::Number(number) => {
            let whole = number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from));
            whole.map(ClaimValue::Integer)
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The claims of a token whose signature **nobody has checked**: anyone may have written them. For limits that may be keyed by
/// such a claim because something before this process has checked it.
#[must_use]
pub fn read_unverified(token: &[u8]) -> Option<Claims> {
    let object = read_object(Tokens::split(token).ok()?.payload)?;
    Some(Claims { object, verified: false })
}

/// The parts of a token, still encoded.
pub(super) struct Tokens<'a> {
    pub(super) header: &'a str,
    pub(super) payload: &'a str,
    pub(super) signature: &'a str,
    /// Header and payload with the dot between them: what is signed.
    pub(super) message: &'a str,
}

impl<'a> Tokens<'a> {
    pub(super) fn split(token: &'a [u8]) -> Result<Self, JwtRefusal> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(JwtRefusal::TooLong);
        }
        let token = str::from_utf8(token).map_err(|_| JwtRefusal::Malformed)?;
        let (message, signature) = token.rsplit_once('.').ok_or(JwtRefusal::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(JwtRefusal::Malformed)?;
        if payload.contains('.') {
            return Err(JwtRefusal::Malformed);
        }
        Ok(Self { header, payload, signature, message })
    }
}

/// A part as the object of JSON that it encodes.
pub(super) fn read_object(part: &str) -> Option<Object> {
    // The library keeps its base64 to itself, but reads the middle part of whatever looks like a token. Nothing is
    // believed by this: it is only decoded. The part has no dot in it, so it is the middle.
    let middle = ["", part, ""].join(".");
    match jsonwebtoken::dangerous::insecure_decode_claims(middle) {
        Ok(Strict(Value::Object(object))) => Some(object),
        _ => None,
    }
}
