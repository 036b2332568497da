//! What databases do, for `tracing` (cargo feature `tracing`).
//!
//! This is the only module that uses `tracing`. It gets everything in three ways that exist in
//! any case: the events of listeners, on the thread `ww-events` without any lock; the lines of
//! the info log, on the thread that writes them; and spans around an opening, a job or an
//! ingestion, on the thread that runs it, so that lines of the log are within them. Without the
//! feature, all of this does nothing.
//!
//! Targets and levels are listed in `docs/observability.md`.
//!
//! `events` writes the events and the lines.

#[cfg(feature = "tracing")]
mod events;

#[cfg(feature = "tracing")]
pub(crate) use events::{happened, line};

use std::path::Path;

/// A span that lasts until this is dropped.
#[must_use = "the span ends when it is dropped"]
pub(crate) struct Span {
    #[cfg(feature = "tracing")]
    _entered: tracing::span::EnteredSpan,
}

/// Begins a span. Does nothing without the feature.
macro_rules! span {
    ($target:literal, $name:literal, $dir:expr $(, $field:ident = $value:expr)*) => {{
        #[cfg(feature = "tracing")]
        let span = Span {
            _entered: tracing::info_span!(
                target: $target, $name, db = %$dir.display() $(, $field = $value)*
            )
            .entered(),
        };
        #[cfg(not(feature = "tracing"))]
        let span = {
            let _ = ($dir, $($value,)*);
            Span {}
        };
        span
    }};
}

/// A span around the opening of the database in `dir`, recovery included.
pub(crate) fn opening(dir: &Path) -> Span {
    span!("whitewater::open", "open", dir)
}

/// A span around the reading of the logs of the database in `dir`.
pub(crate) fn recovery(dir: &Path) -> Span {
    span!("whitewater::open", "recovery", dir)
}

/// A span around a job that flushes `families` column families.
pub(crate) fn flush(dir: &Path, families: usize) -> Span {
    span!("whitewater::flush", "flush", dir, families = families)
}

/// A span around the compaction `job` of the column family `cf` into `output_level`.
pub(crate) fn compaction(dir: &Path, cf: &str, job: u64, output_level: usize) -> Span {
    span!(
        "whitewater::compaction",
        "compaction",
        dir,
        cf = cf,
        job = job,
        output_level = output_level
    )
}

/// A span around the ingestion of `files` tables into the column family `cf`.
pub(crate) fn ingestion(dir: &Path, cf: &str, files: usize) -> Span {
    span!(
        "whitewater::ingestion",
        "ingestion",
        dir,
        cf = cf,
        files = files
    )
}

/// Whether there may be a subscriber. This is cheap.
#[cfg(feature = "tracing")]
pub(crate) fn is_on() -> bool {
    use tracing::level_filters::LevelFilter;
    LevelFilter::current() != LevelFilter::OFF
}

/// Without the feature there is no subscriber.
#[cfg(not(feature = "tracing"))]
pub(crate) fn is_on() -> bool {
    false
}
