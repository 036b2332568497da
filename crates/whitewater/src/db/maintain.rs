//! Flush, compaction and column families on request.

use super::cf::ColumnFamilyData;
use super::failure::Source;
use super::state::CfState;
use super::{Bottommost, Engine, LiveTable};
use crate::compact::job;
use crate::compact::output::OutputContext;
use crate::compact::pick::{self, Compaction};
use crate::jobs::guarded;
use crate::memtable::{Home, Memtable};
use crate::options::CfOptions;
use crate::stats::{Histogram, Ticker};
use std::sync::Arc;
use std::time::{Duration, Instant};
use whitewater_storage::key::{SequenceNumber, user_key};
use whitewater_storage::manifest::VersionEdit;
use whitewater_storage::{Error, ErrorKind, Result, Severity};

impl Engine {
    /// What table writers of column family `cf` need.
    pub(crate) fn output_context<'a>(
        &'a self,
        cf: &'a ColumnFamilyData,
        snapshots: &'a [SequenceNumber],
    ) -> OutputContext<'a> {
        OutputContext {
            fs: &self.fs,
            dir: &self.dir,
            versions: &self.versions,
            options: &cf.options,
            comparator: &cf.comparator,
            cf_id: cf.id,
            cf_name: &cf.name,
            db_id: &self.db_id,
            session_id: &self.session_id,
            snapshots,
            cancel: &self.cancel,
        }
    }

    /// Switches the memtables of `cfs` out and, with `wait`, waits until they
    /// are tables.
    pub fn flush(self: &Arc<Self>, cfs: &[Arc<ColumnFamilyData>], wait: bool) -> Result<()> {
        let ids: Vec<u32> = cfs.iter().map(|cf| cf.id).collect();
        {
            let switching = self.switching();
            Self::check_healthy(&self.lock_state())?;
            self.switch_memtables(&switching, &ids, true)?;
        }
        if !wait {
            return Ok(());
        }
        let mut state = self.lock_state();
        // What is under way may fail yet for a reason that is gone.
        let failures = state.failure.totals().0 + state.running_flushes as u64;
        state.failure.flush.hurry();
        self.work.notify_all();
        // Only the memtables switched out by now matter, not later ones.
        let goal: Vec<(u32, u64)> = ids
            .iter()
            .filter_map(|id| Some((*id, state.cfs.get(id)?.imm.last()?.id)))
            .collect();
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
        let start = Instant::now();
        let _timer = self.time(Histogram::CompactionTime);
        let snapshots = self.snapshots.sequences();
        let ctx = self.output_context(cf, &snapshots);
        let done = job::run(&compaction, &ctx, &self.tables)?;
        if !compaction.trivial_move {
            self.fs.sync_dir(&self.dir)?;
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
        self.tick(Ticker::CompactReadBytes, done.bytes_read);
        self.tick(Ticker::CompactWriteBytes, done.bytes_written);
        let levels: Vec<String> = compaction
            .inputs
            .iter()
            .map(|(l, f)| format!("{}@{l}", f.len()))
            .collect();
        self.log.write(&format!(
            "[{}] Compacted {} to level {} ({}), {} bytes read, {} written, {} us",
            cf.name,
            levels.join(" + "),
            compaction.output_level,
            compaction.reason,
            done.bytes_read,
            done.bytes_written,
            start.elapsed().as_micros()
        ));
        // With the marks on its files goes what they hid from the scores: a
        // file that was only moved counts from here on. The version is let go
        // of after the mutex.
        let old = compaction.version.clone();
        let mut state = self.lock_state();
        drop(compaction);
        if let Some(cf) = state.cfs.get_mut(&cf.id) {
            cf.score_levels();
        }
        self.weigh(&mut state, [cf.id]);
        drop(state);
        drop(old);
        self.tell_stalls();
        Ok(())
    }

    /// Compacts the user keys `[begin, end]` (`None` is open) down to the
    /// deepest level that holds any of them.
    pub fn compact_range(
        self: &Arc<Self>,
        cf: &Arc<ColumnFamilyData>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        bottommost: Bottommost,
    ) -> Result<()> {
        self.flush(std::slice::from_ref(cf), true)?;
        self.lock_state().manual_compactions += 1;
        let outcome = guarded(|| self.compact_levels(cf, begin, end, bottommost));
        self.lock_state().manual_compactions -= 1;
        // A failure that a background job would only try again is the caller's.
        if let Err(e) = &outcome
            && self.severity(Source::Compaction, e) > Severity::SoftError
        {
            self.report(Source::Compaction, e, "a manual compaction");
        }
        self.work.notify_all();
        self.done.notify_all();
        if outcome.is_ok() {
            self.purge_obsolete_files();
        }
        outcome
    }

    fn compact_levels(
        &self,
        cf: &Arc<ColumnFamilyData>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        bottommost: Bottommost,
    ) -> Result<()> {
        let deepest = |cf: &CfState| {
            (0..cf.version.levels.len())
                .rev()
                .find(|&l| cf.version.num_files(l) > 0)
        };
        let mut level = 0;
        loop {
            let output = {
                let state = self.lock_state();
                let Some(cf) = state.cfs.get(&cf.id) else {
                    return Ok(());
                };
                let Some(last) = deepest(cf) else {
                    return Ok(());
                };
                match level {
                    _ if level > last => return Ok(()),
                    0 => cf.levels.base_level.max(1).min(cf.version.levels.len() - 1),
                    _ if level < last => level + 1,
                    // The deepest level is rewritten in place, if at all.
                    _ => level,
                }
            };
            let forced = matches!(bottommost, Bottommost::Force | Bottommost::ForceOptimized);
            if output == level && (level > 0 && !forced) {
                return Ok(());
            }
            self.compact_level(cf, level, output, begin, end)?;
            if output == level {
                return Ok(());
            }
            level = output;
        }
    }

    fn compact_level(
        &self,
        cf: &Arc<ColumnFamilyData>,
        level: usize,
        output: usize,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
    ) -> Result<()> {
        let compaction = {
            let mut state = self.lock_state();
            loop {
                Self::check_healthy(&state)?;
                let Some(current) = state.cfs.get(&cf.id) else {
                    return Ok(());
                };
                let picked = pick::pick_manual(
                    &current.version,
                    &cf.options,
                    &cf.comparator,
                    level,
                    output,
                    begin,
                    end,
                );
                match picked {
                    None => return Ok(()),
                    Some(Ok(compaction)) => break compaction,
                    // A running compaction holds some of the files.
                    Some(Err(())) => {
                        let soon = Instant::now() + Duration::from_millis(100);
                        self.wait_for_job(&mut state, Some(soon));
                    }
                }
            }
        };
        self.lock_state().running_compactions += 1;
        let outcome = guarded(|| self.run_compaction(cf, compaction));
        self.lock_state().running_compactions -= 1;
        outcome
    }

    /// Waits until no flush or compaction is running or due.
    ///
    /// # Errors
    /// `TimedOut` after `timeout`; the failure that stopped the database.
    pub fn wait_for_compact(
        self: &Arc<Self>,
        flush: bool,
        timeout: Option<Duration>,
    ) -> Result<()> {
        let deadline = timeout.map(|t| Instant::now() + t);
        if flush {
            self.flush(&self.column_families(), true)?;
        }
        let mut state = self.lock_state();
        let failures = state.failure.totals();
        state.failure.flush.hurry();
        state.failure.compaction.hurry();
        self.work.notify_all();
        while state.busy() {
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
    /// `InvalidArgument` when the name is taken, an option is out of range, or
    /// the database's options rule one out.
    pub fn create_cf(
        self: &Arc<Self>,
        name: &str,
        options: CfOptions,
    ) -> Result<Arc<ColumnFamilyData>> {
        options.validate()?;
        self.options.check_family(&options)?;
        self.create_cf_arc(name, Arc::new(options))
    }

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
        let switching = self.switching();
        {
            let state = self.lock_state();
            Self::check_healthy(&state)?;
            if state.cfs.values().any(|cf| cf.data.name == name) {
                return Err(Error::invalid("Column family already exists"));
            }
        }
        let wal_number = self.generation.load().log.log_number();
        let edit = VersionEdit {
            comparator: Some(options.comparator.name().to_owned()),
            log_number: Some(wal_number),
            column_family: self.versions.new_column_family_id(),
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
                            &options,
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
        if let Err(e) = &added {
            self.report(Source::Manifest, e, "creating a column family");
            return added;
        }
        self.renew_generation(&switching)?;
        drop(switching);
        self.log.write(&format!("Created column family [{name}]"));
        self.follow_families();
        Ok(())
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
            self.weigh(&mut state, []);
            removed
        };
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
        self.follow_families();
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
                crate::read::estimate::approximate_size(
                    &view.version,
                    &self.tables,
                    &cf.comparator,
                    start,
                    end,
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
                    let open =
                        self.tables
                            .open(file, &cf.comparator, version.block_cache.as_ref())?;
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
