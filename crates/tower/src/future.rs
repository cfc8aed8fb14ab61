//! What a call gives in the end: the service's response with fields, or an answer. It only waits, for a store and the service.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::request::Parts;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_service::Service;

use tollgate_engine::{Admission, CheckError, Outcome};

use crate::admitted::Admitted;
use crate::body::{Held, ResponseBody};
use crate::layer::Settings;
use crate::live::ActiveLimits;
use crate::response::error_response::ErrorResponse;

pin_project! {
    /// The response that is to come, of [`Tollgate`](crate::Tollgate).
    ///
    /// Dropped while a shared store is asked, it has charged nothing in this process; what the store was sent may be charged
    /// there. Dropped later, what the request cost stays charged.
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
        Answered { response: Option<ErrorResponse> },
    }
}

/// What was checked, and what came of it.
type Checked = ((Arc<ActiveLimits>, Settings), Parts, Result<Outcome, CheckError>);

/// A check that waits for a store. In a box, which only such checks pay for.
type Checking = Pin<Box<dyn Future<Output = Checked> + Send>>;

impl<S, B> ResponseFuture<S, B>
where
    S: Service<Request<B>>,
{
    /// A store is asked first. The service is one that is ready; if it is not called in the end, it is dropped.
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

    /// The handler knows nothing of what the request was charged.
    pub(crate) const fn untold(future: S::Future, limits: Arc<ActiveLimits>, admission: Admission) -> Self {
        Self { kind: Kind::Untold { future, limits, admission } }
    }

    pub(crate) const fn answered(response: ErrorResponse) -> Self {
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
            let (limits, parts, checked) = ready!(checking.as_mut().poll(context));
            let Some((mut service, body)) = next.take() else { return Poll::Pending };
            let then = crate::service::proceed(&mut service, limits, (parts, body), checked);
            kind.set(then.kind);
        }
        match kind.project() {
            Projected::Admitted { future, limits, admitted } => {
                let mut response = ready!(future.poll(context))?;
                let status = response.status();
                limits.responses.finish(admitted.admission(), status, response.headers_mut());
                let holds = !admitted.admission().permits().is_empty();
                let held = holds.then(|| Held::Admitted(admitted.clone()));
                Poll::Ready(Ok(response.map(|body| ResponseBody::inner(body, held))))
            }
            Projected::Untold { future, limits, admission } => {
                let mut response = ready!(future.poll(context))?;
                let status = response.status();
                limits.responses.finish(admission, status, response.headers_mut());
                let permits = admission.take_permits();
                let held = (!permits.is_empty()).then_some(Held::Permits(permits));
                Poll::Ready(Ok(response.map(|body| ResponseBody::inner(body, held))))
            }
            Projected::Answered { response } => match response.take() {
                Some(response) => Poll::Ready(Ok(response.into_response_with(ResponseBody::answer))),
                // Whoever asks again after the answer waits for ever, as futures may.
                None => Poll::Pending,
            },
            // It went on above.
            Projected::Checking { .. } => Poll::Pending,
        }
    }
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
