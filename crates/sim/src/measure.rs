//! The figures of one run: goodput, latency, time to converge, and the highest limit.

use tollgate_algorithms::Micros;
use tollgate_algorithms::adaptive::{AdaptiveConfig, AdaptiveLimit, Method};

use crate::limiter::{Fixed, Limiter};
use crate::peers::{Envoy, Netflix};
use crate::scenario::Scenario;
use crate::world::{Event, run};

/// What is judged begins so long after the start or the last change, in seconds.
const SETTLE: f64 = 10.0;
/// Goodput has converged when every later span of so many seconds is good.
const SPAN: usize = 5;

/// The limits that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The server's true capacity, known in advance.
    FixedCapacity,
    /// No limit.
    Unlimited,
    /// Netflix's Gradient2, reimplemented.
    Netflix,
    /// Envoy's gradient, reimplemented.
    Envoy,
    /// One of ours.
    Ours(Method),
}

/// Every subject, in the order of the table.
pub const SUBJECTS: [Subject; 8] = [
    Subject::FixedCapacity,
    Subject::Unlimited,
    Subject::Netflix,
    Subject::Envoy,
    Subject::Ours(Method::Aimd { target: Micros::from_millis(40) }),
    Subject::Ours(Method::Vegas),
    Subject::Ours(Method::Gradient),
    Subject::Ours(Method::Gradient2),
];

impl Subject {
    /// What it is called in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FixedCapacity => "fixed k",
            Self::Unlimited => "none",
            Self::Netflix => "Netflix",
            Self::Envoy => "Envoy",
            Self::Ours(Method::Aimd { .. }) => "aimd, 40 ms",
            Self::Ours(Method::Vegas) => "vegas",
            Self::Ours(Method::Gradient) => "gradient",
            Self::Ours(Method::Gradient2) => "gradient2",
        }
    }

    /// Runs a scenario and measures it.
    #[must_use]
    pub fn measure(self, scenario: &Scenario, seed: u64) -> Figures {
        match self {
            Self::FixedCapacity => measure(scenario, &mut Fixed(scenario.capacity.1 as u32), seed),
            Self::Unlimited => measure(scenario, &mut Fixed(u32::MAX), seed),
            Self::Netflix => measure(scenario, &mut Netflix::default(), seed),
            Self::Envoy => measure(scenario, &mut Envoy::new(seed), seed),
            Self::Ours(method) => {
                let config = AdaptiveConfig::new(method).with_seed(seed);
                measure(scenario, &mut AdaptiveLimit::new(config), seed)
            }
        }
    }
}

/// What one run showed.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Requests answered in time, as a part of those that could have been.
    pub goodput: f64,
    /// The 99th percentile of latency, divided by that of the same requests on an idle server. None without answers.
    pub p99: Option<f64>,
    /// Seconds after the last change until goodput stays at 90 % or more, in every span of five seconds.
    pub converged: Option<u32>,
    /// The highest limit that admitted a request, divided by the server's capacity.
    pub highest: f64,
    /// The part of the requests that the limit refused.
    pub refused: f64,
    /// The baseline at the end, in microseconds.
    pub baseline: Option<u64>,
    /// Requests answered in each second.
    pub answers: Vec<u32>,
    /// The highest limit in each second.
    pub limits: Vec<u32>,
}

/// Runs a scenario before a limit and measures it.
pub fn measure<L: Limiter>(scenario: &Scenario, limiter: &mut L, seed: u64) -> Figures {
    let seconds = scenario.length.ceil() as usize + 1;
    let judged_from = scenario.change + SETTLE;
    let (mut answers, mut limits) = (vec![0_u32; seconds], vec![0_u32; seconds]);
    let (mut latencies, mut alone_latencies) = (Vec::new(), Vec::new());
    let (mut admitted, mut refused, mut highest) = (0_u64, 0_u64, 0.0_f64);
    run(scenario, limiter, seed, |event| match event {
        Event::Answered { at, latency, alone } => {
            answers[at as usize] += 1;
            if at >= judged_from {
                latencies.push(latency as f32);
                alone_latencies.push(alone as f32);
            }
        }
        Event::Refused { at } => refused += u64::from(at >= judged_from),
        Event::Admitted { at, limit } => {
            limits[at as usize] = limits[at as usize].max(limit);
            if at >= judged_from {
                admitted += 1;
                highest = highest.max(f64::from(limit) / scenario.capacity_at(at));
            }
        }
    });
    let attainable = |second: usize| scenario.attainable_at(second as f64 + 0.5);
    let (first, last) = (judged_from as usize, scenario.length as usize);
    let good: u32 = answers[first..last].iter().sum();
    let could: f64 = (first..last).map(attainable).sum();
    let changed = scenario.change as usize;
    let is_bad = |second: &usize| {
        let span = *second..(*second + SPAN).min(last);
        let could: f64 = span.clone().map(attainable).sum();
        f64::from(answers[span].iter().sum::<u32>()) < 0.9 * could
    };
    let bad = (changed..last.saturating_sub(SPAN)).rev().find(is_bad);
    let converged = bad.map_or(0, |second| second + 1 - changed);
    let p99 = quantile(&mut latencies).zip(quantile(&mut alone_latencies)).map(|(all, alone)| all / alone);
    Figures {
        goodput: f64::from(good) / could,
        p99,
        converged: (converged + changed + SPAN < last).then_some(converged as u32),
        highest,
        refused: refused as f64 / ((admitted + refused) as f64).max(1.0),
        baseline: limiter.baseline(),
        answers,
        limits,
    }
}

fn quantile(latencies: &mut [f32]) -> Option<f64> {
    let place = latencies.len() * 99 / 100;
    if latencies.is_empty() {
        return None;
    }
    let (_, found, _) = latencies.select_nth_unstable_by(place, f32::total_cmp);
    Some(f64::from(*found))
}
