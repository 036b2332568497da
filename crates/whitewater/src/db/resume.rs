//! Resuming after a failure that stopped writes.
//!
//! When a write fails after it has reserved its place, the visible number stays below it
//! for good, while writes above it may be in the log and in memtables, whole or in part.
//! They must never be seen, not in this process, not in a table and not at the next open,
//! because their writers were told that they failed. So a resumption drops them together
//! with the log and the memtables that they are in:
//!
//! 1. *Keep writers out*: it holds the right to switch, and replaces the current generation
//!    by a closed one. Writers that arrive wait for the switch to end; flushes do not start
//!    while the failure stands.
//! 2. *Wait until no writer is inside*: a writer holds its generation from its reservation
//!    until it is done with log, memtables and acknowledgement, so the resumption waits
//!    until there are no references. Writers pay nothing for this: they borrow the
//!    generation, and the swap that retires it turns the loans into counted references.
//! 3. *Hide* what is above the visible number, in all memtables, behind their horizon
//!    ([`Memtable::hide_above`](crate::memtable::Memtable::hide_above)).
//! 4. *Flush* all memtables of all column families up to their horizon, open the tables, and
//!    record them in one atomic group of edits, together with a new log: no older log is needed.
//!    This is the point at which the resumption has succeeded. A crash before it leaves
//!    what the failure left; an opening after it never sees that again.
//! 5. *Give up* the numbers of the failed writes (they are not used again), and let writers
//!    into a generation with the new log and new memtables.
//!
//! Invariants:
//! * F4: no writer is inside a generation when entries are hidden and tables made.
//! * F5: a memtable's horizon is set before a number above it is visible, and
//!   readers load the horizon after the visible number.
//! * F6: the tables, and the fact that no log before the new one is needed, are recorded in
//!   one step, before a write can be acknowledged in the new log.
//! * F7: numbers that were given up are not used again: the manifest has the last of them
//!   before the new generation begins above it (P7).
//!
//! Prepared sections (`db::two_phase`) are logged again at the beginning of the new log,
//! before step 4, with the numbers that they have. A recovery that finds the old logs still
//! needed takes the sections from there, where they may have been decided, and passes over
//! those. Sections that were inserted when they were prepared are in tables after step 4, and the
//! next opening must not insert them again. So they get a log of their own, before the new one:
//! no column family needs it, but the database does.
//!
//! No log that has failed is written or synced again (F3). Old logs are deleted, not
//! recycled and not archived. The new log begins with a link to them, so that a reader of
//! updates notices what is missing. If the resumption fails, the database stays stopped,
//! reads stay as they were, and another resumption may try again.

use super::Engine;
use super::failure::Source;
use super::generations::{Generations, Switching};
use super::state::{CfState, DbState};
use crate::db::background::flush::{self, FlushJob, Flushed};
use crate::listener::FlushReason;
use crate::memtable::sections::Section;
use crate::panics::{Guarded, caught};
use crate::thread_pools::pool::Waiting;
use crate::version::new_tables::NewTables;
use crate::write::generation::{End, Generation};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;
use whitewater_concurrent::system::{self, MutexGuard};
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::manifest::VersionEdit;
use whitewater_storage::planted;
use whitewater_storage::wal::Segment;
use whitewater_storage::{Error, Result, Severity};

/// The interval at which a resumption checks whether all writers have left.
const LOOK: Duration = Duration::from_micros(100);

/// The logs that a resumption makes, oldest first.
#[derive(Debug, Default)]
struct NewLogs {
    all: Vec<Arc<Segment>>,
    /// Number and size of the one with sections alone, if there is one.
    between: Option<(u64, u64)>,
}

impl NewLogs {
    /// The number of the first log that is needed afterwards.
    fn first_number(&self) -> u64 {
        self.all.first().map_or(0, |log| log.log_number())
    }

    /// The log that writes go to.
    fn current(&self) -> Result<&Arc<Segment>> {
        let last = self.all.last();
        last.ok_or_else(|| Error::corruption("a resumption has made no log"))
    }
}

impl Generations {
    /// Replaces the current generation by a closed one; returns where the current one
    /// ended.
    fn stand_in(&self) -> End {
        let before = self.load_full();
        // A failed switch may have closed it.
        let end = before.close().or_else(|| before.ended());
        let end = end.unwrap_or(End {
            last: before.base(),
            offset: before.start(),
        });
        let stand_in = Generation::new(
            before.memtables.clone(),
            before.wal.clone(),
            before.start(),
            end,
        );
        stand_in.close();
        self.track(&before, end);
        drop(before);
        self.replace(stand_in);
        end
    }
}

