//! Coalesced calls on one connection without a server: the bytes written, and the result of each call.

use std::task::Waker;

use tollgate_algorithms::{Limit, Micros, Mode};

use super::*;
use crate::{Command, Hit, Naming, Value};

/// A charge of one limit, which can go together with others.
fn charge() -> Call {
    let limit = Limit::token_bucket(5, 1, Micros::SECOND).unwrap();
    let name = Naming::new([1; 16]).name("a", b"ada");
    Command::Charge(&[Hit { limit: &limit, name: &name, cost: 1, mode: Mode::Enforced }]).call()
}

fn many<'a>(pipe: &'a SendQueue, permits: &Arc<Semaphore>, count: usize) -> Vec<PendingCall<'a>> {
    let permit = || Arc::clone(permits).try_acquire_owned().unwrap();
    (0..count).map(|_| pipe.send(&charge(), ScriptForm::Together, permit()).unwrap()).collect()
}

/// The bytes of so many of them as one.
fn bytes(count: usize, form: ScriptForm) -> Vec<u8> {
    let mut bytes = Vec::new();
    resp::pack(&mut bytes, &Call::together(&vec![charge(); count]).unwrap(), form);
    bytes
}

/// Reads exactly what is expected.
async fn hear(server: &mut DuplexStream, expected: &[u8]) {
    let mut heard = vec![0; expected.len()];
    server.read_exact(&mut heard).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&heard), String::from_utf8_lossy(expected));
}

#[test]
fn each_is_told_its_own_element_although_one_has_gone() {
    run(async {
        let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(8)));
        let (_driver, mut server) = driven(&pipe, Duration::from_secs(9));
        let mut calls = many(&pipe, &permits, 5);
        hear(&mut server, &bytes(5, ScriptForm::Text)).await;
        assert!(calls.remove(1).give_up(), "it may have been sent");
        server.write_all(b"*5\r\n$1\r\na\r\n$1\r\nb\r\n:-1\r\n-OOM no memory\r\n-WHAT\r\n").await.unwrap();
        let expected = [
            Frame::Value(Value::BulkString(b"a".to_vec())),
            Frame::Value(Value::Int(-1)),
            Frame::Error("OOM no memory".into()),
            Frame::Error("WHAT".into()),
        ];
        for (call, expected) in calls.iter_mut().zip(expected) {
            assert_eq!(said(call).await, expected);
        }
        drop(calls);
        assert_eq!(permits.available_permits(), 8);
    });
}

#[test]
fn the_text_is_brought_first_and_again_when_it_was_forgotten() {
    run(async {
        let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(8)));
        let (_driver, mut server) = driven(&pipe, Duration::from_secs(9));
        let turns = [
            (ScriptForm::Text, "*2\r\n:1\r\n:2\r\n"),
            (ScriptForm::Digest, "*2\r\n:1\r\n:2\r\n"),
            (ScriptForm::Digest, "-BUSY a script\r\n"),
            (ScriptForm::Digest, "-NOSCRIPT No matching script.\r\n"),
            (ScriptForm::Text, "-LOADING its data\r\n"),
            (ScriptForm::Digest, "*2\r\n:1\r\n:2\r\n"),
        ];
        for (form, answer) in turns {
            let mut calls = many(&pipe, &permits, 2);
            hear(&mut server, &bytes(2, form)).await;
            server.write_all(answer.as_bytes()).await.unwrap();
            for (call, number) in calls.iter_mut().zip([1, 2]) {
                let expected = match answer.strip_prefix('-') {
                    Some(line) => Frame::Error(line.trim().into()),
                    None => Frame::Value(Value::Int(number)),
                };
                assert_eq!(said(call).await, expected, "an error of the whole is for each");
            }
        }
    });
}

#[test]
fn a_node_of_a_cluster_is_asked_one_by_one_from_then_on() {
    run(async {
        let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(8)));
        let (_driver, mut server) = driven(&pipe, Duration::from_secs(9));
        let mut calls = many(&pipe, &permits, 2);
        hear(&mut server, &bytes(2, ScriptForm::Text)).await;
        server.write_all(b"-CROSSSLOT Keys in request don't hash to the same slot\r\n").await.unwrap();
        for call in &mut calls {
            assert!(matches!(said(call).await, Frame::Error(line) if line.starts_with("CROSSSLOT")));
        }
        drop(calls);
        let mut calls = many(&pipe, &permits, 2);
        let mut one = Vec::new();
        resp::pack(&mut one, &charge(), ScriptForm::Digest);
        hear(&mut server, &[one.clone(), one].concat()).await;
        server.write_all(b":1\r\n:2\r\n").await.unwrap();
        for (call, number) in calls.iter_mut().zip(1..) {
            assert_eq!(said(call).await, Frame::Value(Value::Int(number)));
        }
    });
}

