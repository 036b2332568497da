//! The time in which no generation is open.
//!
//! A switch closes the current generation and installs another one a little later. Writers
//! that arrive in between wait for the switch to end, and then look for the next
//! generation. If there is none, they request attention and look again. This would never
//! end if no failure had been reported. So a [`Gap`] that is dropped before it was ended
//! means that the switch has failed, and if no failure was reported yet, the cause was a
//! panic (in a file system, say, or for lack of memory). This upholds S7 of
//! [`switch`](super::switch).
//!
//! The report is a hard failure: writes are refused, and [`Engine::resume`] finds where the
//! generation ended and continues from there.
//!
//! A gap takes the database mutex to report, so the gap is begun before the mutex is taken.
//! The right to switch outlives the gap: writers that find the right free find the failure.

use super::Engine;
use super::failure::Source;
use crate::write::generation::{End, Generation};
use whitewater_storage::{Error, ErrorKind, Result};

/// See the [module](self).
pub(super) struct Gap<'a> {
    engine: &'a Engine,
    /// The generation was closed, and no other one was installed yet.
    open: bool,
}

impl<'a> Gap<'a> {
    /// A gap that has not begun.
    pub fn new(engine: &'a Engine) -> Self {
        Gap {
            engine,
            open: false,
        }
    }

    /// Closes `generation`; returns where it ended.
    ///
    /// # Errors
    /// `ShutdownInProgress` if the generation was closed already; then there is no gap.
    pub fn begin(&mut self, generation: &Generation) -> Result<End> {
        self.engine.close_generation(generation, &mut self.open)
    }

    /// Ends the gap: the next generation is installed.
    pub fn end(mut self) {
        self.open = false;
    }
}

impl Drop for Gap<'_> {
    fn drop(&mut self) {
        if !self.open || Engine::check_healthy(&self.engine.lock_state()).is_err() {
            return;
        }
        let e = Error::new(
            ErrorKind::Aborted,
            "a switch of memtables or logs panicked before it was done",
        );
        self.engine.report(Source::Log, &e, "a switch");
    }
}
