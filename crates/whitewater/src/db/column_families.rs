//! Creating and dropping column families.

use crate::column_family::ColumnFamilyData;
use crate::db::Engine;
use crate::db::failure::Source;
use crate::db::state::{CfState, DbState};
use crate::db::ttl::TimeToLive;
use crate::info_log::dump;
use crate::memtable::{Home, Memtable};
use crate::options::CfOptions;
use crate::version::set::CfVersion;
use std::collections::HashSet;
use std::sync::Arc;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::manifest::{FileMetaData, VersionEdit};
use whitewater_storage::{Error, Result};

/// A column family that is to be created.
#[derive(Debug)]
pub(super) struct NewFamily {
    pub name: String,
    pub options: Arc<CfOptions>,
    /// Its tables, with their levels.
    pub tables: Vec<(u32, FileMetaData)>,
}

impl Engine {
    /// Creates a column family.
    ///
    /// # Errors
    /// Those of [`create_cfs`](Self::create_cfs).
    pub fn create_cf(
        self: &Arc<Self>,
        name: &str,
        options: CfOptions,
    ) -> Result<Arc<ColumnFamilyData>> {
        let mut created = self.create_cfs(vec![(name.to_owned(), options)])?;
        created.pop().ok_or_else(Self::shutdown_error)
    }

    /// Creates column families, given by their names: all of them or none.
    ///
    /// # Errors
    /// `InvalidArgument` when a name is empty or taken, an option is out of range, or the
    /// database's options rule one out.
    pub fn create_cfs(
        self: &Arc<Self>,
        families: Vec<(String, CfOptions)>,
    ) -> Result<Vec<Arc<ColumnFamilyData>>> {
        let families = families.into_iter();
        let checked = families.map(|(name, options)| Ok((name, self.options_for_new(options)?)));
        let families: Vec<_> = checked.collect::<Result<_>>()?;
        let before = self.lock_state().cfs.len();
        let created = self.add_cfs(families.clone())?;
        for (at, (name, options)) in families.iter().enumerate() {
            dump::family(&self.info_log, name, options, before + at);
        }
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

    /// [`create_cfs`](Self::create_cfs) with checked options. Writers see the column families
    /// from the next generation on.
    pub(super) fn add_cfs(
        &self,
        families: Vec<(String, Arc<CfOptions>)>,
    ) -> Result<Vec<Arc<ColumnFamilyData>>> {
        if families.is_empty() {
            return Ok(Vec::new());
        }
        let new = |(name, options)| NewFamily {
            name,
            options,
            tables: Vec::new(),
        };
        let families: Vec<_> = families.into_iter().map(new).collect();
        let switching = self.switching()?;
        self.check_new_families(families.iter().map(|new| (&*new.name, &*new.options)))?;
        for new in &families {
            self.prepare_dirs(&new.options)?;
        }
        let last = self.latest_sequence_number();
        let added = self.announce_and_record(families, last)?;
        self.renew_generation(&switching)?;
        drop(switching);
        for new in &added {
            self.info_log
                .write(&format!("Created column family [{}]", new.name));
        }
        Ok(added)
    }

    /// Checks that column families of these names, with these options, can be added.
    pub(super) fn check_new_families<'a>(
        &self,
        families: impl IntoIterator<Item = (&'a str, &'a CfOptions)>,
    ) -> Result<()> {
        let state = self.lock_state();
        Self::check_healthy(&state)?;
        let known = state.cfs.values();
        let mut names: HashSet<&str> = known.map(|cf| &*cf.data.name).collect();
        for (name, options) in families {
            if name.is_empty() {
                let what = "the name of a column family cannot be empty";
                return Err(Error::invalid(what));
            }
            state.options.check_family(options)?;
            if !names.insert(name) {
                return Err(Error::invalid("Column family already exists"));
            }
        }
        Ok(())
    }

    /// [Records](Self::record_cfs) column families between what options files need before and
    /// after. The caller holds the right to switch.
    pub(super) fn announce_and_record(
        &self,
        families: Vec<NewFamily>,
        last: SequenceNumber,
    ) -> Result<Vec<Arc<ColumnFamilyData>>> {
        let named = families.iter().map(|new| &new.name);
        let names: Vec<String> = named.cloned().collect();
        let options = families.iter().map(|new| new.options.clone());
        self.announce_families(names.iter().cloned().zip(options).collect());
        let recorded = self.record_cfs(families, last);
        if recorded.is_ok() {
            self.files.options_files.families_arrived(&names);
        } else {
            self.withdraw_families(&names);
        }
        recorded
    }

    /// Adds column families with their tables to the manifest and to the open ones: all of it
    /// or nothing. No sequence number in the tables is beyond `last`. The caller holds the
    /// right to switch.
    fn record_cfs(
        &self,
        families: Vec<NewFamily>,
        last: SequenceNumber,
    ) -> Result<Vec<Arc<ColumnFamilyData>>> {
        Self::check_healthy(&self.lock_state())?;
        let wal_number = self.commit.generations.load().wal.log_number();
        let mut edits = Vec::new();
        let mut all_options = Vec::new();
        for new in families {
            let id = self.files.versions.new_column_family_id()?;
            edits.push(VersionEdit {
                comparator: Some(new.options.comparator.name().to_owned()),
                log_number: Some(wal_number),
                column_family: id,
                column_family_add: Some(new.name),
                ..VersionEdit::default()
            });
            if !new.tables.is_empty() {
                edits.push(VersionEdit {
                    column_family: id,
                    new_files: new.tables,
                    ..VersionEdit::default()
                });
            }
            all_options.push(new.options);
        }
        let mut added = Vec::new();
        let recorded =
            self.files
                .versions
                .log_and_apply(edits, last, &all_options, &mut |changed| {
                    let mut state = self.lock_state();
                    // Ids ascend in the order of the families, and so do versions.
                    for (new, options) in changed.iter().zip(&all_options) {
                        added.push(self.install_family(
                            &mut state,
                            new,
                            options,
                            (wal_number, last),
                        ));
                    }
                    self.recompute_stall(&mut state, changed.iter().map(|new| new.id));
                });
        match recorded {
            Ok(()) => Ok(added),
            Err(e) => {
                self.report(Source::Manifest, &e, "creating a column family");
                Err(e)
            }
        }
    }

    /// Makes a recorded column family one of the open ones. Its first memtable needs the log
    /// `wal_number` and later ones, and gets entries with numbers above `last`.
    fn install_family(
        &self,
        state: &mut DbState,
        new: &CfVersion,
        options: &Arc<CfOptions>,
        (wal_number, last): (u64, SequenceNumber),
    ) -> Arc<ColumnFamilyData> {
        let home = Home {
            family: &new.name,
            budget_client: self.commit.budget_client.as_ref(),
        };
        let mem = Memtable::new(options, home, wal_number, state.next_memtable_id);
        mem.begin_after(last);
        state.next_memtable_id += 1;
        let data = ColumnFamilyData::new(
            new.id,
            new.name.clone(),
            options.clone(),
            mem.clone(),
            new.current.clone(),
            state.shared_by_readers(&self.files.tables),
        );
        let cf = CfState::new(data.clone(), mem, new.current.clone());
        state.cfs.insert(new.id, cf);
        data
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
            .log_and_apply(vec![edit], last, &[], &mut |_| {});
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
