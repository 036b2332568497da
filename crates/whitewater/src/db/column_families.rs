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
use whitewater_storage::manifest::VersionEdit;
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
        mut options: CfOptions,
    ) -> Result<Arc<ColumnFamilyData>> {
        if self.options.stamps_values && !options.values_have_times {
            // As in RocksDB, its values live forever.
            TimeToLive::give(&mut options, 0, &self.options.clock);
        }
        self.options.inform(&mut options);
        options.validate()?;
        let options = Arc::new(options);
        let before = self.lock_state().cfs.len();
        let created = self.create_cf_arc(name, options.clone())?;
        dump::family(&self.info_log, name, &options, before);
        Ok(created)
    }

    /// [`create_cf`](Self::create_cf) with checked options.
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

    /// Adds a column family. Writers see it from the next generation on.
    fn add_cf(&self, name: &str, options: Arc<CfOptions>) -> Result<()> {
        if name.is_empty() {
            return Err(Error::invalid(
                "the name of a column family cannot be empty",
            ));
        }
        let switching = self.commit.generations.switching();
        {
            let state = self.lock_state();
            Self::check_healthy(&state)?;
            state.options.check_family(&options)?;
            if state.cfs.values().any(|cf| cf.data.name == name) {
                return Err(Error::invalid("Column family already exists"));
            }
        }
        self.prepare_dirs(&options)?;
        if !self.files.options_files.have_announced(name) {
            self.announce_families(vec![(name.to_owned(), options.clone())]);
        }
        let added = self.record_cf(name, &options);
        if let Err(e) = added {
            self.withdraw_family(name);
            return Err(e);
        }
        self.files.options_files.family_arrived(name);
        self.renew_generation(&switching)?;
        drop(switching);
        self.info_log
            .write(&format!("Created column family [{name}]"));
        Ok(())
    }

    /// Adds a column family to the manifest and to the open ones. The caller holds the
    /// right to switch.
    fn record_cf(&self, name: &str, options: &Arc<CfOptions>) -> Result<()> {
        Self::check_healthy(&self.lock_state())?;
        let wal_number = self.commit.generations.load().wal.log_number();
        let edit = VersionEdit {
            comparator: Some(options.comparator.name().to_owned()),
            log_number: Some(wal_number),
            column_family: self.files.versions.new_column_family_id()?,
            column_family_add: Some(name.to_owned()),
            ..VersionEdit::default()
        };
        let last = self.latest_sequence_number();
        let added = self.files.versions.log_and_apply(
            vec![edit],
            last,
            Some(options.clone()),
            &mut |changed| {
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
                    );
                    state
                        .cfs
                        .insert(new.id, CfState::new(data, mem, new.current.clone()));
                }
            },
        );
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
        let switching = self.commit.generations.switching();
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
