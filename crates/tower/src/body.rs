//! The body of a response: the service's, or that of an error response. Unbuffered.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tollgate::Pass;
use tollgate::adaptive::AdaptivePermit;
use tollgate_engine::{Admission, Permits};

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
        Inner { #[pin] body: R, held: Option<RequestHold> },
        Answer { bytes: Option<Bytes> },
    }
}

/// What a request holds until its response has ended.
#[derive(Debug)]
#[expect(dead_code, reason = "it is held, and never looked at")]
pub(crate) enum RequestHold {
    /// The permits of an admission.
    Permits(Permits),
    /// A permit of an adaptive limit.
    Adaptive(AdaptivePermit),
    /// The pass of a paced request.
    Pass(Pass),
}

impl RequestHold {
    /// The permits of an admission, if it has any.
    pub(crate) fn permits(admission: &Admission) -> Option<Self> {
        let permits = admission.take_permits();
        (!permits.is_empty()).then_some(Self::Permits(permits))
    }
}

impl<R> ResponseBody<R> {
    /// A service's body. What is held is let go of when it ends, breaks off or is dropped.
    pub(crate) const fn inner(body: R, held: Option<RequestHold>) -> Self {
        Self { kind: Kind::Inner { body, held } }
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
            KindProjected::Inner { body, held } => {
                let polled = body.poll_frame(context);
                if let Poll::Ready(None | Some(Err(_))) = polled {
                    *held = None;
                }
                polled
            }
            KindProjected::Answer { bytes } => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(R::Data::from(bytes)))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Inner { body, .. } => body.is_end_stream(),
            Kind::Answer { bytes } => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Inner { body, .. } => body.size_hint(),
            Kind::Answer { bytes } => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
        }
    }
}
