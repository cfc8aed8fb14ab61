//! Connections: the commands that clients begin with, tokens, pipelines, and clients that do not behave.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use tollgate_cli::doors::resp::ConnectionBounds;
use tollgate_resp::Value;
use tollgate_testing::patience;

use super::support::{Served, packed, shown};

#[test]
fn what_clients_begin_with_is_understood() {
    let served = Served::new();
    let mut client = served.client();
    for (command, reply) in [
        ("PING", "PONG"),
        ("ping hello", "hello"),
        ("ECHO hi", "hi"),
        ("SELECT 0", "OK"),
        ("SELECT 1", "-ERR DB index is out of range: there is only database 0"),
        ("CLIENT GETNAME", "null"),
        ("CLIENT SETNAME web-1", "OK"),
        ("CLIENT GETNAME", "web-1"),
        ("CLIENT SETINFO LIB-NAME redis-py", "OK"),
        ("CLIENT NO-EVICT on", "OK"),
        ("CLIENT KILL 1", "-ERR unknown subcommand 'KILL'. Try CLIENT HELP."),
        ("CONFIG GET save", "save "),
        ("CONFIG GET maxmemory", ""),
        ("CONFIG SET save 1", "-ERR unknown subcommand 'SET'. Try CONFIG HELP."),
        (
            "AUTH token",
            "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
        ),
        ("COMMAND COUNT", "23"),
        ("GET key", "-ERR unknown command 'GET', with args beginning with: 'key' "),
        ("ECHO", "-ERR wrong number of arguments for 'echo' command"),
        ("HELLO 4", "-NOPROTO unsupported protocol version"),
        ("RESET", "RESET"),
        ("CLIENT GETNAME", "null"),
    ] {
        assert_eq!(client.said(command), reply, "{command}");
    }
    let hello = client.said("HELLO 3 SETNAME three");
    assert!(hello.starts_with("{server: tollgate, version: 7.0.0, proto: 3, id: "), "{hello}");
    assert_eq!(client.said("CLIENT GETNAME"), "three");
    let info = client.said("INFO");
    assert!(info.contains("redis_version:7.0.0\r\n") && info.contains("connected_clients:1\r\n"), "{info}");
    assert!(client.said("INFO server").starts_with("txt:# Server\r\n"));
    assert_eq!(client.said("QUIT"), "OK");
    assert_eq!(client.reply_or_end(), None);
}

#[test]
fn command_info_says_where_keys_are() {
    let served = Served::new();
    let mut client = served.client();
    let said = client.said("COMMAND INFO CL.THROTTLE tg.check nothing");
    assert_eq!(said, "cl.throttle -5 write fast 1 1 1 @write    tg.check -2 write fast 2 2 1 @write    null");
}

fn with_token() -> Served {
    Served::with(|endpoint| endpoint.with_token(Arc::new(|token| token == b"0123456789abcdef")))
}

#[test]
fn without_a_token_nothing_is_executed() {
    let served = with_token();
    let mut client = served.client();
    for command in
        ["PING", "CL.THROTTLE key 15 30 60", "TG.CHECK GCRA key 1 1 1", "INFO", "COMMAND", "NOTHING"]
    {
        assert_eq!(client.said(command), "-NOAUTH Authentication required.", "{command}");
    }
    assert!(client.said("HELLO 3").starts_with("-NOAUTH HELLO must be called"));
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.";
    assert_eq!(client.said("AUTH 0123456789abcdeF"), wrong);
    assert_eq!(client.said("AUTH other 0123456789abcdef"), wrong);
    assert!(client.said("HELLO 3 AUTH default nothing").starts_with("-WRONGPASS"));
    assert_eq!(client.said("AUTH 0123456789abcdef"), "OK");
    assert_eq!(client.said("CL.THROTTLE key 15 30 60"), "0 16 15 -1 2", "nothing was charged before");
    assert_eq!(client.said("RESET"), "RESET");
    assert_eq!(client.said("PING"), "-NOAUTH Authentication required.");
    let hello = client.said("HELLO 3 AUTH default 0123456789abcdef SETNAME me");
    assert!(hello.starts_with("{server: tollgate"), "{hello}");
    assert!(served.endpoint.endpoint_metrics().denied.get() >= 9);
}

#[test]
fn without_a_token_little_is_read_and_not_for_long() {
    let served = Served::with(|endpoint| {
        let bounds =
            ConnectionBounds { authentication: Duration::from_millis(50), ..ConnectionBounds::default() };
        endpoint.with_token(Arc::new(|_| false)).with_bounds(bounds)
    });
    let mut client = served.client();
    client.send(&packed(&["AUTH", &"x".repeat(2_000)]));
    assert_eq!(shown(&client.reply()), "-ERR Protocol error: invalid bulk length");
    assert_eq!(client.reply_or_end(), None);
    let mut silent = served.client();
    assert_eq!(silent.reply_or_end(), None, "its time is over");
    assert_eq!(served.endpoint.metrics().closed.idle.get(), 1);
}

