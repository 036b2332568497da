//! Switching generations: full memtables, new logs, other column families.
//!
//! A switch prepares everything that takes time (a log file, memtables), closes the current
//! generation, installs the new memtables for readers, and finally installs the new
//! generation for writers. Writers that arrive in between wait. Writers that have reserved
//! their place already finish in the old generation, and no thread waits for them here: a
//! flush starts when the visible number has passed the end that [`Memtable::retire`] notes
//! (C6).
//!
//! With unordered writes, entries that are visible may not be inserted yet, so closed
//! generations are tracked until their pending inserts are done (`generations`).
//!
//! Invariants:
//! * S1: there is one switch at a time; [`Switching`] is the proof.
//! * S2: readers have the new memtables before writers get the generation that writes to
//!   them, so a reader that sees a number has the memtable that its entry is in.
//! * S3: a memtable becomes a table only when every number that was allocated in the
//!   generations it belonged to is visible and no insert of them is pending; or when what
//!   is not visible has failed and is hidden (`db::resume`).
//! * S4: an empty memtable moves on to a newer log only when no entry of an older log is
//!   still on its way into the memtable.
//! * S5: a log stays the current one over a switch of memtables only if it was empty when
//!   its generation was closed, so that no record is replayed on top of the table made from
//!   it.
//! * S6: a thread that holds a generation does not wait for a switch, because a resumption
//!   holds the right to switch while it waits until no thread holds a generation.
//! * S7: a switch that fails between closing a generation and installing the next one stops
//!   the database ([`Gap`]), so no thread waits for a generation that never comes.

use super::Engine;
use super::commit_path::CommitPath;
use super::failure::Source;
use super::generations::Switching;
use super::state::{CfState, DbState};
use super::switch_guard::Gap;
use crate::column_family::ColumnFamilyData;
use crate::listener::FlushReason;
use crate::memtable::{Home, Memtable};
use crate::options::CfOptions;
use crate::sync_points::Point;
use crate::write::generation::{End, Generation};
use crate::write::wal::Wal;
use std::collections::BTreeMap;
use std::sync::Arc;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::planted;
use whitewater_storage::wal::Segment;
use whitewater_storage::{Error, ErrorKind, Result};

/// The column families whose memtables are to be switched, and why.
pub(crate) type Due = BTreeMap<u32, FlushReason>;

/// The log that writes go to after a switch.
pub(super) enum NextLog {
    /// The log that writes went to before.
    Same(Arc<Segment>),
    New(Arc<Segment>),
}

impl NextLog {
    pub(super) fn segment(&self) -> &Arc<Segment> {
        match self {
            NextLog::Same(log) | NextLog::New(log) => log,
        }
    }

    /// Discards a new log, because the switch does not take place.
    pub(super) fn discard(&self, wal: &Wal) {
        if let NextLog::New(log) = self {
            wal.discard(log);
        }
    }
}

impl CommitPath {
    /// Moves empty memtables on to log `number`. The generation that follows the number
    /// `last` began in that log: if `last` is visible and no insert is pending, no thread
    /// still writes to these memtables from an older log (S4). Otherwise a flush moves them
    /// later.
    pub(super) fn settle_empty(&self, state: &DbState, last: SequenceNumber, number: u64) {
        if self.is_inserted(last) {
            let empty = |cf: &&CfState| cf.mem.is_empty();
            for cf in state.cfs.values().filter(empty) {
                cf.mem.advance_wal_number(number);
            }
        }
    }
}

