//! Key sets: what is taken, what is left out, and what is refused. No tokens here.

use serde_json::{Value, json};

use super::super::*;
use super::vectors::KEYS;

/// The keys of the good set, one by one.
fn key(place: usize) -> Value {
    let set: Value = serde_json::from_str(KEYS).expect("it is JSON");
    set["keys"][place].clone()
}

fn with(place: usize, field: &str, value: Value) -> Value {
    let mut key = key(place);
    key[field] = value;
    key
}

fn without(place: usize, field: &str) -> Value {
    let mut key = key(place);
    key.as_object_mut().expect("a key is an object").remove(field);
    key
}

fn read(keys: &[Value]) -> Result<JwtKeys, String> {
    JwtKeys::from_jwks(&json!({ "keys": keys }).to_string())
}

const RSA: usize = 0;
const P256: usize = 1;
const ED: usize = 3;
const SECRET: usize = 4;

#[test]
fn keys_for_other_uses_are_left_out_and_it_is_said() {
    let cases = [
        ("for encryption", with(RSA, "use", json!("enc"))),
        ("`alg` is not for signatures", with(RSA, "alg", json!("RSA-OAEP"))),
        ("`alg` is not for signatures", with(RSA, "alg", json!("XX999"))),
        ("`key_ops`", with(RSA, "key_ops", json!(["encrypt"]))),
        ("curve is not supported", with(P256, "crv", json!("P-521"))),
        ("curve is not supported", with(P256, "crv", json!("secp256k1"))),
        ("curve is not supported", with(ED, "crv", json!("Ed448"))),
        ("`kty` is not supported", json!({"kty": "AKP", "alg": "ML-DSA-44", "pub": "AA"})),
    ];
    for (reason, left_out) in cases {
        let keys = read(&[left_out.clone(), key(P256)]).expect(reason);
        assert_eq!(keys.len(), 1, "{reason}");
        assert!(keys.skipped()[0].starts_with("Key 1 of the set: "), "{:?}", keys.skipped());
        assert!(keys.skipped()[0].contains(reason), "{reason}: {:?}", keys.skipped());
        let alone = read(&[left_out]).expect_err(reason);
        assert!(
            alone.contains("no key that tokens can be checked with") && alone.contains(reason),
            "{alone}"
        );
    }
    let shown = format!("{:?}", read(&[key(SECRET)]));
    assert!(shown.contains("[redacted]") && !shown.contains("97, 32"), "a secret is shown: {shown}");
    let used = [with(RSA, "use", json!("sig")), with(RSA, "key_ops", json!(["verify"])), key(SECRET)];
    assert!(read(&used).is_ok_and(|keys| keys.len() == 3 && keys.skipped().is_empty() && !keys.is_empty()));
}

#[test]
fn broken_and_weak_keys_are_refused_and_not_repeated() {
    let modulus = |bytes: usize, last: &str| json!("_".repeat(bytes / 3 * 4) + last);
    let cases = [
        ("`alg` does not go with its `kty`", with(RSA, "alg", json!("HS256"))),
        ("`alg` does not go with its `kty`", with(SECRET, "alg", json!("RS256"))),
        ("`alg` does not go with its `kty`", with(P256, "alg", json!("ES384"))),
        ("lacks a field", without(RSA, "n")),
        ("lacks a field", without(P256, "y")),
        ("lacks a field", without(SECRET, "k")),
        ("no `kty`", without(ED, "kty")),
        ("not base64url", with(ED, "x", json!("é"))),
        ("not base64url", with(SECRET, "k", json!("ab=="))),
        ("is not a key of its", with(ED, "x", json!("AAAA"))),
        ("is not a key of its", with(ED, "x", json!("A".repeat(44)))),
        ("is not a key of its", with(P256, "x", key(P256)["y"].clone())),
        ("from 2048 to 4096 bits", with(RSA, "n", modulus(255, ""))),
        ("from 2048 to 4096 bits", with(RSA, "n", modulus(513, ""))),
        ("from 2048 to 4096 bits", with(RSA, "n", json!(""))),
        ("from 2048 to 4096 bits", with(RSA, "n", json!("A".repeat(340)))),
        ("must be odd", with(RSA, "n", modulus(255, "___-"))),
        ("must be odd", with(RSA, "e", json!("AQ"))),
        ("must be odd", with(RSA, "e", json!("AQAA"))),
        ("must be odd", with(RSA, "e", json!("AQAAAAAB"))),
        ("too short", with(SECRET, "k", json!(""))),
        ("too short", with(SECRET, "k", json!("A".repeat(42)))),
    ];
    for (reason, broken) in cases {
        let error = read(&[key(P256), broken.clone()]).expect_err(reason);
        assert!(error.starts_with("Key 2 of the set: ") && error.contains(reason), "{reason}: {error}");
        let values = broken.as_object().expect("a key is an object").iter();
        let mut secrets = values.filter(|(name, _)| ["n", "k", "x", "y"].contains(&name.as_str()));
        let repeats =
            |value: &Value| value.as_str().is_some_and(|text| text.len() > 3 && error.contains(text));
        assert!(!secrets.any(|(_, value)| repeats(value)), "{error}");
    }
}

