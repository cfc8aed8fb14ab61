//! Tollgate's own commands: every algorithm, every verb.

use tollgate::Micros;

use super::support::{Client, Served};

fn resp3(served: &Served) -> Client {
    let mut client = served.client();
    client.ask("HELLO 3");
    client
}

/// The value of a field of a map.
fn field(said: &str, name: &str) -> String {
    let begin = said.find(&format!("{name}: ")).unwrap_or_else(|| panic!("no {name} in {said}"));
    let rest = &said[begin + name.len() + 2..];
    rest[..rest.find([',', '}']).unwrap()].to_owned()
}

#[test]
fn every_algorithm_charges_refuses_and_says_when_to_retry() {
    for (limit, retry) in [
        ("GCRA key 2 1 10", "10000"),
        ("TOKEN_BUCKET key 2 1 10", "10000"),
        ("leaky_bucket key 2 1 10", "10000"),
        ("FIXED_WINDOW key 2 10", "10000"),
        ("SLIDING_WINDOW_LOG key 2 10", "10000"),
        ("SLIDING_WINDOW_BUCKETS key 2 10 10", "10000"),
        ("SLIDING_WINDOW key 2 10", ""),
    ] {
        let served = Served::new();
        let mut client = resp3(&served);
        let said = client.said(&format!("TG.CHECK {limit}"));
        assert!(
            said.starts_with("{granted: true, charged: 1, limit: 2, remaining: 1, reset_ms: "),
            "{limit}: {said}"
        );
        assert_eq!(field(&said, "retry_ms"), "null");
        assert_eq!(field(&client.said(&format!("TG.PEEK {limit}")), "remaining"), "1");
        assert_eq!(field(&client.said(&format!("TG.CHECK {limit} COST 1")), "remaining"), "0");
        let said = client.said(&format!("TG.CHECK {limit}"));
        assert!(said.starts_with("{granted: false, charged: 0, limit: 2, remaining: 0"), "{limit}: {said}");
        let wait = field(&said, "retry_ms");
        assert!(retry.is_empty() || wait == retry, "{limit}: {said}");
        // It is never too early.
        served.clock.advance(Micros::from_millis(wait.parse().unwrap()).into());
        assert_eq!(field(&client.said(&format!("TG.CHECK {limit}")), "granted"), "true", "{limit}");
        assert_eq!(
            field(&client.said(&format!("TG.CHECK {limit} COST 3")), "retry_ms"),
            "-1",
            "never: {limit}"
        );
        assert!(
            client
                .said(&format!("TG.INSPECT {limit}"))
                .starts_with("{known: true, overflow: false, limit: 2")
        );
        assert_eq!(client.said(&format!("TG.RESET {limit}")), "1", "{limit}");
        assert_eq!(client.said(&format!("TG.RESET {limit}")), "0", "{limit}");
        assert!(client.said(&format!("TG.INSPECT {limit}")).starts_with("{known: false"));
    }
}

#[test]
fn gcra_and_cl_throttle_have_one_budget() {
    let served = Served::new();
    let mut client = resp3(&served);
    assert_eq!(client.said("CL.THROTTLE key 15 30 60 10"), "0 16 6 -1 20");
    assert_eq!(field(&client.said("TG.PEEK GCRA key 16 30 60"), "remaining"), "6");
    assert_eq!(client.said("TG.RESET GCRA key 16 30 60"), "1");
    assert_eq!(client.said("CL.THROTTLE key 15 30 60 0"), "0 16 16 -1 0");
}

#[test]
fn a_limit_can_be_text() {
    let served = Served::new();
    let mut client = resp3(&served);
    client.send(&super::support::packed(&[
        "TG.CHECK",
        "TEXT",
        "key",
        "fixed_window: 5 per calendar day",
        "COST",
        "4",
    ]));
    let said = super::support::shown(&client.reply());
    assert!(said.starts_with("{granted: true, charged: 4, limit: 5, remaining: 1"), "{said}");
    client.send(&super::support::packed(&["TG.CHECK", "TEXT", "key", "ten per second"]));
    assert_eq!(
        super::support::shown(&client.reply()),
        "-ERR expected a whole number at byte 0, as in `10 per second, burst 20`"
    );
}

#[test]
fn resp2_has_the_same_fields_in_an_array() {
    let served = Served::new();
    let said = served.client().said("TG.CHECK TOKEN_BUCKET key 2 1 10");
    let expected =
        "granted 1 charged 1 limit 2 remaining 1 reset_ms 10000 retry_ms null shadow_refused 0 degraded 0";
    assert_eq!(said, expected);
}

