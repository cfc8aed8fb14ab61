//! Prepared refusals equal freshly written ones, for every configuration and any numbers.

use tollgate_algorithms::{Decision, Limit, Micros, Mode, Outcome, Retry};

use super::{NOW, PreparedRefusal, REMAINING, RESET, RenderedStatus, WAIT, refused};
use crate::response::config::{HeaderFormats, ResetFormat, ResponseConfig};
use crate::response::rendered_limit::RenderedLimit;
use tollgate_engine::{LimitDescriptor, Visibility};

const AT: Micros = Micros::from_secs(1_800_000_000);

fn rendered(name: &str, capacity: u64, description: Option<&str>) -> RenderedLimit {
    let limit = Limit::token_bucket(capacity, 1_000, Micros::SECOND).expect("it fits");
    RenderedLimit::new(&LimitDescriptor::new(name, limit).with_description(description))
}

fn refusal(rendered: &RenderedLimit, (wait, remaining, reset): (u64, u64, u64)) -> RenderedStatus<'_> {
    let decision = Decision {
        outcome: Outcome::Refused(Retry::After(Micros::new(wait))),
        charged: 0,
        limit: rendered.capacity,
        remaining,
        reset_after: Micros::new(reset),
        at: AT,
    };
    RenderedStatus { rendered, decision, mode: Mode::Enforced, is_shown: true, partition: 7 }
}

/// Every set of generations in both forms of the reset.
fn all_answers() -> impl Iterator<Item = ResponseConfig> {
    (0..16_u8).map(|bits| {
        let on = |bit: u8| bits & bit != 0;
        let generations = HeaderFormats { draft: on(1), x_ratelimit: on(2), triple: on(4) };
        let reset = if on(8) { ResetFormat::Delta } else { ResetFormat::Epoch };
        ResponseConfig { generations, reset, ..ResponseConfig::default() }
    })
}

#[test]
fn what_is_ready_says_what_is_written_anew() {
    let numbers = [0, 1, 999_999, 1_000_000, 59_000_001, WAIT, REMAINING, RESET, NOW, u64::MAX];
    let limits = [
        rendered("per client", 5, None),
        rendered(r#"a "b" <c> ~wait"#, 1, Some("ask us: ~reset, 4\u{e9}")),
        rendered("~remaining", 9_999, None),
    ];
    for config in all_answers() {
        for rendered in &limits {
            let ready = PreparedRefusal::new(rendered, &config).expect("it is shown");
            for ((wait, remaining), reset) in numbers
                .iter()
                .flat_map(|wait| numbers.map(|other| (*wait, other)))
                .zip(numbers.iter().cycle())
            {
                let line = refusal(rendered, (wait, remaining, *reset));
                let found = ready.response(&line, &config, AT).expect("it refuses");
                let anew = refused(&[line], &config, AT).expect("it refuses");
                assert_eq!((found.status, &found.headers), (anew.status, &anew.headers), "{line:?}");
                assert_eq!(found.body, anew.body, "{line:?}");
                assert_eq!((found.kind, found.retry), (anew.kind, anew.retry));
            }
        }
    }
}

#[test]
fn a_wait_with_jitter_is_told_alike_in_the_field_and_in_the_body() {
    let config = ResponseConfig { retry_jitter: Micros::from_secs(5), ..ResponseConfig::default() };
    let rendered = rendered("a", 5, None);
    let ready = PreparedRefusal::new(&rendered, &config).expect("it is shown");
    for _ in 0..100 {
        let answer =
            ready.response(&refusal(&rendered, (10_000_000, 0, 1)), &config, AT).expect("it refuses");
        let wait = answer.headers["retry-after"].to_str().expect("digits").to_owned();
        assert!((10..=15).contains(&wait.parse::<u64>().expect("a number")), "{wait}");
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(body.contains(&format!("Retry in {wait} s.")), "{body}");
        assert!(body.contains(&format!("\"retry_after\":{wait},")), "{body}");
    }
}

#[test]
fn what_cannot_be_ready_is_not() {
    let plain = ResponseConfig::default();
    let with_keys = ResponseConfig { partition_key: true, ..plain };
    let limit = Limit::token_bucket(5, 1, Micros::SECOND).expect("it fits");
    for number in [WAIT, REMAINING, RESET, NOW + RESET] {
        let text = number.to_string();
        assert!(
            PreparedRefusal::new(&rendered(&text, 5, None), &plain).is_none(),
            "a name that looks like {number}"
        );
        assert!(
            PreparedRefusal::new(&rendered("a", 5, Some(&text)), &plain).is_none(),
            "words that look like {number}"
        );
        assert!(
            PreparedRefusal::new(&rendered("a", number, None), &plain).is_none(),
            "a limit that looks like {number}"
        );
    }
    assert!(PreparedRefusal::new(&rendered("a", 5, None), &with_keys).is_none());
    for visibility in [Visibility::IfBinding, Visibility::Hidden] {
        assert!(
            PreparedRefusal::new(
                &RenderedLimit::new(&LimitDescriptor::new("a", limit).with_visibility(visibility)),
                &plain
            )
            .is_none(),
            "{visibility:?}"
        );
    }
}

#[test]
fn what_is_ready_answers_nothing_else() {
    let (config, rendered) = (ResponseConfig::default(), rendered("a", 5, None));
    let ready = PreparedRefusal::new(&rendered, &config).expect("it is shown");
    let line = refusal(&rendered, (1, 0, 1));
    let outcome = |outcome| RenderedStatus { decision: Decision { outcome, ..line.decision }, ..line };
    let others = [
        outcome(Outcome::Granted),
        outcome(Outcome::Refused(Retry::Never)),
        RenderedStatus { decision: Decision { limit: 4, ..line.decision }, ..line },
        RenderedStatus { mode: Mode::Shadow, ..line },
    ];
    for other in others {
        assert!(ready.response(&other, &config, AT).is_none(), "{other:?}");
    }
}