impl Engine {
    /// Does what a writer's attention was requested for: switches full memtables, and
    /// memtables that keep too much log.
    #[cold]
    pub(super) fn run_requested_switch(&self) -> Result<()> {
        let switching = self.switching()?;
        let (mut due, holds_nothing) = {
            let mut state = self.lock_state();
            // While the database is failed, no writer may find the attention cleared and
            // pass (F2).
            Self::check_healthy(&state)?;
            // What a memtable was counted and marked as is seen below, or requests attention
            // again.
            self.commit.take_attention();
            let log_bytes = self.commit.log_bytes();
            let limit = self.max_total_log_bytes(&state);
            let over = log_bytes > limit;
            // Back off, so that not every write comes here until the old logs are gone.
            let next = if over { log_bytes + limit / 16 } else { limit };
            self.commit.set_log_limit(next);
            let oldest = state.oldest_wal();
            // While a prepared section keeps an older log, flushes make no log obsolete.
            let sections = self.commit.sections.oldest_log();
            let too_much_log = over && sections.is_none_or(|log| log >= oldest);
            // If the logs hold nothing but log data, nothing is in memtables.
            let mut holds_nothing = too_much_log;
            if too_much_log {
                // Memtables that keep the oldest log are flushed, however small they are.
                let keepers = state
                    .cfs
                    .values_mut()
                    .filter(|cf| cf.oldest_wal() == oldest);
                for cf in keepers {
                    cf.request_flush(FlushReason::WalFull);
                    holds_nothing &= cf.imm.is_empty() && cf.mem.is_empty();
                }
                self.background.work.notify_all();
            }
            // What is purged in memory, or waits for more, keeps its log. So memtables that
            // keep the oldest log are flushed for that reason, full or not.
            let reason = |mem: &Memtable| match too_much_log && mem.oldest_log() == oldest {
                true => Some(FlushReason::WalFull),
                false => mem.is_full().then(|| fullness(mem)),
            };
            let due = state.cfs.values();
            let due = due.filter_map(|cf| Some((cf.data.id, reason(&cf.mem)?)));
            let due: Due = due.collect();
            holds_nothing &= !due.values().any(|reason| reason.is_fullness());
            (due, holds_nothing)
        };
        if holds_nothing {
            // The flush of an empty memtable records that the log is not needed. It moves
            // other empty memtables on, so one is enough.
            let first = due.pop_first();
            let due = self.due_with_others(first.into_iter().collect());
            return self.switch_those(&switching, &due);
        }
        let due = self.due_with_others(due);
        self.switch_memtables(&switching, due)
    }

    /// The column families whose memtables are switched when those of `due` are. With atomic
    /// flushes, these are all of them, for one reason.
    fn due_with_others(&self, due: Due) -> Due {
        let first = [FlushReason::WalFull, FlushReason::MemtableMaxRangeDeletions];
        let has = |reason: &FlushReason| due.values().any(|other| other == reason);
        let shared = first.into_iter().find(has);
        let shared = shared.unwrap_or(FlushReason::WriteBufferFull);
        let ids = self.with_others(due.keys().copied().collect());
        let reason = |id| match self.options.atomic_flush {
            true => shared,
            false => due.get(&id).copied().unwrap_or(shared),
        };
        ids.into_iter().map(|id| (id, reason(id))).collect()
    }

    /// The column families whose memtables are switched when those of `ids` are:
    /// all of them, if flushes are atomic.
    pub(super) fn with_others(&self, ids: Vec<u32>) -> Vec<u32> {
        if ids.is_empty() || !self.options.atomic_flush {
            return ids;
        }
        self.lock_state().cfs.keys().copied().collect()
    }

    /// Sets the size of the logs above which writers attend to them.
    pub(super) fn set_log_limit(&self, state: &DbState) {
        let limit = self.max_total_log_bytes(state);
        self.commit.set_log_limit(limit);
    }

    fn max_total_log_bytes(&self, state: &DbState) -> u64 {
        match state.options.max_total_wal_size {
            // RocksDB's default: four times the size of all write buffers that there can
            // be.
            0 => {
                let buffers = |o: &CfOptions| {
                    let number = o.max_write_buffer_number.max(1) as u64;
                    (o.write_buffer_size as u64).saturating_mul(number)
                };
                let all = state.cfs.values().map(|cf| buffers(cf.options()));
                all.fold(0, u64::saturating_add).saturating_mul(4)
            }
            n => n,
        }
    }

    /// Retires the memtables of `due` (empty ones stay) and starts a new log if the current
    /// one has records.
    pub(crate) fn switch_memtables(&self, one_at_a_time: &Switching<'_>, due: Due) -> Result<()> {
        let due = self.request_flush(due);
        if due.is_empty() {
            return Ok(());
        }
        self.switch_those(one_at_a_time, &due)
    }