#[test]
fn an_error_within_an_answer_that_is_no_text_is_still_its_callers_alone() {
    run(async {
        let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(8)));
        let (_driver, mut server) = driven(&pipe, Duration::from_secs(9));
        let mut calls = many(&pipe, &permits, 2);
        hear(&mut server, &bytes(2, ScriptForm::Text)).await;
        server.write_all(b"*2\r\n-ERR a \xff byte\r\n:2\r\n").await.unwrap();
        assert_eq!(said(&mut calls[0]).await, Frame::Error("ERR a \u{fffd} byte".into()));
        assert_eq!(said(&mut calls[1]).await, Frame::Value(Value::Int(2)));
    });
}

#[test]
fn an_answer_without_one_for_each_is_none_and_ends_the_connection() {
    run(async {
        for answer in [
            "*1\r\n:1\r\n",
            "*3\r\n:1\r\n:2\r\n:3\r\n",
            "*0\r\n",
            "*-1\r\n",
            ":1\r\n",
            "+OK\r\n",
            "$2\r\nab\r\n",
        ] {
            let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(8)));
            let (driver, mut server) = driven(&pipe, Duration::from_secs(9));
            let mut calls = many(&pipe, &permits, 2);
            hear(&mut server, &bytes(2, ScriptForm::Text)).await;
            server.write_all(answer.as_bytes()).await.unwrap();
            for call in &mut calls {
                let ended = call.ended().await;
                let lost =
                    matches!(ended, Some((CallOutcome::Lost { cause: Cause::Garbled, sent: true }, _)));
                assert!(lost, "{answer}: {ended:?}");
            }
            assert_eq!(driver.await.unwrap().cause, Cause::Garbled);
        }
    });
}

#[test]
fn a_group_that_was_not_written_to_its_last_byte_was_not_sent_by_any_of_them() {
    run(async {
        let length = bytes(3, ScriptForm::Text).len();
        for room in (0..length).step_by(97).chain([length - 1, length]) {
            let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(8)));
            let mut calls = many(&pipe, &permits, 3);
            // One more, so that a connection that took all of the group breaks too.
            let mut last = send(&pipe, &permits);
            let stream = Stream::new(Narrow(room));
            assert_eq!(
                Driver::new(Arc::clone(&pipe), stream, patience(Duration::from_secs(9))).await.cause,
                Cause::Closed
            );
            for call in &mut calls {
                let Some((CallOutcome::Lost { sent, .. }, _)) = call.ended().await else { panic!("lost") };
                assert_eq!(sent, room >= length, "{room} of {length} bytes were taken");
            }
            assert!(matches!(last.ended().await, Some((CallOutcome::Lost { sent: false, .. }, _))));
            drop((calls, last));
            assert_eq!(permits.available_permits(), 8);
        }
    });
}

#[test]
fn groups_and_single_calls_are_answered_in_their_order() {
    run(async {
        let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(100)));
        let (_driver, mut server) = driven(&pipe, Duration::from_secs(9));
        let mut calls = many(&pipe, &permits, 18);
        calls.push(send(&pipe, &permits));
        calls.extend(many(&pipe, &permits, 3));
        assert!(server.read(&mut [0; 1 << 16]).await.unwrap() > 0);
        // Sixteen, two, one alone, and three.
        let mut answer = String::new();
        for (count, from) in [(16, 0), (2, 16), (1, 18), (3, 19)] {
            if count > 1 {
                answer += &format!("*{count}\r\n");
            }
            (from..from + count).for_each(|number| answer += &format!(":{number}\r\n"));
        }
        server.write_all(answer.as_bytes()).await.unwrap();
        for (call, number) in calls.iter_mut().zip(0..) {
            assert_eq!(said(call).await, Frame::Value(Value::Int(number)));
        }
    });
}

#[test]
fn callers_that_are_no_tasks_have_their_turn_before_all_is_heard() {
    // All of these callers are the one future that runs the runtime. If they had their turn when all is heard, all they asked next would
    // reach the server at once, and the server would have had nothing to do meanwhile.
    run(async {
        let (pipe, permits) = (Arc::new(SendQueue::new()), Arc::new(Semaphore::new(100)));
        let (_driver, mut server) = driven(&pipe, Duration::from_secs(9));
        let mut calls = many(&pipe, &permits, 64);
        assert!(server.read(&mut [0; 1 << 16]).await.unwrap() > 0);
        let answer = format!("*16\r\n{}", ":1\r\n".repeat(16)).repeat(4);
        server.write_all(answer.as_bytes()).await.unwrap();
        for first in (0..64).step_by(16) {
            said(&mut calls[first]).await;
            let mut context = Context::from_waker(Waker::noop());
            let heard = calls[first + 1..].iter_mut();
            let heard =
                heard.filter_map(|call| pin!(call.ended()).poll(&mut context).is_ready().then_some(()));
            assert_eq!(heard.count(), 15, "after the call {first}");
        }
    });
}
