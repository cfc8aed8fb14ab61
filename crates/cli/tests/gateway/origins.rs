//! Headers by which a client could pass for another one: names that upstreams fold, and what only trusted proxies may say.

use crate::heads::{all, behind_proxies, forwarded};
use crate::support::{POLICY, Recorder, Rig, small, status};

const NOTHING: Vec<&str> = Vec::new();

/// Every header by which some proxy, CDN or load balancer names the client, and by which frameworks take its word.
const ORIGINS: [&str; 22] = [
    "X-Real-IP",
    "True-Client-IP",
    "CF-Connecting-IP",
    "CF-Connecting-IPv6",
    "X-Client-IP",
    "Client-IP",
    "X-Cluster-Client-IP",
    "Fastly-Client-IP",
    "X-Originating-IP",
    "X-Remote-IP",
    "X-Remote-Addr",
    "X-Envoy-External-Address",
    "X-Azure-ClientIP",
    "X-Azure-SocketIP",
    "X-Scheme",
    "Front-End-Https",
    "X-Host",
    "X-Original-Host",
    "X-Forwarded",
    "Forwarded-For",
    "X-Original-Forwarded-For",
    "X-Forwarded-Prefix",
];

#[test]
fn names_that_an_upstream_would_fold_into_others_do_not_go_on() {
    let folded = [
        "X_API_Key",
        "X_Forwarded_For",
        "X_HTTP_Method_Override",
        "transfer_encoding",
        "Content_Length",
        "X.API.Key",
        "X-API_Key",
    ];
    let fields: String = folded.iter().map(|name| format!("{name}: chunked\r\n")).collect();
    let fields = format!("Connection: close\r\n{fields}X-Kept: 1\r\n");
    let seen = forwarded(POLICY, &fields);
    for name in folded {
        assert_eq!(all(&seen, name), NOTHING, "{name}: {seen}");
    }
    assert_eq!(all(&seen, "x-kept"), ["1"]);
    let any = format!("{POLICY}x-tollgate: {{ header_names: any }}\n");
    let seen = forwarded(&any, &fields);
    for name in folded {
        assert_eq!(all(&seen, name), ["chunked"], "{name}: {seen}");
    }
}

#[test]
fn names_that_an_upstream_would_fold_do_not_go_on_in_trailers() {
    let request = "POST /free HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\
                   Trailer: X_API_Key, X-Sum\r\nTE: trailers\r\n\r\n2\r\nab\r\n0\r\nX_API_Key: k\r\nX-Sum: 1\r\n\r\n";
    for (policy, wanted) in
        [(POLICY.to_owned(), false), (format!("{POLICY}x-tollgate: {{ header_names: any }}\n"), true)]
    {
        let upstream = Recorder::new(|seen| seen.ends_with("\r\n\r\n").then(|| small_answer(seen)).flatten());
        let rig = Rig::new(&policy, upstream.address, |_| {});
        assert_eq!(status(&rig.send(request)), 200);
        let seen = upstream.seen().concat().to_lowercase();
        assert!(seen.contains("x-sum: 1"), "{seen}");
        assert_eq!(seen.contains("x_api_key: k"), wanted, "{seen}");
    }
}

/// An answer as soon as the last chunk and the trailers behind it are there.
fn small_answer(seen: &str) -> Option<Vec<u8>> {
    let last = seen.contains("\r\n0\r\n");
    last.then(|| small("GET / HTTP/1.1\r\n\r\n")).flatten()
}

#[test]
fn a_stranger_does_not_say_who_the_client_is() {
    let fields: String = ORIGINS.iter().map(|name| format!("{name}: 6.6.6.6\r\n")).collect();
    let fields = format!("Connection: close\r\n{fields}");
    let own = behind_proxies("X-Forwarded-For");
    for policy in [POLICY.to_owned(), own.replace("127.0.0.0/8", "10.0.0.0/8")] {
        let seen = forwarded(&policy, &fields);
        for name in ORIGINS {
            assert_eq!(all(&seen, name), NOTHING, "{name}: {seen}");
        }
    }
    let seen = forwarded(&own, &fields);
    for name in ORIGINS {
        assert_eq!(all(&seen, name), ["6.6.6.6"], "a trusted proxy may say it: {name}: {seen}");
    }
}

