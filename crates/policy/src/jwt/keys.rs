//! The keys that tokens are checked with, each bound to the algorithms it is for. It fetches none and signs nothing.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, crypto};

/// The most keys in a set. A larger set is refused: a token without `kid` is tried with every key of its algorithm, and each
/// try costs a public-key operation.
pub const KEYS_MAX: usize = 16;
/// The longest text of a key set, in bytes. A longer one is refused unread.
pub const JWKS_BYTES_MAX: usize = 256 * 1024;

/// The smallest RSA modulus (RFC 7518, 3.3) and the largest that is worth its time. Others are refused.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2_048..=4_096;

const NO_KEY: &str = "It is not a key of its `kty` and `crv`.";

/// Keys to check signatures with.
///
/// What a key is used for is decided when it is read, by its type and its `alg`, never by a token: so no public key is ever
/// taken for a secret (an RS256 token turned into HS256), and `none` is for no key.
#[derive(Clone, Debug)]
pub struct JwtKeys {
    keys: Vec<Key>,
    skipped: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Key {
    kid: Option<String>,
    algorithms: Vec<Algorithm>,
    decoding: DecodingKey,
}

impl Key {
    /// Whether a token that names this `kid` may be checked with this key. Where one of them names none, the signature
    /// alone decides.
    pub(super) fn answers_to(&self, kid: Option<&str>) -> bool {
        kid.is_none_or(|kid| self.kid.as_deref().is_none_or(|own| own == kid))
    }

    pub(super) const fn decoding(&self) -> &DecodingKey {
        &self.decoding
    }
}

/// What came of one entry of the set.
enum Entry {
    Key(Key),
    /// It is not for checking tokens, or of a kind that is not supported, as the sentence says.
    Skipped(&'static str),
}

impl JwtKeys {
    /// Reads a JWK set (RFC 7517): RSA, EC on P-256 or P-384, OKP on Ed25519, and oct. What is in it for other uses is
    /// skipped; see [`JwtKeys::skipped`].
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with which key. It never repeats a key.
    pub fn from_jwks(json: &str) -> Result<Self, String> {
        if json.len() > JWKS_BYTES_MAX {
            return Err(format!("The key set is longer than {JWKS_BYTES_MAX} bytes. Is it the right file?"));
        }
        let set: JwkSet = serde_json::from_str(json).map_err(|error| {
            // The reader's own words may repeat a part of a key.
            let (line, column) = (error.line(), error.column());
            format!("The key set cannot be read at line {line}, column {column}. It must be a JSON object with a list `keys` (RFC 7517).")
        })?;
        if set.keys.len() > KEYS_MAX {
            return Err(format!(
                "The key set has {} keys, more than {KEYS_MAX}. Take out those that no longer sign.",
                set.keys.len()
            ));
        }
        let mut keys = Self { keys: Vec::new(), skipped: Vec::new() };
        for (number, jwk) in (1..).zip(&set.keys) {
            let at = |sentence: &str| format!("Key {number} of the set: {sentence}");
            match read(jwk).map_err(at)? {
                Entry::Key(key) => keys.keys.push(key),
                Entry::Skipped(sentence) => keys.skipped.push(at(sentence)),
            }
        }
        if keys.keys.is_empty() {
            let reasons = keys.skipped.join(" ");
            return Err(format!("The key set has no key that tokens can be checked with. {reasons}")
                .trim_end()
                .to_owned());
        }
        Ok(keys)
    }

    /// How many keys can be used.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none. There never are.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// A sentence for each key of the set that was left out.
    #[must_use]
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// The keys that are for this algorithm.
    pub(super) fn fitting(&self, algorithm: Algorithm) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(move |key| key.algorithms.contains(&algorithm))
    }
}

fn read(jwk: &Jwk) -> Result<Entry, &'static str> {
    if matches!(jwk.common.public_key_use, Some(PublicKeyUse::Encryption)) {
        return Ok(Entry::Skipped("It is for encryption, and left out."));
    }
    if jwk.common.key_operations.as_ref().is_some_and(|list| !list.contains(&KeyOperations::Verify)) {
        return Ok(Entry::Skipped("Its `key_ops` do not have `verify`, so it is left out."));
    }
    let mut algorithms = match by_type(&jwk.algorithm)? {
        Ok(algorithms) => algorithms,
        Err(skipped) => return Ok(Entry::Skipped(skipped)),
    };
    if let Some(named) = jwk.common.key_algorithm {
        let Ok(named) = Algorithm::try_from(named) else {
            return Ok(Entry::Skipped(
                "Its `alg` is not for signatures, or not supported, so it is left out.",
            ));
        };
        algorithms.retain(|algorithm| *algorithm == named);
    }
    let decoding = DecodingKey::from_jwk(jwk).map_err(|_| "Its numbers are not base64url.")?;
    check(&decoding, &mut algorithms)?;
    Ok(Entry::Key(Key { kid: jwk.common.key_id.clone(), algorithms, decoding }))
}

