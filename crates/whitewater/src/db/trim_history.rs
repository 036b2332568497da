//! Opening a database as of a time: what is newer is removed.
//!
//! Invariants:
//! * H1: all tables of all column families are replaced by one record of the manifest, before a
//!   write is taken and before a compaction runs. So after a crash there is everything, or
//!   nothing that is newer.

use super::Engine;
use super::background::flush::{tell_blob_files, tell_tables};
use super::data_dirs;
use super::failure::Source;
use super::open::Wanted;
use crate::column_family::ColumnFamilyData;
use crate::compact::trim::{self, Trimmed};
use crate::listener::TableFileCreationReason;
use crate::version::Version;
use crate::version::set::CfVersion;
use std::sync::Arc;
use whitewater_storage::{Error, Result};

/// Refuses a time that the keys of one of the column families cannot have.
///
/// # Errors
/// `InvalidArgument` naming the column family.
pub(super) fn check_time(wanted: &Wanted, upto: &[u8]) -> Result<()> {
    for (name, options) in wanted {
        let size = options.comparator.timestamp_size();
        if size > 0 && size != upto.len() {
            return Err(Error::invalid(format_args!(
                "trim_ts has {} bytes, where timestamps of column family {name} have {size}",
                upto.len()
            )));
        }
    }
    Ok(())
}

impl Engine {
    /// Removes what is newer than `upto` from the column families with timestamps. Called before
    /// background threads start, and while memtables are empty.
    ///
    /// # Errors
    /// Errors of reading and writing tables, and of the manifest. Nothing has changed then, and
    /// files that could not be removed go at the next opening.
    pub(super) fn trim_history(&self, upto: &[u8]) -> Result<()> {
        let families: Vec<(Arc<ColumnFamilyData>, Arc<Version>)> = {
            let state = self.lock_state();
            let families = state.cfs.values();
            let stamped = families.filter(|cf| cf.data.comparator.user.timestamp_size() > 0);
            stamped
                .map(|cf| (cf.data.clone(), cf.version.clone()))
                .collect()
        };
        let _pending = self.files.expect_outputs();
        let mut made: Vec<(Arc<ColumnFamilyData>, Trimmed)> = Vec::new();
        for (cf, version) in families {
            match self.trim_family(&cf, &version, upto) {
                Ok(trimmed) => made.push((cf, trimmed)),
                Err(e) => {
                    for (cf, trimmed) in made {
                        trimmed.remove(&*self.files.fs, &cf.paths);
                    }
                    return Err(e);
                }
            }
        }
        made.retain(|(_, trimmed)| !trimmed.edit.deleted_files.is_empty());
        if made.is_empty() {
            return Ok(());
        }
        self.record_trimmed(made)?;
        self.purge_obsolete_files();
        Ok(())
    }

    fn trim_family(
        &self,
        cf: &ColumnFamilyData,
        version: &Arc<Version>,
        upto: &[u8],
    ) -> Result<Trimmed> {
        let live = self.live_for_job()?;
        let (db, options) = (self.db_options(), cf.options());
        let ctx = self.output_context(cf, (&db, &options), &live);
        let mut trimmed = trim::trim(version, upto, &ctx, &self.files.tables)?;
        trimmed.edit.decided_to = self.commit.sections.gone_by();
        Ok(trimmed)
    }

    /// Records what was made (H1), and installs it for readers.
    fn record_trimmed(&self, made: Vec<(Arc<ColumnFamilyData>, Trimmed)>) -> Result<()> {
        let mut edits = Vec::new();
        for (cf, trimmed) in made {
            let number = self.background.next_job();
            let tables: Vec<_> = trimmed
                .edit
                .new_files
                .iter()
                .map(|(_, f)| f.clone())
                .collect();
            self.info_log.write(&format!(
                "[{}] [JOB {number}] Removed {} newer entries from {} tables",
                cf.name,
                trimmed.dropped,
                trimmed.edit.deleted_files.len()
            ));
            tell_tables(self, &cf.name, number, &tables);
            tell_blob_files(self, &cf.name, number, &trimmed.edit.blob_files);
            for table in &tables {
                data_dirs::sync_all(
                    &*self.files.fs,
                    data_dirs::written(&cf.paths, table.path_id, false),
                )?;
            }
            if !trimmed.edit.blob_files.is_empty() {
                data_dirs::sync_all(&*self.files.fs, [cf.paths.first()])?;
            }
            self.note_tables(&cf, number, TableFileCreationReason::Compaction, &tables);
            edits.push(trimmed.edit);
        }
        let last = self.latest_sequence_number();
        let mut install = |changed: &[CfVersion]| {
            // Declared before the guard, so it is dropped after the mutex is free.
            let mut old = Vec::new();
            let mut state = self.lock_state();
            for new in changed {
                if let Some(cf) = state.cfs.get_mut(&new.id) {
                    old.push(cf.set_version(new.current.clone()));
                    cf.publish();
                }
            }
            self.recompute_stall(&mut state, changed.iter().map(|new| new.id));
        };
        self.files
            .versions
            .log_and_apply(edits, last, &[], &mut install)
            .inspect_err(|e| self.report(Source::Manifest, e, "recording a trimmed history"))
    }
}