    /// [`Engine::switch_memtables`] for all of `due`, including empty memtables.
    fn switch_those(&self, _one_at_a_time: &Switching<'_>, due: &Due) -> Result<()> {
        let ids: Vec<u32> = due.keys().copied().collect();
        let before = self.commit.generations.load_full();
        let mut log = self.next_log(&before)?;
        let fresh = self.fresh_memtables(&ids, log.segment().log_number());
        #[cfg(test)]
        super::tests::switches::pause();
        let mut gap = Gap::new(self);
        let begun = gap.begin(&before);
        let end = begun.inspect_err(|_| log.discard(&self.commit.wal))?;
        // Upholds S5.
        let mut is_used = matches!(log, NextLog::Same(_)) && end.offset > before.start();
        planted!(EmptyLogKept => is_used = false);
        if is_used {
            // Writes went to the empty log meanwhile, and entries to the old memtables with
            // them: the log would be replayed for the new memtables, too.
            log = self.new_log()?;
            let number = log.segment().log_number();
            fresh.iter().for_each(|(_, m)| m.advance_wal_number(number));
        }
        let number = log.segment().log_number();
        let start = self.continue_in(&log, &before, end)?;

        let mut state = self.lock_state();
        for (id, mem) in fresh {
            let (Some(cf), Some(&reason)) = (state.cfs.get_mut(&id), due.get(&id)) else {
                continue;
            };
            mem.begin_after(end.last);
            let full = cf.set_memtable(mem);
            full.retire(end.last);
            self.observers.note_sealed(&cf.data, &full);
            cf.add_retired(full, reason);
            if !reason.is_fullness() {
                cf.request_flush(reason);
            }
            cf.publish(); // before `install`: upholds S2
        }
        self.commit.settle_empty(&state, end.last, number);
        self.install(&state, log.segment(), start, end);
        gap.end();
        self.recompute_stall(&mut state, ids);
        drop(state);
        self.background.work.notify_all();
        self.log_stalls();
        if let NextLog::New(_) = log {
            self.trim(&before.wal, end.offset);
        }
        Ok(())
    }

    /// Starts a new log, and keeps the memtables.
    pub(crate) fn renew_log(&self, _one_at_a_time: &Switching<'_>) -> Result<()> {
        let before = self.commit.generations.load_full();
        let number = self.files.versions.new_file_number();
        let log = NextLog::New(self.commit.wal.create(number)?);
        let mut gap = Gap::new(self);
        let begun = gap.begin(&before);
        let end = begun.inspect_err(|_| log.discard(&self.commit.wal))?;
        let start = self.continue_in(&log, &before, end)?;
        let state = self.lock_state();
        self.commit.settle_empty(&state, end.last, number);
        self.install(&state, log.segment(), start, end);
        gap.end();
        drop(state);
        self.trim(&before.wal, end.offset);
        Ok(())
    }

    /// Returns those of `due` whose memtables hold something. Also requests the flush of older
    /// memtables, of all that are due for another reason than that they are full.
    ///
    /// With atomic flushes it returns all or none: before it is switched, an empty memtable
    /// may get a part of a batch whose other parts are in the other memtables.
    fn request_flush(&self, due: Due) -> Due {
        let mut state = self.lock_state();
        let (mut full, mut empty, mut requested) = (Due::new(), Due::new(), false);
        for (id, reason) in due {
            let Some(cf) = state.cfs.get_mut(&id) else {
                continue;
            };
            if !reason.is_fullness() {
                cf.request_flush(reason);
                requested = true;
            }
            let those = if cf.mem.is_empty() {
                &mut empty
            } else {
                &mut full
            };
            those.insert(id, reason);
        }
        if self.options.atomic_flush && !full.is_empty() {
            full.append(&mut empty);
        }
        if requested {
            self.background.work.notify_all();
        }
        full
    }

    pub(super) fn next_log(&self, before: &Generation) -> Result<NextLog> {
        if before.log_is_empty() {
            return Ok(NextLog::Same(before.wal.clone()));
        }
        self.new_log()
    }

    pub(super) fn new_log(&self) -> Result<NextLog> {
        let number = self.files.versions.new_file_number();
        let log = self.commit.wal.create(number).map(NextLog::New);
        log.inspect_err(|e| self.report(Source::Log, e, "starting a new log"))
    }

    pub(super) fn fresh_memtables(
        &self,
        ids: &[u32],
        wal_number: u64,
    ) -> Vec<(u32, Arc<Memtable>)> {
        let wanted: Vec<_> = {
            let mut state = self.lock_state();
            let DbState {
                cfs,
                next_memtable_id,
                ..
            } = &mut *state;
            let numbered = ids.iter().filter_map(|id| {
                let cf = cfs.get(id)?;
                let (data, options) = (cf.data.clone(), cf.options().clone());
                *next_memtable_id += 1;
                Some((*id, data, options, *next_memtable_id - 1))
            });
            numbered.collect()
        };
        let make =
            |(id, data, options, number): (u32, Arc<ColumnFamilyData>, Arc<CfOptions>, u64)| {
                let home = Home {
                    family: &data.name,
                    budget_client: self.commit.budget_client.as_ref(),
                };
                (id, Memtable::new(&options, home, wal_number, number))
            };
        wanted.into_iter().map(make).collect()
    }

