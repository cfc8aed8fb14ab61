//! The messages of Kuadrant's extension, written by hand: four small ones, in place of a generator.

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::google::protobuf::Duration;

/// Asks for a reservation.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ReserveRequest {
    #[prost(string, tag = "1")]
    pub(crate) domain: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) descriptors: Vec<RateLimitDescriptor>,
    #[prost(uint64, tag = "3")]
    pub(crate) amount: u64,
    #[prost(message, optional, tag = "4")]
    pub(crate) ttl: Option<Duration>,
}

/// A reservation, or none.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ReserveResponse {
    /// The code of a rate limit response.
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) reservation_id: String,
}

/// Ends a reservation.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CommitRequest {
    #[prost(string, tag = "1")]
    pub(crate) domain: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) descriptors: Vec<RateLimitDescriptor>,
    #[prost(string, tag = "3")]
    pub(crate) reservation_id: String,
    #[prost(uint64, tag = "4")]
    pub(crate) actual_amount: u64,
}

/// It has ended.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CommitResponse {}