#[test]
fn only_a_trusted_proxy_says_which_tier_a_client_has() {
    let tiers =
        |policy: &str| policy.replace("x-tollgate: {", "x-tollgate: { tiers: { from: 'header:X-Tier' },");
    let own = tiers(&behind_proxies("X-Forwarded-For"));
    let strange = own.replace("127.0.0.0/8", "10.0.0.0/8");
    // A client that has it removed would get the default tier.
    for connection in ["close", "close, X-Tier"] {
        let fields = format!("Connection: {connection}\r\nX-Tier: gold\r\n");
        assert_eq!(all(&forwarded(&own, &fields), "x-tier"), ["gold"], "{connection}");
        assert_eq!(all(&forwarded(&strange, &fields), "x-tier"), NOTHING, "{connection}");
    }
}

/// A proxy that appends to one of the two lists passes on the other as the client sent it.
#[test]
fn a_list_of_hops_that_the_policy_does_not_name_is_written_anew() {
    let fields = "Connection: close\r\nForwarded: for=6.6.6.6\r\nX-Forwarded-For: 6.6.6.6\r\n";
    let table = [
        ("X-Forwarded-For", "X-Forwarded-For: 203.0.113.9\r\n", "6.6.6.6, 203.0.113.9, 127.0.0.1", ""),
        ("Forwarded", "Forwarded: for=203.0.113.9\r\n", "203.0.113.9, 127.0.0.1", "for=6.6.6.6, "),
        ("X-Real-IP", "X-Real-IP: 203.0.113.9\r\n", "203.0.113.9, 127.0.0.1", ""),
    ];
    for (header, more, list, before) in table {
        let seen = forwarded(&behind_proxies(header), &format!("{fields}{more}"));
        assert_eq!(all(&seen, "x-forwarded-for"), [list], "{header}");
        let wanted = format!("{before}for=203.0.113.9, for=127.0.0.1;host=\"a\";proto=http");
        assert_eq!(all(&seen, "forwarded"), [wanted], "{header}");
    }
}

/// The gateway and the upstream would read different headers.
#[test]
fn a_policy_that_reads_a_header_that_is_dropped_is_refused() {
    let reads = POLICY.replace("consumer_key: ip", "consumer_key: ['header:X_User', 'header:X-User']");
    let folder = crate::support::folder();
    let file = folder.join("openapi.yaml");
    for (policy, wanted) in
        [(reads.clone(), false), (format!("{reads}x-tollgate: {{ header_names: any }}\n"), true)]
    {
        std::fs::write(&file, policy).expect("a temporary folder can be written");
        let loaded = tollgate_cli::reload::load(file.to_str().expect("it is UTF-8"));
        assert_eq!(loaded.is_ok(), wanted, "{loaded:?}");
        if let Err(why) = loaded {
            assert!(why.sentence().contains("drops the header `x_user`"), "{}", why.sentence());
        }
    }
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn a_header_that_the_policy_reads_goes_on_and_nothing_that_could_be_taken_for_it() {
    let reads = POLICY.replace("consumer_key: ip", "consumer_key: 'header:x_user'");
    assert_ne!(reads, POLICY, "the policy has a key to replace");
    let fields =
        "Connection: close\r\nX_User: ada\r\nX-User: eve\r\nX.User: eve\r\nX_Other: eve\r\nX-Other: ok\r\n";
    let seen = forwarded(&reads, fields);
    assert_eq!(all(&seen, "x_user"), ["ada"], "{seen}");
    for name in ["x-user", "x.user", "x_other"] {
        assert_eq!(all(&seen, name), NOTHING, "{name}: {seen}");
    }
    assert_eq!(all(&seen, "x-other"), ["ok"], "{seen}");
}
