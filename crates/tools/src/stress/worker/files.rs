//! Copies of the database, or of a column family, that are opened and compared, and other calls
//! that are about files: backups, exports, lists, named compactions, a locked log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::Rng;
use rand::seq::IndexedRandom;
use whitewater::backup::{BackupEngine, BackupEngineOptions, RestoreOptions};
use whitewater::checkpoint::Checkpoint;
use whitewater::fs::Fs;
use whitewater::{
    CompactionOptions, Env, Error, ErrorKind, ImportColumnFamilyOptions, LiveFileType,
    LiveFilesStorageInfoOptions,
};

use super::super::key_model::Shape;
use super::super::order::stamp;
use super::super::store::{self, Db, Family, total};
use super::{Log, Worker};

/// The number of backups that a thread keeps.
const BACKUPS: usize = 2;

/// Why a check of files ends early.
enum End {
    Failed(Error),
    Wrong(String),
}

impl From<Error> for End {
    fn from(e: Error) -> End {
        End::Failed(e)
    }
}

impl<'a> Worker<'a> {
    /// A directory of this thread beside the database.
    pub(super) fn beside(&self, what: &str) -> PathBuf {
        let name = format!("{what}-{}", self.thread);
        self.context.dir.with_file_name(name)
    }

    fn ended(&self, what: &str, end: Result<(), End>) -> Result<(), String> {
        match end {
            Ok(()) => Ok(()),
            Err(End::Failed(e)) => self.failed(what, &e),
            Err(End::Wrong(e)) => Err(format!("{what}: {e}")),
        }
    }

    /// Makes a checkpoint and checks that it holds everything acknowledged before it.
    pub(super) fn checkpoint(&mut self) -> Result<(), String> {
        let dir = self.beside("checkpoint");
        let fs = &self.context.fs;
        let made = (|| {
            clear(&**fs, &dir)?;
            Checkpoint::new(self.context.db)?.create_checkpoint(&dir)?;
            self.open_copy(&dir)
        })();
        self.compare_copy("checkpoint", made)
    }

    /// Makes a backup, restores it, and checks that it holds everything acknowledged before it.
    /// Backups share tables with older ones of the thread.
    pub(super) fn back_up(&mut self) -> Result<(), String> {
        let (from, to) = (self.beside("backups"), self.beside("restored"));
        let flush = self.context.log != Log::Always || self.rng.random();
        let checks = self.rng.random_bool(0.5);
        let fs = &self.context.fs;
        let made = (|| {
            let env = Env::with_fs(Arc::clone(fs));
            let mut backups = BackupEngine::open(&BackupEngineOptions::new(&from)?, &env)?;
            backups.create_new_backup_flush(self.context.db, flush)?;
            backups.purge_old_backups(BACKUPS)?;
            if checks && let Some(last) = backups.get_backup_info().last() {
                backups.verify_backup_with_checksum(last.backup_id)?;
            }
            clear(&**fs, &to)?;
            backups.restore_from_latest_backup(&to, &to, &RestoreOptions::default())?;
            self.open_copy(&to)
        })();
        self.compare_copy("backup", made)
    }

    fn open_copy(&self, dir: &Path) -> Result<Db, Error> {
        let context = self.context;
        store::open_copy(dir, Arc::clone(&context.fs), context.options, context.shape)
    }