impl Engine {
    /// Ends a failure that stopped writes, if that is safe; see the module. A failed flush
    /// that would be retried later is retried at once, and waited for: `Ok` means that
    /// nothing fails now.
    ///
    /// # Errors
    /// The failure itself if it is fatal or worse; `ShutdownInProgress`; otherwise the
    /// error met on the way. The database then stays stopped as before.
    pub fn resume(&self) -> Result<()> {
        self.info_log.write("Resuming DB");
        let before = self.lock_state().failure.stop().cloned();
        self.observers.note_recovery(before.clone(), false);
        let outcome = self.try_resume();
        self.observers
            .note_recovered(before, outcome.as_ref().err().cloned(), false);
        match &outcome {
            Ok(()) => self.info_log.write("Successfully resumed DB"),
            Err(e) => self.info_log.error(&format!("Failed to resume DB [{e}]")),
        }
        self.background.look_again();
        self.log_stalls();
        outcome
    }

    fn try_resume(&self) -> Result<()> {
        let one_at_a_time = self.switching()?;
        let state = self.lock_state();
        match state.failure.severity() {
            Severity::HardError => drop(state),
            Severity::SoftError => {
                drop(one_at_a_time); // flushes may wait for a switch
                return self.try_again(state);
            }
            _ => return Self::check_healthy(&state),
        }
        self.end_hard_failure(&one_at_a_time)
    }

    /// Ends the failure that has stopped the database, unless it needs more than that or is over;
    /// `None` then. For [`auto_resume`](super::auto_resume).
    pub(super) fn resume_if_stopped(&self) -> Option<Result<()>> {
        let one_at_a_time = self.commit.generations.switching();
        let is_hard = self.lock_state().failure.severity() == Severity::HardError;
        is_hard.then(|| self.end_hard_failure(&one_at_a_time))
    }

    fn end_hard_failure(&self, _: &Switching<'_>) -> Result<()> {
        {
            let mut state = self.lock_state();
            if state.closing {
                return Self::check_healthy(&state);
            }
            while state.running_flushes > 0 {
                self.background.wait_for_job(&mut state, None);
            }
        }
        // A flush that has ended may be about to purge logs. Logs that it made obsolete go
        // to the archive; the other logs are going to be deleted. Memtables may need less
        // than the manifest names, for example after a column family was dropped.
        let recorded = self.files.versions.min_log_number_to_keep();
        self.purge_logs_between_switches(recorded);
        let end = self.commit.generations.stand_in();
        self.await_nobody()?; // upholds F4
        self.check_published()?;
        // Failures of the writers that have left are dealt with, too.
        let failures = {
            let state = self.lock_state();
            if state.failure.severity() > Severity::HardError {
                return Self::check_healthy(&state);
            }
            state.failure.count
        };
        // From here on, everything that those writers did is seen.
        let last = self.commit.publication.visible();
        let mut due = self.hide_failed(last, end);
        let mut logs = NewLogs::default();
        let begun = self.begin_logs(&mut logs, last);
        let start = begun.inspect_err(|_| self.discard(&logs))?;
        let next_log = logs.current()?.log_number();
        due.iter_mut().for_each(|job| job.next_log = next_log);
        let flushed = self.flush_due(&due);
        let (flushed, opened) = flushed.inspect_err(|_| self.discard(&logs))?;
        let recorded = self.record(&due, &flushed, opened, &logs, end);
        recorded.inspect_err(|e| {
            self.report(Source::Manifest, e, "resuming");
            // If the manifest has the record after all, no other logs are read: these stay
            // if they have sections.
            if self.commit.sections.prepared_at(last).is_empty() {
                self.discard(&logs);
            }
        })?;
        flush::tell_ends(self, &due, &flushed);
        self.commit.sections.note_moved(last, logs.first_number());
        drop(due);
        let next = End {
            offset: start,
            ..end
        };
        self.let_writers_in(&logs, next, failures)
    }

    /// Makes the logs that follow those that are given up, of which nothing above `last` counts.
    /// Returns where the first write begins. On failure, `logs` has those that were made.
    fn begin_logs(&self, logs: &mut NewLogs, last: SequenceNumber) -> Result<u64> {
        let sections = self.commit.sections.prepared_at(last);
        let mut own_log = self.commit.undecided.is_some() && !sections.is_empty();
        planted!(SectionsInsertedAgain => own_log = false);
        if own_log {
            let log = self.make_log(logs)?;
            let start = self.commit.wal.begin_successor(&log, None, last)?;
            let end = self.log_sections_again(&log, start, &sections)?;
            self.commit.wal.trim(&log, end)?;
            logs.between = Some((log.log_number(), end));
        }
        let log = self.make_log(logs)?;
        let start = self.commit.wal.begin_successor(&log, logs.between, last)?;
        if own_log {
            // Makes its name durable, so that the sections are not found without it.
            return self.commit.wal.begin_with_all(&log, start, &[]);
        }
        if sections.is_empty() {
            return Ok(start);
        }
        self.log_sections_again(&log, start, &sections)
    }

