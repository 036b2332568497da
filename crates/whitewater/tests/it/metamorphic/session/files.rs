//! Steps that copy the database or a column family, or are about its files.

use super::{Outcome, Session, said};
use crate::harness::walk::Content;
use crate::harness::{DIR, Db};
use crate::metamorphic::model::{State, family};
use std::path::Path;
use std::sync::Arc;
use whitewater::backup::{BackupEngine, BackupEngineOptions, RestoreOptions};
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::Fs;
use whitewater::{
    CompactionOptions, Env, ErrorKind, ImportColumnFamilyOptions, LiveFilesStorageInfoOptions,
    Options,
};

/// Where backups are, of all lives of the database.
const BACKUPS: &str = "/data/backups";

impl Session<'_> {
    fn new_path(&mut self, what: &str) -> String {
        self.files += 1;
        format!("/data/{what}{}", self.files)
    }

    /// Options of the database for a copy of it at `path`.
    fn options_at(&self, path: &str) -> Options {
        let mut database = self.opening.database.clone();
        database.set_wal_dir(path);
        database.set_db_paths(&[]);
        database
    }

    fn compare_copy(&self, what: &str, path: &str) -> Outcome {
        let expiry = self.case.nature.expiry;
        let copy = (self.opening).open(&self.options_at(path), path, &self.live(), expiry);
        self.compare(what, &said(&format!("open {what}"), copy)?, self.state)
    }

    /// Whether a copy was refused because tables are in other directories.
    fn is_elsewhere(&self, e: &whitewater::Error) -> bool {
        self.case.nature.paths > 0 && e.kind() == ErrorKind::NotSupported
    }

    pub(super) fn checkpoint(&mut self, with_log: bool) -> Outcome {
        let path = self.new_path("copy");
        let checkpoint = said("checkpoint", Checkpoint::new(self.db))?;
        let log_size = if with_log { u64::MAX } else { 0 };
        match checkpoint.create_checkpoint_with_log_size(&path, log_size) {
            Err(e) if self.is_elsewhere(&e) => return Ok(()),
            done => said("create_checkpoint", done)?,
        }
        self.compare_copy("checkpoint", &path)
    }

    pub(super) fn back_up(&mut self, how: u64) -> Outcome {
        let env = Env::with_fs(Arc::new(self.fs.clone()));
        let options = said("BackupEngineOptions", BackupEngineOptions::new(BACKUPS))?;
        let mut backups = said("BackupEngine::open", BackupEngine::open(&options, &env))?;
        match backups.create_new_backup_flush(self.db, how.is_multiple_of(2)) {
            Err(e) if self.is_elsewhere(&e) => return Ok(()),
            done => said("create_new_backup", done)?,
        }
        said("purge_old_backups", backups.purge_old_backups(3))?;
        for backup in backups.get_backup_info() {
            let verified = backups.verify_backup_with_checksum(backup.backup_id);
            said("verify_backup", verified)?;
        }
        let path = self.new_path("restored");
        let restored = backups.restore_from_latest_backup(&path, &path, &RestoreOptions::default());
        said("restore", restored)?;
        self.compare_copy("backup", &path)
    }

    pub(super) fn export(&mut self, cf: u8) -> Outcome {
        let name = family(cf);
        // Values of another database with times to live are of the time of their import.
        let Some(content) = self.state.get(name) else {
            return Ok(());
        };
        if name == "default" || self.case.nature.expiry.is_some() {
            return Ok(());
        }
        let state = State::from([("default", Content::new()), (name, content.clone())]);
        let (export, path) = (self.new_path("export"), self.new_path("imported"));
        let handle = self.db.cf_handle(name).expect("a live family");
        let checkpoint = said("checkpoint", Checkpoint::new(self.db))?;
        let metadata = match checkpoint.export_column_family(&handle, &export) {
            // There are blob files.
            Err(e) if e.kind() == ErrorKind::NotSupported => return Ok(()),
            done => said("export_column_family", done)?,
        };
        self.history.flushed(name);
        if metadata.get_files().is_empty() {
            return Ok(());
        }
        let opened = (self.opening).open(&self.options_at(&path), &path, &["default"], None);
        let copy: Db = said("open an empty database", opened)?;
        let imported = copy.create_column_family_with_import(
            &self.opening.families[name],
            name,
            &ImportColumnFamilyOptions::new(),
            &metadata,
        );
        said("import", imported)?;
        self.compare("import", &copy, &state)
    }

    pub(super) fn compact_files(&mut self, cf: u8, how: u64) -> Outcome {
        let name = family(cf);
        let mut tables = said("live_files", self.db.live_files())?;
        tables.retain(|table| table.column_family_name == name);
        if tables.is_empty() {
            return Ok(());
        }
        let level = tables[how as usize % tables.len()].level;
        tables.retain(|table| table.level == level);
        let from = (how >> 8) as usize % tables.len();
        let count = 1 + (how >> 16) as usize % 4;
        let names = tables
            .iter()
            .skip(from)
            .take(count)
            .map(|table| &table.name);
        let to = level + (how >> 24) as i32 % 3;
        let handle = self.db.cf_handle(name).expect("a live family");
        let mut options = CompactionOptions::default();
        // There is no choice of the path by sizes.
        let paths = self.case.nature.paths.max(1);
        options.set_output_path_id(((how >> 32) as usize % paths) as i32);
        match self.db.compact_files_cf(&handle, &options, names, to) {
            // Another compaction was faster, or there is no such level.
            Err(e) if matches!(e.kind(), ErrorKind::Aborted | ErrorKind::InvalidArgument) => Ok(()),
            done => said("compact_files", done).map(drop),
        }
    }

    /// All files that a copy needs are there.
    pub(super) fn list(&mut self, flush: bool) -> Outcome {
        let mut options = LiveFilesStorageInfoOptions::default();
        options.set_wal_size_for_flush(if flush { 0 } else { u64::MAX });
        said("disable", self.db.disable_file_deletions())?;
        let files = self.db.get_live_files_storage_info(&options);
        for file in said("get_live_files_storage_info", files)? {
            let path = file.directory.join(&file.relative_filename);
            let size = said(&format!("{file:?}"), self.fs.file_size(&path))?;
            let replaced = !file.replacement_contents.is_empty();
            if !replaced && (size < file.size || (size > file.size && !file.trim_to_size)) {
                return Err(format!("{file:?} has {size} bytes"));
            }
        }
        if flush {
            for name in self.live() {
                self.history.flushed(name);
            }
        }
        let (names, _) = said("get_live_files", self.db.get_live_files(false))?;
        if self.case.nature.paths == 0 {
            for name in names {
                let path = Path::new(DIR).join(name.trim_start_matches('/'));
                said(&name, self.fs.file_size(&path))?;
            }
        }
        said("enable", self.db.enable_file_deletions())
    }

    /// Nothing changes while the log is locked.
    pub(super) fn lock_wal(&mut self, how: u64) -> Outcome {
        said("lock_wal", self.db.lock_wal())?;
        let number = self.db.latest_sequence_number();
        let refused = self.db.put("k", "locked");
        if refused.as_ref().err().map(whitewater::Error::kind) != Some(ErrorKind::Aborted) {
            return Err(format!("a write to a locked log: {refused:?}"));
        }
        match how % 4 {
            0 => self.checkpoint(true)?,
            1 => self.list(false)?,
            _ => self.check_everything()?,
        }
        if self.db.latest_sequence_number() != number {
            return Err(format!("{number} is not the last number of a locked log"));
        }
        said("unlock_wal", self.db.unlock_wal())
    }
}
