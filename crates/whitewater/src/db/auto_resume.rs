//! Resuming after a failure without being asked.
//!
//! After an I/O error has stopped the database, a flush thread makes the same
//! [resumption](super::resume) as a caller of [`Engine::resume`]. It tries again after the waits
//! of failed flushes and compactions ([`Retry`]), as many times at most. A failure that is no I/O
//! error, such as a panic of user code, would only come back. Failures that need more than a
//! resumption end the tries.
//!
//! Invariants:
//! * A1: one thread tries at a time, and it does not hold the database mutex while it does.
//! * A2: listeners hear of one end for each beginning, also if a caller of `resume` ends the
//!   failure.

use super::Engine;
use super::failure::{Retry, Source};
use super::state::DbState;
use crate::listener::BackgroundErrorInfo;
use crate::panics::text_of;
use crate::stats::{Histogram, Ticker};
use crate::thread_pools::pool::Found;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use whitewater_concurrent::system;
use whitewater_storage::{Error, ErrorKind, Severity};

/// How far the database is with resuming by itself.
#[derive(Debug, Default)]
pub(crate) struct AutoResume {
    /// The failure that stopped the database, then the tries that failed.
    tries: Retry,
    source: Option<Source>,
    /// Whether listeners were told that it begins (A2).
    begun: bool,
    /// The number of tries that have begun.
    tried: u32,
    /// Whether a thread tries (A1).
    running: bool,
}

impl AutoResume {
    /// No try follows. Returns how many there were, if listeners know of them.
    fn end(&mut self) -> Option<u32> {
        self.tries.succeed();
        self.source = None;
        let tried = std::mem::take(&mut self.tried);
        std::mem::take(&mut self.begun).then_some(tried)
    }
}

impl Engine {
    /// How many tries may fail, and the longest wait for one.
    pub(super) fn retry_limits(&self) -> (u32, Duration) {
        let wait = Duration::from_micros(self.options.bgerror_resume_retry_interval);
        (self.options.max_bgerror_resume_count, wait)
    }

    /// Plans to resume after `error` of `source`, which has just stopped the database, if that
    /// can help. Otherwise no try follows.
    pub(super) fn plan_to_resume(&self, state: &mut DbState, source: Source, error: &Error) {
        let (limit, wait) = self.retry_limits();
        if error.severity() > Severity::HardError {
            self.end_tries_to_resume(state, Some(error.clone()));
        } else if error.kind() == ErrorKind::IOError && limit > 0 && self.options.hook.may_resume()
        {
            state.failure.auto.source = Some(source);
            state.failure.auto.tries.fail(error, system::now(), wait);
        }
    }

    /// No try to resume follows: the failure is over, or `left` cannot be ended like this.
    pub(super) fn end_tries_to_resume(&self, state: &mut DbState, left: Option<Error>) {
        let before = state.failure.auto.tries.last();
        if let Some(tried) = state.failure.auto.end() {
            self.observers.note_recovered(before, left, true);
            if let Some(statistics) = self.statistics() {
                statistics.record(
                    Histogram::ErrorHandlerAutoresumeRetryCount,
                    u64::from(tried),
                );
            }
        }
    }

    /// Tries to resume, if that is due; for flush threads of a database that is stopped.
    pub(super) fn resume_when_due(&self) -> Found {
        let (stop, asks) = {
            let mut state = self.lock_state();
            let auto = &mut state.failure.auto;
            if auto.running || auto.tries.last().is_none() {
                return Found::Nothing(None);
            }
            if let Some(due) = auto.tries.not_before(system::now()) {
                return Found::Nothing(Some(due));
            }
            auto.running = true;
            let asks = auto.source.filter(|_| !auto.begun);
            (state.failure.stop().cloned(), asks)
        };
        let lacks = stop.as_ref().is_some_and(|stop| self.lacks_space(stop));
        if lacks {
            return self.look_for_space_later();
        }
        let may = (stop.zip(asks)).is_none_or(|(error, source)| self.begin_tries(source, error));
        if may {
            self.try_to_resume();
        }
        self.lock_state().failure.auto.running = false;
        self.background.look_again();
        Found::Job
    }

    /// Puts off the next try, because there is no space for it.
    fn look_for_space_later(&self) -> Found {
        let (_, wait) = self.retry_limits();
        let mut state = self.lock_state();
        let auto = &mut state.failure.auto;
        auto.running = false;
        if auto.tries.last().is_some() {
            auto.tries.put_off(wait);
        }
        Found::Nothing(auto.tries.not_before(system::now()))
    }

    /// Asks listeners whether the database may resume after `error` of `source`, and tells them
    /// that it tries to.
    fn begin_tries(&self, source: Source, error: Error) -> bool {
        let info = BackgroundErrorInfo {
            reason: source.into(),
            error,
            asked: false,
        };
        let mut listeners = self.options.listeners.0.iter();
        let allows = listeners.all(|listener| {
            let ask = || listener.allows_auto_recovery(&info);
            catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|panic| {
                let text = text_of(&*panic);
                let what = format!("an event listener panicked; it allows to resume: {text}");
                self.info_log.error(&what);
                true
            })
        });
        let mut state = self.lock_state();
        // Another thread may have ended the failure meanwhile.
        if state.failure.auto.tries.last().is_none() {
            return false;
        }
        if !allows {
            state.failure.auto.end();
            drop(state);
            self.info_log.write("A listener keeps the DB from resuming");
            return false;
        }
        state.failure.auto.begun = true;
        self.observers.note_recovery(Some(info.error), true);
        drop(state);
        self.tick(Ticker::ErrorHandlerAutoresumeCount, 1);
        true
    }

    fn try_to_resume(&self) {
        self.info_log.write("Trying to resume DB");
        self.lock_state().failure.auto.tried += 1;
        let Some(outcome) = self.resume_if_stopped() else {
            return;
        };
        self.tick(Ticker::ErrorHandlerAutoresumeRetryTotalCount, 1);
        let Err(e) = outcome else {
            self.tick(Ticker::ErrorHandlerAutoresumeSuccessCount, 1);
            self.info_log.write("Successfully resumed DB");
            self.log_stalls();
            return;
        };
        let (limit, wait) = self.retry_limits();
        let goes_on = {
            let mut state = self.lock_state();
            let is_hard = state.failure.severity() == Severity::HardError;
            let auto = &mut state.failure.auto;
            if auto.tries.last().is_some() {
                auto.tries.fail(&e, system::now(), wait);
            }
            let goes_on = is_hard && !state.closing && state.failure.auto.tries.row() <= limit;
            if !goes_on {
                self.end_tries_to_resume(&mut state, Some(e.clone()));
            }
            goes_on
        };
        let what = if goes_on {
            "it is tried again"
        } else {
            "it is given up"
        };
        self.info_log
            .error(&format!("Failed to resume DB [{e}]: {what}"));
    }
}