    fn make_log(&self, logs: &mut NewLogs) -> Result<Arc<Segment>> {
        let number = self.files.versions.new_file_number();
        let log = self.commit.wal.create(number)?;
        logs.all.push(log.clone());
        Ok(log)
    }

    fn discard(&self, logs: &NewLogs) {
        logs.all.iter().for_each(|log| self.commit.wal.discard(log));
    }

    /// Ends soft failures. Flushes are retried and waited for, since writers that need room
    /// are refused as long as flushes fail. Compactions may no longer be due; their
    /// failures are forgotten.
    ///
    /// # Errors
    /// The error of the flush, if it fails again.
    fn try_again(&self, mut state: MutexGuard<'_, DbState>) -> Result<()> {
        let forgotten = state.failure.compaction.forget();
        self.note_forgotten(&mut state, forgotten);
        // The flushes that are running began before whatever has changed.
        let begun = state.failure.flush.total + state.running_flushes as u64;
        loop {
            Self::check_healthy(&state)?;
            let Some(last) = state.failure.flush.last() else {
                return Ok(());
            };
            if state.failure.flush.total > begun {
                return Err(last);
            }
            let mut families = state.cfs.values();
            if state.running_flushes == 0 && !families.any(CfState::wants_flush) {
                let forgotten = state.failure.flush.forget();
                self.note_forgotten(&mut state, forgotten);
                return Ok(());
            }
            state.failure.flush.hurry();
            self.background.work.notify_all();
            self.background.wait_for_job(&mut state, None);
        }
    }

    /// Waits until no thread writes in a retired generation.
    fn await_nobody(&self) -> Result<()> {
        // The caller may be a background thread, whose pool the writers may need.
        let mut waiting = None;
        loop {
            if !self.commit.generations.has_writers_before() {
                // The counts were read relaxed. Acquire: pairs with the release with which
                // each writer has dropped its reference.
                fence(Ordering::Acquire);
                return Ok(());
            }
            if self.lock_state().closing {
                return Err(Self::shutdown_error());
            }
            waiting.get_or_insert_with(Waiting::begin);
            system::sleep(LOOK);
        }
    }

    /// Refuses if a write whose insert failed was published (`write::unordered`): the log
    /// has all of it, the memtables only a part.
    fn check_published(&self) -> Result<()> {
        if self.commit.generations.are_settled() {
            return Ok(());
        }
        let mut state = self.lock_state();
        state.failure.make_fatal();
        Self::check_healthy(&state)
    }

    /// Hides everything above `last`, the visible number (F5); returns all memtables to
    /// be flushed, for a log that is not known yet.
    fn hide_failed(&self, last: SequenceNumber, end: End) -> Vec<FlushJob> {
        let mut state = self.lock_state();
        let mut due = Vec::new();
        for cf in state.cfs.values() {
            let memtables: Vec<_> = cf.imm.iter().chain([&cf.mem]).cloned().collect();
            for memtable in &memtables {
                planted!(FailedWriteShows => continue);
                if end.last > last {
                    memtable.hide_above(last);
                }
            }
            cf.mem.retire(end.last);
            due.push(FlushJob {
                cf: cf.data.clone(),
                memtables,
                next_log: 0,
                may_purge: false,
                reason: FlushReason::ErrorRecovery,
            });
        }
        for dropped in state.dropped.drain(..) {
            if let Some(memtable) = dropped.upgrade().filter(|_| end.last > last) {
                memtable.hide_above(last);
            }
        }
        drop(state);
        let memtables = due.iter().flat_map(|job| &job.memtables);
        memtables.for_each(|m| m.seal());
        due
    }

    /// Logs the prepared `sections` again, in `log` from `at` on, since no older log is going
    /// to be read, and makes them durable. Each keeps its number. Returns where they end.
    fn log_sections_again(
        &self,
        log: &Arc<Segment>,
        at: u64,
        sections: &[(Arc<Section>, SequenceNumber)],
    ) -> Result<u64> {
        let records = sections
            .iter()
            .map(|(section, number)| section.records(*number));
        let records: Vec<Vec<u8>> = records.flatten().collect();
        self.commit.wal.begin_with_all(log, at, &records)
    }

    /// Writes all memtables as tables, makes their names durable, and opens them. On failure there
    /// are no tables.
    fn flush_due(&self, due: &[FlushJob]) -> Result<(Vec<Flushed>, NewTables)> {
        let mut flushed = Vec::with_capacity(due.len());
        let write = || {
            self.write_tables(due, &mut flushed)?;
            flush::make_ready(self, due, &flushed)
        };
        match self.on_own_thread(|| caught(Guarded::Job, write)) {
            Ok(opened) => Ok((flushed, opened)),
            Err(e) => {
                flush::remove(self, due, &flushed);
                if self.severity(Source::Flush, &e) > Severity::HardError {
                    self.report(Source::Flush, &e, "resuming");
                }
                Err(e)
            }
        }
    }

