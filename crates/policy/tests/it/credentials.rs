//! Bearer and Basic credentials as keys: a client is the same one whatever it can change, and lint says where it is not.

use tollgate_policy::consumers::{Loader, LoaderLimits};
use tollgate_policy::lint::advise;
use tollgate_policy::{BadRequest, ConsumerIndex, Policy};

use crate::support::{asked, files, keys, openapi, policy, shown};

const JWKS: &str = r#"{"keys": [{"kty": "oct", "alg": "HS256",
    "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}]}"#;

// Signed with that key: of `ada` twice, of `bob`, one that is over, and one without a subject.
const ADA: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEiLCJleHAiOjQwMDAwMDAwMDB9.nX5pl2k_ORzYffrFwPFafd-jjjTAniCFuruAVpuPIw8";
const ADA_AGAIN: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEiLCJleHAiOjQwMDAwMDAwMDAsImp0aSI6IjIifQ.ejSXuqh6gZig9WjGXaNHZXqEvcF6S5BEm3VTbLo5kyQ";
const BOB: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJib2IiLCJleHAiOjQwMDAwMDAwMDB9.-yYdPp3wE-SE8UCtFCccIWJu9gurP1nl-rzDq1kXeTc";
const EXPIRED: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEiLCJleHAiOjE2MDAwMDAwMDB9.cxMc2koZKTq6jipC0ToG7_hMuARuZ38JxjvzFciMX5Q";
const NOBODY: &str =
    "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjQwMDAwMDAwMDB9.d2FqOfPXCElj37vI9ri9LZYxfXWtswRFt1jVq7juLZI";

/// Who has no key.
const ADDRESS: &str = "l: address 203.0.113.9";

fn api(schemes: &str, security: &str, limit: &str) -> String {
    openapi(&format!(
        "
components: {{ securitySchemes: {{ {schemes} }} }}
security: {security}
x-rate-limit: {{ algorithm: gcra, capacity: 5, refill_rate: 1, name: l{limit} }}
paths: {{ /a: {{ get: {{}} }} }}
"
    ))
}

fn verifying(text: &str) -> Policy {
    let text = format!("{text}x-tollgate: {{ jwt: {{ jwks: keys.json }} }}\n");
    files(&[("t.yaml", &text), ("keys.json", JWKS)]).unwrap_or_else(|refused| panic!("{refused}"))
}

const BEARER: &str = "b: { type: http, scheme: Bearer }";
const BASIC: &str = "p: { type: http, scheme: basic }";

fn key(key: &str) -> String {
    format!("l: {}", shown("api-key", key))
}

#[test]
fn every_scheme_of_bearer_tokens_yields_the_token_as_a_key() {
    let schemes = [
        BEARER,
        "b: { type: oauth2, flows: {} }",
        "b: { type: openIdConnect, openIdConnectUrl: 'https://issuer.example' }",
        "b: { type: apiKey, in: header, name: Authorization }",
    ];
    for scheme in schemes {
        let policy = policy(&api(scheme, "[{ b: [] }]", ""));
        for spelling in ["Bearer x", "bearer  x", "BEARER \tx"] {
            assert_eq!(keys(&policy, &format!("GET /a Authorization: {spelling}")), key("x"), "{scheme}");
        }
        assert_eq!(keys(&policy, "GET /a Authorization: Bearer y"), key("y"));
        assert_eq!(keys(&policy, "GET /a Authorization: Bearer"), ADDRESS);
        assert_eq!(keys(&policy, "GET /a X-API-Key: x"), ADDRESS);
        let twice = keys(&policy, "GET /a Authorization: Bearer x | Authorization: Bearer y");
        assert!(twice.contains("more than once"), "{twice}");
    }
}

