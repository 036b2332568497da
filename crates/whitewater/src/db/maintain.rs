//! Flushes on request, the running of compactions, and column families.

use super::events::job_stats;
use super::failure::Source;
use super::state::{CfState, DbState};
use super::ttl::TimeToLive;
use super::{Engine, LiveTable};
use crate::clock::micros;
use crate::column_family::ColumnFamilyData;
use crate::compact::job;
use crate::compact::part_events::PartEvents;
use crate::compact::pick::Compaction;
use crate::db::background::flush::{tell_levels, tell_tables};
use crate::info_log::dump;
use crate::info_log::event::Event;
use crate::listener::event::Happened;
use crate::listener::{CompactionJobStats, TableFileCreationReason};
use crate::memtable::{Home, Memtable};
use crate::options::{CfOptions, DbOptions};
use crate::stats::JobStats;
use crate::table_writer::OutputContext;
use crate::trace;
use std::sync::Arc;
use std::time::Duration;
use whitewater_concurrent::system;
use whitewater_storage::key::{SequenceNumber, user_key};
use whitewater_storage::manifest::{FileMetaData, VersionEdit};
use whitewater_storage::planted::{Bug, planted};
use whitewater_storage::{Error, ErrorKind, Result};

/// A compaction that was recorded.
struct Done {
    tables: Vec<FileMetaData>,
    moved: bool,
    stats: CompactionJobStats,
}

