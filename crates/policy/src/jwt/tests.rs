//! Tokens that are believed, and every way in which one is not. The keys and signatures come from another library.

mod sets;
mod vectors;

use jsonwebtoken::{Algorithm, EncodingKey, crypto};

use super::*;
use vectors::{CLAIMS, KEYS, SECRET, TOKENS};

/// A moment at which the tokens are valid.
const NOW: Micros = Micros::from_secs(1_900_000_000);

fn rules() -> JwtRules {
    JwtRules::new(JwtKeys::from_jwks(KEYS).expect("the set is good"))
}

/// Text as base64url, so that a test can write any token.
fn encode(text: &[u8]) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut encoded = String::new();
    for three in text.chunks(3) {
        let number =
            three.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)) << (8 * (3 - three.len()));
        let digits = (0..=three.len()).map(|place| letters[number >> (18 - 6 * place) & 63]);
        encoded.extend(digits.map(char::from));
    }
    encoded
}

fn sign_with(secret: &[u8], header: &str, claims: &str) -> String {
    let message = format!("{}.{}", encode(header.as_bytes()), encode(claims.as_bytes()));
    let signature = crypto::sign(message.as_bytes(), &EncodingKey::from_secret(secret), Algorithm::HS256);
    format!("{message}.{}", signature.expect("HS256 signs with any secret"))
}

/// A token with these claims that is signed as it should be.
fn sign(claims: &str) -> String {
    sign_with(SECRET, r#"{"alg":"HS256","kid":"secret"}"#, claims)
}

fn refusal(rules: &JwtRules, token: &str) -> Option<JwtRefusal> {
    rules.verify(token.as_bytes(), NOW).err()
}

#[test]
fn tokens_of_every_algorithm_are_believed() {
    let names: Vec<_> = TOKENS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["RS256", "PS256", "ES256", "ES384", "EdDSA", "HS256", "HS384", "HS512"]);
    for (name, token) in TOKENS {
        let claims = rules().verify(token.as_bytes(), NOW).expect(name);
        assert_eq!(claims.get("sub"), Some(ClaimValue::Text("ann")), "{name}");
        assert!(claims.is_verified());
    }
}

