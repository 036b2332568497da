//! Backups: copies of a database, any number of them in one directory, and databases made of
//! them again.
//!
//! The directory has RocksDB's format ([`whitewater_storage::backup`]). [`Backups`] is such a
//! directory with what is known of it.
//!
//! * `catalog`: which backups there are; `options`: how they are made; `copy`: copying files,
//!   by several threads, at a limited rate.
//! * `create`: a new backup; `shared`: the files that it shares with others; `excluded`: files
//!   that it leaves out; `restore`: a
//!   database from a backup; `verify`; `collect`: deleting backups, and files that none has.
//!
//! Invariants, with `sync` at every instant of a power cut:
//! * B1: metadata are in `meta` under their number only while every file that they name is
//!   there, complete and durable. So they are written last and deleted first.
//! * B2: a file is deleted only after it is durable that no metadata name it.
//! * B3: a database that is being restored has no CURRENT, so that it cannot be opened, from
//!   before the first file is deleted until the last one is durable.

mod catalog;
mod collect;
mod copy;
mod create;
pub(crate) mod excluded;
pub(crate) mod options;
pub(crate) mod restore;
mod shared;
mod verify;

pub(crate) use create::Creation;

use self::catalog::Catalog;
use self::copy::Limit;
use self::options::BackupOptions;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use whitewater_storage::backup::names;
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::names::NamesFs;
use whitewater_storage::{Error, ErrorKind, Result};

/// A directory of backups.
pub(crate) struct Backups {
    options: BackupOptions,
    /// The file system of the backups. After a failed sync of a directory, it syncs that one
    /// never again.
    fs: Arc<dyn Fs>,
    /// The file system that databases are restored to.
    db_fs: Arc<dyn Fs>,
    catalog: Catalog,
    stop: Stop,
    restore_limit: Option<Limit>,
    read_only: bool,
    /// Whether there may be files that no backup has.
    may_have_garbage: bool,
}

/// Ends the making of backups.
#[derive(Clone)]
pub(crate) struct Stop {
    limit: Option<Limit>,
    /// Written by: the thread that stops. Read by: the copying threads (relaxed). Publishes
    /// nothing.
    stopped: Arc<AtomicBool>,
}

impl Stop {
    /// Ends the backup that is being made, if there is one, and refuses later ones.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
        // Nobody is to wait for the limit before looking.
        if let Some(limit) = &self.limit {
            limit.let_through();
        }
    }

    /// # Errors
    /// `Incomplete` after [`stop`](Self::stop).
    pub fn check(&self) -> Result<()> {
        if self.stopped.load(Relaxed) {
            return Err(Error::new(ErrorKind::Incomplete, "Backup stopped"));
        }
        Ok(())
    }
}

impl Backups {
    /// Opens the directory, and makes it if there is none.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn open(options: BackupOptions, db_fs: Arc<dyn Fs>) -> Result<Self> {
        let mut backups = Self::with(options, db_fs, false);
        backups.make_directories()?;
        if backups.options.destroy_old_data {
            backups.destroy()?;
        } else {
            backups.catalog = Catalog::load(&*backups.fs, &backups.options.dir, usize::MAX)?;
        }
        Ok(backups)
    }

    /// Opens the directory without ever writing to it, with its newest backups.
    ///
    /// # Errors
    /// `InvalidArgument` if old data are to be destroyed; errors of the file system, also if
    /// there is no such directory.
    pub fn open_read_only(options: BackupOptions, db_fs: Arc<dyn Fs>) -> Result<Self> {
        if options.destroy_old_data {
            return Err(Error::invalid(
                "old backups cannot be destroyed through a read-only backup engine",
            ));
        }
        let mut backups = Self::with(options, db_fs, true);
        let most = backups.options.max_valid_backups_to_open;
        backups.catalog = Catalog::load(&*backups.fs, &backups.options.dir, most)?;
        Ok(backups)
    }

    fn with(options: BackupOptions, db_fs: Arc<dyn Fs>, read_only: bool) -> Self {
        let fs = options.fs.clone().unwrap_or_else(|| db_fs.clone());
        let stop = Stop {
            limit: Limit::new(options.backup_rate_limit),
            stopped: Arc::default(),
        };
        Backups {
            fs: Arc::new(NamesFs::new(fs)),
            db_fs,
            catalog: Catalog::default(),
            stop,
            restore_limit: Limit::new(options.restore_rate_limit),
            read_only,
            may_have_garbage: true,
            options,
        }
    }

    fn make_directories(&self) -> Result<()> {
        let dir = &self.options.dir;
        let is_new = !self.fs.exists(&dir.join(names::META))?;
        let shared = self.options.shared_folder();
        for folder in shared.into_iter().chain([names::PRIVATE, names::META]) {
            self.fs.create_dir_all(&dir.join(folder))?;
        }
        if is_new && self.options.sync {
            self.fs.sync_dir(dir)?;
            sync_parent(&*self.fs, dir)?;
        }
        Ok(())
    }

    /// What ends the making of backups.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The backups that can be restored.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    fn check_writable(&self) -> Result<()> {
        if self.read_only {
            return Err(Error::not_supported(
                "changes through a read-only backup engine",
            ));
        }
        Ok(())
    }
}

/// Makes the name of a directory durable.
fn sync_parent(fs: &dyn Fs, dir: &Path) -> Result<()> {
    match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => fs.sync_dir(parent),
        _ => Ok(()),
    }
}
