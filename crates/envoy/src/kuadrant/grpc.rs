//! The four methods as a gRPC service.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::{Grpc, NamedService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::bounds::MESSAGE_BYTES_MAX;
use crate::service::RateLimitService;

/// Kuadrant's service, on the limits of Envoy's.
#[derive(Clone)]
pub(crate) struct Kuadrant(pub(crate) RateLimitService);

impl NamedService for Kuadrant {
    const NAME: &'static str = "kuadrant.service.ratelimit.v1.RateLimitService";
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A method: a function of the service and a request.
struct Method<I, O>(RateLimitService, fn(RateLimitService, I) -> Boxed<Result<O, Status>>);

impl<I: 'static, O: Send + 'static> Service<Request<I>> for Method<I, O> {
    type Response = Response<O>;
    type Error = Status;
    type Future = Boxed<Result<Response<O>, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<I>) -> Self::Future {
        let answered = self.1(self.0.clone(), request.into_inner());
        Box::pin(async move { answered.await.map(Response::new) })
    }
}

impl Service<http::Request<Body>> for Kuadrant {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Boxed<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let service = self.0.clone();
        let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        Box::pin(async move {
            Ok(match method.as_str() {
                "CheckRateLimit" => {
                    let method = Method(service, |service, request| {
                        Box::pin(async move { service.check_only(&request).await })
                    });
                    unary(method, request).await
                }
                "Report" => {
                    let method = Method(service, |service, request| {
                        Box::pin(async move { service.report(&request).await })
                    });
                    unary(method, request).await
                }
                "Reserve" => {
                    let method = Method(service, |service, request| {
                        Box::pin(async move { service.reserve(&request).await })
                    });
                    unary(method, request).await
                }
                "Commit" => {
                    let method = Method(service, |service, request| {
                        Box::pin(async move { service.commit(&request).await })
                    });
                    unary(method, request).await
                }
                _ => Status::unimplemented("there is no such method").into_http(),
            })
        })
    }
}

async fn unary<I, O>(method: Method<I, O>, request: http::Request<Body>) -> http::Response<Body>
where
    I: prost::Message + Default + 'static,
    O: prost::Message + Default + 'static,
{
    let grpc = Grpc::new(ProstCodec::<O, I>::default());
    grpc.apply_max_message_size_config(Some(MESSAGE_BYTES_MAX), None).unary(method, request).await
}
