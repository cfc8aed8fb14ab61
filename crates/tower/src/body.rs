//! The body of a response: the service's, or that of an error response. Unbuffered.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// The body of a response: the service's own, or that of an error response.
    #[derive(Debug)]
    pub struct ResponseBody<R> {
        #[pin]
        kind: Kind<R>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = KindProjected]
    enum Kind<R> {
        Inner { #[pin] body: R },
        Answer { bytes: Option<Bytes> },
    }
}

impl<R> ResponseBody<R> {
    pub(crate) const fn inner(body: R) -> Self {
        Self { kind: Kind::Inner { body } }
    }

    pub(crate) fn answer(bytes: Bytes) -> Self {
        Self { kind: Kind::Answer { bytes: Some(bytes).filter(|bytes| !bytes.is_empty()) } }
    }
}

impl<R> Body for ResponseBody<R>
where
    R: Body,
    R::Data: From<Bytes>,
{
    type Data = R::Data;
    type Error = R::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<R::Data>, R::Error>>> {
        match self.project().kind.project() {
            KindProjected::Inner { body } => body.poll_frame(context),
            KindProjected::Answer { bytes } => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(R::Data::from(bytes)))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Inner { body } => body.is_end_stream(),
            Kind::Answer { bytes } => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Inner { body } => body.size_hint(),
            Kind::Answer { bytes } => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
        }
    }
}