    /// Makes `log` the current log; returns where its first write begins.
    pub(super) fn continue_in(&self, log: &NextLog, before: &Generation, end: End) -> Result<u64> {
        match log {
            NextLog::Same(_) => Ok(before.start()),
            NextLog::New(log) => self.commit.wal.install(log, end).inspect_err(|e| {
                self.report(Source::Log, e, "starting a new log");
            }),
        }
    }

    /// Installs the generation that follows the one that ended at `end`, for the memtables
    /// that `state` holds now. Readers have them already (S2): a reader that sees a number
    /// also sees what was written with it. Numbers continue where the last generation ended
    /// (T3).
    pub(super) fn install(&self, state: &DbState, log: &Arc<Segment>, start: u64, end: End) {
        let same_log = self.commit.generations.load().wal.log_number() == log.log_number();
        let offset = if same_log { end.offset } else { start };
        let next = Generation::new(
            state.memtable_map(),
            log.clone(),
            start,
            End {
                last: end.last,
                offset,
            },
        );
        self.commit.generations.replace(next);
        self.options.hook.hit(Point::Switched, end.last);
    }

    /// Replaces the current generation by another one for the same memtables; returns where
    /// the old one ended.
    pub(crate) fn renew_generation(&self, _one_at_a_time: &Switching<'_>) -> Result<End> {
        let mut gap = Gap::new(self);
        let state = self.lock_state();
        let before = self.commit.generations.load_full();
        let end = gap.begin(&before)?;
        self.install(&state, &before.wal, before.start(), end);
        gap.end();
        Ok(end)
    }

    /// [`CommitPath::settle_empty`] for the current generation.
    pub(crate) fn settle_empty_memtables(&self) {
        let state = self.lock_state();
        let now = self.commit.generations.load();
        self.commit
            .settle_empty(&state, now.base(), now.wal.log_number());
    }

    /// Closes a generation and tracks it until it is settled. Sets `closed` as soon as it
    /// is closed.
    pub(super) fn close_generation(
        &self,
        generation: &Generation,
        closed: &mut bool,
    ) -> Result<End> {
        self.options.hook.hit(Point::Closing, generation.base());
        // The generation is closed and has no successor if a switch failed or the database
        // was closed.
        let end = generation.close().ok_or_else(Engine::shutdown_error)?;
        *closed = true;
        self.options.hook.hit(Point::Closed, end.last);
        let visible = self.commit.publication.visible();
        self.commit.generations.forget_settled(visible);
        self.commit.generations.track(generation, end);
        Ok(end)
    }

    /// Frees the space that was allocated beyond the end of a log.
    pub(super) fn trim(&self, log: &Segment, end: u64) {
        if let Err(e) = self.commit.wal.trim(log, end) {
            self.report(Source::Log, &e, "closing a log");
        }
    }

    /// Waits until no thread still inserts into `memtables` (S3): the last number that they
    /// may hold is visible, and no insert of their generations is pending. Sleeps while it
    /// waits; writers in later generations continue.
    ///
    /// # Errors
    /// A write to them failed.
    pub(crate) fn await_writers(&self, memtables: &[Arc<Memtable>]) -> Result<()> {
        self.await_inserted(memtables.iter().map(|m| m.last_number()).max().unwrap_or(0))
    }

    /// Waits until everything up to `last`, where a generation ended, is visible and in the
    /// memtables.
    ///
    /// # Errors
    /// A write up to `last` failed.
    pub(super) fn await_inserted(&self, last: SequenceNumber) -> Result<()> {
        planted!(FlushDoesNotWait => return Ok(()));
        // The last numbers may belong to writes that a resumption gave up.
        let waited = self.commit.publication.wait_passed(last);
        waited.map_err(|_| self.first_error())?;
        // Looked at after the wait, as `pending_up_to` wants it.
        for inserts in self.commit.generations.pending_up_to(last) {
            planted!(PendingInsertsMissed => break);
            inserts.wait().map_err(|_| self.first_error())?;
        }
        Ok(())
    }

    /// The failure that stopped writes.
    pub(crate) fn first_error(&self) -> Error {
        let healthy = Self::check_healthy(&self.lock_state());
        match healthy {
            Err(e) => e,
            // Writes were resumed in the meantime.
            Ok(()) => Error::new(ErrorKind::Aborted, "a write at or before this one failed"),
        }
    }
}

/// Why the full memtable `mem` is flushed.
fn fullness(mem: &Memtable) -> FlushReason {
    if mem.has_enough_tombstones() {
        FlushReason::MemtableMaxRangeDeletions
    } else {
        FlushReason::WriteBufferFull
    }
}
