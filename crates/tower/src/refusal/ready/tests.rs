//! What is ready says what is written anew: for every form of answers, on any numbers. Not what a refusal says.

use tollgate_algorithms::{Decision, Limit, Micros, Mode, Outcome, Retry};

use super::{Line, NOW, REMAINING, RESET, Ready, WAIT, refused};
use crate::answers::{Answers, Generations, Reset};
use crate::card::{Card, Visibility};

const AT: Micros = Micros::from_secs(1_800_000_000);

fn card(name: &str, capacity: u64, says: Option<&str>) -> Card {
    let limit = Limit::token_bucket(capacity, 1_000, Micros::SECOND).expect("it fits");
    Card::new(name, &limit, Visibility::Shown, says)
}

fn refusal(card: &Card, (wait, remaining, reset): (u64, u64, u64)) -> Line<'_> {
    let decision = Decision {
        outcome: Outcome::Refused(Retry::After(Micros::new(wait))),
        charged: 0,
        limit: card.capacity,
        remaining,
        reset_after: Micros::new(reset),
        at: AT,
    };
    Line { card, decision, mode: Mode::Enforced, key: b"whose" }
}

/// Every set of generations in both forms of the reset.
fn all_answers() -> impl Iterator<Item = Answers> {
    (0..16_u8).map(|bits| {
        let on = |bit: u8| bits & bit != 0;
        let generations = Generations { draft: on(1), x_ratelimit: on(2), triple: on(4) };
        let reset = if on(8) { Reset::Delta } else { Reset::Epoch };
        Answers { generations, reset, ..Answers::default() }
    })
}

#[test]
fn what_is_ready_says_what_is_written_anew() {
    let numbers = [0, 1, 999_999, 1_000_000, 59_000_001, WAIT, REMAINING, RESET, NOW, u64::MAX];
    let cards = [
        card("per client", 5, None),
        card(r#"a "b" <c> ~wait"#, 1, Some("ask us: ~reset, 4\u{e9}")),
        card("~remaining", 9_999, None),
    ];
    for answers in all_answers() {
        for card in &cards {
            let ready = Ready::new(card, &answers).expect("it is shown");
            for ((wait, remaining), reset) in numbers
                .iter()
                .flat_map(|wait| numbers.map(|other| (*wait, other)))
                .zip(numbers.iter().cycle())
            {
                let line = refusal(card, (wait, remaining, *reset));
                let found = ready.answer(&line, &answers, AT).expect("it refuses");
                let anew = refused(&[line], &answers, AT).expect("it refuses");
                assert_eq!((found.status, &found.headers), (anew.status, &anew.headers), "{line:?}");
                assert_eq!(found.body, anew.body, "{line:?}");
                assert_eq!((found.kind, found.retry), (anew.kind, anew.retry));
            }
        }
    }
}

#[test]
fn a_wait_with_jitter_is_told_alike_in_the_field_and_in_the_body() {
    let answers = Answers { retry_jitter: Micros::from_secs(5), ..Answers::default() };
    let card = card("a", 5, None);
    let ready = Ready::new(&card, &answers).expect("it is shown");
    for _ in 0..100 {
        let answer = ready.answer(&refusal(&card, (10_000_000, 0, 1)), &answers, AT).expect("it refuses");
        let wait = answer.headers["retry-after"].to_str().expect("digits").to_owned();
        assert!((10..=15).contains(&wait.parse::<u64>().expect("a number")), "{wait}");
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(body.contains(&format!("granted in {wait} s.")), "{body}");
        assert!(body.contains(&format!("\"retry_after\":{wait},")), "{body}");
    }
}

#[test]
fn what_cannot_be_ready_is_not() {
    let plain = Answers::default();
    let with_keys = Answers { partition_key: true, ..plain };
    let limit = Limit::token_bucket(5, 1, Micros::SECOND).expect("it fits");
    for number in [WAIT, REMAINING, RESET, NOW + RESET] {
        let text = number.to_string();
        assert!(Ready::new(&card(&text, 5, None), &plain).is_none(), "a name that looks like {number}");
        assert!(Ready::new(&card("a", 5, Some(&text)), &plain).is_none(), "words that look like {number}");
        assert!(Ready::new(&card("a", number, None), &plain).is_none(), "a limit that looks like {number}");
    }
    assert!(Ready::new(&card("a", 5, None), &with_keys).is_none());
    for visibility in [Visibility::Named, Visibility::Hidden] {
        assert!(Ready::new(&Card::new("a", &limit, visibility, None), &plain).is_none(), "{visibility:?}");
    }
}

#[test]
fn what_is_ready_answers_nothing_else() {
    let (answers, card) = (Answers::default(), card("a", 5, None));
    let ready = Ready::new(&card, &answers).expect("it is shown");
    let line = refusal(&card, (1, 0, 1));
    let outcome = |outcome| Line { decision: Decision { outcome, ..line.decision }, ..line };
    let others = [
        outcome(Outcome::Granted),
        outcome(Outcome::Refused(Retry::Never)),
        Line { decision: Decision { limit: 4, ..line.decision }, ..line },
        Line { mode: Mode::Shadow, ..line },
    ];
    for other in others {
        assert!(ready.answer(&other, &answers, AT).is_none(), "{other:?}");
    }
}
