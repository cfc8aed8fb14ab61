//! Which operation a request means, whatever tricks it tries with its path, method, host and headers. Not what it is charged.

use crate::support::{asked, keys, openapi, policy, shown};

#[test]
fn every_trick_with_a_path_meets_the_same_limit_or_is_refused() {
    let text = openapi("paths: { /login: { post: {} }, '/users/{id}': { get: {} }, /users/me: { get: {} } }");
    let strict = policy(&text);
    let table = [
        ("POST /login", "POST /login"),
        ("POST /login?x=1", "POST /login"),
        ("POST /%6cogin", "POST /login"),
        ("POST /./login", "POST /login"),
        ("POST /x/../login", "POST /login"),
        ("POST http://h/login", "POST /login"),
        ("GET /users/me", "GET /users/me"),
        ("HEAD /users/me", "GET /users/me"),
        ("GET /users/5;v=1", "GET /users/{id}"),
        ("POST /login/", "Unmatched { other_methods: false }"),
        ("POST /LOGIN", "Unmatched { other_methods: false }"),
        ("POST /login;x=1", "Unmatched { other_methods: false }"),
        ("GET /login", "Unmatched { other_methods: true }"),
        ("DELETE /users/5", "Unmatched { other_methods: true }"),
        ("OPTIONS /login Origin: https://x | Access-Control-Request-Method: POST", "Preflight"),
        (
            "OPTIONS /login Origin: https://x | Access-Control-Request-Method: PUT",
            "Unmatched { other_methods: true }",
        ),
        ("OPTIONS *", "400 the path does not start with a slash: add one"),
    ];
    for (request, operation) in table {
        assert_eq!(asked(request).operation(&strict), operation, "{request}");
    }
    let refused = [
        "//login",
        "/a//login",
        "/%2flogin",
        "/x%2f..%2flogin",
        "/login%00",
        "/%c0%afx",
        "/%u006cogin",
        "/\\login",
        "/x/%2e%2e/login",
        "/login%0d%0a",
    ];
    for path in refused {
        assert!(asked(&format!("POST {path}")).operation(&strict).starts_with("400 "), "{path}");
    }
    for method in ["post", "PO ST", ""] {
        assert!(!asked(&format!("{method} /login")).operation(&strict).starts_with("POST"), "{method}");
    }
}

/// The traps of letters F9 and F13, and of routes that are told apart by more than their path.
#[test]
fn no_request_chooses_the_looser_of_two_routes() {
    let limit =
        |capacity: u32| format!("rate_limit: {{ algorithm: gcra, capacity: {capacity}, refill_rate: 1 }}");
    let text = format!(
        "
tollgate: 1
routes:
  - {{ path: /files/big, methods: [GET], {} }}
  - {{ path: '/files/{{rest*}}', {} }}
  - {{ path: /mode, headers: {{ X-Mode: full }}, {} }}
  - {{ path: /mode, {} }}
",
        limit(1),
        limit(1000),
        limit(2),
        limit(2000)
    );
    let policy = policy(&text);
    let numbers = |request: &str| asked(request).lines(&policy).join("; ");
    for request in
        ["GET /files/big", "HEAD /files/big", "GET /files/BIG", "GET /files/big/", "GET /files/big;x"]
    {
        assert!(numbers(request).contains("(1 at once"), "{request}: {}", numbers(request));
    }
    assert!(numbers("GET /files/other").contains("(1000 at once"));
    assert!(numbers("DELETE /files/big").contains("(1000 at once"));
    assert!(numbers("GET /mode X-Mode: full").contains("(2 at once"));
    assert!(numbers("GET /mode").contains("(2000 at once"));
    assert_eq!(
        numbers("GET /mode X-Mode: full | X-Mode: full"),
        "the header x-mode was sent more than once: send it once"
    );
    let hosts = "the request names two hosts: send one";
    assert_eq!(numbers("GET http://a.example.org/mode Host: b.example.org"), hosts);
    assert!(numbers("GET http://a.example.org/mode Host: A.example.org.").contains("(2000 at once"));
    // A browser's question is not an operation's business, whatever methods it takes.
    let asked_first = "OPTIONS /mode Origin: https://x | Access-Control-Request-Method: GET";
    assert_eq!(asked(asked_first).operation(&policy), "Preflight");
}

/// Where everything is forwarded, a lenient server behind the gateway must not be a way around a limit.
#[test]
fn what_is_forwarded_unmatched_has_the_limits_of_what_it_could_mean() {
    let text = openapi(
        "
x-tollgate: { unmatched: forward }
x-rate-limit: { algorithm: gcra, capacity: 100, refill_rate: 100 }
paths: { /login: { post: { x-rate-limit: { algorithm: gcra, capacity: 1, refill_rate: 1 } } } }",
    );
    let policy = policy(&text);
    for path in ["/login/", "/LOGIN", "/login;x=1", "/Login;a/"] {
        assert_eq!(asked(&format!("POST {path}")).operation(&policy), "about POST /login", "{path}");
    }
    assert_eq!(asked("POST /other").operation(&policy), "Forwarded");
    assert_eq!(
        keys(&policy, "POST /other X-API-Key: k"),
        format!("default: {} x1 (100 at once, then 100 per second)", shown("api-key", "k"))
    );
}

#[test]
fn encoded_slashes_are_allowed_route_by_route() {
    let policy = policy(
        "
tollgate: 1
rate_limit: none
routes:
  - { path: '/files/{name}', encoded_slashes: allow }
  - { path: '/users/{id}', encoded_slashes: reject }
",
    );
    let charged = |request: &str| asked(request).hits(&policy, None).map(|(matched, _)| matched);
    assert_eq!(asked("GET /files/a%2fb").operation(&policy), "* /files/{name}");
    assert!(charged("GET /files/a%2fb").is_ok());
    for refused in ["GET /users/a%2Fb", "GET /files/..%2Fb", "GET /nothing%2Fhere"] {
        let error = charged(refused).expect_err(refused).to_string();
        assert!(error.contains("encoded slash"), "{error}");
    }
    let wrong = openapi("paths: { /a: { get: { x-encoded-slashes: maybe } } }");
    let refused =
        tollgate_policy::Policy::parse("test.yaml", &wrong).expect_err("it is no word that is known");
    assert!(refused.to_string().contains("x-encoded-slashes"), "{refused}");
}
