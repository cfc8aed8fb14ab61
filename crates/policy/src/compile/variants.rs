//! Every set of numbers that a policy can charge under, numbered: a limit's own, its tiers', and their wider budgets.

use tollgate_algorithms::LimitError;

use crate::document::diagnostic::{Diagnostic, Findings};
use crate::ids::{LimitId, VariantId};
use crate::model::{Identity, PolicyLimit};
use crate::numbers::{Numbers, NumbersError};
use crate::parse::settings::Settings;

/// What a set of numbers is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VariantKind {
    /// The limit itself.
    Own,
    /// Its ceiling for one address, whatever keys are shown.
    AddressCeiling,
    /// Its wider budget for a wide IPv6 prefix.
    WideAddress,
    /// Its ceiling for a wide IPv6 prefix, whatever keys are shown.
    WideCeiling,
}

/// One set of numbers of one limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// The limit.
    pub limit: LimitId,
    /// Whose numbers these are.
    pub tier: Option<String>,
    /// What they are for.
    pub budget: VariantKind,
    /// The numbers.
    pub numbers: Numbers,
}

/// All of them, and where those of a limit begin.
#[derive(Debug, Default)]
pub(crate) struct Variants {
    pub(crate) all: Vec<Variant>,
    /// For each limit, its first variant; the next limit's ends them.
    pub(crate) first: Vec<VariantId>,
}

/// The variants of one limit: its own first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VariantsOf<'a> {
    first: usize,
    all: &'a [Variant],
}

impl Variants {
    /// The variants of a limit.
    pub(crate) fn of(&self, limit: LimitId) -> VariantsOf<'_> {
        let first = self.first.get(limit.index()).map_or(usize::MAX, |first| first.index());
        let end = self.first.get(limit.index().saturating_add(1)).map_or(self.all.len(), |end| end.index());
        VariantsOf { first, all: self.all.get(first..end).unwrap_or(&[]) }
    }
}

impl<'a> VariantsOf<'a> {
    /// Each with its number.
    pub(crate) fn iter(self) -> impl Iterator<Item = (VariantId, &'a Variant)> {
        (self.first..).map(VariantId::from_index).zip(self.all)
    }

    /// Whether some may be for more than the limit itself: with one variant there is but its own.
    pub(crate) const fn has_wider(self) -> bool {
        self.all.len() > 1
    }

    /// The variant for a tier, or the limit's own.
    pub(crate) fn find(self, tier: Option<&str>, budget: VariantKind) -> Option<VariantId> {
        // Most limits have but one.
        if let [Variant { tier: None, budget: only, .. }] = self.all {
            return (*only == budget).then(|| VariantId::from_index(self.first));
        }
        let mut own = None;
        for (id, variant) in self.iter().filter(|(_, variant)| variant.budget == budget) {
            match &variant.tier {
                None => own = own.or(Some(id)),
                Some(name) if Some(name.as_str()) == tier => return Some(id),
                Some(_) => {}
            }
        }
        own
    }
}

/// Numbers all of them.
pub(crate) fn build(
    limits: &[PolicyLimit],
    settings: &Settings,
    findings: &mut Findings,
) -> Option<Variants> {
    let mut variants = Variants::default();
    for (limit, of) in LimitId::number(limits) {
        variants.first.push(VariantId::from_index(variants.all.len()));
        let by_address = of.key.chain.iter().flatten().any(|identity| *identity == Identity::Address);
        let by_address = by_address || of.key.missing == crate::model::MissingKeyRule::Address;
        let wide = settings.prefixes.ipv6_wide().map(|_| settings.wide_multiple);
        let budgets = [
            (VariantKind::Own, Some(1)),
            (VariantKind::AddressCeiling, of.address_ceiling),
            (VariantKind::WideAddress, wide.filter(|_| by_address)),
            (
                VariantKind::WideCeiling,
                of.address_ceiling.zip(wide).map(|(ceiling, wide)| ceiling.saturating_mul(wide)),
            ),
        ];
        let tiers = of.tiers.iter().map(|tier| (Some(tier.tier.clone()), &tier.numbers, tier.place));
        for (tier, numbers, place) in std::iter::once((None, &of.numbers, of.place)).chain(tiers) {
            for (budget, multiple) in budgets {
                let Some(multiple) = multiple else { continue };
                // How much a service can do is no multiple of anything.
                if budget != VariantKind::Own && matches!(numbers, Numbers::Adaptive { .. }) {
                    continue;
                }
                match for_budget(numbers, (budget, multiple), settings) {
                    Ok(numbers) => variants.all.push(Variant { limit, tier: tier.clone(), budget, numbers }),
                    Err(error) => {
                        let message = too_many_times(multiple, error);
                        findings.push(Diagnostic::error("numbers", place, message).help(match budget {
                            VariantKind::Own | VariantKind::AddressCeiling => "take a smaller multiple",
                            VariantKind::WideAddress | VariantKind::WideCeiling => {
                                "give `addresses` a smaller `ipv6_wide_multiple`"
                            }
                        }));
                    }
                }
            }
        }
    }
    Some(variants)
}

/// What is said of a limit of which so many times cannot be counted.
fn too_many_times(multiple: u64, error: LimitError) -> String {
    if let LimitError::LimitTooLarge { algorithm, asked, nearest } = error {
        let name = algorithm.name();
        return format!("{multiple} times this limit is {asked}, and {name} counts up to {nearest}");
    }
    let error = NumbersError::OutOfRange { field: "limit", error };
    format!("{multiple} times this limit cannot be kept: {error}")
}

/// The numbers of a budget that is so many times a limit.
pub(crate) fn for_budget(
    numbers: &Numbers,
    (budget, multiple): (VariantKind, u64),
    settings: &Settings,
) -> Result<Numbers, LimitError> {
    match budget {
        VariantKind::WideAddress | VariantKind::WideCeiling if settings.wide_implied => {
            Ok(about(numbers, multiple))
        }
        VariantKind::Own
        | VariantKind::AddressCeiling
        | VariantKind::WideAddress
        | VariantKind::WideCeiling => scaled(numbers, multiple),
    }
}

/// As [`scaled`], for a multiple that nobody wrote: see [`Limit::times_at_most`].
fn about(numbers: &Numbers, multiple: u64) -> Numbers {
    if let Numbers::Counted(limit) = numbers {
        return Numbers::Counted(limit.times_at_most(multiple));
    }
    let halves = std::iter::successors(Some(multiple), |multiple| Some(multiple / 2)).take_while(|n| *n > 1);
    let mut halves = halves.filter_map(|multiple| scaled(numbers, multiple).ok());
    halves.next().unwrap_or(*numbers)
}

/// So many times the same limit.
fn scaled(numbers: &Numbers, multiple: u64) -> Result<Numbers, LimitError> {
    if multiple == 1 {
        return Ok(*numbers);
    }
    Ok(match numbers {
        Numbers::Unlimited => Numbers::Unlimited,
        Numbers::Counted(limit) => Numbers::Counted(limit.times(multiple)?),
        Numbers::Queue { quota, max_wait } => {
            Numbers::Queue { quota: quota.times(multiple)?, max_wait: *max_wait }
        }
        Numbers::Adaptive { .. } => *numbers,
        Numbers::Concurrency { limit, max_hold } => {
            Numbers::Concurrency { limit: limit.saturating_mul(multiple), max_hold: *max_hold }
        }
    })
}
