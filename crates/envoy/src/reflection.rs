//! Server reflection, so that clients such as grpcurl can list and call the services. The descriptors have what the service reads and
//! writes; fields that it ignores are left out.

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto, ServiceDescriptorProto,
};
use tonic::service::Routes;
use tonic_reflection::server::Builder;

/// A field: its name, number, and type; a type that begins with a dot is a message.
type Field = (&'static str, i32, &'static str);

const RLS: &str = "envoy.service.ratelimit.v3";
const COMMON: &str = "envoy.extensions.common.ratelimit.v3";

/// Adds the services of reflection, in both versions.
pub(crate) fn add(routes: Routes) -> Routes {
    let builder = || {
        let set = FileDescriptorSet { file: files() };
        Builder::configure()
            .register_file_descriptor_set(set)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    match (builder().build_v1(), builder().build_v1alpha()) {
        (Ok(v1), Ok(v1alpha)) => routes.add_service(v1).add_service(v1alpha),
        // A test excludes it. The service itself does not need them.
        _ => routes,
    }
}

fn files() -> Vec<FileDescriptorProto> {
    let google = |name: &str, messages| {
        file(&format!("google/protobuf/{name}.proto"), "google.protobuf", &[], messages)
    };
    let entry = message("Entry", &[("key", 1, "string"), ("value", 2, "string")]);
    let numbers = message("RateLimitOverride", &[("requests_per_unit", 1, "uint32"), ("unit", 2, "uint32")]);
    let mut descriptor = message(
        "RateLimitDescriptor",
        &[
            ("entries", 1, "*.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry"),
            ("limit", 2, ".envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride"),
            ("hits_addend", 3, ".google.protobuf.UInt64Value"),
            ("is_negative_hits", 4, "bool"),
        ],
    );
    descriptor.nested_type = vec![entry, numbers];
    let common = "envoy/extensions/common/ratelimit/v3/ratelimit.proto";
    vec![
        google("wrappers", vec![message("UInt64Value", &[("value", 1, "uint64")])]),
        google("duration", vec![message("Duration", &[("seconds", 1, "int64"), ("nanos", 2, "int32")])]),
        file(
            "envoy/config/core/v3/base.proto",
            "envoy.config.core.v3",
            &[],
            vec![message("HeaderValue", &[("key", 1, "string"), ("value", 2, "string")])],
        ),
        file(common, COMMON, &["google/protobuf/wrappers.proto"], vec![descriptor]),
        service(common),
    ]
}

fn service(common: &str) -> FileDescriptorProto {
    let request = message(
        "RateLimitRequest",
        &[
            ("domain", 1, "string"),
            ("descriptors", 2, "*.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor"),
            ("hits_addend", 3, "uint32"),
        ],
    );
    let limit = message(
        "RateLimit",
        &[("requests_per_unit", 1, "uint32"), ("unit", 2, "uint32"), ("name", 3, "string")],
    );
    let status = message(
        "DescriptorStatus",
        &[
            ("code", 1, "=.envoy.service.ratelimit.v3.RateLimitResponse.Code"),
            ("current_limit", 2, ".envoy.service.ratelimit.v3.RateLimitResponse.RateLimit"),
            ("limit_remaining", 3, "uint32"),
            ("duration_until_reset", 4, ".google.protobuf.Duration"),
        ],
    );
    let mut response = message(
        "RateLimitResponse",
        &[
            ("overall_code", 1, "=.envoy.service.ratelimit.v3.RateLimitResponse.Code"),
            ("statuses", 2, "*.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus"),
            ("response_headers_to_add", 3, "*.envoy.config.core.v3.HeaderValue"),
        ],
    );
    response.nested_type = vec![limit, status];
    let codes = ["UNKNOWN", "OK", "OVER_LIMIT"].into_iter().zip(0..);
    let codes = codes.map(|(name, number)| EnumValueDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        options: None,
    });
    response.enum_type =
        vec![EnumDescriptorProto { name: Some("Code".into()), value: codes.collect(), ..Default::default() }];
    let method = MethodDescriptorProto {
        name: Some("ShouldRateLimit".into()),
        input_type: Some(format!(".{RLS}.RateLimitRequest")),
        output_type: Some(format!(".{RLS}.RateLimitResponse")),
        ..Default::default()
    };
    let service =
        ServiceDescriptorProto { name: Some("RateLimitService".into()), method: vec![method], options: None };
    let needs = ["google/protobuf/duration.proto", "envoy/config/core/v3/base.proto", common];
    let mut file = file("envoy/service/ratelimit/v3/rls.proto", RLS, &needs, vec![request, response]);
    file.service = vec![service];
    file
}

fn file(name: &str, package: &str, needs: &[&str], messages: Vec<DescriptorProto>) -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some(name.into()),
        package: Some(package.into()),
        dependency: needs.iter().map(|need| (*need).into()).collect(),
        message_type: messages,
        syntax: Some("proto3".into()),
        ..Default::default()
    }
}

fn message(name: &str, fields: &[Field]) -> DescriptorProto {
    let fields = fields.iter().map(|field| self::field(*field)).collect();
    DescriptorProto { name: Some(name.into()), field: fields, ..Default::default() }
}

/// A type after `*` is repeated, and one after `=` an enum.
fn field((name, number, kind): Field) -> FieldDescriptorProto {
    let (label, kind) = match kind.strip_prefix('*') {
        Some(kind) => (Label::Repeated, kind),
        None => (Label::Optional, kind),
    };
    let (kind, type_name) = match kind {
        "string" => (Type::String, None),
        "bool" => (Type::Bool, None),
        "uint32" => (Type::Uint32, None),
        "uint64" => (Type::Uint64, None),
        "int32" => (Type::Int32, None),
        "int64" => (Type::Int64, None),
        kind => match kind.strip_prefix('=') {
            Some(name) => (Type::Enum, Some(name.into())),
            None => (Type::Message, Some(kind.into())),
        },
    };
    FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        label: Some(label.into()),
        r#type: Some(kind.into()),
        type_name,
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptors_are_whole() {
        let builder =
            || Builder::configure().register_file_descriptor_set(FileDescriptorSet { file: files() });
        assert!(builder().build_v1().is_ok() && builder().build_v1alpha().is_ok());
    }
}
