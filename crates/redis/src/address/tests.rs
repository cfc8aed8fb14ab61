//! Addresses: which are accepted and rejected, and that no password is ever shown.

use super::*;

#[test]
fn addresses_are_read_whole() {
    let table = [
        ("redis://localhost", "redis://localhost:6379/0"),
        ("redis://localhost/", "redis://localhost:6379/0"),
        ("redis://10.0.0.7:7000/15", "redis://10.0.0.7:7000/15"),
        ("valkey://cache.example:7000", "redis://cache.example:7000/0"),
        ("rediss://cache.example", "rediss://cache.example:6379/0"),
        ("valkeys://cache.example", "rediss://cache.example:6379/0"),
        ("redis://[::1]:6380/1", "redis://[::1]:6380/1"),
        ("redis://:pw@h", "redis://:***@h:6379/0"),
        ("redis://gate:pw@h", "redis://gate:***@h:6379/0"),
        ("redis://:@h", "redis://h:6379/0"),
        ("redis://gate@h", "redis://gate@h:6379/0"),
        ("redis://gate:@h", "redis://gate@h:6379/0"),
        ("redis://h:", "redis://h:6379/0"),
        ("redis://[0:0::1]", "redis://[::1]:6379/0"),
        ("unix://localhost/run/a%20b.sock", "unix:///run/a b.sock?db=0"),
        ("unix:///run/redis.sock?user=gate", "unix://gate@/run/redis.sock?db=0"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock?db=0"),
        ("unix:///run/redis.sock?db=3&user=gate&pass=pw", "unix://gate:***@/run/redis.sock?db=3"),
        ("redis+sentinel://a,b:1,[::1]/prime", "redis+sentinel://a:26379,b:1,[::1]:26379/prime/0"),
        ("valkeys+sentinel://gate:p@w@a/my%20name/2", "rediss+sentinel://gate:***@a:26379/my name/2"),
        ("redis+cluster://a,b:7000", "redis+cluster://a:6379,b:7000"),
        ("rediss+cluster://:pw@[::1]/0", "rediss+cluster://:***@[::1]:6379"),
    ];
    for (text, shown) in table {
        let address: Address = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(address.to_string(), shown, "{text}");
    }
}

#[test]
fn passwords_are_decoded_and_never_shown() {
    for (text, user, password) in [
        ("redis://gate:p%40ss%2F%3F%23@h", Some("gate"), "p@ss/?#"),
        ("redis://:p%C3%A9@h", None, "pé"),
        ("redis://:p@ss:%zz%@h", None, "p@ss:%zz%"),
        ("unix:///s?pass=a+b", None, "a b"),
        ("redis://us%3Aer:secret@h", Some("us:er"), "secret"),
        ("unix:///s?pass=p%40ss%26", None, "p@ss&"),
    ] {
        let address: Address = text.parse().unwrap();
        assert_eq!((address.named_user(), address.password()), (user, Some(password)), "{text}");
        let shown = format!("{address} {address:?} {address:#?}");
        assert!(!shown.contains(password) && shown.contains("***"), "{shown}");
    }
}

#[test]
fn what_is_wrong_is_named_and_nothing_of_it_is_shown() {
    use AddressError::*;
    let table = [
        ("", Scheme),
        ("localhost:6379", Scheme),
        ("http://localhost", Scheme),
        ("Redis://localhost", Scheme),
        ("redis+unix:///run/redis.sock", Scheme),
        ("redis+sentinel://a,b", SentinelName),
        ("redis+sentinel://a,b/", SentinelName),
        ("redis+sentinel://a,,b/name", Unreadable),
        ("redis+sentinel://a/name/two", Database),
        ("redis+cluster://a,b/1", ClusterDatabase),
        ("redis+cluster://", Host),
        ("redis+cluster://a?b", Extra),
        ("redis://", Host),
        ("redis:///2", Host),
        ("redis://0.0.0.0", Host),
        ("redis://[::]", Host),
        ("redis://h:0", Port),
        ("redis://h:70000", Unreadable),
        ("redis://:se/cret@h", Unreadable),
        ("redis://[::1", Unreadable),
        ("redis://h/two", Database),
        ("redis://h/-1", Database),
        ("redis://h/1/2", Database),
        ("redis://h/9999999999", Database),
        ("redis://gate:12/secret@h", Database),
        ("redis://h?protocol=resp3", Extra),
        ("redis://gate:12?secret@h", Extra),
        ("redis://gate:12#secret@h", Extra),
        ("rediss://h#insecure", Extra),
        ("unix:///s?database=1", Extra),
        ("unix:///s?db=1&db=2", Extra),
        ("redis://h:+1", Unreadable),
        ("redis://h h", Unreadable),
        ("redis://h\n", Unreadable),
        ("redis://[::1]x", Unreadable),
        ("redis://[0:0::0]:1", Host),
        ("redis://gate:secret@", Unreadable),
        ("redis://caf\u{e9}", Unreadable),
        ("redis://h//", Database),
        ("unix://", Path),
        ("unix:///", Path),
        ("unix:///s?secret", Extra),
        ("unix:///s#secret", Extra),
        ("redis://:%FF@h", NotUtf8),
        ("unix:///s?db=one", Path),
        ("unix:///s?db=-1", Database),
        ("unix://host/s", Path),
        ("unix://gate:secret@host/s", Path),
    ];
    for (text, error) in table {
        let found = text.parse::<Address>().map(|address| address.to_string());
        assert_eq!(found, Err(error), "{text}");
        assert!(!error.to_string().contains("secret"));
    }
}

/// The client library's parser is an independent opinion on every address that both read.
#[test]
fn an_address_reads_as_the_client_library_reads_it() {
    use redis::{ConnectionAddr, IntoConnectionInfo};
    let addresses = [
        "redis://gate:p%40ss%2F%3F%23@cache.example:7000/15",
        "redis://:p@ss:%zz@10.0.0.7",
        "redis://us%3Aer@[2001:db8::7]:1/0",
        "unix:///run/a%20b.sock?db=3&user=g%26te&pass=a+b%2B",
        "unix://localhost/s?pass=%zz",
    ];
    for text in addresses {
        let (ours, theirs) = (text.parse::<Address>().unwrap(), text.into_connection_info().unwrap());
        let settings = theirs.redis_settings();
        let login = (settings.username(), settings.password(), settings.db());
        assert_eq!((ours.named_user(), ours.password(), i64::from(ours.database())), login, "{text}");
        match (ours.place(), theirs.addr()) {
            (Place::Tcp { host, port, tls: false }, ConnectionAddr::Tcp(their_host, their_port)) => {
                assert_eq!((host, port), (their_host, their_port), "{text}");
            }
            (Place::Unix(path), ConnectionAddr::Unix(their_path)) => assert_eq!(path, their_path, "{text}"),
            other => panic!("{text}: {}", matches!(other.0, Place::Unix(_))),
        }
    }
}

/// Any text is read or refused; none makes the parser panic.
#[test]
fn addresses_of_random_signs_are_read_or_refused() {
    let mut random = 1_u64;
    let mut draw = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % bound
    };
    let words = [
        "redis://", "unix://", "h", "@", ":", "/", "?", "#", "[", "]", "::1", "%", "%4", "%41", "é", "1",
        "db=",
    ];
    let mut read = 0;
    for _ in 0..50_000 {
        let text: String = (0..1 + draw(8)).map(|_| words[draw(words.len())]).collect();
        let text = format!("{}{text}", words[draw(2)]);
        if let Ok(address) = text.parse::<Address>() {
            assert!(!format!("{address}").is_empty());
            read += 1;
        }
    }
    assert!(read > 500, "only {read} were read");
}

#[test]
fn an_address_has_a_bounded_number_of_hosts() {
    let of = |hosts: usize| format!("redis+cluster://{}", vec!["h"; hosts].join(",")).parse::<Address>();
    assert!(of(HOSTS_MAX).is_ok());
    assert_eq!(of(HOSTS_MAX + 1), Err(AddressError::Hosts));
}