#[test]
fn a_user_is_the_same_one_with_any_password() {
    // `ada:secret`, `ada:other` and without its padding, `bob:`.
    let (secret, other) = ("Basic YWRhOnNlY3JldA==", "basic   YWRhOm90aGVyMQ");
    for scheme in [BASIC, "p: { type: apiKey, in: header, name: authorization }"] {
        let policy = policy(&api(scheme, "[{ p: [] }]", ""));
        for credentials in [secret, other] {
            assert_eq!(
                keys(&policy, &format!("GET /a Authorization: {credentials}")),
                key("ada"),
                "{scheme}"
            );
        }
        assert_eq!(keys(&policy, "GET /a Authorization: Basic Ym9iOg=="), key("bob"));
        // Nobody is not a user, and what cannot be read may be read by the upstream.
        assert_eq!(keys(&policy, "GET /a Authorization: Basic OnNlY3JldA=="), ADDRESS);
        assert!(keys(&policy, "GET /a Authorization: Basic !").contains("is malformed"));
    }
    let policy = policy(&api(BASIC, "[{ p: [] }]", ""));
    assert_eq!(keys(&policy, "GET /a Authorization: Bearer x"), ADDRESS);
}

/// Another scheme in the header, or none, in one spelling.
#[test]
fn an_api_key_in_the_header_of_credentials_has_one_spelling() {
    let policy = policy(&api("k: { type: apiKey, in: header, name: Authorization }", "[{ k: [] }]", ""));
    for spelling in ["Token abc", "token  abc", "TOKEN\tabc "] {
        assert_eq!(keys(&policy, &format!("GET /a Authorization: {spelling}")), key("token abc"));
    }
    assert_eq!(keys(&policy, "GET /a Authorization: abc"), key("abc"));
    assert_ne!(keys(&policy, "GET /a Authorization: ABC"), key("abc"));
}

#[test]
fn where_tokens_are_verified_a_new_token_is_the_same_client() {
    let policy = verifying(&api(BEARER, "[{ b: [] }]", ""));
    let table = [
        (ADA, "l: claim \"sub\" ada"),
        (ADA_AGAIN, "l: claim \"sub\" ada"),
        (BOB, "l: claim \"sub\" bob"),
        (EXPIRED, ADDRESS),
        (NOBODY, ADDRESS),
        ("x", ADDRESS),
    ];
    for (token, wanted) in table {
        assert_eq!(keys(&policy, &format!("GET /a Authorization: Bearer {token}")), wanted, "{token}");
    }
}

/// A user name is no secret: with a consumers file it takes the password to be somebody.
#[test]
fn a_consumer_is_known_by_the_whole_of_its_credentials() {
    let text = api(&format!("{BASIC}, {BEARER}"), "[{ p: [] }, { b: [] }]", "");
    let text = format!("{text}x-tollgate: {{ consumers: c.csv, jwt: {{ jwks: keys.json }} }}\n");
    let policy =
        files(&[("t.yaml", &text), ("keys.json", JWKS)]).unwrap_or_else(|refused| panic!("{refused}"));
    let mut loader = Loader::new(LoaderLimits::default());
    // The SHA-256 of `ada:secret`, and of `alpha`.
    loader
        .feed(b"key_sha256,consumer\n7a57c89b3477a13317bc0d38118202f9d36e9804547ccf18e753754e041e0aee,ada\n");
    loader.feed(b"8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8,alf\n");
    let consumers = loader.finish().unwrap_or_else(|errors| panic!("{errors:?}"));
    let directory = ConsumerIndex::new(consumers, &policy).unwrap_or_else(|errors| panic!("{errors:?}"));
    let table = [
        ("Basic YWRhOnNlY3JldA==", "l: consumer ada"),
        ("Basic YWRhOm90aGVyMQ==", ADDRESS),
        ("Bearer alpha", "l: consumer alf"),
        ("Bearer beta", ADDRESS),
        (&format!("Bearer {BOB}"), "l: claim \"sub\" bob"),
    ];
    for (credentials, wanted) in table {
        let request = format!("GET /a Authorization: {credentials}");
        let (_, hits) = asked(&request).hits(&policy, Some(&directory)).expect("it is right");
        assert_eq!(hits[0].split(" x1 ").next(), Some(wanted), "{credentials}");
    }
}

