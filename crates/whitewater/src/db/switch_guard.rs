//! The time in which no generation is open.
//!
//! A switch closes the current generation and installs another one a little
//! later. Writers that come in between wait for the switch to end, and then
//! look for the next generation. If there is none they ask for attention, so
//! somebody has to have said why, or they would look for ever: whoever leaves
//! a [`Gap`] without ending it has failed, and what has not been reported yet
//! was a panic (of a file system, say, or for want of memory). This upholds S7
//! of [`switch`](super::switch).
//!
//! The report is a hard failure: writes are refused, [`Engine::resume`] finds
//! where the generation ended and goes on from there.
//!
//! A gap reports with the database mutex, so it is begun before that is taken
//! and the right to switch outlives it: writers who find the right free find
//! the failure.

use super::Engine;
use super::failure::Source;
use crate::write::generation::{End, Generation};
use whitewater_storage::{Error, ErrorKind, Result};

/// See the [module](self).
pub(super) struct Gap<'a> {
    engine: &'a Engine,
    /// The generation was closed, and no other was installed.
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
    /// `ShutdownInProgress` if it was closed before; then this is no gap.
    pub fn begin(&mut self, generation: &Generation) -> Result<End> {
        self.engine.close_generation(generation, &mut self.open)
    }

    /// The next generation is there.
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
