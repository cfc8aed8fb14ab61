//! Addresses: what is read, what is refused, and that no password is ever shown. No connection is opened.

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
        ("unix:///run/redis.sock?user=gate", "unix://gate@/run/redis.sock?db=0"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock?db=0"),
        ("unix:///run/redis.sock?db=3&user=gate&pass=pw", "unix://gate:***@/run/redis.sock?db=3"),
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
