//! Users with too few rights, and with no more than they need, on servers of every make.

use tollgate_twins::server::{Make, Server};

use crate::support::{examine, tell, url};

/// What `docs/REDIS.md` gives a user, by its own words.
fn documented() -> Vec<String> {
    let document = include_str!("../../../../docs/REDIS.md");
    let (_, rest) = document.split_once("`ACL SETUSER tollgate ").expect("the rights are listed");
    let (rules, _) = rest.split_once('`').expect("they end");
    rules.split_whitespace().map(str::to_owned).collect()
}

/// A server with a user `gate`, whose password is `password`, and that user's address.
fn with_user(make: Make, rules: &[String]) -> (Server, String) {
    let server = Server::start(make, &[]).unwrap_or_else(|why| panic!("{why}"));
    let said = tell(&server, &format!("ACL SETUSER gate {}", rules.join(" ")));
    assert_eq!(said, "+OK\r\n", "{rules:?}");
    let url = format!("{}?user=gate&pass=password", url(&server));
    (server, url)
}

#[test]
fn the_rights_in_the_document_are_enough_and_what_may_not_be_asked_is_not_known() {
    for make in Make::ALL {
        let (server, url) = with_user(make, &documented());
        let report = examine(&url);
        assert_eq!(report.code, 0, "{make:?}: {report:?}");
        let good = ["connection", "clock", "rights", "decisions", "latency"];
        assert_eq!(report.of("good"), good, "{make:?}: {report:?}");
        assert_eq!(report.of("not_known").len(), 14, "{make:?}: {report:?}");
        report.assert("eviction", "not_known", &["`INFO`", "ACL SETUSER gate +info"]);
        report.assert("password", "not_known", &["`ACL DRYRUN`", "ACL SETUSER gate +acl|dryrun"]);
        assert_eq!(tell(&server, "DBSIZE"), ":0\r\n", "{make:?}");
    }
}

#[test]
fn a_user_who_may_do_everything_is_never_good() {
    let rules = ["on", ">password", "~*", "&*", "+@all"].map(str::to_owned);
    for make in Make::ALL {
        // Redis before 7 cannot be asked what a user may do.
        let (grade, words) = if make.major() >= 7 {
            ("note", "has more permissions than needed")
        } else {
            ("not_known", "needs `ACL DRYRUN`")
        };
        let (_server, url) = with_user(make, &rules);
        examine(&url).assert("password", grade, &[words]);
    }
}

#[test]
fn what_held_the_server_is_never_good_where_one_of_its_lists_may_not_be_asked_for() {
    for make in Make::ALL {
        for (rule, words) in
            [("-latency", "`LATENCY LATEST`"), ("-slowlog", "`SLOWLOG GET`"), ("-time", "`TIME`")]
        {
            let rules = ["on", ">password", "~*", "&*", "+@all", rule].map(str::to_owned);
            let (_server, url) = with_user(make, &rules);
            examine(&url).assert("slow", "not_known", &[words, "permission denied"]);
        }
    }
}

#[test]
fn a_user_with_any_password_is_not_said_to_have_one() {
    for make in [Make::Redis7, Make::Valkey9] {
        let rules: Vec<_> =
            documented().into_iter().chain(["+acl|dryrun", "nopass"].map(str::to_owned)).collect();
        let (server, url) = with_user(make, &rules);
        let report = examine(&url);
        let words = [
            "sent for the user `gate`, who may not",
            "whether the server rejects a wrong password is not tested",
        ];
        report.assert("password", "good", &words);
        let logged = tell(&server, "ACL LOG");
        assert!(!logged.contains("auth"), "no wrong password was tried: {logged}");
    }
}

#[test]
fn each_right_that_is_missing_is_named_with_the_rule_that_gives_it() {
    // What the doctor can do without, because a link can.
    let spared = ["on", ">password", "+select", "+client|setname", "+ping"];
    for make in Make::ALL {
        let rules = documented();
        for missing in rules.iter().filter(|rule| !spared.contains(&rule.as_str())) {
            let left: Vec<_> = rules.iter().filter(|rule| *rule != missing).cloned().collect();
            let (_server, url) = with_user(make, &left);
            examine(&url).assert_fault("rights", &[&format!("ACL SETUSER gate {missing}`")]);
        }
    }
}

#[test]
fn a_key_pattern_that_is_not_ours_is_told() {
    let mut rules = documented();
    rules.retain(|rule| !rule.starts_with('~'));
    rules.push("~cache:*".into());
    let (_server, url) = with_user(Make::Redis7, &rules);
    examine(&url).assert_fault("rights", &["ACL SETUSER gate ~tg3:*"]);
}

#[test]
fn a_command_that_was_renamed_away_is_told() {
    let server = Server::start(Make::Redis7, &["--rename-command", "SETRANGE", ""]);
    let server = server.unwrap_or_else(|why| panic!("{why}"));
    examine(&url(&server)).assert_fault("rights", &["does not know SETRANGE", "rename-command"]);
}
