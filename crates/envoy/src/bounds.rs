//! The bounds of requests. What is beyond them is an error of the call (`INVALID_ARGUMENT`), and charges nothing.

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use tonic::Status;

/// Most descriptors of one request: as many hits as the limiter charges together. More are an error.
pub const DESCRIPTORS_MAX: usize = tollgate::HITS_MAX;
/// Most entries of one descriptor. More are an error.
pub const ENTRIES_MAX: usize = 32;
/// Most bytes of the keys and values of one descriptor together. More are an error: they are the key of a limit.
pub const DESCRIPTOR_BYTES_MAX: usize = 16 << 10;
/// Most bytes of a domain. A longer one is an error.
pub const DOMAIN_BYTES_MAX: usize = 4 << 10;
/// Most bytes of a message. A larger one is an error before it is decoded, with the status `OUT_OF_RANGE`.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Checks the domain and the descriptors of a request.
pub(crate) fn check(domain: &str, descriptors: &[RateLimitDescriptor]) -> Result<(), Status> {
    let wrong = |what: String| Err(Status::invalid_argument(what));
    if domain.is_empty() {
        return wrong("the domain is empty: set `domain` in Envoy's rate limit filter".into());
    }
    if domain.len() > DOMAIN_BYTES_MAX {
        let length = domain.len();
        return wrong(format!("the domain has {length} bytes, and may have at most {DOMAIN_BYTES_MAX}"));
    }
    if descriptors.is_empty() {
        return wrong("there are no descriptors: a route's rate limit has at least one action".into());
    }
    if descriptors.len() > DESCRIPTORS_MAX {
        let count = descriptors.len();
        return wrong(format!(
            "there are {count} descriptors, and may be at most {DESCRIPTORS_MAX}: send several requests"
        ));
    }
    for (number, descriptor) in descriptors.iter().enumerate() {
        let entries = descriptor.entries.len();
        if entries == 0 {
            return wrong(format!("descriptor {number} has no entries"));
        }
        if entries > ENTRIES_MAX {
            return wrong(format!(
                "descriptor {number} has {entries} entries, and may have at most {ENTRIES_MAX}"
            ));
        }
        let lengths =
            descriptor.entries.iter().map(|entry| entry.key.len().saturating_add(entry.value.len()));
        let bytes = lengths.fold(0_usize, usize::saturating_add);
        if bytes > DESCRIPTOR_BYTES_MAX {
            return wrong(format!(
                "descriptor {number} has {bytes} bytes of keys and values, and may have at most {DESCRIPTOR_BYTES_MAX}: \
                 hash long values, or leave them out"
            ));
        }
        if descriptor.entries.iter().any(|entry| entry.key.is_empty()) {
            return wrong(format!("descriptor {number} has an entry with an empty key"));
        }
    }
    Ok(())
}
