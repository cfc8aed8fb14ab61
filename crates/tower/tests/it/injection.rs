//! No byte that a client chose reaches a field or a body of an answer: tried through path, query, key and cost.

use crate::support::{limiter, policy, request, send};

const POLICY: &str = "
tollgate: 1
routes:
  - path: '/a/{id}'
    rate_limit:
      - { name: keyed, algorithm: token_bucket, capacity: 1, refill_rate: 0.1, consumer_key: 'header:X-Key' }
      - { name: asked, algorithm: token_bucket, capacity: 1, refill_rate: 0.1, consumer_key: 'query:user', cost: { header: X-Cost, max: 5 } }
";

#[test]
fn nothing_that_a_client_sends_comes_back() {
    let mark = "zqxj";
    let tries = [
        ("/a/zqxj%0d%0aSet-Cookie:zqxj", "k", "1"),
        ("/a/zqxj%2fzqxj", "k", "1"),
        ("/zqxj/zqxj%0aX: zqxj", "k", "1"),
        ("/a/1?user=zqxj%0d%0aX:zqxj", "k", "1"),
        ("/a/1?user=%22;r=9,%22zqxj", "k", "1"),
        ("/a/1", "zqxj\", \"b\";r=9", "1"),
        ("/a/1", "k", "zqxj"),
        ("/a/1", "k", "5"),
        ("/a/<script>zqxj", "k", "1"),
    ];
    for (target, key, cost) in tries {
        // What cannot even be a target does not get here.
        let Ok(uri) = target.replace(' ', "%20").parse::<http::Uri>() else { continue };
        for method in ["GET", "ZQXJ"] {
            let (limiter, _) = limiter();
            let layer = policy(&limiter, POLICY);
            let ask = || {
                let mut request = request(method, "/", &[("x-key", key), ("x-cost", cost)]);
                *request.uri_mut() = uri.clone();
                crate::support::send_to(&layer, request, |_| http::Response::default())
            };
            for told in [ask(), ask()] {
                let text =
                    format!("{:?} {}", told.headers, String::from_utf8_lossy(&told.body)).to_lowercase();
                assert!(!text.contains(mark), "{target}: {text}");
                for name in ["ratelimit", "ratelimit-policy"] {
                    let names: Vec<_> = told.list(name).into_iter().map(|(name, _)| name).collect();
                    assert!(
                        names.iter().all(|name| ["keyed", "asked"].contains(&name.as_str())),
                        "{names:?}"
                    );
                }
            }
        }
    }
    // The tries reach the limits, or this shows nothing.
    let (limiter, _) = limiter();
    let layer = policy(&limiter, POLICY);
    let ask = || send(&layer, request("GET", "/a/1?user=zqxj", &[("x-key", "zqxj"), ("x-cost", "1")])).status;
    assert_eq!([ask(), ask()], [200, 429]);
}
