//! The response future: awaits the store and the service, and returns the service's response with headers or an error response.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_service::Service;

use tollgate_engine::{Admission, CheckError, Outcome};

use crate::admitted::Admitted;
use crate::body::{RequestHold, ResponseBody};
use crate::layer::LayerState;
use crate::live::ActiveLimits;
use crate::service::{finish, proceed};

pin_project! {
    /// The response future of [`Tollgate`](crate::Tollgate).
    ///
    /// If it is dropped while it waits for a shared store, nothing is charged in this process, but a call that was sent may be charged
    /// in the store. If it is dropped later, the charges stay.
    pub struct ResponseFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        kind: Kind<S, B>,
    }
}

pin_project! {
    #[project = Projected]
    enum Kind<S, B>
    where
        S: Service<Request<B>>,
    {
        Checking { checking: Checking, next: Option<(S, B)> },
        Admitted { #[pin] future: S::Future, limits: Arc<ActiveLimits>, admitted: Admitted },
        Untold { #[pin] future: S::Future, limits: Arc<ActiveLimits>, admission: Admission },
        Answered { response: Option<Response<Bytes>> },
    }
}

/// The outcome of a check, with its enforcer.
type Checked = ((Arc<ActiveLimits>, Arc<LayerState>), Parts, Result<Outcome, CheckError>);

/// A check that waits for a store. Boxed, so that only such checks pay for the allocation.
type Checking = Pin<Box<dyn Future<Output = Checked> + Send>>;

impl<S, B> ResponseFuture<S, B>
where
    S: Service<Request<B>>,
{
    /// Waiting for a store. The service is ready; if it is not called in the end, it is dropped.
    pub(crate) fn checking(
        checking: impl Future<Output = Checked> + Send + 'static,
        service: S,
        body: B,
    ) -> Self {
        Self { kind: Kind::Checking { checking: Box::pin(checking), next: Some((service, body)) } }
    }

    pub(crate) const fn admitted(future: S::Future, limits: Arc<ActiveLimits>, admitted: Admitted) -> Self {
        Self { kind: Kind::Admitted { future, limits, admitted } }
    }

    /// The handler has no access to the admission.
    pub(crate) const fn untold(future: S::Future, limits: Arc<ActiveLimits>, admission: Admission) -> Self {
        Self { kind: Kind::Untold { future, limits, admission } }
    }

    pub(crate) const fn answered(response: Response<Bytes>) -> Self {
        Self { kind: Kind::Answered { response: Some(response) } }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Output = Result<Response<ResponseBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut kind = self.project().kind;
        if let Projected::Checking { checking, next } = kind.as_mut().project() {
            let ((limits, layer), parts, checked) = ready!(checking.as_mut().poll(context));
            let Some((mut service, body)) = next.take() else { return Poll::Pending };
            let then = proceed(&mut service, (limits, &layer), (parts, body), checked);
            kind.set(then.kind);
        }
        match kind.project() {
            Projected::Admitted { future, limits, admitted } => {
                let mut response = succeeded(ready!(future.poll(context)), admitted.admission())?;
                finish(limits, (admitted.admission(), Some(admitted)), &mut response);
                let held = RequestHold::permits(admitted.admission());
                Poll::Ready(Ok(response.map(|body| ResponseBody::inner(body, held))))
            }
            Projected::Untold { future, limits, admission } => {
                let mut response = succeeded(ready!(future.poll(context)), admission)?;
                finish(limits, (admission, None), &mut response);
                let held = RequestHold::permits(admission);
                Poll::Ready(Ok(response.map(|body| ResponseBody::inner(body, held))))
            }
            Projected::Answered { response } => match response.take() {
                Some(response) => Poll::Ready(Ok(response.map(ResponseBody::answer))),
                // Whoever asks again after the answer waits for ever, as futures may.
                None => Poll::Pending,
            },
            // It went on above.
            Projected::Checking { .. } => Poll::Pending,
        }
    }
}

/// Errors of the service say that it is overloaded.
fn succeeded<R, E>(result: Result<R, E>, admission: &Admission) -> Result<R, E> {
    if result.is_err() {
        admission.record(tollgate::adaptive::Outcome::Dropped);
    }
    result
}

impl<S, B> fmt::Debug for ResponseFuture<S, B>
where
    S: Service<Request<B>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Checking { .. } => "ResponseFuture(checking)",
            Kind::Admitted { .. } | Kind::Untold { .. } => "ResponseFuture(admitted)",
            Kind::Answered { .. } => "ResponseFuture(answered)",
        })
    }
}