/// A secret is used with the algorithms that it is long enough for, and a named one alone.
#[test]
fn a_key_is_bound_to_its_algorithms() {
    use jsonwebtoken::Algorithm::{self, ES256, EdDSA, HS256, HS384, HS512, PS256, RS256, RS512};
    let all = [EdDSA, ES256, HS256, HS384, HS512, PS256, RS256, RS512];
    let secret = |letters: usize| with(SECRET, "k", json!("A".repeat(letters)));
    let cases: [(Value, &[Algorithm]); 8] = [
        (key(RSA), &[PS256, RS256, RS512]),
        (with(RSA, "alg", json!("RS256")), &[RS256]),
        (key(P256), &[ES256]),
        (key(ED), &[EdDSA]),
        (secret(43), &[HS256]),
        (secret(64), &[HS256, HS384]),
        (secret(86), &[HS256, HS384, HS512]),
        (with(SECRET, "alg", json!("HS512")), &[HS512]),
    ];
    for (key, wanted) in cases {
        let keys = read(&[key]).expect("the key is good");
        let found: Vec<_> =
            all.into_iter().filter(|algorithm| keys.fitting(*algorithm).count() == 1).collect();
        assert_eq!(found, wanted);
    }
}

#[test]
fn sets_that_cannot_be_read_are_refused_with_a_place() {
    for text in ["", "{", "[]", r#"{"keys": {}}"#, "{}", r#"{"keys": ["s3cr3t"]}"#] {
        let error = JwtKeys::from_jwks(text).expect_err(text);
        assert!(
            error.starts_with("The key set cannot be read at line ") && !error.contains("s3cr3t"),
            "{error}"
        );
    }
    assert!(read(&[]).is_err_and(|error| error == "The key set has no key that tokens can be checked with."));
}

#[test]
fn a_set_has_at_most_so_many_keys_and_bytes() {
    assert_eq!(read(&vec![key(P256); KEYS_MAX]).expect("not too many").len(), KEYS_MAX);
    let widest = json!("_".repeat(680) + "__8");
    assert!(read(&[with(RSA, "n", widest)]).is_ok(), "4096 bits are not too many");
    let error = read(&vec![key(P256); KEYS_MAX + 1]).expect_err("one too many");
    assert_eq!(error, "The key set has 17 keys, more than 16. Take out those that no longer sign.");
    let padded = |bytes: usize| format!("{KEYS}{}", " ".repeat(bytes - KEYS.len()));
    assert!(JwtKeys::from_jwks(&padded(JWKS_BYTES_MAX)).is_ok());
    let error = JwtKeys::from_jwks(&padded(JWKS_BYTES_MAX + 1)).expect_err("a byte too long");
    assert_eq!(error, "The key set is longer than 262144 bytes. Is it the right file?");
}
