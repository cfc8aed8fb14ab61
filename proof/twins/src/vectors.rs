//! Traces as text that a person can read: acts, and after the arrow what the core answers. It asks nobody itself.
//!
//! `limit …` sets the numbers from there on. Then one act a line: when (microseconds), a verb, a number. A refund says which act
//! of the file it gives back (the first is 1), and how much. After the arrow stand the answer and the state.

use std::fmt::Write as _;

use tollgate_algorithms::algorithm::list::List;
use tollgate_algorithms::{Decision, Limit, Micros, Mode, Retry, State, UtcOffset, Window};
use tollgate_redis::{Naming, Reply};

use crate::asked::{Asked, Owned};
use crate::world::plain;

/// Answers a question at an instant, and says where the key stands then.
pub type Answers<'a> = &'a mut dyn FnMut(&Asked, Micros) -> Result<(Reply, Option<State>), String>;

/// Plays the acts of a text, and writes the text that their answers make.
///
/// # Errors
/// When a line cannot be read, or there is no answer.
pub fn played(text: &str, answers: Answers<'_>) -> Result<String, String> {
    let mut written = String::new();
    let mut limit = Limit::Unlimited;
    let mut charges: Vec<Option<(Micros, u64, Limit)>> = Vec::new();
    for line in text.lines() {
        let wrong = || format!("cannot read `{line}`");
        let said = line.split(" -> ").next().unwrap_or_default();
        let words: Vec<&str> = said.split_whitespace().collect();
        if let Some(numbers) = words.strip_prefix(&["limit"]) {
            limit = limit_of(numbers).ok_or_else(wrong)?;
        }
        if matches!(words.first(), None | Some(&"#" | &"limit")) {
            written.push_str(&format!("{line}\n"));
            continue;
        }
        let (now, asked) = act(&words, limit, &charges).ok_or_else(wrong)?;
        let (reply, state) = answers(&asked, now)?;
        let first = match &reply {
            Reply::Decided { decisions, .. } => decisions.first().copied(),
            Reply::Reset { .. } => None,
        };
        let is_charge = matches!(asked, Asked::Charge(_) | Asked::UpTo(_) | Asked::Settle(_));
        let charged = first.filter(|decision| is_charge && decision.charged > 0);
        charges.push(charged.map(|decision| (decision.at, decision.charged, limit)));
        let answer = first.map_or_else(|| format!("{reply:?}"), |decision| told(&decision));
        written.push_str(&format!("{said} -> {answer}; {}\n", standing(state.map(plain))));
    }
    Ok(written)
}

fn act(words: &[&str], limit: Limit, charges: &[Option<(Micros, u64, Limit)>]) -> Option<(Micros, Asked)> {
    let [now, verb, numbers @ ..] = words else { return None };
    let number = |place: usize| numbers.get(place)?.parse::<u64>().ok();
    let name = Naming::new([5; 16]).name("vectors", b"key");
    let hit = |cost, mode| Owned { key: 0, name, limit, cost, mode };
    let asked = match *verb {
        "charge" => Asked::Charge(vec![hit(number(0)?, Mode::Enforced)]),
        "shadow" => Asked::Charge(vec![hit(number(0)?, Mode::Shadow)]),
        "peek" => Asked::Peek(vec![hit(number(0)?, Mode::Enforced)]),
        "up_to" => Asked::UpTo(hit(number(0)?, Mode::Enforced)),
        "settle" => Asked::Settle(hit(number(0)?, Mode::Enforced)),
        "refund" => {
            let act = usize::try_from(number(0)?.checked_sub(1)?).ok()?;
            Asked::Refund(hit(0, Mode::Enforced), (*charges.get(act)?)?, number(1)?)
        }
        "reset" => Asked::Reset(0, name),
        _ => return None,
    };
    Some((Micros::new(now.parse().ok()?), asked))
}

fn limit_of(words: &[&str]) -> Option<Limit> {
    let (name, rest) = words.split_first()?;
    let number = |place: usize| rest.get(place)?.parse::<u64>().ok();
    let micros = |place: usize| number(place).map(Micros::new);
    let limit = match *name {
        "token_bucket" => Limit::token_bucket(number(0)?, number(1)?, micros(2)?),
        "leaky_bucket" => Limit::leaky_bucket(number(0)?, number(1)?, micros(2)?),
        "gcra" => Limit::gcra(number(0)?, number(1)?, micros(2)?),
        "fixed_window" => {
            // Minutes, or the code of a rule of summer time.
            let offset = || match rest.get(2)?.parse::<i64>().ok()? {
                code @ 4_096.. => UtcOffset::from_code(code.unsigned_abs()),
                minutes => UtcOffset::from_minutes(i32::try_from(minutes).ok()?).ok(),
            };
            let window = match *rest.get(1)? {
                "every" => Window::Every(micros(2)?),
                "day" => Window::Day(offset()?),
                "week" => Window::Week(offset()?),
                "month" => Window::Month(offset()?),
                "year" => Window::Year(offset()?),
                _ => return None,
            };
            Limit::fixed_window(number(0)?, window)
        }
        "sliding_window" => Limit::sliding_window(number(0)?, micros(1)?),
        "sliding_window_buckets" => {
            Limit::sliding_window_buckets(number(0)?, micros(1)?, rest.get(2)?.parse().ok()?)
        }
        "sliding_window_log" => Limit::sliding_window_log(number(0)?, micros(1)?),
        _ => return None,
    };
    limit.ok()
}

fn told(decision: &Decision) -> String {
    let outcome = match decision.retry() {
        None => "granted".to_string(),
        Some(Retry::After(wait)) => format!("refused for {}", wait.get()),
        Some(Retry::Never) => "refused for ever".to_string(),
    };
    let Decision { charged, remaining, reset_after, at, .. } = decision;
    format!(
        "{outcome}, charged {charged}, remaining {remaining}, reset {}, at {}",
        reset_after.get(),
        at.get()
    )
}

fn standing(state: Option<State>) -> String {
    match state {
        None => "none".into(),
        Some(State::TokenBucket(debt) | State::LeakyBucket(debt) | State::Gcra(debt)) => {
            format!("owes {} of {} since {}", debt.debt, debt.period, debt.at.get())
        }
        Some(State::FixedWindow(count)) => {
            format!("used {} from {} to {}", count.used, count.start.get(), count.end.get())
        }
        Some(State::SlidingWindow(counts)) => {
            let (start, end) = (counts.start.get(), counts.end.get());
            format!("used {} and {} from {start} to {end}", counts.previous, counts.current)
        }
        Some(State::SlidingWindowBuckets(list) | State::SlidingWindowLog(list)) => listed(&list),
    }
}

fn listed(list: &List) -> String {
    let mut text = "charged".to_string();
    for entry in list.entries() {
        let _ = write!(text, " {} at {}", entry.cost, entry.at.get());
    }
    text
}
