//! Exporting a column family: its tables in a directory, for an import into another database.
//!
//! Its memtables are flushed first. What is written meanwhile may be in the export or not. As with
//! a checkpoint, tables are linked, or copied if they cannot be linked, under a temporary name of
//! the directory.

use super::Engine;
use super::checkpoint::{bring, check_parent, clear, staging_of};
use crate::column_family::ColumnFamilyData;
use crate::external::exported::{ExportImportFilesMetaData, LiveFileMetaData};
use crate::listener::FlushReason;
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::key::user_key;
use whitewater_storage::{Error, Result};

impl Engine {
    /// Exports the tables of `cf` into the directory `target`, which must not exist.
    ///
    /// # Errors
    /// `InvalidArgument` when `target` exists; `NotSupported` for what an import could not
    /// restore; errors of the flush and of the file system. Nothing is at `target` then, unless
    /// the last sync failed.
    pub fn export_cf(
        self: &Arc<Self>,
        cf: &Arc<ColumnFamilyData>,
        target: &Path,
    ) -> Result<ExportImportFilesMetaData> {
        let fs = &*self.files.fs;
        self.check_exchange(cf.comparator.user.timestamp_size())?;
        if fs.exists(target)? {
            return Err(Error::invalid("Specified export_dir exists"));
        }
        let staging =
            staging_of(target).ok_or_else(|| Error::invalid("Specified export_dir invalid"))?;
        check_parent(fs, &staging)?;
        self.flush_whole_batches(cf, FlushReason::ManualFlush)?;
        let made = self.keeping_files(u64::MAX, || self.fill_export(cf, &staging, target));
        if made.is_err() {
            // The error that matters is known. The next attempt removes what is left.
            let _ = clear(fs, &staging);
        }
        let files = made?;
        self.info_log.write(&format!(
            "[{}] Exported {} tables to {}",
            cf.name,
            files.len(),
            target.display()
        ));
        Ok(ExportImportFilesMetaData {
            db_comparator_name: cf.comparator.user.name().to_owned(),
            files,
        })
    }

    /// Refuses exports and imports of column families that they would not restore.
    pub(super) fn check_exchange(&self, timestamp_size: usize) -> Result<()> {
        let why = if timestamp_size > 0 {
            "of column families with user-defined timestamps"
        } else if self.commit.undecided.is_some() {
            // Tables hold what is not decided yet, under numbers of this database.
            "with write_policy WRITE_PREPARED or WRITE_UNPREPARED"
        } else {
            return Ok(());
        };
        Err(Error::not_supported(format_args!(
            "export and import {why}"
        )))
    }

    fn fill_export(
        &self,
        cf: &ColumnFamilyData,
        staging: &Path,
        target: &Path,
    ) -> Result<Vec<LiveFileMetaData>> {
        let fs = &*self.files.fs;
        let version = cf.pin().version.clone();
        if version.blobs.iter().next().is_some() {
            return Err(Error::not_supported(
                "export of a column family with values in blob files",
            ));
        }
        // Remove what a crash may have left.
        clear(fs, staging)?;
        fs.create_dir_all(staging)?;
        let mut exported = Vec::new();
        for (level, files) in version.levels.iter().enumerate() {
            for file in files {
                let meta = &file.meta;
                let path = cf.paths.table(meta);
                let (name, copied) = match bring(fs, &path, staging) {
                    // Databases from LevelDB's time name their tables .ldb.
                    Err(e) if e.is_missing_file() => {
                        let older = path.with_extension("ldb");
                        let copied = bring(fs, &older, staging)?;
                        (format!("/{:06}.ldb", meta.number), copied)
                    }
                    done => (format!("/{:06}.sst", meta.number), done?),
                };
                self.count_copied(copied);
                let tables = &self.files.tables;
                let open = tables.open(file, &cf.comparator, &version.open_with)?;
                exported.push(LiveFileMetaData {
                    column_family_name: cf.name.clone(),
                    level: level as i32,
                    name,
                    db_path: target.to_path_buf(),
                    file_number: meta.number,
                    size: meta.size,
                    smallest_seqno: meta.smallest_seqno,
                    largest_seqno: meta.largest_seqno,
                    smallestkey: user_key(&meta.smallest).to_vec(),
                    largestkey: user_key(&meta.largest).to_vec(),
                    smallest: meta.smallest.clone(),
                    largest: meta.largest.clone(),
                    oldest_blob_file_number: meta.oldest_blob_file,
                    epoch_number: meta.epoch_number,
                    num_entries: open.table.properties().num_entries,
                    num_deletions: open.table.properties().num_deletions,
                });
            }
        }
        fs.sync_dir(staging)?;
        fs.rename(staging, target)?;
        if let Some(parent) = target.parent() {
            fs.sync_dir(parent)?;
        }
        Ok(exported)
    }
}
