//! Making a database of a backup.
//!
//! 1. The backup is looked through: what would fail later fails before anything is deleted.
//! 2. CURRENT is deleted (B3), then all other files of the database that was there.
//! 3. The files of the backup are copied, and their checksums compared. Files that are there and
//!    need not be copied may stay ([`RestoreMode`]).
//! 4. When they are durable, CURRENT is renamed to its name.

use super::copy::{Copier, for_all};
use super::shared::{check_crc, session_path};
use super::{Backups, sync_parent};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use whitewater_storage::backup::{Meta, MetaFile, StoredName};
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::FileLock;
use whitewater_storage::{Error, ErrorKind, Result, planted};

/// Which files of a database that is there may stay when a backup is restored over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RestoreMode {
    /// Tables whose number, session and size are in the name of the backup's file. Their content
    /// is not read. It works with names by session that have the size, which is the default.
    KeepLatestDbSessionIdFiles,
    /// Tables and blob files that have the checksum of the backup's file.
    VerifyChecksum,
    /// None.
    #[default]
    PurgeAllFiles,
}

/// How a backup is restored.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Restoration {
    pub keep_log_files: bool,
    pub mode: RestoreMode,
}

/// Where a backup is restored to.
#[derive(Clone, Copy)]
struct Target<'a> {
    db_dir: &'a Path,
    wal_dir: &'a Path,
}

/// A file of the backup, where it is, and where it goes.
pub(super) struct Restored<'a> {
    from: &'a Backups,
    file: &'a MetaFile,
    to: PathBuf,
    file_type: FileType,
}

/// The place of a file in a database.
///
/// # Errors
/// `Corruption` if a database has no such file.
pub(super) fn placed<'a>(
    from: &'a Backups,
    file: &'a MetaFile,
    db_dir: &Path,
    wal_dir: &Path,
) -> Result<Restored<'a>> {
    let bad = || Error::corruption(format!("{}: not of a database", file.path));
    let stored = StoredName::parse(&file.path).ok_or_else(bad)?;
    let dir = match stored.file_type {
        FileType::Wal(_) => wal_dir,
        FileType::Lock | FileType::Temp(_) => return Err(bad()),
        _ => db_dir,
    };
    Ok(Restored {
        from,
        file,
        to: dir.join(stored.database_name),
        file_type: stored.file_type,
    })
}

impl Backups {
    /// Makes the database in `db_dir`, with logs in `wal_dir`, what it was when the backup was
    /// made; `None` is the latest backup.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` if the backup leaves files out and neither `others` nor other
    /// backups have them; `IOError` if the database is open; `Corruption` naming the file of the
    /// backup; errors of the file systems. A call that fails early changes nothing. One that fails
    /// later leaves no database, until a backup is restored.
    pub fn restore(
        &self,
        id: Option<u32>,
        db_dir: &Path,
        wal_dir: &Path,
        how: Restoration,
        others: &[&Backups],
    ) -> Result<()> {
        let latest = || Error::new(ErrorKind::NotFound, "Backup not found");
        let id = match id {
            Some(id) => id,
            None => self.catalog.latest_valid().ok_or_else(latest)?,
        };
        let meta = self.catalog.get(id)?;
        let target = Target { db_dir, wal_dir };
        let files = self.check_whole(meta, target, others)?;
        let _lock = self.lock_database(target)?;
        let kept = self.kept(&files, how.mode);
        self.clear(target, how.keep_log_files, &kept)?;
        let mut wanted: Vec<&Restored<'_>> = files.iter().collect();
        wanted.retain(|file| !kept.contains(&file.to));
        if how.keep_log_files {
            // A log that is there has at least what the backup has of it.
            let mut missing = Vec::new();
            for file in wanted {
                let is_log = matches!(file.file_type, FileType::Wal(_));
                if !is_log || !self.db_fs.exists(&file.to)? {
                    missing.push(file);
                }
            }
            wanted = missing;
        }
        let copier = Copier::new(self.restore_limit.as_ref(), self.options.sync);
        let threads = self.options.max_background_operations;
        let entrance = |file: &Restored<'_>| file.file_type == FileType::Current;
        let temporary = filename::temp(db_dir, 0);
        for_all(&wanted, threads, |restored| {
            let to = if entrance(restored) {
                &temporary
            } else {
                &restored.to
            };
            self.bring_back(restored, to, &copier)
        })?;
        let mut names_synced = self.options.sync;
        planted!(RestoredNamesNotSynced => names_synced = false);
        if names_synced {
            self.sync_kept(&kept)?;
            self.db_fs.sync_dir(wal_dir)?;
            self.db_fs.sync_dir(db_dir)?;
        }
        self.db_fs.rename(&temporary, &filename::current(db_dir))?;
        if self.options.sync {
            self.db_fs.sync_dir(db_dir)?;
        }
        Ok(())
    }

