//! `TG.CHECK`, `TG.PEEK`, `TG.INSPECT` and `TG.RESET`: one limit, one key.

use std::time::Duration;

use tollgate::Verdict;

use super::arguments::{Arguments, Refusal};
use super::dispatch::Done;
use super::replies::{count, write_status, write_verdict};
use super::reservation_commands::TTL_MAX;
use super::selection::{By, Selected};
use super::session::Session;

/// The options of `TG.CHECK`, of which `TG.PEEK` has only the first.
#[derive(Default)]
struct Options {
    cost: Option<u64>,
    receipt: Option<u64>,
    up_to: bool,
}

impl Options {
    fn parse(arguments: &mut Arguments<'_>, charges: bool) -> Result<Self, Refusal> {
        let mut options = Self::default();
        while arguments.len() > 0 {
            if options.cost.is_none() && arguments.word("COST") {
                options.cost = Some(arguments.whole("cost")?);
            } else if charges && options.receipt.is_none() && arguments.word("RECEIPT") {
                options.receipt = Some(arguments.whole_within("RECEIPT", (1, TTL_MAX))?);
            } else if charges && !options.up_to && arguments.word("UPTO") {
                options.up_to = true;
            } else {
                arguments.end()?;
            }
        }
        if options.up_to && options.receipt.is_some() {
            return Err(Refusal::invalid("UPTO has no receipt: use one of UPTO and RECEIPT"));
        }
        Ok(options)
    }
}

impl Session {
    pub(super) async fn check(&mut self, mut arguments: Arguments<'_>) -> Done {
        let selected = Selected::parse(&self.shared, &mut arguments)?;
        let options = Options::parse(&mut arguments, true)?;
        let limit = selected.rate()?;
        let hit = selected.hit(limit).cost(options.cost.unwrap_or(1));
        let limiter = &self.shared.limiter;
        if options.up_to {
            let verdict = limiter.charge_up_to(&hit).await.map_err(Refusal::invalid)?;
            return self.write_decision(&verdict, None);
        }
        let Some(seconds) = options.receipt else {
            let verdict = limiter.charge(&[hit]).await.map_err(Refusal::invalid)?;
            return self.write_decision(&verdict, None);
        };
        // A receipt that others can name is a reservation whose cost is final.
        let reserved = limiter.reserve(&[hit], Duration::from_secs(seconds)).await;
        let (verdict, receipt) = reserved.map_err(Refusal::invalid)?;
        let receipt = receipt.map(|receipt| receipt.into_id().to_string());
        self.write_decision(&verdict, Some(("receipt", receipt)))
    }

    /// Replies with what a charge decided, and counts it. An error is counted where it is written.
    pub(super) fn write_decision(&mut self, verdict: &Verdict, id: Option<(&str, Option<String>)>) -> Done {
        write_verdict(&mut self.reply(), verdict, id)?;
        count(&self.shared.endpoint, verdict);
        Ok(())
    }

    pub(super) async fn peek(&mut self, mut arguments: Arguments<'_>) -> Done {
        let selected = Selected::parse(&self.shared, &mut arguments)?;
        let options = Options::parse(&mut arguments, false)?;
        let hit = selected.hit(selected.rate()?).cost(options.cost.unwrap_or(1));
        let verdict = self.shared.limiter.peek(&[hit]).await.map_err(Refusal::invalid)?;
        write_verdict(&mut self.reply(), &verdict, None)
    }

    pub(super) async fn inspect(&mut self, mut arguments: Arguments<'_>) -> Done {
        let selected = Selected::parse(&self.shared, &mut arguments)?;
        arguments.end()?;
        match &selected.by {
            By::Rate(limit) => {
                let status = self.shared.limiter.inspect(limit, selected.key).await;
                write_status(&mut self.reply(), &status.map_err(Refusal::unavailable)?);
            }
            By::Concurrency(limit) => {
                self.shared.permits.expire();
                let mut reply = self.reply();
                reply.map(2);
                for (name, value) in [("limit", limit.limit()), ("in_flight", limit.in_flight(selected.key))]
                {
                    reply.bulk(name);
                    reply.integer(value.into());
                }
            }
        }
        Ok(())
    }

    pub(super) async fn reset(&mut self, mut arguments: Arguments<'_>) -> Done {
        let selected = Selected::parse(&self.shared, &mut arguments)?;
        arguments.end()?;
        let reset = self.shared.limiter.reset(selected.rate()?, selected.key).await;
        let was_there = reset.map_err(Refusal::unavailable)?;
        self.reply().integer(was_there.into());
        Ok(())
    }
}
