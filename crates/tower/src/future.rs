//! What a call gives in the end: the service's response with fields, or an answer. It only waits, for a store and the service.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::request::Parts;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::admitted::Admitted;
use crate::asked::Answer;
use crate::body::ResponseBody;
use crate::front::{Admission, Front};
use crate::layer::Settings;

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
        Asking { asking: Asking, next: Option<(S, B)> },
        Admitted { #[pin] future: S::Future, admitted: Admitted },
        Untold { #[pin] future: S::Future, front: Front, admission: Admission },
        Answered { answer: Option<Box<Answer>> },
    }
}

/// What was asked, and what came of it.
type Asked = ((Front, Settings), Parts, Result<Admission, Box<Answer>>);

/// A shared store that is asked. In a box, which only those pay for who wait.
type Asking = Pin<Box<dyn Future<Output = Asked> + Send>>;

impl<S, B> ResponseFuture<S, B>
where
    S: Service<Request<B>>,
{
    /// A store is asked first. The service is one that is ready; if it is not called in the end, it is dropped.
    pub(crate) fn asking(asking: impl Future<Output = Asked> + Send + 'static, service: S, body: B) -> Self {
        Self { kind: Kind::Asking { asking: Box::pin(asking), next: Some((service, body)) } }
    }

    pub(crate) const fn admitted(future: S::Future, admitted: Admitted) -> Self {
        Self { kind: Kind::Admitted { future, admitted } }
    }

    /// The handler knows nothing of what the request was charged.
    pub(crate) const fn untold(future: S::Future, front: Front, admission: Admission) -> Self {
        Self { kind: Kind::Untold { future, front, admission } }
    }

    pub(crate) const fn answered(answer: Box<Answer>) -> Self {
        Self { kind: Kind::Answered { answer: Some(answer) } }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Output = Result<Response<ResponseBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut kind = self.project().kind;
        if let Projected::Asking { asking, next } = kind.as_mut().project() {
            let ((front, settings), parts, asked) = ready!(asking.as_mut().poll(context));
            let Some((mut service, body)) = next.take() else { return Poll::Pending };
            let then = crate::service::went_on(&mut service, (&front, settings), (parts, body), asked);
            kind.set(then.kind);
        }
        match kind.project() {
            Projected::Admitted { future, admitted } => {
                let mut response = ready!(future.poll(context))?;
                admitted.responded(response.status(), response.headers_mut());
                Poll::Ready(Ok(response.map(ResponseBody::inner)))
            }
            Projected::Untold { future, front, admission } => {
                let mut response = ready!(future.poll(context))?;
                admission.responded(front, response.status(), response.headers_mut());
                Poll::Ready(Ok(response.map(ResponseBody::inner)))
            }
            Projected::Answered { answer } => match answer.take() {
                Some(answer) => Poll::Ready(Ok(answer.into_response_with(ResponseBody::answer))),
                // Whoever asks again after the answer waits for ever, as futures may.
                None => Poll::Pending,
            },
            // It went on above.
            Projected::Asking { .. } => Poll::Pending,
        }
    }
}

impl<S, B> fmt::Debug for ResponseFuture<S, B>
where
    S: Service<Request<B>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Asking { .. } => "ResponseFuture(asking)",
            Kind::Admitted { .. } | Kind::Untold { .. } => "ResponseFuture(admitted)",
            Kind::Answered { .. } => "ResponseFuture(answered)",
        })
    }
}
