//! A subscriber of `tracing` that writes each event down as a line, for tests.
#![cfg(feature = "tracing")]

use std::fmt::{self, Write as _};
use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// Writes down every event as a line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {field}={value:?}").expect("a string takes it");
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(format!("{} {}", event.metadata().level(), event.metadata().target()));
        event.record(&mut line);
        self.0.lock().expect("nobody panics with it").push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What is told on this thread while something runs.
pub(crate) fn events(run: impl FnOnce()) -> Vec<String> {
    // While there is one subscriber only, an event that a thread without it meets first is taken for one that nobody wants.
    static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Lines::default()));
    LazyLock::force(&ANOTHER);
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || {
        // That may have happened before, too.
        tracing::callsite::rebuild_interest_cache();
        run();
    });
    lines.0.lock().expect("nobody panics with it").clone()
}