#[test]
fn a_token_without_kid_is_tried_with_every_key_of_its_algorithm() {
    let token = sign_with(SECRET, r#"{"alg":"HS256"}"#, CLAIMS);
    assert_eq!(refusal(&rules(), &token), None);
    let others = r#"{"keys":[{"kty":"oct","k":"b25lIG9mIHRoZSBvdGhlciBzZWNyZXRzIG9mIDMyIGJ5dGVz"},"#;
    let set = KEYS.replacen(r#"{"keys":["#, others, 1);
    let rules = JwtRules::new(JwtKeys::from_jwks(&set).expect("the set is good"));
    assert_eq!(refusal(&rules, &token), None);
    assert_eq!(refusal(&rules, &sign(CLAIMS)), None, "a key without kid does not stand in the way");
}

/// Changed in any one character, a token is not believed.
#[test]
fn every_change_of_a_character_is_noticed() {
    for (name, token) in TOKENS.iter().filter(|(name, _)| ["RS256", "ES256", "EdDSA", "HS256"].contains(name))
    {
        let rules = rules();
        for at in (0..token.len()).step_by(if *name == "HS256" { 1 } else { 7 }) {
            let mut changed = token.as_bytes().to_vec();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert!(rules.verify(&changed, NOW).is_err(), "{name}: changed at {at}");
            assert!(rules.verify(&token.as_bytes()[..at], NOW).is_err(), "{name}: cut at {at}");
        }
    }
}

#[test]
fn what_is_wrong_with_a_token_is_told_apart() {
    use JwtRefusal::{Algorithm, Extension, Malformed, Signature, TooLong, UnknownKey};
    let good = sign(CLAIMS);
    let (message, signature) = good.rsplit_once('.').expect("a token has dots");
    let (header, payload) = message.split_once('.').expect("a token has dots");
    let with = |new: &str| format!("{}.{payload}.{signature}", encode(new.as_bytes()));
    let rich = CLAIMS.replace("ann", "bob");
    let cases = [
        ("nothing is wrong", good.clone(), None),
        ("altered payload", format!("{header}.{}.{signature}", encode(rich.as_bytes())), Some(Signature)),
        ("altered header", with(r#"{"alg":"HS256","kid":"secret","x":1}"#), Some(Signature)),
        ("another algorithm of its family", with(r#"{"alg":"HS384","kid":"secret"}"#), Some(Signature)),
        ("another secret", sign_with(b"another", r#"{"alg":"HS256"}"#, CLAIMS), Some(Signature)),
        ("alg none", with(r#"{"alg":"none"}"#), Some(Algorithm)),
        ("alg none, no signature", format!("{}.{payload}.", encode(br#"{"alg":"none"}"#)), Some(Algorithm)),
        ("alg None", with(r#"{"alg":"NonE"}"#), Some(Algorithm)),
        ("no signature", format!("{message}."), Some(Signature)),
        ("no alg", with(r#"{"kid":"secret"}"#), Some(Malformed)),
        ("alg twice", with(r#"{"alg":"none","alg":"HS256"}"#), Some(Malformed)),
        ("alg of an algorithm that no key is for", with(r#"{"alg":"ES512"}"#), Some(Algorithm)),
        ("unknown kid", with(r#"{"alg":"HS256","kid":"old"}"#), Some(UnknownKey)),
        ("kid of a key for another algorithm", with(r#"{"alg":"HS256","kid":"rsa"}"#), Some(UnknownKey)),
        ("kid that is a number", with(r#"{"alg":"HS256","kid":1}"#), Some(Malformed)),
        ("an extension", with(r#"{"alg":"HS256","crit":["b64"],"b64":false}"#), Some(Extension)),
        ("truncated", good[..good.len() / 2].to_owned(), Some(Malformed)),
        ("truncated signature", good[..good.len() - 4].to_owned(), Some(Signature)),
        ("two parts", message.to_owned(), Some(Malformed)),
        ("four parts", format!("{message}.x.{signature}"), Some(Malformed)),
        ("five parts, as if encrypted", "a.b.c.d.e".to_owned(), Some(Malformed)),
        ("empty", String::new(), Some(Malformed)),
        ("dots", "..".to_owned(), Some(Malformed)),
        ("padded base64", format!("{header}=.{payload}.{signature}"), Some(Malformed)),
        ("spaces around", format!(" {good} "), Some(Malformed)),
        ("claims that are no object", sign("[1]"), Some(Malformed)),
        ("claims that are no JSON", sign("{"), Some(Malformed)),
        ("a claim twice", sign(&CLAIMS.replace(r#""sub""#, r#""sub":"bob","sub""#)), Some(Malformed)),
        ("nested beyond reason", sign(&"[".repeat(3_000)), Some(Malformed)),
        ("100 KB", sign(&CLAIMS.replace("ann", &"a".repeat(100_000))), Some(TooLong)),
    ];
    for (what, token, wanted) in cases {
        assert_eq!(refusal(&rules(), &token), wanted, "{what}");
    }
    let bytes = [good.as_bytes(), b"\xff"].concat();
    assert_eq!(rules().verify(&bytes, NOW).err(), Some(Malformed), "not UTF-8");
}

#[test]
fn the_longest_token_is_read_and_one_byte_more_is_not() {
    let sized = |bytes: usize| {
        let filler = |length| sign(&CLAIMS.replace("ann", &"a".repeat(length)));
        (0..6_200).rev().map(filler).find(|token| token.len() <= bytes).expect("one is small enough")
    };
    let token = sized(TOKEN_BYTES_MAX);
    assert!(token.len() > TOKEN_BYTES_MAX - 3);
    assert_eq!(refusal(&rules(), &token), None);
    let padded = |length: usize| token.clone() + &"A".repeat(length - token.len());
    assert_eq!(refusal(&rules(), &padded(TOKEN_BYTES_MAX + 1)), Some(JwtRefusal::TooLong));
    assert_eq!(read_unverified(padded(TOKEN_BYTES_MAX + 1).as_bytes()), None);
}

/// The attack on libraries that ask the token what its key is: a public key, which everyone has, used as a secret.
#[test]
fn a_public_key_is_never_taken_for_a_secret() {
    let set: Value = serde_json::from_str(KEYS).expect("it is JSON");
    let modulus = set["keys"][0]["n"].as_str().expect("the first is an RSA key");
    let only_public = format!(r#"{{"keys":[{}]}}"#, set["keys"][0]);
    let only_public = JwtRules::new(JwtKeys::from_jwks(&only_public).expect("the set is good"));
    let decoded = DECODED_EXPONENT.to_vec();
    for secret in [modulus.as_bytes(), set["keys"][0].to_string().as_bytes(), b"", decoded.as_slice()] {
        for header in [r#"{"alg":"HS256","kid":"rsa"}"#, r#"{"alg":"HS256"}"#] {
            let token = sign_with(secret, header, CLAIMS);
            assert_eq!(refusal(&only_public, &token), Some(JwtRefusal::Algorithm));
            assert!(matches!(
                refusal(&rules(), &token),
                Some(JwtRefusal::Signature | JwtRefusal::UnknownKey)
            ));
        }
    }
}

/// 65537, as in `AQAB`.
const DECODED_EXPONENT: [u8; 3] = [1, 0, 1];

#[test]
fn times_are_kept_to_the_second_and_the_clock_is_the_one_that_is_passed_in() {
    use JwtRefusal::{BadTime, Expired, NoEnd, NotYetValid};
    let strict = JwtRules { leeway_s: 0, ..rules() };
    let lax = JwtRules { leeway_s: 10, require_exp: false, ..rules() };
    // The claims, the time in microseconds, and what strict and lax rules say.
    let cases = [
        (r#"{"exp":100}"#, 99_999_999, None, None),
        (r#"{"exp":100}"#, 100_000_000, Some(Expired), None),
        (r#"{"exp":100}"#, 109_999_999, Some(Expired), None),
        (r#"{"exp":100}"#, 110_000_000, Some(Expired), Some(Expired)),
        (r#"{"exp":100.9}"#, 99_999_999, None, None),
        (r#"{"exp":100.9}"#, 100_000_000, Some(Expired), None),
        (r#"{"exp":1e2}"#, 99_999_999, None, None),
        (r#"{"exp":0}"#, 0, Some(Expired), None),
        (r#"{"exp":-1}"#, 0, Some(Expired), None),
        (r#"{"exp":18446744073709551615}"#, u64::MAX - 1, None, None),
        (r#"{"exp":1e300}"#, 0, Some(BadTime), Some(BadTime)),
        (r#"{"exp":"100"}"#, 0, Some(BadTime), Some(BadTime)),
        (r#"{"exp":null}"#, 0, Some(BadTime), Some(BadTime)),
        ("{}", 0, Some(NoEnd), None),
        (r#"{"exp":900,"nbf":100}"#, 100_000_000, None, None),
        (r#"{"exp":900,"nbf":100}"#, 99_999_999, Some(NotYetValid), None),
        (r#"{"exp":900,"nbf":100}"#, 90_000_000, Some(NotYetValid), None),
        (r#"{"exp":900,"nbf":100}"#, 89_999_999, Some(NotYetValid), Some(NotYetValid)),
        (r#"{"exp":900,"nbf":true}"#, 100_000_000, Some(BadTime), Some(BadTime)),
        (r#"{"exp":900,"nbf":-5.5}"#, 0, None, None),
    ];
    for (claims, now, by_strict, by_lax) in cases {
        let token = sign(claims);
        let now = Micros::new(now);
        assert_eq!(strict.verify(token.as_bytes(), now).err(), by_strict, "strict: {claims} at {now}");
        assert_eq!(lax.verify(token.as_bytes(), now).err(), by_lax, "lax: {claims} at {now}");
    }
    let endless = JwtRules { leeway_s: u64::MAX, ..rules() };
    assert!(endless.verify(sign(r#"{"exp":1}"#).as_bytes(), NOW).is_ok());
}

#[test]
fn issuer_and_audience_must_be_the_wanted_ones() {
    use JwtRefusal::{Audience, Issuer};
    let wanted = JwtRules { issuer: Some("us".into()), audience: Some("api".into()), ..rules() };
    let cases = [
        (r#""iss":"us","aud":"api""#, None),
        (r#""iss":"us","aud":["x","api"]"#, None),
        (r#""iss":"them","aud":"api""#, Some(Issuer)),
        (r#""iss":["us"],"aud":"api""#, Some(Issuer)),
        (r#""iss":"us ","aud":"api""#, Some(Issuer)),
        (r#""aud":"api""#, Some(Issuer)),
        (r#""iss":"us","aud":"ap""#, Some(Audience)),
        (r#""iss":"us","aud":["x"]"#, Some(Audience)),
        (r#""iss":"us","aud":[]"#, Some(Audience)),
        (r#""iss":"us","aud":{"api":1}"#, Some(Audience)),
        (r#""iss":"us""#, Some(Audience)),
    ];
    for (claims, refused) in cases {
        let token = sign(&format!(r#"{{"exp":2000000000,{claims}}}"#));
        assert_eq!(refusal(&wanted, &token), refused, "{claims}");
        assert_eq!(refusal(&rules(), &token), None, "{claims}");
    }
}

#[test]
fn claims_are_found_by_name_and_by_path() {
    let token = sign(
        r#"{"exp":2000000000,"s":"x","e":"","i":-7,"u":18446744073709551615,"t":true,"f":false,"half":1.5,"null":null,
            "list":["x"],"realm_access":{"plan":"gold","deep":{"er":3}},"a.b":"own","a":{"b":"nested","c":"inner"},
            "https://x.test/claims":{"plan":"pro"},"p":{"q":{"r":1}},"p.q":{"s":2}}"#,
    );
    let claims = rules().verify(token.as_bytes(), NOW).expect("it is good");
    let cases = [
        ("s", Some("x")),
        ("e", Some("")),
        ("i", Some("-7")),
        ("u", Some("18446744073709551615")),
        ("t", Some("true")),
        ("f", Some("false")),
        ("exp", Some("2000000000")),
        ("half", None),
        ("null", None),
        ("list", None),
        ("list.0", None),
        ("realm_access", None),
        ("realm_access.plan", Some("gold")),
        ("realm_access.deep.er", Some("3")),
        ("realm_access.deep.er.x", None),
        ("realm_access.", None),
        (".realm_access", None),
        ("a.b", Some("own")),
        ("a.c", Some("inner")),
        ("https://x.test/claims.plan", Some("pro")),
        ("p.q.s", Some("2")),
        ("p.q.r", None),
        ("", None),
        (".", None),
        ("none", None),
    ];
    for (path, wanted) in cases {
        let found = claims.get(path).map(|value| value.text().into_owned());
        assert_eq!(found.as_deref(), wanted, "{path}");
    }
    let shown = format!("{claims:?}");
    assert!(shown.contains("realm_access") && !shown.contains("gold"), "values are not shown: {shown}");
}

#[test]
fn an_unverified_token_is_read_and_says_that_it_is_unverified() {
    let unsigned = format!("{}.{}.", encode(br#"{"alg":"none"}"#), encode(br#"{"sub":"eve"}"#));
    let claims = read_unverified(unsigned.as_bytes()).expect("it can be read");
    assert_eq!((claims.get("sub"), claims.is_verified()), (Some(ClaimValue::Text("eve")), false));
    for bad in ["", ".", "..", "a.b", "a.!.c", "a.b.c.d"] {
        assert_eq!(read_unverified(bad.as_bytes()), None, "{bad}");
    }
    assert_eq!(read_unverified(b"\xff.\xff.\xff"), None);
}

#[test]
fn any_bytes_are_refused_without_a_panic() {
    let rules = rules();
    for seed in 0..50 {
        let mut draw = tollgate_testing::dice::Dice::new(seed);
        for _ in 0..100 {
            let (_, token) = draw.pick(TOKENS);
            let mut bytes = token.as_bytes().to_vec();
            for _ in 0..=draw.below(3) {
                let at = draw.below(bytes.len());
                let byte = draw.roll().to_le_bytes()[0];
                if draw.below(2) == 0 { bytes[at] = byte } else { bytes.insert(at, byte) }
            }
            assert!(rules.verify(&bytes, NOW).is_err() || bytes == token.as_bytes(), "seed {seed}");
            let _ = read_unverified(&bytes);
        }
    }
}
