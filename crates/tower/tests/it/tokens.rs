//! What is answered to a token that is not valid, where a limit has to know who is asking.

use std::sync::Arc;

use tollgate_policy::Policy;
use tollgate_tower::{PolicyLimits, TollgateLayer};

use crate::support::{PEER, limiter, request, send};

const POLICY: &str = "
tollgate: 1
jwt: { jwks: keys.json }
routes:
  - path: /a
    rate_limit: { name: a, algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: 'jwt:sub', missing_key: reject }
";
const JWKS: &str = r#"{"keys": [{"kty": "oct", "alg": "HS256",
    "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}]}"#;
/// Of `ada`, and the same after its end.
const VALID: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEiLCJleHAiOjQwMDAwMDAwMDB9.nX5pl2k_ORzYffrFwPFafd-jjjTAniCFuruAVpuPIw8";
const EXPIRED: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEiLCJleHAiOjE2MDAwMDAwMDB9.cxMc2koZKTq6jipC0ToG7_hMuARuZ38JxjvzFciMX5Q";

#[test]
fn an_invalid_token_is_answered_with_401_and_a_challenge() {
    let (limiter, _) = limiter();
    let mut read = |name: &str| Ok(if name == "keys.json" { JWKS } else { POLICY }.to_owned());
    let policy = Policy::load("t.yaml", &mut read).expect("a policy");
    let layer = TollgateLayer::new(PolicyLimits::new(limiter, Arc::new(policy), None));
    let layer = layer.with_peer(PEER);
    let ask = |token: &str, more: &[(&str, &str)]| {
        let authorization = format!("Bearer {token}");
        let headers = [&[("authorization", authorization.as_str())], more].concat();
        send(&layer, request("GET", "/a", &headers))
    };
    assert_eq!(ask(VALID, &[]).status, 200);
    for token in [EXPIRED, "x"] {
        let told = ask(token, &[]);
        assert_eq!((told.status, told.field("www-authenticate")), (401, "Bearer error=\"invalid_token\""));
        assert_eq!(told.problem()["title"], "Unauthorized");
        assert!(!String::from_utf8_lossy(&told.body).contains(EXPIRED), "no byte of the token is told");
    }
    // A call of gRPC: UNAUTHENTICATED.
    let call = ask("x", &[("content-type", "application/grpc")]);
    assert_eq!((call.status, call.field("grpc-status")), (200, "16"));
    // Who sends none is not told that it is wrong.
    assert_eq!(send(&layer, request("GET", "/a", &[])).status, 400);
}
