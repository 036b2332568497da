//! An iterator over a database with a batch applied.
//!
//! It walks a cursor over the batch and an iterator over the database side by side. Forward, both
//! stand at or behind the key shown; backward, at or before it. Where both have a key, the batch's
//! operations decide: they replace or hide the database's value, or are merged into it.
//!
//! Invariants: I1 to I4 of [`DbIter`] hold for this iterator, too. Bounds and prefix are applied to
//! the batch here, and to the database beneath.

use super::cursor::BatchCursor;
use super::look_up::{BatchMerger, InBatch, Onto};
use crate::entry::columns::{WideColumn, WideColumns};
use crate::panics::{Guarded, caught};
use crate::read::db_iter::{DbIter, Manner};
use std::cmp::Ordering;
use whitewater_storage::{Error, Result, planted};

/// Shows the keys of a column family as they will be when the batch is written.
pub(crate) struct BatchOverDb {
    base: DbIter,
    cursor: BatchCursor,
    manner: Manner,
    forward: bool,
    shown: Shown,
    /// Whether the database also has the key that the cursor shows.
    both: bool,
    merged: Vec<u8>,
    /// The columns, if they are not those of the database's entry.
    columns: WideColumns,
    error: Option<Error>,
    /// The error of a move in which the user's code panicked, or of a batch that cannot be read:
    /// all moves fail.
    failed: Option<Error>,
}

/// What the iterator shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Nothing: it is not positioned, is past an end, or has failed.
    Nowhere,
    /// The database's entry.
    Base,
    /// The value of the batch's newest operation.
    Batch,
    /// A merged value.
    Merged,
    /// The columns of the batch's newest operation, or merged ones.
    Columns,
}

impl BatchOverDb {
    /// An iterator over `base` with a batch applied, which is not positioned yet. All moves fail if
    /// `cursor` is an error.
    pub fn new(cursor: Result<BatchCursor>, mut base: DbIter) -> Self {
        let manner = base.put_beneath();
        let (cursor, failed) = match cursor {
            Ok(cursor) => (cursor, None),
            Err(e) => (BatchCursor::empty(), Some(e)),
        };
        BatchOverDb {
            base,
            cursor,
            manner,
            forward: true,
            shown: Shown::Nowhere,
            both: false,
            merged: Vec::new(),
            columns: WideColumns::default(),
            error: None,
            failed,
        }
    }

    /// Lets the iterator fail from now on.
    pub fn fail(&mut self, error: Error) {
        self.shown = Shown::Nowhere;
        self.failed = Some(error);
    }

    /// Takes another state of the database, and stands nowhere.
    pub fn set_base(&mut self, mut base: DbIter) {
        self.manner = base.put_beneath();
        self.base = base;
        self.shown = Shown::Nowhere;
        self.error = None;
    }

    /// Whether the iterator stands on an entry.
    pub fn valid(&self) -> bool {
        self.shown != Shown::Nowhere
    }

    /// The key, when valid.
    pub fn key(&self) -> Option<&[u8]> {
        match self.shown {
            Shown::Nowhere => None,
            Shown::Base => self.base.key(),
            Shown::Batch | Shown::Merged | Shown::Columns => self.cursor.key(),
        }
    }

    /// The value, when valid; of columns, the default one.
    pub fn value(&self) -> Option<&[u8]> {
        match self.shown {
            Shown::Nowhere => None,
            Shown::Base => self.base.value(),
            Shown::Batch => self.cursor.newest_value(),
            Shown::Merged => Some(&self.merged),
            Shown::Columns => Some(self.columns.default_column().unwrap_or_default()),
        }
    }

