//! The queue of one connection: what a cancelled caller knows, and that nothing grows.

use std::sync::{Arc, LazyLock};
use std::task::Waker;

use smallvec::SmallVec;
use tokio::sync::Semaphore;

use super::*;

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script {
    text: "return 1".into(),
    digest: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db".into(),
});

fn call() -> Call {
    Call {
        script: &SCRIPT,
        names: SmallVec::new(),
        arguments: SmallVec::new(),
        writes: crate::Writes::Always,
    }
}

fn permit(permits: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    Arc::clone(permits).try_acquire_owned().expect("a permit is free")
}

#[test]
fn a_caller_that_gives_up_knows_whether_its_call_was_taken() {
    let (pipe, permits) = (SendQueue::new(), Arc::new(Semaphore::new(8)));
    let [first, second] =
        [(); 2].map(|()| pipe.send(&call(), ScriptForm::Together, permit(&permits)).unwrap());
    assert!(pipe.take(Waker::noop()).is_some());
    assert!(first.give_up(), "it was taken");
    assert!(!second.give_up(), "it was not");
    assert!(pipe.take(Waker::noop()).is_none(), "what was given up is never written");
    assert_eq!(permits.available_permits(), 8);
}

#[test]
fn a_caller_that_is_dropped_takes_its_call_along() {
    let (pipe, permits) = (SendQueue::new(), Arc::new(Semaphore::new(8)));
    drop(pipe.send(&call(), ScriptForm::Together, permit(&permits)).unwrap());
    assert!(pipe.take(Waker::noop()).is_none());
    assert_eq!(permits.available_permits(), 8);
}

#[test]
fn slots_of_callers_that_have_gone_count_until_the_queue_has_moved_past_them() {
    let (pipe, permits) = (SendQueue::new(), Arc::new(Semaphore::new(3)));
    let [first, second, third] =
        [(); 3].map(|()| pipe.send(&call(), ScriptForm::Together, permit(&permits)).unwrap());
    drop(second);
    drop(third);
    assert_eq!(permits.available_permits(), 0, "the slots are still there");
    drop(first);
    assert_eq!(permits.available_permits(), 3);
    assert!(pipe.take(Waker::noop()).is_none());
}

#[test]
fn closing_tells_those_that_were_not_written_and_takes_no_more() {
    let (pipe, permits) = (SendQueue::new(), Arc::new(Semaphore::new(8)));
    let [mut taken, mut queued] =
        [(); 2].map(|()| pipe.send(&call(), ScriptForm::Together, permit(&permits)).unwrap());
    let output = pipe.take(Waker::noop()).unwrap().outputs.remove(0);
    pipe.close(Cause::Closed);
    assert!(matches!(
        queued.receiver.try_recv(),
        Ok((CallOutcome::Lost { cause: Cause::Closed, sent: false }, _))
    ));
    assert!(taken.receiver.try_recv().is_err(), "what was written may still be answered");
    output.end(CallOutcome::Said(Frame::Error("ERR".into())));
    assert!(matches!(taken.receiver.try_recv(), Ok((CallOutcome::Said(_), _))));
    assert!(pipe.send(&call(), ScriptForm::Together, permit(&permits)).is_err());
}

#[test]
fn a_text_is_brought_once_for_all_that_were_sent_before_it() {
    let (pipe, permits) = (SendQueue::new(), Arc::new(Semaphore::new(8)));
    let [first, second] =
        [(); 2].map(|()| pipe.send(&call(), ScriptForm::Together, permit(&permits)).unwrap());
    assert_eq!(pipe.cure(&call(), first.number()), ScriptForm::Text);
    let text = pipe.send(&call(), ScriptForm::Text, permit(&permits)).unwrap();
    assert_eq!(pipe.cure(&call(), second.number()), ScriptForm::Digest, "the text is on its way");
    let late = pipe.send(&call(), ScriptForm::Together, permit(&permits)).unwrap();
    assert_eq!(pipe.cure(&call(), late.number()), ScriptForm::Text, "it was forgotten again");
    drop(text);
}

/// A charge of one limit, which can go together with others.
fn charge() -> Call {
    let limit = tollgate_algorithms::Limit::token_bucket(5, 1, tollgate_algorithms::Micros::SECOND).unwrap();
    let name = crate::Naming::new([1; 16]).name("a", b"ada");
    crate::Command::Charge(&[crate::Hit {
        limit: &limit,
        name: &name,
        cost: 1,
        mode: tollgate_algorithms::Mode::Enforced,
    }])
    .call()
}

#[test]
fn neighbours_are_taken_together_but_for_those_who_have_gone_and_those_who_want_to_be_alone() {
    let (pipe, permits) = (SendQueue::new(), Arc::new(Semaphore::new(100)));
    let form = |sign| match sign {
        'd' => ScriptForm::Digest,
        't' => ScriptForm::Text,
        _ => ScriptForm::Together,
    };
    let rows: [(&str, &[usize]); 8] = [
        ("c", &[1]),
        ("cc", &[2]),
        ("cgc", &[2]),
        ("gcg", &[1]),
        ("ccdcc", &[2, 1, 2]),
        ("ctdc", &[1, 1, 1, 1]),
        ("cxxc", &[1, 1, 1, 1]),
        ("ccccccccccccccccccccccccccccccccccc", &[16, 16, 3]),
    ];
    for (signs, expected) in rows {
        let send = |sign| {
            let call = if sign == 'x' { call() } else { charge() };
            pipe.send(&call, form(sign), permit(&permits)).unwrap()
        };
        let (gone, waiting): (Vec<_>, Vec<_>) =
            signs.chars().map(|sign| (sign, send(sign))).partition(|(sign, _)| *sign == 'g');
        drop(gone);
        let taken: Vec<_> = std::iter::from_fn(|| pipe.take(Waker::noop())).collect();
        assert_eq!(taken.iter().map(|taken| taken.calls.len()).collect::<Vec<_>>(), expected, "{signs}");
        assert!(taken.iter().all(|taken| taken.outputs.len() == taken.calls.len()));
        assert!(waiting.into_iter().all(|(_, waiting)| waiting.give_up()), "all of them may have been sent");
        drop(taken);
        assert_eq!(permits.available_permits(), 100, "{signs}");
    }
}