#[test]
fn up_to_charges_as_much_as_fits() {
    let served = Served::new();
    let mut client = resp3(&served);
    let said = client.said("TG.CHECK TOKEN_BUCKET key 5 1 10 COST 8 UPTO");
    assert!(said.starts_with("{granted: true, charged: 5, limit: 5, remaining: 0"), "{said}");
    let said = client.said("TG.CHECK TOKEN_BUCKET key 5 1 10 COST 8 UPTO");
    assert!(said.starts_with("{granted: false, charged: 0"), "{said}");
    let metrics = served.endpoint.endpoint_metrics();
    assert_eq!((metrics.granted.get(), metrics.refused.get()), (1, 1));
}

#[test]
fn a_receipt_gives_back_once() {
    let served = Served::new();
    let mut client = resp3(&served);
    let said = client.said("TG.CHECK TOKEN_BUCKET key 5 1 10 COST 4 RECEIPT 60");
    let receipt = field(&said, "receipt");
    assert_eq!(receipt.len(), 32, "{said}");
    // From another connection, too.
    let mut other = resp3(&served);
    assert_eq!(other.said(&format!("TG.REFUND {receipt}")), "{refunded: 4, charged: 0, unsettled: 0}");
    assert_eq!(other.said(&format!("TG.REFUND {receipt}")), "{refunded: 0, charged: 0, unsettled: 0}");
    assert_eq!(field(&client.said("TG.PEEK TOKEN_BUCKET key 5 1 10"), "remaining"), "5");
    let said = client.said("TG.CHECK TOKEN_BUCKET key 5 1 10 COST 6 RECEIPT 60");
    assert_eq!(field(&said, "receipt"), "null", "nothing was charged");
    let unknown = "0".repeat(32);
    assert!(client.said(&format!("TG.REFUND {unknown}")).starts_with("-GONE the reservation does not exist"));
    assert!(client.said("TG.REFUND x").starts_with("-ERR a reservation ID has 32"));
    // After its time the charge stays.
    let receipt = field(&client.said("TG.CHECK TOKEN_BUCKET key 5 1 10 RECEIPT 1"), "receipt");
    served.clock.advance(Micros::from_secs(2).into());
    assert!(client.said(&format!("TG.REFUND {receipt}")).starts_with("-GONE"));
}

#[test]
fn a_reservation_is_committed_with_its_actual_cost_or_cancelled() {
    let served = Served::new();
    let mut client = resp3(&served);
    let reserve = "TG.RESERVE TOKEN_BUCKET key 100 1 10 COST 40 TTL 60";
    let id = field(&client.said(reserve), "reservation");
    assert_eq!(client.said(&format!("TG.COMMIT {id} 15")), "{refunded: 25, charged: 0, unsettled: 0}");
    assert_eq!(client.said(&format!("TG.COMMIT {id} 15")), "{refunded: 0, charged: 0, unsettled: 0}");
    assert!(
        client.said(&format!("TG.CANCEL {id}")).starts_with("-ENDED the reservation is already committed")
    );
    let id = field(&client.said(reserve), "reservation");
    assert_eq!(client.said(&format!("TG.COMMIT {id} 50")), "{refunded: 0, charged: 10, unsettled: 0}");
    let id = field(&client.said("TG.RESERVE TOKEN_BUCKET key 100 1 10 COST 30"), "reservation");
    assert_eq!(client.said(&format!("TG.CANCEL {id}")), "{refunded: 30, charged: 0, unsettled: 0}");
    assert_eq!(field(&client.said("TG.PEEK TOKEN_BUCKET key 100 1 10"), "remaining"), "35");
    let said = client.said("TG.RESERVE TOKEN_BUCKET key 100 1 10 COST 36");
    assert_eq!((field(&said, "granted").as_str(), field(&said, "reservation").as_str()), ("false", "null"));
}

#[test]
fn permits_are_counted_renewed_and_released() {
    let served = Served::new();
    let mut client = resp3(&served);
    let mut acquire = || client.said("TG.ACQUIRE LIMIT key 2");
    let (first, second, third) = (acquire(), acquire(), acquire());
    assert!(first.starts_with("{granted: true, limit: 2, in_flight: 1, permit: "), "{first}");
    assert_eq!(field(&second, "in_flight"), "2");
    assert_eq!((field(&third, "granted").as_str(), field(&third, "permit").as_str()), ("false", "null"));
    let permit = field(&first, "permit");
    assert_eq!(client.said(&format!("TG.RENEW {permit} TTL 120")), "1");
    assert_eq!(client.said(&format!("TG.RELEASE {permit}")), "1");
    assert_eq!(client.said(&format!("TG.RELEASE {permit}")), "0");
    assert_eq!(client.said(&format!("TG.RENEW {permit}")), "0");
    assert_eq!(field(&client.said("TG.ACQUIRE LIMIT key 2"), "granted"), "true");
    assert_eq!(field(&client.said("TG.ACQUIRE LIMIT other 0"), "retry_ms"), "-1");
    assert!(client.said("TG.RELEASE x").starts_with("-ERR a permit has 32 lower-case hexadecimal digits"));
}

