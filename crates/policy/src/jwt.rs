//! Who a token says its bearer is, once its signature is checked. It fetches no keys and reads no clock; what a claim
//! is worth is decided elsewhere.
//!
//! Of the library underneath only the signatures are used. What a token must look like, which key it is checked with
//! and when it ends are decided here.

mod claims;
mod keys;
mod strict;
#[cfg(test)]
mod tests;

pub use claims::{ClaimValue, Claims, read_unverified};
pub use keys::{JWKS_BYTES_MAX, JwtKeys, KEYS_MAX};

use std::fmt::{self, Display, Formatter};

use jsonwebtoken::crypto;
use serde_json::Value;
use tollgate_algorithms::Micros;

use claims::{Object, Tokens};

/// The longest token, in bytes. A longer one is refused before anything of it is read.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// What a token must be to be believed.
///
/// ```
/// use tollgate_policy::jwt::{JwtKeys, JwtRefusal, JwtRules};
/// use tollgate_algorithms::Micros;
/// let set = r#"{"keys": [{"kty": "oct", "alg": "HS256",
///     "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}]}"#;
/// let rules = JwtRules { issuer: Some("joe".into()), ..JwtRules::new(JwtKeys::from_jwks(set)?) };
/// let token = concat!(
///     "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt",
///     "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
/// );
/// let claims = rules.verify(token.as_bytes(), Micros::from_secs(1_300_819_379))?;
/// assert_eq!(claims.get("iss").map(|value| value.to_string()), Some("joe".into()));
/// let later = rules.verify(token.as_bytes(), Micros::from_secs(1_400_000_000));
/// assert_eq!(later.err(), Some(JwtRefusal::Expired));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct JwtRules {
    /// The keys that tokens are signed with.
    pub keys: JwtKeys,
    /// If given, `iss` must be exactly this.
    pub issuer: Option<String>,
    /// If given, `aud` must be exactly this, or a list that has it. If not, `aud` is not looked at: a token that its
    /// issuer made for another audience still says whose it is.
    pub audience: Option<String>,
    /// For how many seconds a token is still taken after its end, and already before its beginning.
    pub leeway_s: u64,
    /// Whether a token without `exp` is refused.
    pub require_exp: bool,
}

/// Why a token is not believed. It says nothing of what is in the token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum JwtRefusal {
    /// It is longer than [`TOKEN_BYTES_MAX`].
    TooLong,
    /// It is not three parts of base64url, or its header or its claims are not an object of JSON with different names.
    Malformed,
    /// No key may be used with the algorithm that its header names; `none` is no algorithm.
    Algorithm,
    /// No key has the `kid` that its header names.
    UnknownKey,
    /// Its header names an extension that must be understood, and is not.
    Extension,
    /// No key made its signature.
    Signature,
    /// It has no `exp`, and the rules want one.
    NoEnd,
    /// Its `exp` or its `nbf` is not a time.
    BadTime,
    /// Its `exp` is over.
    Expired,
    /// Its `nbf` is still to come.
    NotYetValid,
    /// Its `iss` is missing or another.
    Issuer,
    /// Its `aud` is missing or another.
    Audience,
}

impl Display for JwtRefusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            Self::TooLong => "The token is longer than 8192 bytes.",
            Self::Malformed => "The token is not three parts of base64url with JSON in them, each name once.",
            Self::Algorithm => {
                "The token names an algorithm that no key is for. Check `alg` of the token and of the key set."
            }
            Self::UnknownKey => {
                "The token names a key that is not in the key set. Has the issuer changed its keys?"
            }
            Self::Extension => "The token has a `crit` header, and none of its extensions is supported.",
            Self::Signature => "The signature of the token is not right for any key.",
            Self::NoEnd => "The token has no `exp`, and one is required.",
            Self::BadTime => "The `exp` or the `nbf` of the token is not a number of seconds.",
            Self::Expired => "The token has expired.",
            Self::NotYetValid => "The token is not valid yet. Is a clock wrong?",
            Self::Issuer => "The token is not from the issuer that is wanted.",
            Self::Audience => "The token is not for the audience that is wanted.",
        };
        f.write_str(sentence)
    }
}

impl std::error::Error for JwtRefusal {}

impl JwtRules {
    /// Any issuer, any audience, a minute of leeway; tokens must end.
    #[must_use]
    pub const fn new(keys: JwtKeys) -> Self {
        Self { keys, issuer: None, audience: None, leeway_s: 60, require_exp: true }
    }