#[test]
fn malformed_input_is_an_error_and_the_end() {
    let served = Served::new();
    for (input, error) in [
        (&b"*-2\r\n"[..], "invalid multibulk length"),
        (b"*1048577\r\n", "invalid multibulk length"),
        (b"*1\r\n$-2\r\n", "invalid bulk length"),
        (b"*1\r\n$536870913\r\n", "invalid bulk length"),
        (b"*1\r\n*1\r\n*1\r\n*1\r\n", "expected '$', got '*'"),
        (b"SET 'x\r\n", "unbalanced quotes in request"),
        (&[b'x'; 70_000], "too big inline request"),
    ] {
        let mut client = served.client();
        // What is before it is executed; what is after it is not.
        client.send(b"*2\r\n$4\r\nECHO\r\n$1\r\n1\r\n*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n1\r\n");
        client.send(input);
        let _ = client.stream.write_all(b"\r\nPING\r\n");
        assert_eq!(shown(&client.reply()), "1");
        assert!(matches!(client.reply(), Value::Array(_)));
        assert_eq!(shown(&client.reply()), format!("-ERR Protocol error: {error}"));
        assert_eq!(client.reply_or_end(), None);
    }
    assert_eq!(served.endpoint.metrics().closed.protocol.get(), 7);
}

#[test]
fn a_pipeline_cut_at_every_byte_has_the_same_replies() {
    let served = Served::new();
    let mut pipeline = packed(&["CL.THROTTLE", "key", "15", "30", "60", "0"]);
    pipeline.extend_from_slice(b"PING\r\ncl.throttle 'key' 15 30 60 0\r\n");
    pipeline.extend(packed(&["TG.PEEK", "GCRA", "key", "16", "30", "60"]));
    let mut client = served.client();
    for cut in 0..pipeline.len() {
        let (first, second) = pipeline.split_at(cut);
        client.send(first);
        // Two segments, for certain: nothing is sent together without delay, and the first one is on its way.
        client.stream.flush().unwrap();
        client.send(second);
        let replies: Vec<String> = (0..4).map(|_| shown(&client.reply())).collect();
        assert_eq!(replies[..3], ["0 16 16 -1 0", "PONG", "0 16 16 -1 0"], "cut at {cut}");
        assert!(replies[3].contains("remaining 16"), "cut at {cut}: {}", replies[3]);
    }
}

/// Batches end at other commands, at errors and at the 33rd; more numbers than are remembered are used in turn.
#[test]
fn a_long_pipeline_is_executed_in_order() {
    let served = Served::new();
    let (mut pipeline, mut expected) = (Vec::new(), Vec::new());
    for number in 0..5_000_usize {
        let burst = number % 11;
        pipeline.extend(packed(&["CL.THROTTLE", &format!("key {number}"), &burst.to_string(), "1", "60"]));
        expected.push(format!("0 {} {burst} -1 60", burst + 1));
        if number % 7 == 0 {
            pipeline.extend(packed(&["ECHO", &number.to_string()]));
            expected.push(number.to_string());
        }
        if number % 13 == 0 {
            pipeline.extend(packed(&["CL.THROTTLE", "key", "x", "1", "60"]));
            expected.push("-Cell error: Store error: Couldn't parse as integer: x".into());
        }
    }
    let mut client = served.client();
    let mut sender = client.stream.try_clone().unwrap();
    let sending = std::thread::spawn(move || sender.write_all(&pipeline));
    for (number, expected) in expected.iter().enumerate() {
        assert_eq!(&shown(&client.reply()), expected, "reply {number}");
    }
    sending.join().unwrap().unwrap();
}

/// A million commands from a client that reads nothing: it is stopped by its own window, and then disconnected.
#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let served = Served::with(|endpoint| {
        endpoint.with_bounds(ConnectionBounds {
            write: Duration::from_millis(200),
            ..ConnectionBounds::default()
        })
    });
    let client = served.client();
    let many = packed(&["CL.THROTTLE", "key", "15", "30", "60"]).repeat(10_000);
    let mut sender = client.stream.try_clone().unwrap();
    let sent = patience::within("the client is disconnected", move || {
        (0..100).map_while(|_| sender.write_all(&many).ok()).count()
    });
    assert!(sent < 100, "it was never stopped");
    patience::until("it is counted", || served.endpoint.metrics().closed.slow.get() == 1);
    let done = served.endpoint.metrics().throttle.get();
    assert!(done < 1_000_000, "{done} commands were executed although nobody read the replies");
    assert_eq!(served.client().said("PING"), "PONG");
}

#[test]
fn an_idle_connection_is_closed_and_a_busy_one_is_not() {
    let served = Served::with(|endpoint| {
        endpoint
            .with_bounds(ConnectionBounds { idle: Duration::from_millis(400), ..ConnectionBounds::default() })
    });
    let (mut idle, mut busy) = (served.client(), served.client());
    idle.said("PING");
    // A command that never ends is no command.
    idle.send(b"*1\r\n$4\r\nPI");
    patience::until("the idle one is closed", || {
        assert_eq!(busy.said("PING"), "PONG");
        served.endpoint.metrics().closed.idle.get() == 1
    });
    assert_eq!(idle.reply_or_end(), None);
}

#[test]
fn a_server_that_stops_has_replied_to_what_has_arrived() {
    let mut served = Served::new();
    let mut client = served.client();
    assert_eq!(client.said("PING"), "PONG");
    let metrics = Arc::clone(served.endpoint.endpoint_metrics());
    client.send(&packed(&["CL.THROTTLE", "key", "15", "30", "60"]));
    assert_eq!(shown(&client.reply()), "0 16 15 -1 2");
    served.stop();
    let mut rest = Vec::new();
    assert_eq!(client.stream.read_to_end(&mut rest).unwrap(), 0);
    assert_eq!(metrics.connections_open.get(), 0);
}
