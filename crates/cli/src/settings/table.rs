//! Maps the path of each setting to its field.

use super::field::FieldSlot;
use super::partial::PartialSettings;

/// A path, and the place for its value.
pub(super) type Row = (&'static str, fn(&mut PartialSettings) -> FieldSlot<'_>);

/// Every setting, in the order of `Setting::all`.
pub(super) const TABLE: &[Row] = &[
    ("policy", |d| FieldSlot::MaybeText(&mut d.policy)),
    ("listen", |d| FieldSlot::Addresses(&mut d.settings.listen)),
    ("upstream.url", |d| FieldSlot::Origin(&mut d.url)),
    ("upstream.protocol", |d| FieldSlot::Protocol(&mut d.settings.upstream.protocol)),
    ("upstream.ca", |d| FieldSlot::MaybeText(&mut d.settings.upstream.ca)),
    ("upstream.idle_max", |d| FieldSlot::Count(&mut d.settings.upstream.idle_max)),
    ("upstream.lookup", |d| FieldSlot::MaybeTime(&mut d.settings.upstream.lookup)),
    ("grpc.listen", |d| FieldSlot::MaybeAddress(&mut d.settings.grpc.listen)),
    ("grpc.tokens", |d| FieldSlot::MaybeText(&mut d.settings.grpc.tokens)),
    ("grpc.certificate", |d| FieldSlot::MaybeText(&mut d.settings.grpc.certificate)),
    ("grpc.key", |d| FieldSlot::MaybeText(&mut d.settings.grpc.key)),
    ("grpc.client_ca", |d| FieldSlot::MaybeText(&mut d.settings.grpc.client_ca)),
    ("grpc.public", |d| FieldSlot::Flag(&mut d.settings.grpc.is_public)),
    ("grpc.connections", |d| FieldSlot::Count(&mut d.settings.grpc.connections)),
    ("resp.listen", |d| FieldSlot::MaybeAddress(&mut d.settings.resp.listen)),
    ("resp.tokens", |d| FieldSlot::MaybeText(&mut d.settings.resp.tokens)),
    ("resp.certificate", |d| FieldSlot::MaybeText(&mut d.settings.resp.certificate)),
    ("resp.key", |d| FieldSlot::MaybeText(&mut d.settings.resp.key)),
    ("resp.client_ca", |d| FieldSlot::MaybeText(&mut d.settings.resp.client_ca)),
    ("resp.public", |d| FieldSlot::Flag(&mut d.settings.resp.is_public)),
    ("resp.connections", |d| FieldSlot::Count(&mut d.settings.resp.connections)),
    ("api.listen", |d| FieldSlot::MaybeAddress(&mut d.settings.api.listen)),
    ("api.tokens", |d| FieldSlot::MaybeText(&mut d.settings.api.tokens)),
    ("api.certificate", |d| FieldSlot::MaybeText(&mut d.settings.api.certificate)),
    ("api.key", |d| FieldSlot::MaybeText(&mut d.settings.api.key)),
    ("api.client_ca", |d| FieldSlot::MaybeText(&mut d.settings.api.client_ca)),
    ("api.public", |d| FieldSlot::Flag(&mut d.settings.api.is_public)),
    ("api.connections", |d| FieldSlot::Count(&mut d.settings.api.connections)),
    ("tls.certificate", |d| FieldSlot::MaybeText(&mut d.certificate)),
    ("tls.key", |d| FieldSlot::MaybeText(&mut d.key)),
    ("operations.listen", |d| FieldSlot::MaybeAddress(&mut d.settings.operations)),
    ("readiness", |d| FieldSlot::Readiness(&mut d.settings.readiness)),
    ("workers", |d| FieldSlot::MaybeCount(&mut d.settings.workers)),
    ("memory", |d| FieldSlot::Bytes(&mut d.settings.memory)),
    ("store.url", |d| FieldSlot::Store(&mut d.settings.store.url)),
    ("store.namespace", |d| FieldSlot::MaybeText(&mut d.settings.store.namespace)),
    ("store.budget", |d| FieldSlot::Time(&mut d.settings.store.budget)),
    ("store.secret", |d| FieldSlot::MaybeText(&mut d.settings.store.secret)),
    ("store.password", |d| FieldSlot::MaybeText(&mut d.settings.store.password)),
    ("store.ca", |d| FieldSlot::MaybeText(&mut d.settings.store.ca)),
    ("store.certificate", |d| FieldSlot::MaybeText(&mut d.settings.store.certificate)),
    ("store.key", |d| FieldSlot::MaybeText(&mut d.settings.store.key)),
    ("store.connections", |d| FieldSlot::Count(&mut d.settings.store.connections)),
    ("store.in_flight", |d| FieldSlot::Count(&mut d.settings.store.in_flight)),
    ("answers.fields", |d| FieldSlot::Fields(&mut d.settings.answers.generations)),
    ("answers.reset", |d| FieldSlot::Reset(&mut d.settings.answers.reset)),
    ("answers.retry_jitter", |d| FieldSlot::Jitter(&mut d.settings.answers.retry_jitter)),
    ("answers.partition_key", |d| FieldSlot::Flag(&mut d.settings.answers.partition_key)),
    ("answers.degraded", |d| FieldSlot::Flag(&mut d.settings.answers.degraded)),
    ("timeouts.header", |d| FieldSlot::Time(&mut d.settings.timeouts.header)),
    ("timeouts.idle", |d| FieldSlot::Time(&mut d.settings.timeouts.idle)),
    ("timeouts.body", |d| FieldSlot::Time(&mut d.settings.timeouts.body)),
    ("timeouts.write", |d| FieldSlot::Time(&mut d.settings.timeouts.write)),
    ("timeouts.connect", |d| FieldSlot::Time(&mut d.settings.timeouts.connect)),
    ("timeouts.response", |d| FieldSlot::Time(&mut d.settings.timeouts.response)),
    ("timeouts.response_body", |d| FieldSlot::Time(&mut d.settings.timeouts.response_body)),
    ("timeouts.total", |d| FieldSlot::MaybeTime(&mut d.settings.timeouts.total)),
    ("timeouts.upstream_idle", |d| FieldSlot::Time(&mut d.settings.timeouts.upstream_idle)),
    ("timeouts.drain", |d| FieldSlot::Time(&mut d.settings.timeouts.drain)),
    ("bounds.connections", |d| FieldSlot::Count(&mut d.settings.bounds.connections)),
    ("bounds.connections_per_address", |d| {
        FieldSlot::MaybeCount(&mut d.settings.bounds.connections_per_address)
    }),
    ("bounds.head_bytes", |d| FieldSlot::Bytes(&mut d.settings.bounds.head_bytes)),
    ("bounds.header_fields", |d| FieldSlot::Count(&mut d.settings.bounds.header_fields)),
    ("bounds.streams", |d| FieldSlot::ShortCount(&mut d.settings.bounds.streams)),
    ("bounds.resets", |d| FieldSlot::Count(&mut d.settings.bounds.resets)),
    ("bounds.body_bytes", |d| FieldSlot::MaybeBytes(&mut d.settings.bounds.body_bytes)),
    ("bounds.body_rate", |d| FieldSlot::MaybeBytes(&mut d.settings.bounds.body_rate)),
    ("forwarding.keep_host", |d| FieldSlot::Flag(&mut d.settings.forwarding.keep_host)),
    ("forwarding.method_override", |d| FieldSlot::Flag(&mut d.settings.forwarding.method_override)),
    ("forwarding.via", |d| FieldSlot::Text(&mut d.settings.forwarding.via)),
    ("log.format", |d| FieldSlot::Format(&mut d.settings.log.json)),
    ("log.requests", |d| FieldSlot::Flag(&mut d.settings.log.requests)),
    ("log.refusals_per_second", |d| FieldSlot::ShortCount(&mut d.settings.log.refusals_per_second)),
    ("reload.poll", |d| FieldSlot::MaybeTime(&mut d.settings.reload_poll)),
];

/// The place of a setting.
pub(super) fn slot<'d>(path: &str, draft: &'d mut PartialSettings) -> Option<FieldSlot<'d>> {
    TABLE.iter().find(|(known, _)| *known == path).map(|(_, slot)| slot(draft))
}