impl Engine {
    /// What table writers of column family `cf` need, with the options that
    /// hold for this job.
    pub(crate) fn output_context<'a>(
        &'a self,
        cf: &'a ColumnFamilyData,
        (db, options): (&'a DbOptions, &'a CfOptions),
        snapshots: &'a [SequenceNumber],
    ) -> OutputContext<'a> {
        OutputContext {
            fs: &self.fs,
            dir: &self.dir,
            versions: &self.versions,
            db,
            options,
            comparator: &cf.comparator,
            cf_id: cf.id,
            cf_name: &cf.name,
            db_id: &self.db_id,
            session_id: &self.session_id,
            snapshots,
            limiter: self.limiter.as_ref(),
            gate: Some(&self.gate),
            now: self.options.clock.now(),
            cancel: &self.cancel,
        }
    }

    /// The database's options at present. They stay what they are for whoever holds
    /// them; a change makes others.
    pub(crate) fn db_options(&self) -> Arc<DbOptions> {
        self.lock_state().options.clone()
    }

    /// Switches the memtables of `cfs` out and, with `wait`, waits until they
    /// are tables.
    pub fn flush(self: &Arc<Self>, cfs: &[Arc<ColumnFamilyData>], wait: bool) -> Result<()> {
        self.flush_those(|_| cfs.iter().map(|cf| cf.id).collect(), wait)
    }

    /// [`Engine::flush`] of all column families, those included that are created
    /// while this waits for the right to switch: what was written to them may
    /// come before what is flushed of others.
    pub fn flush_all(self: &Arc<Self>, wait: bool) -> Result<()> {
        self.flush_those(|state| state.cfs.keys().copied().collect(), wait)
    }

    fn flush_those(
        self: &Arc<Self>,
        those: impl FnOnce(&DbState) -> Vec<u32>,
        wait: bool,
    ) -> Result<()> {
        let ids;
        {
            let switching = self.switching();
            {
                let state = self.lock_state();
                Self::check_healthy(&state)?;
                ids = those(&state);
            }
            self.switch_memtables(&switching, &ids, true)?;
        }
        if !wait {
            return Ok(());
        }
        let mut state = self.lock_state();
        // What is under way may fail yet for a reason that is gone.
        let failures = state.failure.totals().0 + state.running_flushes as u64;
        state.failure.flush.hurry();
        // Only the memtables switched out by now matter, not later ones.
        let mut goal: Vec<(u32, u64)> = Vec::new();
        for id in ids {
            if let Some(cf) = state.cfs.get_mut(&id)
                && let Some(last) = cf.imm.last()
            {
                goal.push((id, last.id));
                // Somebody else may have switched the last one out, since this thread
                // did, without asking for its flush.
                cf.flush_requested = true;
            }
        }
        self.work.notify_all();
        loop {
            let pending = goal.iter().any(|(id, last)| {
                state
                    .cfs
                    .get(id)
                    .is_some_and(|cf| cf.imm.iter().any(|m| m.id <= *last))
            });
            if !pending {
                return Ok(());
            }
            Self::check_healthy(&state)?;
            if let Some(e) = state.failure.lasting_flush()
                && state.failure.totals().0 > failures
            {
                return Err(e);
            }
            self.wait_for_job(&mut state, None);
        }
    }

    /// Runs `compaction` and installs what it made.
    pub(crate) fn run_compaction(
        &self,
        cf: &Arc<ColumnFamilyData>,
        compaction: Compaction,
    ) -> Result<()> {
        let number = self.next_job();
        let _span = trace::compaction(&self.dir, &cf.name, number, compaction.output_level);
        self.tell_start(cf, &compaction, number);
        let info = self.compaction_info(cf, &compaction, number);
        if let Some(info) = info.clone() {
            self.note(|| Happened::CompactionBegin(info));
        }
        let mut done = None;
        let events = (info.as_ref().zip(self.events.get()))
            .map(|(info, events)| PartEvents::new(events, info));
        let outcome = self.compact(cf, compaction, number, events, &mut done);
        if let Some(mut info) = info {
            match done {
                Some(Done {
                    tables,
                    moved,
                    stats,
                }) => {
                    let reason = TableFileCreationReason::Compaction;
                    if !moved {
                        self.note_tables(&cf.name, number, reason, &tables);
                    }
                    let tables = tables.iter();
                    info.output_files = tables.map(|t| self.table_path(t.number)).collect();
                    (info.trivial_move, info.stats) = (moved, stats);
                }
                None => info.status.clone_from(&outcome),
            }
            self.note(|| Happened::CompactionCompleted(info));
        }
        outcome
    }

    fn compact(
        &self,
        cf: &Arc<ColumnFamilyData>,
        compaction: Compaction,
        number: u64,
        events: Option<PartEvents<'_>>,
        recorded: &mut Option<Done>,
    ) -> Result<()> {
        let start = system::now();
        let snapshots = self.snapshots.sequences();
        let (db, options) = (self.db_options(), cf.options());
        let ctx = self.output_context(cf, (&db, &options), &snapshots);
        let _pending = self.expect_outputs();
        let done = job::run(&compaction, &ctx, &self.tables, events)
            .inspect_err(|e| self.count_cancelled(e))?;
        let outputs: Vec<_> = done.edit.new_files.iter().map(|(_, f)| f.clone()).collect();
        if !done.moved {
            tell_tables(self, &cf.name, number, &outputs);
            if !planted(Bug::CompactionNameNotSynced) {
                self.fs.sync_dir(&self.dir)?;
            }
        }
        let last = self.latest_sequence_number();
        self.versions
            .log_and_apply(vec![done.edit], last, None, &mut |changed| {
                // Declared first, so dropped after the mutex is free.
                let mut old = Vec::new();
                let mut state = self.lock_state();
                for new in changed {
                    let Some(cf) = state.cfs.get_mut(&new.id) else {
                        continue;
                    };
                    old.push(cf.set_version(new.current.clone()));
                    cf.publish();
                }
                self.weigh(&mut state, changed.iter().map(|new| new.id));
            })
            .inspect_err(|e| self.report(Source::Manifest, e, "recording a compaction"))?;
        let micros = micros(system::since(start));
        let stats = JobStats {
            micros: if done.moved { 0 } else { micros },
            ..done.stats
        };
        self.count_compaction(&compaction, &stats, &done.drops);
        self.log.write(&format!(
            "[{}] [JOB {number}] Compacted {} in {} parts => {} bytes",
            cf.name,
            compaction.summary(),
            done.parts,
            stats.bytes_written
        ));
        let event = Event::new(number, "compaction_finished")
            .number("compaction_time_micros", micros)
            .number("output_level", compaction.output_level)
            .number("num_output_files", outputs.len())
            .number("total_output_size", stats.bytes_written);
        tell_levels(self, cf, event);
        *recorded = Some(Done {
            tables: outputs,
            moved: done.moved,
            stats: job_stats(&stats, &done.drops, done.parts),
        });
        // With the marks on its files goes what they hid from the scores: a
        // file that was only moved counts from here on. The version is let go
        // of after the mutex.
        let old = compaction.version.clone();
        let (output_level, reason) = (compaction.output_level, compaction.reason);
        let mut state = self.lock_state();
        drop(compaction);
        if let Some(cf) = state.cfs.get_mut(&cf.id) {
            cf.stats.add_compaction(output_level, reason, stats);
            cf.score_levels();
        }
        self.weigh(&mut state, [cf.id]);
        drop(state);
        drop(old);
        self.snapshots.note_gone(&snapshots);
        self.tell_stalls();
        Ok(())
    }

    /// Logs that `compaction` begins, as job `number`.
    fn tell_start(&self, cf: &ColumnFamilyData, compaction: &Compaction, number: u64) {
        self.log.write(&format!(
            "[{}] [JOB {number}] Compacting {}",
            cf.name,
            compaction.summary()
        ));
        let mut event = Event::new(number, "compaction_started")
            .text("cf_name", &cf.name)
            .text("compaction_reason", compaction.reason);
        for (level, files) in &compaction.inputs {
            let numbers = files.iter().map(|f| f.meta.number);
            event = event.list(&format!("files_L{level}"), numbers);
        }
        let inputs = compaction.inputs.iter().flat_map(|(_, files)| files);
        event
            .number("input_data_size", inputs.map(|f| f.meta.size).sum::<u64>())
            .log(&self.log);
    }

    /// After a compaction of `cf` ended, well or not: its files are free again.
    /// The result lives until those that it made obsolete are deleted.
    pub(crate) fn compaction_ended(&self, cf: &ColumnFamilyData) -> Purge<'_> {
        let mut state = self.lock_state();
        state.purges += 1;
        state.running_compactions -= 1;
        if let Some(cf) = state.cfs.get_mut(&cf.id) {
            cf.score_levels();
        }
        drop(state);
        Purge(self)
    }

    /// A job begins to delete files that it made obsolete.
    pub(crate) fn begin_purge(&self) -> Purge<'_> {
        self.lock_state().purges += 1;
        Purge(self)
    }

    /// Waits until no flush or compaction is running or due, and what those
    /// that ran made obsolete is deleted.
    ///
    /// # Errors
    /// `TimedOut` after `timeout`; the failure that stopped the database.
    pub fn wait_for_compact(
        self: &Arc<Self>,
        flush: bool,
        timeout: Option<Duration>,
    ) -> Result<()> {
        let deadline = timeout.map(|t| system::now() + t);
        if flush {
            self.flush_all(true)?;
        }
        let mut state = self.lock_state();
        self.look_for_due(&mut state);
        let failures = state.failure.totals();
        state.failure.flush.hurry();
        state.failure.compaction.hurry();
        self.work.notify_all();
        while state.busy() || state.purges > 0 {
            Self::check_healthy(&state)?;
            if let Some(e) = state.failure.lasting_since(failures) {
                return Err(e);
            }
            if self.wait_for_job(&mut state, deadline) {
                return Err(Error::new(ErrorKind::TimedOut, "background work goes on"));
            }
        }
        Self::check_healthy(&state)
    }

    /// Creates a column family.
    ///
    /// # Errors
    /// `InvalidArgument` when the name is empty or taken, an option is out of
    /// range, or the database's options rule one out.
    pub fn create_cf(
        self: &Arc<Self>,
        name: &str,
        mut options: CfOptions,
    ) -> Result<Arc<ColumnFamilyData>> {
        if self.options.stamps_values && !options.values_have_times {
            // As in RocksDB: they live forever.
            TimeToLive::give(&mut options, 0, &self.options.clock);
        }
        self.options.inform(&mut options);
        options.validate()?;
        let options = Arc::new(options);
        let before = self.lock_state().cfs.len();
        let created = self.create_cf_arc(name, options.clone())?;
        dump::family(&self.log, name, &options, before);
        Ok(created)
    }

    /// [`create_cf`](Self::create_cf) of checked options.
    pub(crate) fn create_cf_arc(
        self: &Arc<Self>,
        name: &str,
        options: Arc<CfOptions>,
    ) -> Result<Arc<ColumnFamilyData>> {
        self.add_cf(name, options)?;
        let state = self.lock_state();
        let found = state.cfs.values().find(|cf| cf.data.name == name);
        found
            .map(|cf| cf.data.clone())
            .ok_or_else(Self::shutdown_error)
    }

    /// Writers see the column family from the next generation on.
    fn add_cf(&self, name: &str, options: Arc<CfOptions>) -> Result<()> {
        if name.is_empty() {
            return Err(Error::invalid(
                "the name of a column family cannot be empty",
            ));
        }
        let switching = self.switching();
        {
            let state = self.lock_state();
            Self::check_healthy(&state)?;
            state.options.check_family(&options)?;
            if state.cfs.values().any(|cf| cf.data.name == name) {
                return Err(Error::invalid("Column family already exists"));
            }
        }
        if !self.is_announced(name) {
            self.announce_families(vec![(name.to_owned(), options.clone())]);
        }
        let added = self.record_cf(name, &options);
        if let Err(e) = added {
            self.withdraw_family(name);
            return Err(e);
        }
        self.family_arrived(name);
        self.renew_generation(&switching)?;
        drop(switching);
        self.log.write(&format!("Created column family [{name}]"));
        Ok(())
    }

    /// Adds a column family to the manifest and to those that there are; the
    /// caller has the right to switch.
    fn record_cf(&self, name: &str, options: &Arc<CfOptions>) -> Result<()> {
        Self::check_healthy(&self.lock_state())?;
        let wal_number = self.generation.load().wal.log_number();
        let edit = VersionEdit {
            comparator: Some(options.comparator.name().to_owned()),
            log_number: Some(wal_number),
            column_family: self.versions.new_column_family_id()?,
            column_family_add: Some(name.to_owned()),
            ..VersionEdit::default()
        };
        let last = self.latest_sequence_number();
        let added =
            self.versions
                .log_and_apply(vec![edit], last, Some(options.clone()), &mut |changed| {
                    let mut state = self.lock_state();
                    for new in changed {
                        let mem = Memtable::new(
                            options,
                            Home {
                                family: name,
                                tenant: self.tenant.as_ref(),
                            },
                            wal_number,
                            state.next_memtable_id,
                        );
                        state.next_memtable_id += 1;
                        let data = ColumnFamilyData::new(
                            new.id,
                            new.name.clone(),
                            options.clone(),
                            mem.clone(),
                            new.current.clone(),
                        );
                        state
                            .cfs
                            .insert(new.id, CfState::new(data, mem, new.current.clone()));
                    }
                });
        added.inspect_err(|e| self.report(Source::Manifest, e, "creating a column family"))
    }

    /// Drops a column family: its data goes once the last handle and iterator
    /// let go of it.
    pub fn drop_cf(self: &Arc<Self>, cf: &Arc<ColumnFamilyData>) -> Result<()> {
        if cf.id == 0 {
            return Err(Error::invalid("Can't drop default column family"));
        }
        self.remove_cf(cf)?;
        self.purge_obsolete_files();
        Ok(())
    }

    fn remove_cf(&self, cf: &Arc<ColumnFamilyData>) -> Result<()> {
        let switching = self.switching();
        Self::check_healthy(&self.lock_state())?;
        if cf.is_dropped() {
            return Err(Error::invalid("Column family already dropped!"));
        }
        let edit = VersionEdit {
            column_family: cf.id,
            column_family_drop: true,
            ..VersionEdit::default()
        };
        let last = self.latest_sequence_number();
        let dropped = self
            .versions
            .log_and_apply(vec![edit], last, None, &mut |_| {});
        if let Err(e) = &dropped {
            self.report(Source::Manifest, e, "dropping a column family");
            return dropped;
        }
        let removed = {
            let mut state = self.lock_state();
            cf.set_dropped();
            let removed = state.cfs.remove(&cf.id);
            if let Some(cf) = &removed {
                state.dropped.retain(|mem| mem.strong_count() > 0);
                // Older ones, too: a view may be from when they were active.
                let all = cf.imm.iter().chain([&cf.mem]);
                state.dropped.extend(all.map(Arc::downgrade));
            }
            self.forgive_flushes(&mut state);
            self.weigh(&mut state, []);
            self.set_log_limit(&state);
            removed
        };
        self.note_dropped(cf);
        let end = self.renew_generation(&switching)?;
        drop(switching);
        if let Some(cf) = &removed {
            cf.mem.retire(end.last);
        }
        drop(removed);
        // Whoever waits for its flush need not.
        self.done.notify_all();
        self.log
            .write(&format!("Dropped column family [{}]", cf.name));
        self.write_options_file();
        Ok(())
    }

    /// About how many file bytes hold the keys of each `[start, end)`.
    pub fn approximate_sizes(
        &self,
        cf: &Arc<ColumnFamilyData>,
        ranges: &[(&[u8], &[u8])],
    ) -> Vec<u64> {
        let view = cf.pin();
        ranges
            .iter()
            .map(|(start, end)| {
                let user = &cf.comparator.user;
                let (start, end) = (user.first_version(start), user.first_version(end));
                crate::read::estimate::approximate_size(
                    &view.version,
                    &self.tables,
                    &cf.comparator,
                    &start,
                    &end,
                )
            })
            .collect()
    }

    /// The table files in use.
    pub fn live_tables(&self) -> Result<Vec<LiveTable>> {
        let views: Vec<_> = {
            let state = self.lock_state();
            state
                .cfs
                .values()
                .map(|cf| (cf.data.clone(), cf.version.clone()))
                .collect()
        };
        let mut out = Vec::new();
        for (cf, version) in views {
            for (level, files) in version.levels.iter().enumerate() {
                for file in files {
                    let open = self.tables.open(file, &cf.comparator, &version.open_with)?;
                    let properties = open.table.properties();
                    out.push(LiveTable {
                        column_family_name: cf.name.clone(),
                        name: format!("/{:06}.sst", file.meta.number),
                        size: file.meta.size as usize,
                        level: level as i32,
                        start_key: Some(user_key(&file.meta.smallest).to_vec()),
                        end_key: Some(user_key(&file.meta.largest).to_vec()),
                        num_entries: properties.num_entries,
                        num_deletions: properties.num_deletions,
                    });
                }
            }
        }
        Ok(out)
    }
}

/// While this lives, a job deletes files that it made obsolete; dropped without
/// the database mutex.
#[must_use = "files are being deleted while it lives"]
pub(crate) struct Purge<'a>(&'a Engine);

impl Drop for Purge<'_> {
    fn drop(&mut self) {
        self.0.lock_state().purges -= 1;
        self.0.done.notify_all();
    }
}