/// Credentials in one header are one key, also where two schemes of a document could read them.
#[test]
fn schemes_that_read_the_same_header_do_not_clash() {
    let all = format!("k: {{ type: apiKey, in: header, name: Authorization }}, {BEARER}, {BASIC}");
    for security in ["[{ k: [] }, { b: [] }, { p: [] }]", "[{ b: [] }, { p: [] }]", "[{ k: [], b: [] }]"] {
        let policy = policy(&api(&all, security, ""));
        assert_eq!(keys(&policy, "GET /a Authorization: Bearer x"), key("x"), "{security}");
    }
    let both = policy(&api(
        &format!("{BEARER}, i: {{ type: apiKey, in: header, name: X-App }}"),
        "[{ b: [], i: [] }]",
        "",
    ));
    let two = keys(&both, "GET /a Authorization: bearer x | X-App: y");
    assert_eq!(two.matches("api-key #").count(), 2, "{two}");
    assert_eq!(keys(&both, "GET /a Authorization: bearer x"), ADDRESS);
}

#[test]
fn a_native_file_can_say_that_keys_are_bearer_tokens_or_users() {
    let policy = policy(
        "tollgate: 1
api_key: [bearer, basic]
routes: [{ path: /a, rate_limit: { algorithm: gcra, capacity: 5, refill_rate: 1, name: l } }]
",
    );
    assert_eq!(keys(&policy, "GET /a Authorization: bearer  x"), key("x"));
    assert_eq!(keys(&policy, "GET /a Authorization: Basic YWRhOnNlY3JldA=="), key("ada"));
}

/// Whoever has to say who they are, and shows a token that is not valid, is told that it is the token.
#[test]
fn an_invalid_token_is_told_from_no_token() {
    let reject = ", missing_key: reject, consumer_key: ";
    for chain in ["api_key", "'jwt:sub'", "['jwt:sub', 'header:X-User']"] {
        let policy = verifying(&api(BEARER, "[{ b: [] }]", &format!("{reject}{chain}")));
        let asked = |request: &str| asked(request).hits(&policy, None);
        let bearer = |token: &str| asked(&format!("GET /a Authorization: Bearer {token}"));
        assert!(bearer(ADA).is_ok(), "{chain}");
        for token in [EXPIRED, "x", "a.b.c"] {
            assert_eq!(bearer(token).err(), Some(BadRequest::InvalidToken { limit: "l".into() }), "{chain}");
        }
        // A valid one that does not say who it is, and none at all.
        assert_eq!(bearer(NOBODY).err(), Some(BadRequest::NoIdentity { limit: "l".into() }), "{chain}");
        assert_eq!(asked("GET /a").err(), Some(BadRequest::NoIdentity { limit: "l".into() }), "{chain}");
    }
    // Who may also be known by something else is not told so, and who need not be known is not refused.
    let policy = verifying(&api(BEARER, "[{ b: [] }]", ", consumer_key: ['jwt:sub', 'header:X-User', ip]"));
    assert_eq!(keys(&policy, "GET /a Authorization: Bearer x"), ADDRESS);
}

/// The codes of the advice on a document.
fn advice(policy: &Policy) -> Vec<(&'static str, String)> {
    let findings = advise(policy).findings;
    let codes = ["claimed-key", "raw-token", "keyless-scheme"];
    let told = findings.all().iter().filter(|finding| codes.contains(&finding.code));
    told.map(|finding| (finding.code, finding.message.clone())).collect()
}

fn codes(policy: &Policy) -> Vec<&'static str> {
    advice(policy).into_iter().map(|(code, _)| code).collect()
}