    fn compare_copy(&self, what: &str, made: Result<Db, Error>) -> Result<(), String> {
        let copy = match made {
            Ok(copy) => copy,
            // Tables are in other directories.
            Err(e) if self.context.shape.has_paths() && is_kind(&e, &[ErrorKind::NotSupported]) => {
                return Ok(());
            }
            Err(e) => return self.failed(what, &e),
        };
        // Only those transient column families count that existed all the time.
        let was_there = |family: &&Family<'_>| {
            family.number < self.context.shape.families
                || self.context.transient.is_there(family.number)
        };
        let families = self.families.iter().filter(was_there);
        let families = families.map(|family| store::family(&copy, family.number));
        let families = families.collect::<Result<Vec<_>, _>>()?;
        let content = store::content(&copy, self.context.shape, &families, &total, &|_| true);
        self.compare(content, &families, what)
    }

    /// Exports a column family, imports it into another database, and compares it there.
    pub(super) fn export(&mut self) -> Result<(), String> {
        let family = self.family();
        let number = family.number;
        if number == 0 || number >= self.context.shape.families {
            // Another database has a default column family of its own.
            return Ok(());
        }
        let (export, dir) = (self.beside("export"), self.beside("imported"));
        let (fs, options, shape) = (&self.context.fs, self.context.options, self.context.shape);
        let made = (|| {
            clear(&**fs, &export)?;
            clear(&**fs, &dir)?;
            let checkpoint = Checkpoint::new(self.context.db)?;
            let metadata = checkpoint.export_column_family(&family.handle, &export)?;
            if metadata.get_files().is_empty() {
                return Ok(None);
            }
            let build = |number| options.build(Arc::clone(fs), shape, number);
            let copy = Db::open(&build(0)?, &dir)?;
            let mut how = ImportColumnFamilyOptions::new();
            how.set_move_files(number.is_multiple_of(2));
            let name = Shape::family_name(number);
            copy.create_column_family_with_import(&build(number)?, name, &how, &metadata)?;
            Ok(Some(copy))
        })();
        let copy = match made {
            Ok(Some(copy)) => copy,
            Ok(None) => return Ok(()),
            // Keys have timestamps, or there are blob files.
            Err(e) if is_kind(&e, &[ErrorKind::NotSupported]) => return Ok(()),
            Err(e) => return self.failed("export", &e),
        };
        let families = [store::family(&copy, number)?];
        let content = store::content(&copy, shape, &families, &total, &|_| true);
        self.compare(content, &families, "export")
    }

    /// Compacts some tables of one level to a level that is no higher.
    pub(super) fn compact_files(&mut self, family: &Family<'a>) -> Result<(), Error> {
        let name = Shape::family_name(family.number);
        let mut tables = self.context.db.live_files()?;
        tables.retain(|table| table.column_family_name == name);
        let Some(level) = tables.choose(&mut self.rng).map(|table| table.level) else {
            return Ok(());
        };
        tables.retain(|table| table.level == level);
        let from = self.rng.random_range(0..tables.len());
        let count = self.rng.random_range(1..4);
        let names = tables
            .iter()
            .skip(from)
            .take(count)
            .map(|table| &table.name);
        let to = self.rng.random_range(level..level + 3);
        let mut options = CompactionOptions::default();
        // There is no choice of the path by sizes.
        let paths = self.context.shape.paths_of(family.number);
        options.set_output_path_id(self.rng.random_range(0..paths) as i32);
        let done = (self.context.db).compact_files_cf(&family.handle, &options, names, to);
        // Other compactions were faster, or there is no such level.
        let meets_others = [ErrorKind::Aborted, ErrorKind::InvalidArgument];
        match done {
            Err(e) if !is_kind(&e, &meets_others) => Err(e),
            _ => Ok(()),
        }
    }

    /// Checks that all files of a list are there.
    pub(super) fn list_files(&mut self) -> Result<(), String> {
        let db = self.context.db;
        let mut options = LiveFilesStorageInfoOptions::default();
        options.set_wal_size_for_flush(if self.rng.random_bool(0.2) {
            0
        } else {
            u64::MAX
        });
        let disabled = db.disable_file_deletions();
        let listed = (|| {
            disabled?;
            let files = db.get_live_files_storage_info(&options)?;
            for file in files {
                let path = file.directory.join(&file.relative_filename);
                if file.file_type == LiveFileType::Current {
                    continue;
                }
                let size = self.context.fs.file_size(&path)?;
                if size < file.size || (size > file.size && !file.trim_to_size) {
                    return Err(End::Wrong(format!("{file:?} has {size} bytes")));
                }
            }
            let logs = db.get_sorted_wal_files()?;
            if !logs.is_sorted_by_key(|log| log.log_number) {
                return Err(End::Wrong(format!("logs out of order: {logs:?}")));
            }
            Ok(())
        })();
        let enabled = db.enable_file_deletions();
        self.ended("list of files", listed.and(enabled.map_err(End::Failed)))
    }

    /// Locks the log, and checks that nothing is written until it is unlocked.
    pub(super) fn lock_log(&mut self) -> Result<(), String> {
        let db = self.context.db;
        let locks = self.rng.random_range(1..3);
        let mut held = 0;
        let mut locked = Ok(());
        while held < locks && locked.is_ok() {
            locked = db.lock_wal();
            held += i32::from(locked.is_ok());
        }
        let checked = match locked {
            Ok(()) => self.check_locked(),
            Err(e) => self.failed("lock of the log", &e),
        };
        for _ in 0..held {
            if let Err(e) = db.unlock_wal() {
                return Err(format!("unlocking the log: {e}"));
            }
        }
        checked
    }

    fn check_locked(&mut self) -> Result<(), String> {
        let db = self.context.db;
        let number = db.latest_sequence_number();
        let (order, cf) = (self.context.shape.order(0), &self.families[0].handle);
        let written = if order.is_stamped() {
            db.put_cf_with_ts(cf, "never", stamp(self.next), "written")
        } else {
            db.put_cf(cf, "never", "written")
        };
        match written {
            Err(e) if is_kind(&e, &[ErrorKind::Aborted]) => {}
            // A failure that has stopped the database.
            Err(e) => self.failed("write to a locked log", &e)?,
            Ok(()) => return Err("a write passed the lock of its own thread".to_owned()),
        }
        for _ in 0..3 {
            self.get()?;
        }
        if self.context.log == Log::Always && self.rng.random_bool(0.2) {
            self.checkpoint()?;
        }
        let after = db.latest_sequence_number();
        if after != number {
            return Err(format!(
                "number {number} became {after} while the log was locked"
            ));
        }
        Ok(())
    }
}

pub(super) fn is_kind(e: &Error, kinds: &[ErrorKind]) -> bool {
    kinds.contains(&e.kind())
}

/// Removes a directory with all that is in it.
pub(super) fn clear(fs: &dyn Fs, dir: &Path) -> Result<(), Error> {
    if !fs.exists(dir)? {
        return Ok(());
    }
    for name in fs.list(dir)? {
        let path = dir.join(name);
        if fs.remove(&path).is_err() {
            clear(fs, &path)?;
        }
    }
    fs.remove_dir(dir)
}