    fn write_tables(&self, due: &[FlushJob], flushed: &mut Vec<Flushed>) -> Result<()> {
        let live = self.live();
        for job in due {
            let mut memtables = &job.memtables[..];
            planted!(MemtableForgotten => memtables = &memtables[memtables.len() - 1..]);
            flushed.push(flush::write_one(self, job, memtables, &live)?);
        }
        Ok(())
    }

    /// Records what was `flushed`, whose tables are open, and the numbers of the first logs that
    /// are needed (F6), and installs the tables for readers, with new memtables.
    fn record(
        &self,
        due: &[FlushJob],
        flushed: &[Flushed],
        mut opened: NewTables,
        logs: &NewLogs,
        end: End,
    ) -> Result<()> {
        let first_log = logs.current()?.log_number();
        let ids: Vec<u32> = due.iter().map(|job| job.cf.id).collect();
        let mut fresh: BTreeMap<_, _> = self.fresh_memtables(&ids, first_log).into_iter().collect();
        let for_sections = Some(logs.first_number()).filter(|log| *log < first_log);
        let undecided_from = (self.commit.undecided.as_ref()).map(|_| for_sections.unwrap_or(0));
        let edits = due.iter().zip(flushed).map(|(job, flushed)| VersionEdit {
            column_family: job.cf.id,
            log_number: Some(first_log),
            prev_log_number: Some(0),
            min_log_number_to_keep: Some(logs.first_number()),
            new_files: flushed.tables.iter().map(|t| (0, t.clone())).collect(),
            blob_files: flushed.blob_files.clone(),
            undecided_from,
            ..VersionEdit::default()
        });
        let of_family = |id: u32| {
            let mut all = due.iter().zip(flushed);
            all.find_map(|(job, flushed)| (job.cf.id == id).then_some(flushed))
        };
        // Numbers of failed writes are not used again, even after a crash (F7).
        let mut last = end.last;
        planted!(FailedNumbersUsedAgain => last = self.commit.publication.visible());
        self.files
            .versions
            .log_and_apply(edits.collect(), last, &[], &mut |changed| {
                // Declared before the guard, so it is dropped after the mutex is free.
                let mut old = Vec::new();
                opened.hand_over(changed);
                let mut state = self.state.lock();
                for new in changed {
                    let (Some(cf), Some(mem)) = (state.cfs.get_mut(&new.id), fresh.remove(&new.id))
                    else {
                        continue;
                    };
                    mem.begin_after(last);
                    let mem = cf.set_memtable(mem);
                    let imm = std::mem::take(&mut cf.imm);
                    cf.end_flush(false);
                    if let Some(flushed) = of_family(new.id) {
                        cf.stats.add_flush(flushed.stats);
                    }
                    old.push((cf.set_version(new.current.clone()), imm, mem));
                    cf.publish();
                }
                self.recompute_stall(&mut state, changed.iter().map(|new| new.id));
            })
    }

    /// Gives up the numbers of failed writes, and lets writers into a generation that
    /// continues above them, at `next` in the last of `logs`, unless something else has failed
    /// meanwhile.
    fn let_writers_in(&self, logs: &NewLogs, next: End, failures: u64) -> Result<()> {
        let log = logs.current()?;
        let obsolete = self.commit.wal.restart(log, logs.between);
        self.commit.forget_unlogged();
        // Before any writer gets a number above them.
        self.commit.publication.restart(next.last);
        let cleared = {
            let mut state = self.lock_state();
            // Cleared before the generation is installed, so that nothing that the first
            // writers ask for is forgotten: until then they find a closed generation.
            let cleared = self.clear(&mut state, failures);
            self.install(&state, log, next.offset, next);
            cleared
        };
        self.delete_replaced_logs(obsolete);
        self.purge_obsolete_files();
        cleared
    }

    /// Forgets the failure, if there were no more than `failures` failures. No thread
    /// writes yet.
    fn clear(&self, state: &mut DbState, failures: u64) -> Result<()> {
        if state.failure.count > failures {
            return Err(match state.failure.stop() {
                Some(e) => e.clone(),
                None => Error::corruption("a failure was forgotten"),
            });
        }
        if state.closing {
            return Err(Self::shutdown_error());
        }
        self.end_tries_to_resume(state, None);
        state.failure.clear();
        // Whatever was asked for is done: the memtables and logs that it concerned are gone.
        // A failure that is not forgotten here was not counted yet, and asks for attention
        // after it is counted.
        self.commit.take_attention();
        self.commit.let_writers_through(false);
        self.recompute_stall(state, []);
        Ok(())
    }
}
