//! Servers that are set up well, of every make: nothing is wrong with them, and nothing is left in them.

use tollgate_twins::server::{Make, Server};

use crate::support::{examine, run, tell, url};

#[test]
fn a_server_as_it_is_installed_has_neither_faults_nor_warnings_and_nothing_is_left_in_it() {
    for make in Make::ALL {
        let server = Server::start(make, &[]).unwrap_or_else(|why| panic!("{why}"));
        let report = examine(&url(&server));
        assert_eq!(report.code, 0, "{make:?}: {report:?}");
        assert_eq!(report.of("fault"), [""; 0], "{make:?}: {report:?}");
        assert_eq!(report.of("warning"), ["secret"], "{make:?}: {report:?}");
        assert_eq!(report.of("not_known"), [""; 0], "{make:?}: {report:?}");
        assert_eq!(report.of("note"), ["restart", "password"], "{make:?}: {report:?}");
        assert_eq!(report.of("good").len(), 17, "{make:?}: {report:?}");
        report.assert("version", "good", &[make.name()]);
        report.assert("latency", "good", &["200 decisions", "the time budget is 2s"]);
        assert_eq!(tell(&server, "DBSIZE"), ":0\r\n", "{make:?}");
    }
}

#[test]
fn warnings_fail_where_that_is_asked_for() {
    let server = Server::start(Make::Redis7, &["--appendonly", "yes", "--appendfsync", "always"]);
    let server = server.unwrap_or_else(|why| panic!("{why}"));
    let store = url(&server);
    let secret = server.socket().with_file_name("secret");
    std::fs::write(&secret, "a secret\n").expect("it is written");
    let secret = secret.display().to_string();
    let with_secret = [("TOLLGATE_STORE_SECRET", secret.as_str())];
    let plain = run(&["--store", &store], &with_secret);
    assert_eq!((plain.code, plain.err.as_str()), (0, ""), "{}", plain.out);
    assert!(plain.out.contains("warning    stalls: `appendfsync always`"), "{}", plain.out);
    assert!(plain.out.contains("           what to do: `CONFIG SET appendfsync everysec`"), "{}", plain.out);
    assert!(plain.out.contains("\nno faults, 1 warning, "), "{}", plain.out);
    assert_eq!(run(&["--store", &store, "--strict"], &with_secret).code, 1);
    tell(&server, "CONFIG SET appendfsync everysec");
    assert_eq!(run(&["--store", &store, "--strict"], &with_secret).code, 0, "it was the only one");
    let without = run(&["--store", &store, "--strict"], &[]);
    assert!(without.code == 1 && without.out.contains("warning    secret: "), "{}", without.out);
}

#[test]
fn the_address_may_come_from_a_variable_and_without_one_the_call_is_wrong() {
    let server = Server::start(Make::Redis7, &[]).unwrap_or_else(|why| panic!("{why}"));
    let ran = run(&[], &[("TOLLGATE_STORE_URL", &url(&server))]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let nothing = run(&[], &[]);
    assert_eq!((nothing.code, nothing.out.as_str()), (2, ""));
    assert!(nothing.err.starts_with("tollgate: no store is configured: use --store"), "{}", nothing.err);
    let missing = run(&["--store", &url(&server)], &[("TOLLGATE_STORE_SECRET", "no-such-file")]);
    assert_eq!((missing.code, missing.out.as_str()), (2, ""));
    assert!(missing.err.contains("`store.secret` names a file that does not exist"), "{}", missing.err);
    assert!(!missing.err.contains("no-such-file"), "it may be the secret itself: {}", missing.err);
}

#[test]
fn the_password_may_be_in_a_file_and_is_nowhere_else_then() {
    let server = Server::start(Make::Redis7, &[]).unwrap_or_else(|why| panic!("{why}"));
    tell(&server, "ACL SETUSER gate on >hunter2 ~tg3:* +@all -flushall");
    let file = server.socket().with_file_name("password");
    std::fs::write(&file, "hunter2\n").expect("it is written");
    let file = file.display().to_string();
    let examined = |user: &str, file: &str| {
        run(&["--store", &format!("{}{user}", url(&server))], &[("TOLLGATE_STORE_PASSWORD", file)])
    };
    let good = examined("?user=gate", &file);
    assert!(good.code == 0 && good.out.contains("sent for the user `gate`"), "{good:?}");
    let wrong = examined("", &file);
    assert!(wrong.code == 1 && wrong.out.contains("omit the password if the server has none"), "{wrong:?}");
    // Somebody has taken it for the password itself.
    let missing = examined("?user=gate", "hunter2");
    assert_eq!((missing.code, missing.out.as_str()), (2, ""), "{missing:?}");
    assert!(missing.err.contains("`store.password` names a file that cannot be read"), "{missing:?}");
    let both = examined("?user=gate&pass=hunter3", &file);
    let sentence = "both `store.url` and `store.password` give a password: remove one of them";
    assert!(both.code == 2 && both.err.contains(sentence), "{both:?}");
    assert!(!format!("{good:?} {wrong:?} {missing:?} {both:?}").contains("hunter"), "no password is shown");
}