#[test]
fn a_permit_of_a_client_that_has_gone_is_released_when_its_time_is_over() {
    let served = Served::new();
    let mut client = resp3(&served);
    assert_eq!(field(&client.said("TG.ACQUIRE LIMIT key 1 TTL 1"), "granted"), "true");
    assert_eq!(field(&client.said("TG.ACQUIRE LIMIT key 1 TTL 1"), "granted"), "false");
    drop(client);
    let mut client = resp3(&served);
    tollgate_testing::patience::until("the permit expires", || {
        field(&client.said("TG.ACQUIRE LIMIT key 1 TTL 1"), "granted") == "true"
    });
}

#[test]
fn wrong_arguments_are_errors_that_name_them_and_change_nothing() {
    let served = Served::new();
    let mut client = resp3(&served);
    for (command, expected) in [
        ("TG.CHECK", "-ERR wrong number of arguments for 'tg.check' command"),
        ("TG.CHECK BUCKET key", "-ERR unknown kind of limit 'BUCKET': try HELP"),
        ("TG.CHECK GCRA", "-ERR key is missing"),
        ("TG.CHECK GCRA key 1 1", "-ERR period is missing"),
        (
            "TG.CHECK GCRA key 1 -1 1",
            "-ERR count must be a whole number such as 10, without sign, point or spaces: got '-1'",
        ),
        ("TG.CHECK GCRA key 1 0 1", "-ERR a rate of 0 never gives anything back"),
        ("TG.CHECK GCRA key 1 1 1 COST", "-ERR cost is missing"),
        ("TG.CHECK GCRA key 1 1 1 COST 1 COST 1", "-ERR unexpected argument 'COST'"),
        ("TG.CHECK GCRA key 1 1 1 COST nan", "-ERR cost must be a whole number"),
        ("TG.CHECK GCRA key 1 1 1 RECEIPT 0", "-ERR RECEIPT must be from 1 to 86400: got 0"),
        ("TG.CHECK GCRA key 1 1 1 UPTO RECEIPT 5", "-ERR UPTO has no receipt"),
        ("TG.PEEK GCRA key 1 1 1 UPTO", "-ERR unexpected argument 'UPTO'"),
        (
            "TG.CHECK SLIDING_WINDOW_LOG key 70000 60",
            "-ERR a limit of 70000 is too large for sliding_window_log",
        ),
        ("TG.CHECK SLIDING_WINDOW_BUCKETS key 5 60 0", "-ERR 0 buckets are out of range"),
        ("TG.CHECK FIXED_WINDOW key 5 99999999999999", "-ERR a window of"),
        ("TG.CHECK NAMED key logins", "-ERR there is no policy, and so no limit has a name"),
        ("TG.ACQUIRE BOTH key", "-ERR expected LIMIT or NAMED, got 'BOTH': try HELP"),
        ("TG.ACQUIRE LIMIT key 99999999999", "-ERR limit must be from 0 to"),
        ("TG.FLY", "-ERR unknown command 'TG.FLY'"),
    ] {
        let said = client.said(command);
        assert!(said.starts_with(expected), "{command}: {said}");
    }
    assert!(client.said("TG.INSPECT GCRA key 1 1 1").starts_with("{known: false"));
}

#[test]
fn every_command_with_subcommands_has_help() {
    let served = Served::new();
    let mut client = served.client();
    for command in [
        "TG.CHECK",
        "TG.PEEK",
        "TG.INSPECT",
        "TG.RESET",
        "TG.RESERVE",
        "TG.ACQUIRE",
        "CLIENT",
        "COMMAND",
        "CONFIG",
    ] {
        let said = client.said(&format!("{command} HELP"));
        assert!(
            said.starts_with(&format!("{command} <subcommand>")) && said.ends_with("Print this help."),
            "{said}"
        );
    }
    let said = client.said("TG.CHECK HELP");
    assert!(said.contains("GCRA key burst count period [COST cost] [RECEIPT seconds] [UPTO]"), "{said}");
    assert!(said.contains("NAMED key name [TIER tier] [COST cost]"), "{said}");
}
