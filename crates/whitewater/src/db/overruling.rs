//! Listeners that overrule a failure: writes go on in spite of it.
//!
//! RocksDB's listeners reset the status that they are given. Here they are asked beforehand, and
//! only about failures of flushes and compactions that are not I/O errors: these keep their
//! inputs, so that nothing is lost, and can be tried again. A write that failed has left a hole
//! in the sequence numbers, and a failed log, manifest or directory is in an unknown state.

use super::Engine;
use super::failure::Source;
use crate::listener::BackgroundErrorInfo;
use crate::panics::text_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use whitewater_storage::{Error, ErrorKind, Severity};

/// How severe a failure is once listeners were asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    pub severity: Severity,
    /// Whether listeners were asked.
    pub asked: bool,
    /// Whether one of them has overruled the failure.
    pub overruled: bool,
}

impl Engine {
    /// How severe `error` of `source` is. Asks listeners if they may overrule it; then no lock
    /// of the database's state may be held.
    pub(super) fn verdict(&self, source: Source, error: &Error) -> Verdict {
        let severity = self.severity(source, error);
        let asked = matches!(source, Source::Flush | Source::Compaction)
            && severity > Severity::SoftError
            && error.severity() == Severity::NoError // otherwise it was reported already
            && error.kind() != ErrorKind::IOError;
        let overruled = asked && self.is_overruled(source, error.clone().with_severity(severity));
        Verdict {
            severity: if overruled {
                Severity::SoftError
            } else {
                severity
            },
            asked,
            overruled,
        }
    }

    /// Asks all listeners.
    fn is_overruled(&self, source: Source, error: Error) -> bool {
        let info = BackgroundErrorInfo {
            reason: source.into(),
            error,
            asked: true,
        };
        let mut overruled = false;
        for listener in &self.options.listeners.0 {
            let ask = || listener.overrules_background_error(&info);
            overruled |= catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|panic| {
                let text = text_of(&*panic);
                let what = format!("an event listener panicked; it overrules no failure: {text}");
                self.info_log.error(&what);
                false
            });
        }
        overruled
    }

    /// Reports the failure of a compaction that a caller waits for. One that a background job
    /// would merely retry is left to the caller, and so is one that a listener has overruled.
    pub(super) fn report_to_caller(&self, error: &Error, what: &str) {
        let verdict = self.verdict(Source::Compaction, error);
        if verdict.overruled {
            let told = error.clone().with_severity(verdict.severity);
            self.observers.note_failure(Source::Compaction, &told, true);
            let line = format!("{error} ({what}): a listener has overruled it, writes go on");
            self.info_log.error(&line);
        } else if verdict.severity > Severity::SoftError {
            self.report_as(Source::Compaction, error, what, verdict);
        }
    }
}