/// The algorithms that a key of this type may be used with; or why it is left out.
fn by_type(parameters: &AlgorithmParameters) -> Result<Result<Vec<Algorithm>, &'static str>, &'static str> {
    use Algorithm::{ES256, ES384, EdDSA, HS256, HS384, HS512, PS256, PS384, PS512, RS256, RS384, RS512};
    let other_curve = "Its curve is not supported (P-256, P-384 and Ed25519 are), so it is left out.";
    Ok(Ok(match parameters {
        AlgorithmParameters::RSA(_) => vec![RS256, RS384, RS512, PS256, PS384, PS512],
        AlgorithmParameters::OctetKey(_) => vec![HS256, HS384, HS512],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => vec![ES256],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => vec![ES384],
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => vec![EdDSA],
        AlgorithmParameters::EllipticCurve(_) | AlgorithmParameters::OctetKeyPair(_) => {
            return Ok(Err(other_curve));
        }
        AlgorithmParameters::Other(key) => {
            let field = |name| key.fields.get(name).and_then(|value| value.as_str());
            let known_curve = matches!(field("crv"), Some("P-256" | "P-384" | "Ed25519") | None);
            return match field("kty") {
                Some("EC" | "OKP") if !known_curve => Ok(Err(other_curve)),
                Some("RSA" | "EC" | "OKP" | "oct") => Err("It lacks a field that its `kty` must have."),
                Some(_) => Ok(Err("Its `kty` is not supported, so it is left out.")),
                None => Err("It has no `kty`."),
            };
        }
        _ => return Ok(Err("Its `kty` is not supported, so it is left out.")),
    }))
}

/// Refuses keys that are broken or too weak, and takes from a secret the algorithms that it is too short for.
fn check(key: &DecodingKey, algorithms: &mut Vec<Algorithm>) -> Result<(), &'static str> {
    if let DecodingKeyKind::RsaModulusExponent { n, e } = key.kind() {
        check_rsa(n, e)?;
    } else if let Ok(secret) = key.try_get_as_bytes()
        && algorithms.iter().any(|algorithm| smallest_secret(*algorithm).is_some())
    {
        algorithms.retain(|algorithm| smallest_secret(*algorithm).is_some_and(|least| secret.len() >= least));
        if algorithms.is_empty() {
            return Err(
                "Its secret is too short for its algorithm (RFC 7518, 3.2): HS256 needs 32 bytes, HS384 48, HS512 64.",
            );
        }
    }
    // The library takes the first 32 bytes of such a key, and panics where there are fewer.
    if algorithms.contains(&Algorithm::EdDSA) && key.try_get_as_bytes().map(<[u8]>::len) != Ok(32) {
        return Err(NO_KEY);
    }
    let Some(first) = algorithms.first() else {
        return Err("Its `alg` does not go with its `kty`.");
    };
    // No signature is right for nothing; but a key that is no point of its curve is found out here, not at the first token.
    crypto::verify("", b"", key, *first).map_err(|_| NO_KEY).map(|_| ())
}

/// How many bytes a secret must have to be used with this algorithm; `None` if it takes no secret.
fn smallest_secret(algorithm: Algorithm) -> Option<usize> {
    let secrets = [(Algorithm::HS256, 32), (Algorithm::HS384, 48), (Algorithm::HS512, 64)];
    secrets.iter().find(|(own, _)| *own == algorithm).map(|(_, bytes)| *bytes)
}

fn check_rsa(modulus: &[u8], exponent: &[u8]) -> Result<(), &'static str> {
    let bits = |number: &[u8]| {
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        let first = number.get(zeros).map_or(8, |byte| byte.leading_zeros() as usize);
        ((number.len() - zeros) * 8).saturating_sub(first)
    };
    let odd = |number: &[u8]| number.last().is_some_and(|byte| byte & 1 == 1);
    if !RSA_BITS.contains(&bits(modulus)) {
        return Err("Its modulus must have from 2048 to 4096 bits.");
    }
    if !odd(modulus) || !odd(exponent) || !(2..=32).contains(&bits(exponent)) {
        return Err(
            "It is not an RSA key: modulus and exponent must be odd, and the exponent from 3 to 2^32.",
        );
    }
    Ok(())
}
