//! What a call gives in the end: the service's response with fields, or an answer. It only waits for the service.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;

use crate::admitted::Admitted;
use crate::asked::Answer;
use crate::body::ResponseBody;
use crate::fields::Fields;

pin_project! {
    /// The response that is to come, of [`Tollgate`](crate::Tollgate).
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        kind: Kind<F>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = Projected]
    enum Kind<F> {
        Admitted { #[pin] future: F, admitted: Admitted, fields: Option<Fields> },
        Answered { answer: Option<Box<Answer>> },
    }
}

impl<F> ResponseFuture<F> {
    pub(crate) const fn admitted(future: F, admitted: Admitted, fields: Fields) -> Self {
        Self { kind: Kind::Admitted { future, admitted, fields: Some(fields) } }
    }

    pub(crate) const fn answered(answer: Box<Answer>) -> Self {
        Self { kind: Kind::Answered { answer: Some(answer) } }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<ResponseBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().kind.project() {
            Projected::Admitted { future, admitted, fields } => {
                let mut response = ready!(future.poll(context))?;
                let status = response.status();
                admitted.responded(status, response.headers_mut());
                if let Some(fields) = fields.take() {
                    fields.write(response.headers_mut());
                }
                Poll::Ready(Ok(response.map(ResponseBody::inner)))
            }
            Projected::Answered { answer } => match answer.take() {
                Some(answer) => Poll::Ready(Ok(answer.into_response_with(ResponseBody::answer))),
                // Whoever asks again after the answer waits for ever, as futures may.
                None => Poll::Pending,
            },
        }
    }
}