    /// The columns, when valid.
    pub fn columns(&self) -> Option<Vec<WideColumn<'_>>> {
        match self.shown {
            Shown::Base => self.base.columns(),
            Shown::Columns => Some(self.columns.iter().collect()),
            _ => Some(vec![WideColumn::new(b"", self.value()?)]),
        }
    }

    /// The first failure since the iterator was last positioned.
    ///
    /// # Errors
    /// That failure.
    pub fn status(&self) -> Result<()> {
        match self.failed.as_ref().or(self.error.as_ref()) {
            Some(e) => Err(e.clone()),
            None if !matches!(self.shown, Shown::Nowhere | Shown::Base) => Ok(()),
            None => self.base.status(),
        }
    }

    /// Moves to the first key within bounds.
    pub fn seek_to_first(&mut self) {
        self.position(true, true, |it| {
            it.base.seek_to_first();
            match it.manner.bounds.lower() {
                Some(lower) => it.cursor.seek(lower),
                None => it.cursor.seek_to_first(),
            }
        });
    }

    /// Moves to the last key within bounds.
    pub fn seek_to_last(&mut self) {
        self.position(false, true, |it| {
            it.base.seek_to_last();
            match it.manner.bounds.upper() {
                Some(upper) => it.cursor.seek_before(upper),
                None => it.cursor.seek_to_last(),
            }
        });
    }

    /// Moves to the first key at or after `target`.
    pub fn seek(&mut self, target: &[u8]) {
        self.position(true, false, |it| {
            it.base.seek(target);
            let manner = &mut it.manner;
            let lower = manner.bounds.lower();
            let from = match lower {
                Some(lower) if manner.comparator.compare_bounds(target, lower).is_lt() => lower,
                _ => target,
            };
            manner.prefix.sent_to(target, from);
            it.cursor.seek(from)
        });
    }

    /// Moves to the last key at or before `target`.
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        self.position(false, false, |it| {
            it.base.seek_for_prev(target);
            let manner = &mut it.manner;
            let upper = manner.bounds.upper();
            match upper {
                Some(upper) if manner.comparator.compare_bounds(target, upper).is_ge() => {
                    manner.prefix.sent_to(target, upper);
                    it.cursor.seek_before(upper)
                }
                _ => {
                    manner.prefix.sent_to(target, target);
                    it.cursor.seek_for_prev(target)
                }
            }
        });
    }

    /// Moves forward. Has no effect when not valid.
    pub fn next(&mut self) {
        self.step(true);
    }

    /// Moves backward. Has no effect when not valid.
    pub fn prev(&mut self) {
        self.step(false);
    }

    /// Positions again by `seek`, which moves the cursor and the iterator beneath, possibly to an
    /// end.
    fn position(
        &mut self,
        forward: bool,
        at_end: bool,
        seek: impl FnOnce(&mut Self) -> Result<()>,
    ) {
        self.moving(|it| {
            it.forward = forward;
            it.manner.prefix.clear();
            seek(it)?;
            let found = it.find()?;
            if at_end {
                it.keep_to_prefix_of(found);
            }
            Ok(found)
        });
    }

    /// Moves to the next key in this direction.
    fn step(&mut self, forward: bool) {
        if !self.valid() {
            return;
        }
        self.moving(|it| {
            if it.forward != forward {
                it.turn(forward)?;
            }
            match it.shown {
                Shown::Base => it.step_base(),
                _ => it.pass_operations(),
            }
            it.find()
        });
    }

    /// Runs a move and shows what it finds. If the user's code panics in it, the iterator has
    /// failed for good.
    fn moving(&mut self, moves: impl FnOnce(&mut Self) -> Result<Shown>) {
        self.error = None;
        if self.failed.is_some() {
            return;
        }
        let found = if self.manner.runs_user_code {
            let during = Guarded::Comparator("a step of an iterator");
            caught(during, || Ok(moves(self))).unwrap_or_else(|e| {
                self.failed = Some(e.clone());
                Err(e)
            })
        } else {
            moves(self)
        };
        self.shown = found.unwrap_or_else(|e| {
            self.error = Some(e);
            Shown::Nowhere
        });
    }

    /// Goes the other way from here on: whichever does not stand on the key shown is moved to the
    /// other side of it.
    fn turn(&mut self, forward: bool) -> Result<()> {
        self.forward = forward;
        match self.shown {
            Shown::Base => {
                let key = self.base.key().unwrap_or_default();
                match forward {
                    true => self.cursor.seek(key)?,
                    false => self.cursor.seek_for_prev(key)?,
                }
            }
            _ if self.both => {}
            _ => {
                planted!(BatchTurnsAlone => return Ok(()));
                let key = self.cursor.key().unwrap_or_default();
                self.base.seek_from(key, forward);
            }
        }
        Ok(())
    }

    fn step_base(&mut self) {
        match self.forward {
            true => self.base.next(),
            false => self.base.prev(),
        }
    }

    /// Passes the key at the cursor, in the database, too.
    fn pass_operations(&mut self) {
        match self.forward {
            true => self.cursor.next(),
            false => self.cursor.prev(),
        }
        if self.both {
            self.step_base();
        }
    }

    /// Shows the next key that is not hidden, from where the cursor and the iterator beneath stand.
    fn find(&mut self) -> Result<Shown> {
        loop {
            if !self.base.valid() {
                self.base.status()?;
            }
            let in_batch = self.cursor.key().filter(|key| self.is_within(key));
            let order = match (self.base.key(), in_batch) {
                (None, None) => return Ok(Shown::Nowhere),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(base), Some(key)) => {
                    let order = self.manner.comparator.compare_bounds(base, key);
                    if self.forward { order } else { order.reverse() }
                }
            };
            self.both = order.is_eq();
            let first = if order.is_lt() {
                self.base.key()
            } else {
                in_batch
            };
            if first.is_some_and(|key| self.manner.prefix.excludes(key)) {
                return Ok(Shown::Nowhere);
            }
            if order.is_lt() {
                return Ok(Shown::Base);
            }
            match self.cursor.resolve() {
                InBatch::Value(_) => return Ok(Shown::Batch),
                InBatch::Entity(entity) => {
                    self.columns = WideColumns::deserialize(entity)?;
                    return Ok(Shown::Columns);
                }
                InBatch::Merge { operands, onto } => {
                    let below = self.entity_below(onto)?;
                    let merged = self.merge(&operands, onto, below.as_ref())?;
                    let Some(below) = below else {
                        self.merged = merged;
                        return Ok(Shown::Merged);
                    };
                    self.columns = below.with_default(&merged);
                    return Ok(Shown::Columns);
                }
                InBatch::Deleted | InBatch::NotFound => self.pass_operations(),
            }
        }
    }

    /// Whether a key of the batch is within the bound that lies ahead. The other one was taken care
    /// of when the cursor was positioned.
    fn is_within(&self, key: &[u8]) -> bool {
        let manner = &self.manner;
        match self.forward {
            true => (manner.bounds.upper())
                .is_none_or(|upper| manner.comparator.compare_bounds(key, upper).is_lt()),
            false => (manner.bounds.lower())
                .is_none_or(|lower| manner.comparator.compare_bounds(key, lower).is_ge()),
        }
    }

    /// The entity that the operands of the key at the cursor apply to, if it is one.
    fn entity_below(&self, onto: Onto<'_>) -> Result<Option<WideColumns>> {
        match onto {
            Onto::Entity(entity) => WideColumns::deserialize(entity).map(Some),
            Onto::Base if self.both => Ok(self.base.entity()),
            _ => Ok(None),
        }
    }

    /// The value that the operands of the key at the cursor make; `below` is the entity that they
    /// apply to, if it is one.
    fn merge(
        &self,
        operands: &[&[u8]],
        onto: Onto<'_>,
        below: Option<&WideColumns>,
    ) -> Result<Vec<u8>> {
        let merger = BatchMerger {
            operator: self.manner.operator.as_deref(),
            family: &self.manner.family,
            values_have_times: self.manner.values_have_times,
            asked_for_key: false,
        };
        let mut existing = match onto {
            Onto::Value(value) => Some(value),
            Onto::Entity(_) => {
                Some((below.and_then(WideColumns::default_column)).unwrap_or_default())
            }
            Onto::Nothing => None,
            Onto::Base if self.both => {
                self.base.status()?;
                self.base.value()
            }
            Onto::Base => None,
        };
        planted!(BatchMergesOverNothing => existing = None);
        merger.merge(self.cursor.key().unwrap_or_default(), existing, operands)
    }

    /// Keeps to the prefix of the key that was found at an end, if the mode says so.
    fn keep_to_prefix_of(&mut self, found: Shown) {
        let key = match found {
            Shown::Nowhere => None,
            Shown::Base => self.base.key(),
            Shown::Batch | Shown::Merged | Shown::Columns => self.cursor.key(),
        };
        if let Some(key) = key {
            self.manner.prefix.found_at_end(key);
        }
    }
}
