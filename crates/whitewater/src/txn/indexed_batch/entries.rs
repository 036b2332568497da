//! A walk over the single operations on one column family.

use super::cursor::{BatchCursor, BatchEntry};
use whitewater_storage::{Error, Result};

/// A cursor over operations: by key, and for each key from newer to older ones.
#[derive(Debug)]
pub(crate) struct Entries {
    cursor: BatchCursor,
    /// Whether all operations are shown, or those that decide the value of their key.
    all: bool,
    /// The operations on the key that the cursor stands on.
    here: Vec<u32>,
    /// Where in `here` this one stands.
    at: usize,
    /// The failure of the last seek.
    error: Option<Error>,
    /// Why the batch cannot be read.
    failed: Option<Error>,
}

impl Entries {
    /// The operations at a cursor's keys; all moves fail if it is an error.
    pub fn new(cursor: Result<BatchCursor>, all: bool) -> Self {
        let (cursor, failed) = match cursor {
            Ok(cursor) => (cursor, None),
            Err(e) => (BatchCursor::empty(), Some(e)),
        };
        Entries {
            cursor,
            all,
            here: Vec::new(),
            at: 0,
            error: None,
            failed,
        }
    }

    pub fn valid(&self) -> bool {
        self.at < self.here.len()
    }

    /// The failure of the batch or of the last seek.
    ///
    /// # Errors
    /// That failure.
    pub fn status(&self) -> Result<()> {
        match self.failed.as_ref().or(self.error.as_ref()) {
            Some(e) => Err(e.clone()),
            None => Ok(()),
        }
    }

    pub fn seek_to_first(&mut self) {
        let outcome = self.cursor.seek_to_first();
        self.arrive(outcome, true);
    }

    pub fn seek_to_last(&mut self) {
        let outcome = self.cursor.seek_to_last();
        self.arrive(outcome, false);
    }

    pub fn seek(&mut self, target: &[u8]) {
        let outcome = self.cursor.seek(target);
        self.arrive(outcome, true);
    }

    pub fn seek_for_prev(&mut self, target: &[u8]) {
        let outcome = self.cursor.seek_for_prev(target);
        self.arrive(outcome, false);
    }

    pub fn next(&mut self) {
        if !self.valid() {
            return;
        }
        self.at += 1;
        if !self.valid() {
            self.cursor.next();
            self.arrive(Ok(()), true);
        }
    }

    pub fn prev(&mut self) {
        if !self.valid() {
            return;
        }
        match self.at.checked_sub(1) {
            Some(at) => self.at = at,
            None => {
                self.cursor.prev();
                self.arrive(Ok(()), false);
            }
        }
    }

    /// Shows the newest operation on the cursor's key, or the oldest one.
    fn arrive(&mut self, outcome: Result<()>, newest: bool) {
        self.error = outcome.err();
        self.here = self.cursor.operations(self.all);
        self.at = match newest {
            true => 0,
            false => self.here.len().saturating_sub(1),
        };
    }

    pub fn entry(&self) -> Option<BatchEntry<'_>> {
        self.cursor.entry(*self.here.get(self.at)?)
    }
}