#[test]
fn lint_says_where_a_client_can_renew_or_choose_its_key() {
    let day = ", consumer_key: api_key";
    let long = |scheme: &str, security: &str| {
        api(scheme, security, day).replace("refill_rate: 1,", "refill_rate: 5 per day,")
    };
    // Every limit on a client-chosen key gets a warning; a raw token gets one only where the limit remembers it for long.
    assert_eq!(codes(&policy(&api(BEARER, "[{ b: [] }]", day))), ["claimed-key"]);
    assert_eq!(codes(&policy(&long(BEARER, "[{ b: [] }]"))), ["claimed-key", "raw-token"]);
    let told = advice(&policy(&long(BEARER, "[{ b: [] }]")));
    let wanted = "`l` is counted by the bearer token itself, for up to 1 day: a client with a new token has a new budget";
    assert_eq!(told[1].1, wanted);
    let anywhere = "k: { type: apiKey, in: header, name: Authorization }";
    assert_eq!(codes(&policy(&long(anywhere, "[{ k: [] }]"))), ["claimed-key", "raw-token"]);
    assert_eq!(codes(&policy(&long(BASIC, "[{ p: [] }]"))), ["claimed-key"]);
    // A verified subject is neither; but beside another scheme a client can still choose.
    assert_eq!(codes(&verifying(&long(BEARER, "[{ b: [] }]"))), [""; 0]);
    let both = format!("{BEARER}, k: {{ type: apiKey, in: header, name: X-Key }}");
    assert_eq!(codes(&verifying(&long(&both, "[{ b: [] }, { k: [] }]"))), ["claimed-key"]);
}

#[test]
fn lint_says_where_no_scheme_yields_a_key() {
    let digest = "d: { type: http, scheme: digest }, m: { type: mutualTLS }";
    let told = |security: &str| advice(&policy(&api(&format!("{digest}, {BEARER}"), security, "")));
    for security in ["[{ d: [] }]", "[{ m: [] }]", "[{ d: [], m: [] }]", "[{ d: [] }, { m: [] }]"] {
        let told = told(security);
        let keyless: Vec<_> = told.iter().filter(|(code, _)| *code == "keyless-scheme").collect();
        let wanted = "`l` is counted by `api_key`, but no security scheme of `GET /a` yields a key";
        assert_eq!(
            keyless.iter().map(|(_, message)| message.as_str()).collect::<Vec<_>>(),
            [wanted],
            "{security}"
        );
    }
    for security in ["[{ b: [] }]", "[{ d: [] }, { b: [] }]", "[{ m: [], b: [] }]", "[]", "[{}]"] {
        assert!(told(security).iter().all(|(code, _)| *code != "keyless-scheme"), "{security}");
    }
    let elsewhere = api(digest, "[{ d: [] }]", ", consumer_key: ip");
    assert_eq!(codes(&policy(&elsewhere)), [""; 0]);
    let said = format!("{}x-tollgate: {{ api_key: 'header:X-Key' }}\n", api(digest, "[{ d: [] }]", ""));
    assert_eq!(codes(&policy(&said)), ["claimed-key"]);
}

/// Whoever knows a key cannot hide behind one that they made up.
#[test]
fn of_several_keys_the_one_in_the_consumers_file_counts() {
    let limit = "{ algorithm: gcra, capacity: 5, refill_rate: 1, name: l }";
    let settings = "x-tollgate: { consumers: c.csv, api_key: ['header:X-A', 'header:X-B'] }";
    let text = openapi(&format!("{settings}\npaths: {{ /a: {{ get: {{ x-rate-limit: {limit} }} }} }}\n"));
    let policy = policy(&text);
    let mut loader = Loader::new(LoaderLimits::default());
    loader
        .feed(b"key_sha256,consumer\n8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8,alf\n");
    let consumers = loader.finish().unwrap_or_else(|errors| panic!("{errors:?}"));
    let directory = ConsumerIndex::new(consumers, &policy).unwrap_or_else(|errors| panic!("{errors:?}"));
    let hits = |request: &str| asked(request).hits(&policy, Some(&directory)).expect("it is clear").1;
    let known = hits("GET /a X-A: alpha");
    assert!(known[0].contains("consumer alf"), "{known:?}");
    for request in
        ["GET /a X-B: alpha", "GET /a X-A: made-up | X-B: alpha", "GET /a X-A: alpha | X-B: made-up"]
    {
        assert_eq!(hits(request), known, "{request}");
    }
    assert_eq!(hits("GET /a X-A: made-up | X-B: made-up-too"), hits("GET /a"));
}
