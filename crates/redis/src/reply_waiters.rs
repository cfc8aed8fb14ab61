//! The callers that wait for one reply: one, or several whose calls were coalesced.

use smallvec::SmallVec;

use crate::cause::HealthSignal;
use crate::connect::is_welcome;
use crate::resp::Frame;
use crate::send_queue::{CallCompletion, CallOutcome};
use crate::{Cause, Script, Value};

/// Those whom one answer is for.
#[derive(Debug)]
pub(crate) enum ReplyWaiters {
    /// It is the answer.
    One(CallCompletion),
    /// It has an element for each, in this order; or is an error, which is for all.
    Many {
        outputs: SmallVec<[CallCompletion; 1]>,
        /// The script that answers so.
        script: &'static Script,
    },
    /// Nobody: it is the answer to a `PING` or an `ASKING`.
    Ping,
}

impl ReplyWaiters {
    /// How many they are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::One(_) | Self::Ping => 1,
            Self::Many { outputs, .. } => outputs.len(),
        }
    }

    /// Whether this can be the answer to their call.
    pub(crate) fn is_answered_by(&self, frame: &Frame) -> bool {
        match (self, frame) {
            (Self::One(_) | Self::Ping, _) | (Self::Many { .. }, Frame::Error(_)) => true,
            (Self::Many { outputs, .. }, Frame::Value(value)) => {
                matches!(value, Value::Array(values) if values.len() == outputs.len())
            }
        }
    }

    /// The script that the server does not know, if that is what it says.
    pub(crate) fn unknown_script(&self, frame: &Frame) -> Option<&'static Script> {
        match (self, frame) {
            (Self::Many { script, .. }, Frame::Error(line)) if Cause::of_line(line) == Cause::NoScript => {
                Some(script)
            }
            (Self::Many { .. } | Self::One(_) | Self::Ping, Frame::Error(_) | Frame::Value(_)) => None,
        }
    }

    /// Whether the server says that their keys are in several slots of a cluster, where calls cannot go together.
    pub(crate) fn is_across_slots(&self, frame: &Frame) -> bool {
        match (self, frame) {
            (Self::Many { .. }, Frame::Error(line)) => Cause::of_line(line) == Cause::CrossSlot,
            (Self::Many { .. } | Self::One(_) | Self::Ping, Frame::Error(_) | Frame::Value(_)) => false,
        }
    }

    /// What the server says to a `PING` if it does not serve this connection any more.
    pub(crate) fn unwelcome<'f>(&self, frame: &'f Frame) -> Option<&'f str> {
        match (self, frame) {
            (Self::Ping, Frame::Error(line)) if !is_welcome(line) => Some(line),
            (Self::Ping | Self::One(_) | Self::Many { .. }, Frame::Error(_) | Frame::Value(_)) => None,
        }
    }

    /// Tells each what the server said, which [is their answer](Self::is_answered_by). It was asked once: a failure is one, however many
    /// are told of it.
    pub(crate) fn said(self, frame: Frame) {
        let mut is_counted = false;
        let mut tell = |output: CallCompletion, frame: Frame| match frame {
            Frame::Error(line) if Cause::of_line(&line).sign() == HealthSignal::Failing => {
                let ended = if is_counted {
                    CallOutcome::Echoed(line)
                } else {
                    CallOutcome::Said(Frame::Error(line))
                };
                // Who has gone counts nothing.
                is_counted |= output.end(ended);
            }
            frame @ (Frame::Error(_) | Frame::Value(_)) => {
                output.end(CallOutcome::Said(frame));
            }
        };
        match (self, frame) {
            (Self::One(output), frame) => tell(output, frame),
            (Self::Ping, _) => {}
            (Self::Many { outputs, .. }, Frame::Value(Value::Array(values))) => {
                let each = outputs.into_iter().zip(values);
                each.for_each(|(output, value)| tell(output, frame_of(value)));
            }
            (Self::Many { outputs, .. }, frame) => {
                outputs.into_iter().for_each(|output| tell(output, frame.clone()));
            }
        }
    }

    /// Tells each that the connection has ended.
    pub(crate) fn lost(self, cause: Cause, sent: bool) {
        match self {
            Self::One(output) => {
                output.end(CallOutcome::Lost { cause, sent });
            }
            Self::Ping => {}
            Self::Many { outputs, .. } => {
                for output in outputs {
                    output.end(CallOutcome::Lost { cause, sent });
                }
            }
        }
    }
}

/// An element as it would have come alone.
fn frame_of(value: Value) -> Frame {
    if let Value::Error(line) = value { Frame::Error(line) } else { Frame::Value(value) }
}
