//! Shared words of a simulated program.

use super::line::LineId;
use super::{Sim, ThreadId};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// A word that threads share: a value, and the line that it is on. Plain fields that
/// share a line with others are words, too.
#[derive(Debug)]
pub struct Word {
    pub(super) value: Cell<u64>,
    pub(super) line: LineId,
    /// Whether the real build counts its read-modify-write operations.
    pub(super) counted: bool,
    pub(super) sleepers: RefCell<VecDeque<ThreadId>>,
}

impl Word {
    /// A word alone on a line called `name`.
    #[must_use]
    pub fn new(sim: &Sim, name: &'static str, value: u64) -> Self {
        Self::on(sim.lines.borrow_mut().add(name), value)
    }

    /// A word on the same line as this one.
    #[must_use]
    pub fn beside(&self, value: u64) -> Self {
        Self::on(self.line, value)
    }

    fn on(line: LineId, value: u64) -> Self {
        Word {
            value: Cell::new(value),
            line,
            counted: false,
            sleepers: RefCell::default(),
        }
    }

    /// The same word, with operations that the real build counts.
    #[must_use]
    pub fn counted(self) -> Self {
        Word {
            counted: true,
            ..self
        }
    }

    /// The value, at no cost: for assertions, and for what a program knows anyway.
    #[must_use]
    pub fn peek(&self) -> u64 {
        self.value.get()
    }

    /// Changes the value at no cost: before others can see it.
    pub fn preset(&self, value: u64) {
        self.value.set(value);
    }
}