    /// Checks a backup as far as is possible without reading all of it (step 1).
    fn check_whole<'a>(
        &'a self,
        meta: &'a Meta,
        target: Target<'_>,
        others: &[&'a Backups],
    ) -> Result<Vec<Restored<'a>>> {
        self.verify_sizes(meta)?;
        let mut files = self.find_excluded(meta, others, target.db_dir)?;
        for file in &meta.files {
            files.push(placed(self, file, target.db_dir, target.wal_dir)?);
        }
        if !files.iter().any(|file| file.file_type == FileType::Current) {
            return Err(Error::corruption("the backup has no file CURRENT"));
        }
        Ok(files)
    }

    /// Makes the directories, and keeps others from opening the database.
    fn lock_database(&self, target: Target<'_>) -> Result<Box<dyn FileLock>> {
        for dir in [target.db_dir, target.wal_dir] {
            let is_new = !self.db_fs.exists(dir)?;
            self.db_fs.create_dir_all(dir)?;
            if is_new && self.options.sync {
                sync_parent(&*self.db_fs, dir)?;
            }
        }
        self.db_fs.lock(&filename::lock(target.db_dir))
    }

    /// Deletes the database that is there, but for what is kept (step 2).
    fn clear(
        &self,
        target: Target<'_>,
        keep_log_files: bool,
        kept: &HashSet<PathBuf>,
    ) -> Result<()> {
        let Target { db_dir, wal_dir } = target;
        let current = filename::current(db_dir);
        let mut is_first = true;
        planted!(RestoreDeletesCurrentLater => is_first = false);
        if is_first && self.db_fs.exists(&current)? {
            self.db_fs.remove(&current)?;
        }
        if self.options.sync {
            self.db_fs.sync_dir(db_dir)?;
        }
        let archive = filename::archive(wal_dir);
        let archived = match self.db_fs.exists(&archive)? {
            true => self.db_fs.list(&archive)?,
            false => Vec::new(),
        };
        let is_log = |name: &str| matches!(filename::parse(name), Some(FileType::Wal(_)));
        for name in archived.iter().filter(|name| is_log(name)) {
            let path = archive.join(name);
            if keep_log_files {
                self.db_fs.rename(&path, &wal_dir.join(name))?;
            } else {
                self.db_fs.remove(&path)?;
            }
        }
        let is_garbage = |name: &str| match filename::parse(name) {
            Some(FileType::Lock) | None => false,
            Some(FileType::Wal(_)) => !keep_log_files,
            Some(_) => true,
        };
        for name in self.db_fs.list(db_dir)? {
            let path = db_dir.join(&name);
            if is_garbage(&name) && !kept.contains(&path) {
                self.db_fs.remove(&path)?;
            }
        }
        if !keep_log_files {
            let logs = self.db_fs.list(wal_dir)?.into_iter();
            logs.filter(|name| is_log(name))
                .try_for_each(|name| self.db_fs.remove(&wal_dir.join(name)))?;
        }
        Ok(())
    }

    /// The files that are there and need not be copied. Those that cannot be read are copied.
    fn kept(&self, files: &[Restored<'_>], mode: RestoreMode) -> HashSet<PathBuf> {
        let copier = Copier::new(self.restore_limit.as_ref(), false);
        let stays = |restored: &Restored<'_>| {
            let (file, to) = (restored.file, &restored.to);
            let is_table = matches!(restored.file_type, FileType::Table(_));
            let is_blob = matches!(restored.file_type, FileType::Blob(_));
            let size = self.db_fs.file_size(to)?;
            if file.size != Some(size) {
                return Ok(false);
            }
            match mode {
                RestoreMode::PurgeAllFiles => Ok(false),
                RestoreMode::VerifyChecksum if is_table || is_blob => {
                    let found = copier.checksum(&*self.db_fs, to, size)?;
                    Ok(file.crc == Some(found.crc))
                }
                RestoreMode::KeepLatestDbSessionIdFiles if is_table => {
                    let name = to.file_name().unwrap_or_default().to_string_lossy();
                    let path = session_path(&*self.db_fs, to, &name, size, Some(size))?;
                    Ok(path.as_ref() == Some(&file.path))
                }
                _ => Ok(false),
            }
        };
        if mode == RestoreMode::PurgeAllFiles {
            return HashSet::new();
        }
        let stay = files.iter().filter(|file| {
            let stays: Result<bool> = stays(file);
            stays.unwrap_or(false)
        });
        stay.map(|file| file.to.clone()).collect()
    }

    /// Makes kept files durable: nobody knows whether they are.
    fn sync_kept(&self, kept: &HashSet<PathBuf>) -> Result<()> {
        kept.iter()
            .try_for_each(|path| self.db_fs.open_append(path)?.sync())
    }

    fn bring_back(&self, restored: &Restored<'_>, to: &Path, copier: &Copier<'_>) -> Result<()> {
        let Restored { from, file, .. } = restored;
        let (fs, from) = (&*from.fs, from.options.dir.join(&file.path));
        let size = file.size.unwrap_or_default();
        let copied = copier.copy((fs, &from), size, (&*self.db_fs, to))?;
        let mut expected = file.crc;
        planted!(RestoredUnchecked => expected = None);
        expected.map_or(Ok(()), |crc| check_crc(copied.crc, crc, &from))
    }
}
