//! The consumers file bound to a policy: which consumer owns a key, and which numbers are that consumer's own.

use crate::compile::load::by_name;
use crate::compile::variants::{Variant, VariantKind, for_budget};
use crate::consumers::{Consumers, OverrideId};
use crate::ids::{LimitId, VariantId};
use crate::numbers::{Numbers, RawNumbers};
use crate::parse::numbers::span;
use crate::policy::Policy;
use crate::quantity::{duration, rate, utc_offset, whole};
use crate::time_zone;

/// Consumers, and their overrides as numbers of this policy's limits.
#[derive(Debug)]
pub struct ConsumerIndex {
    consumers: Consumers,
    /// For each text of overrides: which of the limits' variants they replace, and with which.
    overrides: Vec<Vec<(VariantId, VariantId)>>,
    /// Numbers that no document has. They are numbered after the policy's own.
    extra: Vec<Variant>,
}

/// What is wrong with a line of the consumers file, seen from the policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConsumerIndexError {
    /// The first line that has it.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

impl ConsumerIndex {
    /// Puts consumers and a policy together.
    ///
    /// # Errors
    /// Every tier that the policy does not know (if it lists its tiers), and every override that means nothing.
    pub fn new(consumers: Consumers, policy: &Policy) -> Result<Self, Vec<ConsumerIndexError>> {
        let mut errors = Vec::new();
        let names = &policy.settings().tier_names;
        for (tier, line) in
            consumers.tiers().filter(|(tier, _)| !names.is_empty() && !names.iter().any(|name| name == tier))
        {
            errors.push(ConsumerIndexError {
                line,
                message: format!("there is no tier `{}`", tollgate_http::text::shown(tier)),
            });
        }
        let limits = by_name(policy);
        let (mut overrides, mut extra) = (Vec::new(), Vec::new());
        for (_, text, line) in consumers.overrides() {
            let mut own = Vec::new();
            for part in text.split('|').map(str::trim).filter(|part| !part.is_empty()) {
                match one(part, policy, &limits) {
                    Err(message) => errors.push(ConsumerIndexError { line, message }),
                    Ok(variants) => {
                        for (replaced, variant) in variants {
                            let next = policy.variants().len().saturating_add(extra.len());
                            own.push((replaced, VariantId::from_index(next)));
                            extra.push(variant);
                        }
                    }
                }
            }
            overrides.push(own);
        }
        if errors.is_empty() { Ok(Self { consumers, overrides, extra }) } else { Err(errors) }
    }

    /// The consumers.
    #[must_use]
    pub const fn consumers(&self) -> &Consumers {
        &self.consumers
    }

    /// Numbers that only single consumers have. The first is numbered after the policy's last.
    #[must_use]
    pub fn variants(&self) -> &[Variant] {
        &self.extra
    }

    /// The variant of a consumer's own that replaces one of the policy's.
    pub(crate) fn variant(&self, overrides: OverrideId, replaced: VariantId) -> Option<VariantId> {
        let own = self.overrides.get(overrides.index())?;
        own.iter().find(|(of, _)| *of == replaced).map(|(_, variant)| *variant)
    }
}

/// `POST /reports/generate: capacity=50 refill_rate=1`, or `…: none`.
fn one(
    text: &str,
    policy: &Policy,
    limits: &std::collections::HashMap<&str, LimitId>,
) -> Result<Vec<(VariantId, Variant)>, String> {
    let shown = tollgate_http::text::shown(text);
    let (name, numbers) = text
        .rsplit_once(": ")
        .ok_or_else(|| format!("`{shown}` is no override: write `LIMIT: capacity=50`"))?;
    let id = *limits
        .get(name.trim())
        .ok_or_else(|| format!("there is no limit `{}`", tollgate_http::text::shown(name)))?;
    let Some(limit) = policy.limits().get(id.index()) else { return Ok(Vec::new()) };
    let own = if numbers.trim() == "none" { None } else { Some(written(numbers)?) };
    // A favour is laid over what the consumer's tier has, whichever that is.
    let replaced = policy.variants.of(id).iter().map(|(number, variant)| {
        let tier = limit.tiers.iter().find(|tier| Some(&tier.tier) == variant.tier.as_ref());
        let base = tier.and_then(|tier| tier.written.as_ref()).unwrap_or(&limit.written);
        let numbers = match &own {
            None => Numbers::Unlimited,
            Some(own) => {
                own.over(base).build(limit.algorithm).map_err(|error| format!("`{shown}`: {error}"))?
            }
        };
        let multiple = match variant.budget {
            VariantKind::Own => 1,
            VariantKind::AddressCeiling => limit.address_ceiling.unwrap_or(1),
            VariantKind::WideAddress => policy.settings().wide_multiple,
            VariantKind::WideCeiling => {
                limit.address_ceiling.unwrap_or(1).saturating_mul(policy.settings().wide_multiple)
            }
        };
        let numbers = for_budget(&numbers, (variant.budget, multiple), policy.settings())
            .map_err(|error| format!("`{shown}`: {error}"))?;
        Ok((number, Variant { numbers, ..variant.clone() }))
    });
    replaced.collect()
}

/// `capacity=50 refill_rate=1 per 10 s`: a value goes on until the next field.
fn written(text: &str) -> Result<RawNumbers, String> {
    let mut pairs: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match pairs.last_mut() {
            Some(last) if !word.contains('=') => {
                last.push(' ');
                last.push_str(word);
            }
            _ => pairs.push(word.to_owned()),
        }
    }
    let mut written = RawNumbers::default();
    for pair in &pairs {
        let (field, value) = pair.split_once('=').ok_or_else(|| {
            format!("`{}` is no number: write `limit=10`", tollgate_http::text::shown(pair))
        })?;
        let result = match field {
            "capacity" => whole(value).map(|number| written.capacity = Some(number)),
            "refill_rate" => rate(value).map(|rate| written.refill_rate = Some(rate)),
            "limit" => whole(value).map(|number| written.limit = Some(number)),
            "window" => span(value).map(|span| written.window = Some(span)),
            "window_seconds" => span(&format!("{value}s")).map(|span| written.window = Some(span)),
            "time_zone" => time_zone::find(value).map(|zone| written.time_zone = Some(zone)),
            "utc_offset" => utc_offset(value).map(|offset| written.utc_offset = Some(offset)),
            "buckets" => whole(value).map(|number| written.buckets = Some(number)),
            "max_wait" => duration(value).map(|wait| written.max_wait = Some(wait)),
            "max_hold" => duration(value).map(|hold| written.max_hold = Some(hold)),
            _ => Err("is not a number of a limit".into()),
        };
        result.map_err(|why| format!("`{}` {why}", tollgate_http::text::shown(pair)))?;
    }
    Ok(written)
}
