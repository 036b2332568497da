//! Creating and dropping column families.

use crate::column_family::ColumnFamilyData;
use crate::db::Engine;
use crate::db::failure::Source;
use crate::db::state::CfState;
use crate::db::ttl::TimeToLive;
use crate::info_log::dump;
use crate::memtable::{Home, Memtable};
use crate::options::CfOptions;
use std::sync::Arc;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::manifest::{FileMetaData, VersionEdit};
use whitewater_storage::{Error, Result};

impl Engine {
    /// Creates a column family.
    ///
    /// # Errors
    /// `InvalidArgument` when the name is empty or taken, an option is out of
    /// range, or the database's options rule one out.
    pub fn create_cf(
        self: &Arc<Self>,
        name: &str,
        options: CfOptions,
    ) -> Result<Arc<ColumnFamilyData>> {
        let options = self.options_for_new(options)?;
        let before = self.lock_state().cfs.len();
        let created = self.create_cf_arc(name, options.clone())?;
        dump::family(&self.info_log, name, &options, before);
        Ok(created)
    }

    /// The options of a new column family, checked.
    pub(super) fn options_for_new(&self, mut options: CfOptions) -> Result<Arc<CfOptions>> {
        if self.options.stamps_values && !options.values_have_times {
            // As in RocksDB, its values live forever.
            TimeToLive::give(&mut options, 0, &self.options.clock);
        }
        self.options.inform(&mut options);
        options.validate()?;
        Ok(Arc::new(options))
    }

    /// [`create_cf`](Self::create_cf) with checked options.
    pub(crate) fn create_cf_arc(
        self: &Arc<Self>,
        name: &str,
        options: Arc<CfOptions>,
    ) -> Result<Arc<ColumnFamilyData>> {
        self.add_cf(name, options)?;
        self.created_cf(name)
    }

    /// The column family `name`, which was created a moment ago.
    pub(super) fn created_cf(&self, name: &str) -> Result<Arc<ColumnFamilyData>> {
        let state = self.lock_state();
        let found = state.cfs.values().find(|cf| cf.data.name == name);
        found
            .map(|cf| cf.data.clone())
            .ok_or_else(Self::shutdown_error)
    }

    /// Adds a column family. Writers see it from the next generation on.
    fn add_cf(&self, name: &str, options: Arc<CfOptions>) -> Result<()> {
        let switching = self.switching()?;
        self.check_new_family(name, &options)?;
        self.prepare_dirs(&options)?;
        let last = self.latest_sequence_number();
        self.announced(name, &options, || {
            self.record_cf(name, &options, Vec::new(), last)
        })?;
        self.renew_generation(&switching)?;
        drop(switching);
        self.info_log
            .write(&format!("Created column family [{name}]"));
        Ok(())
    }

    /// Checks that a column family `name` with these options can be added.
    pub(super) fn check_new_family(&self, name: &str, options: &CfOptions) -> Result<()> {
        if name.is_empty() {
            return Err(Error::invalid(
                "the name of a column family cannot be empty",
            ));
        }
        let state = self.lock_state();
        Self::check_healthy(&state)?;
        state.options.check_family(options)?;
        if state.cfs.values().any(|cf| cf.data.name == name) {
            return Err(Error::invalid("Column family already exists"));
        }
        Ok(())
    }

    /// Runs `record`, which adds the column family `name`, between what options files need
    /// before and after. The caller holds the right to switch.
    pub(super) fn announced(
        &self,
        name: &str,
        options: &Arc<CfOptions>,
        record: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if !self.files.options_files.have_announced(name) {
            self.announce_families(vec![(name.to_owned(), options.clone())]);
        }
        if let Err(e) = record() {
            self.withdraw_family(name);
            return Err(e);
        }
        self.files.options_files.family_arrived(name);
        Ok(())
    }

    /// Adds a column family with `tables`, by their levels, to the manifest and to the open
    /// ones: all of it or nothing. No sequence number in the tables is beyond `last`. The
    /// caller holds the right to switch.
    pub(super) fn record_cf(
        &self,
        name: &str,
        options: &Arc<CfOptions>,
        tables: Vec<(u32, FileMetaData)>,
        last: SequenceNumber,
    ) -> Result<()> {
        Self::check_healthy(&self.lock_state())?;
        let wal_number = self.commit.generations.load().wal.log_number();
        let id = self.files.versions.new_column_family_id()?;
        let mut edits = vec![VersionEdit {
            comparator: Some(options.comparator.name().to_owned()),
            log_number: Some(wal_number),
            column_family: id,
            column_family_add: Some(name.to_owned()),
            ..VersionEdit::default()
        }];
        if !tables.is_empty() {
            edits.push(VersionEdit {
                column_family: id,
                new_files: tables,
                ..VersionEdit::default()
            });
        }
        let added =
            self.files
                .versions
                .log_and_apply(edits, last, Some(options.clone()), &mut |changed| {
                    let mut state = self.lock_state();
                    for new in changed {
                        let mem = Memtable::new(
                            options,
                            Home {
                                family: name,
                                budget_client: self.commit.budget_client.as_ref(),
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
                            self.files.tables.clone(),
                            state.empty_ranges.clone(),
                        );
                        state
                            .cfs
                            .insert(new.id, CfState::new(data, mem, new.current.clone()));
                    }
                    self.recompute_stall(&mut state, changed.iter().map(|new| new.id));
                });
        added.inspect_err(|e| self.report(Source::Manifest, e, "creating a column family"))
    }

    /// Drops a column family. Its data is deleted once the last handle and iterator have
    /// released it.
    pub fn drop_cf(self: &Arc<Self>, cf: &Arc<ColumnFamilyData>) -> Result<()> {
        if cf.id == 0 {
            return Err(Error::invalid("Can't drop default column family"));
        }
        self.remove_cf(cf)?;
        self.purge_obsolete_files();
        Ok(())
    }

    fn remove_cf(&self, cf: &Arc<ColumnFamilyData>) -> Result<()> {
        let switching = self.switching()?;
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
            .files
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
                // Retired memtables, too: a view may be from the time when they were
                // active.
                let all = cf.imm.iter().chain([&cf.mem]);
                state.dropped.extend(all.map(Arc::downgrade));
            }
            if self.commit.undecided.is_some() {
                state.dropped_families.retain(|cf| cf.strong_count() > 0);
                state.dropped_families.push(Arc::downgrade(cf));
            }
            self.forgive_flushes(&mut state);
            self.recompute_stall(&mut state, []);
            self.set_log_limit(&state);
            removed
        };
        self.observers.note_dropped(cf);
        let end = self.renew_generation(&switching)?;
        drop(switching);
        if let Some(cf) = &removed {
            cf.mem.retire(end.last);
        }
        drop(removed);
        // Threads that wait for its flush need not wait longer.
        self.background.job_has_ended();
        self.info_log
            .write(&format!("Dropped column family [{}]", cf.name));
        self.write_options_file();
        Ok(())
    }
}