    /// The claims of a token, if all of it is as it must be. `now` is the time on the wall, since 1970.
    ///
    /// The claims are read only after the signature is found right. Keys, addresses of keys and certificates in the
    /// token itself are never used.
    ///
    /// # Errors
    ///
    /// The first reason that is found.
    pub fn verify(&self, token: &[u8], now: Micros) -> Result<Claims, JwtRefusal> {
        let token = Tokens::split(token)?;
        let header = claims::read_object(token.header).ok_or(JwtRefusal::Malformed)?;
        self.check_signature(&token, &header)?;
        let object = claims::read_object(token.payload).ok_or(JwtRefusal::Malformed)?;
        self.check_time(&object, now)?;
        self.check_origin(&object)?;
        Ok(Claims::verified(object))
    }

    fn check_signature(&self, token: &Tokens<'_>, header: &Object) -> Result<(), JwtRefusal> {
        if header.contains_key("crit") {
            return Err(JwtRefusal::Extension);
        }
        let name = header.get("alg").and_then(Value::as_str).ok_or(JwtRefusal::Malformed)?;
        let algorithm = name.parse().map_err(|_| JwtRefusal::Algorithm)?;
        let kid = match header.get("kid") {
            None => None,
            Some(Value::String(kid)) => Some(kid.as_str()),
            Some(_) => return Err(JwtRefusal::Malformed),
        };
        let mut refusal = JwtRefusal::Algorithm;
        for key in self.keys.fitting(algorithm) {
            if !key.answers_to(kid) {
                // Of the refusals that are met, the one that got furthest is told.
                refusal = if refusal == JwtRefusal::Algorithm { JwtRefusal::UnknownKey } else { refusal };
                continue;
            }
            if crypto::verify(token.signature, token.message.as_bytes(), key.decoding(), algorithm)
                == Ok(true)
            {
                return Ok(());
            }
            refusal = JwtRefusal::Signature;
        }
        Err(refusal)
    }

    fn check_time(&self, claims: &Object, now: Micros) -> Result<(), JwtRefusal> {
        let leeway = Micros::from_secs(self.leeway_s);
        match claims.get("exp") {
            None if self.require_exp => return Err(JwtRefusal::NoEnd),
            None => {}
            Some(end) => {
                let end = seconds(end).ok_or(JwtRefusal::BadTime)?;
                // On the second that `exp` names it is over (RFC 7519, 4.1.4).
                if now >= end.saturating_add(leeway) {
                    return Err(JwtRefusal::Expired);
                }
            }
        }
        if let Some(start) = claims.get("nbf") {
            let start = seconds(start).ok_or(JwtRefusal::BadTime)?;
            if now.saturating_add(leeway) < start {
                return Err(JwtRefusal::NotYetValid);
            }
        }
        Ok(())
    }

    fn check_origin(&self, claims: &Object) -> Result<(), JwtRefusal> {
        let is = |value: &Value, wanted: &str| value.as_str() == Some(wanted);
        if let Some(wanted) = &self.issuer
            && !claims.get("iss").is_some_and(|issuer| is(issuer, wanted))
        {
            return Err(JwtRefusal::Issuer);
        }
        if let Some(wanted) = &self.audience {
            let good = match claims.get("aud") {
                Some(Value::Array(list)) => list.iter().any(|audience| is(audience, wanted)),
                Some(audience) => is(audience, wanted),
                None => false,
            };
            if !good {
                return Err(JwtRefusal::Audience);
            }
        }
        Ok(())
    }
}

/// A time in seconds since 1970, fractions cut off; one before 1970 is 1970. `None` if it is no number, or one so large that
/// it is written with an exponent.
fn seconds(value: &Value) -> Option<Micros> {
    let Value::Number(number) = value else { return None };
    if let Some(seconds) = number.as_u64() {
        return Some(Micros::from_secs(seconds));
    }
    // Read from its digits: there is no floating point in anything that decides.
    let text = number.to_string();
    if text.starts_with('-') {
        return Some(Micros::ZERO);
    }
    let (whole, fraction) = text.split_once('.')?;
    let plain = fraction.bytes().all(|digit| digit.is_ascii_digit());
    plain.then(|| whole.parse().ok().map(Micros::from_secs)).flatten()
}
