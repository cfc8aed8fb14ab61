//! Maps the path of each setting to its field.

use super::field::Slot;
use super::partial::Draft;

/// A path, and the place for its value.
pub(super) type Row = (&'static str, fn(&mut Draft) -> Slot<'_>);

/// Every setting, in the order of `Setting::all`.
pub(super) const TABLE: &[Row] = &[
    ("policy", |d| Slot::MaybeText(&mut d.policy)),
    ("listen", |d| Slot::Addresses(&mut d.settings.listen)),
    ("upstream.url", |d| Slot::Origin(&mut d.url)),
    ("upstream.protocol", |d| Slot::Protocol(&mut d.settings.upstream.protocol)),
    ("upstream.ca", |d| Slot::MaybeText(&mut d.settings.upstream.ca)),
    ("upstream.idle_max", |d| Slot::Count(&mut d.settings.upstream.idle_max)),
    ("upstream.lookup", |d| Slot::MaybeTime(&mut d.settings.upstream.lookup)),
    ("upstream.adaptive", |d| Slot::Method(&mut d.settings.upstream.adaptive.method)),
    ("upstream.adaptive_target", |d| Slot::MaybeTime(&mut d.settings.upstream.adaptive.target)),
    ("upstream.adaptive_min", |d| Slot::ShortCount(&mut d.settings.upstream.adaptive.min)),
    ("upstream.adaptive_max", |d| Slot::ShortCount(&mut d.settings.upstream.adaptive.max)),
    ("upstream.adaptive_initial", |d| Slot::ShortCount(&mut d.settings.upstream.adaptive.initial)),
    ("tls.certificate", |d| Slot::MaybeText(&mut d.certificate)),
    ("tls.key", |d| Slot::MaybeText(&mut d.key)),
    ("operations.listen", |d| Slot::MaybeAddress(&mut d.settings.operations)),
    ("readiness", |d| Slot::Readiness(&mut d.settings.readiness)),
    ("workers", |d| Slot::MaybeCount(&mut d.settings.workers)),
    ("memory", |d| Slot::Bytes(&mut d.settings.memory)),
    ("store.url", |d| Slot::Store(&mut d.settings.store.url)),
    ("store.namespace", |d| Slot::MaybeText(&mut d.settings.store.namespace)),
    ("store.budget", |d| Slot::Time(&mut d.settings.store.budget)),
    ("store.secret", |d| Slot::MaybeText(&mut d.settings.store.secret)),
    ("store.password", |d| Slot::MaybeText(&mut d.settings.store.password)),
    ("store.ca", |d| Slot::MaybeText(&mut d.settings.store.ca)),
    ("store.certificate", |d| Slot::MaybeText(&mut d.settings.store.certificate)),
    ("store.key", |d| Slot::MaybeText(&mut d.settings.store.key)),
    ("store.connections", |d| Slot::Count(&mut d.settings.store.connections)),
    ("store.in_flight", |d| Slot::Count(&mut d.settings.store.in_flight)),
    ("answers.fields", |d| Slot::Fields(&mut d.settings.answers.generations)),
    ("answers.reset", |d| Slot::Reset(&mut d.settings.answers.reset)),
    ("answers.retry_jitter", |d| Slot::Jitter(&mut d.settings.answers.retry_jitter)),
    ("answers.partition_key", |d| Slot::Flag(&mut d.settings.answers.partition_key)),
    ("answers.degraded", |d| Slot::Flag(&mut d.settings.answers.degraded)),
    ("timeouts.header", |d| Slot::Time(&mut d.settings.timeouts.header)),
    ("timeouts.idle", |d| Slot::Time(&mut d.settings.timeouts.idle)),
    ("timeouts.body", |d| Slot::Time(&mut d.settings.timeouts.body)),
    ("timeouts.write", |d| Slot::Time(&mut d.settings.timeouts.write)),
    ("timeouts.connect", |d| Slot::Time(&mut d.settings.timeouts.connect)),
    ("timeouts.response", |d| Slot::Time(&mut d.settings.timeouts.response)),
    ("timeouts.response_body", |d| Slot::Time(&mut d.settings.timeouts.response_body)),
    ("timeouts.total", |d| Slot::MaybeTime(&mut d.settings.timeouts.total)),
    ("timeouts.upstream_idle", |d| Slot::Time(&mut d.settings.timeouts.upstream_idle)),
    ("timeouts.drain", |d| Slot::Time(&mut d.settings.timeouts.drain)),
    ("bounds.connections", |d| Slot::Count(&mut d.settings.bounds.connections)),
    ("bounds.connections_per_address", |d| Slot::MaybeCount(&mut d.settings.bounds.connections_per_address)),
    ("bounds.head_bytes", |d| Slot::Bytes(&mut d.settings.bounds.head_bytes)),
    ("bounds.header_fields", |d| Slot::Count(&mut d.settings.bounds.header_fields)),
    ("bounds.streams", |d| Slot::ShortCount(&mut d.settings.bounds.streams)),
    ("bounds.resets", |d| Slot::Count(&mut d.settings.bounds.resets)),
    ("bounds.body_bytes", |d| Slot::MaybeBytes(&mut d.settings.bounds.body_bytes)),
    ("bounds.body_rate", |d| Slot::MaybeBytes(&mut d.settings.bounds.body_rate)),
    ("forwarding.keep_host", |d| Slot::Flag(&mut d.settings.forwarding.keep_host)),
    ("forwarding.method_override", |d| Slot::Flag(&mut d.settings.forwarding.method_override)),
    ("forwarding.via", |d| Slot::Text(&mut d.settings.forwarding.via)),
    ("log.format", |d| Slot::Format(&mut d.settings.log.json)),
    ("log.requests", |d| Slot::Flag(&mut d.settings.log.requests)),
    ("log.refusals_per_second", |d| Slot::ShortCount(&mut d.settings.log.refusals_per_second)),
    ("reload.poll", |d| Slot::MaybeTime(&mut d.settings.reload_poll)),
];

/// The place of a setting.
pub(super) fn slot<'d>(path: &str, draft: &'d mut Draft) -> Option<Slot<'d>> {
    TABLE.iter().find(|(known, _)| *known == path).map(|(_, slot)| slot(draft))
}
