//! Making a backup.
//!
//! 1. Files that no backup has are deleted, so that those of an earlier attempt do not matter.
//! 2. The [live files](crate::db::live_files) are copied: tables and blob files to where backups
//!    share them, unless they are there; the rest to the folder of this backup.
//! 3. The names of all of that are made durable.
//! 4. The metadata are written, and renamed to the backup's number (B1).

use super::copy::{Copier, Progress, for_all};
use super::excluded::ExcludeFiles;
use super::shared::{Sharable, described};
use super::{Backups, sync_parent};
use crate::db::Engine;
use crate::db::live_files::LiveFiles;
use crate::panics::{Guarded, caught};
use crate::stats::Ticker;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::UNIX_EPOCH;
use whitewater_concurrent::system;
use whitewater_storage::backup::{Meta, MetaFile, Schema, meta, names};
use whitewater_storage::filename;
use whitewater_storage::fs::Fs;
use whitewater_storage::{Error, Result, planted};

/// How one backup is made.
#[derive(Default)]
pub(crate) struct Creation<'a> {
    /// Memtables are flushed first.
    pub flush: bool,
    pub app_metadata: &'a [u8],
    /// Called for each `callback_trigger_interval_size` bytes that were copied.
    pub progress: Option<&'a (dyn Fn() + Send + Sync)>,
    /// Told of all shared files before any of them is copied, to say which to leave out.
    pub exclude: Option<&'a ExcludeFiles>,
}

/// A file that is to be copied.
pub(super) enum Wanted {
    /// The first bytes of a file, into the folder of the backup.
    Private(PathBuf, String, u64),
    Shared(Sharable),
}

impl Backups {
    /// Makes a backup of the database, and returns its number.
    ///
    /// # Errors
    /// `Incomplete` after a stop; `InvalidArgument` for too much metadata; `Corruption` if a
    /// table does not have its checksum; the failure that stopped the database; errors of the
    /// file systems. There is no new backup then, unless making its name durable failed and it
    /// cannot be deleted; it counts as damaged then.
    pub fn create(&mut self, engine: &Arc<Engine>, how: &Creation<'_>) -> Result<u32> {
        self.check_writable()?;
        self.stop.check()?;
        if how.app_metadata.len() > meta::MAX_APP_METADATA {
            return Err(Error::invalid("App metadata too large"));
        }
        if how.exclude.is_some() && self.options.schema == Schema::One {
            return Err(Error::invalid(
                "exclude_files_callback requires schema_version >= 2",
            ));
        }
        self.refresh()?;
        if self.may_have_garbage {
            self.sweep()?;
        }
        let id = self.next_id()?;
        self.may_have_garbage = true;
        let flush_at = if how.flush { 0 } else { u64::MAX };
        let copied = engine.keeping_files(flush_at, || self.copy_database(engine, id, how));
        let made = copied.and_then(|meta| {
            self.install(id, &meta)?;
            Ok(meta)
        });
        match made {
            Ok(meta) => {
                let files = meta.files.len();
                self.catalog.add(id, meta);
                self.may_have_garbage = false;
                let dir = self.options.dir.display();
                let text = format!("Created backup {id} of {files} files in {dir}");
                engine.info_log().write(&text);
                Ok(id)
            }
            Err(e) => {
                self.abandon(id, &e);
                Err(e)
            }
        }
    }

    /// The number of the next backup.
    fn next_id(&self) -> Result<u32> {
        let next = self.catalog.latest().checked_add(1);
        next.ok_or_else(|| Error::invalid("no number is left for a backup"))
    }

    /// Copies the files of the database (step 2).
    fn copy_database(&self, engine: &Arc<Engine>, id: u32, how: &Creation<'_>) -> Result<Meta> {
        let private = names::private_dir(&self.options.dir, id);
        self.fs.create_dir_all(&private)?;
        let mut copier = Copier::new(self.stop.limit.as_ref(), self.options.sync);
        copier.stop = Some(&self.stop);
        copier.progress = how.progress.map(|call| Progress {
            every: self.options.callback_trigger_interval_size,
            call,
        });
        let live = engine.live_files(&*self.fs, &private, self.options.backup_log_files)?;
        let from = engine.fs();
        let mut wanted = self.wanted(&**from, &live)?;
        let excluded = match how.exclude {
            Some(decide) => self.exclude(&**from, &mut wanted, decide, &copier)?,
            None => Vec::new(),
        };
        let threads = self.options.max_background_operations;
        let known = self.catalog.files();
        let copied = for_all(&wanted, threads, |file| match file {
            Wanted::Shared(file) => self.share(&**from, file, &known, &copier),
            Wanted::Private(path, name, len) => {
                let to = private.join(name);
                let copied = copier.copy((&**from, path), *len, (&*self.fs, &to))?;
                Ok(described(names::private(id, name), copied.crc, copied.size))
            }
        });
        let made = self.make_entrance(id, live.manifest, &private, &copier);
        engine.tick(Ticker::BackupReadBytes, copier.read.load(Relaxed));
        engine.tick(Ticker::BackupWriteBytes, copier.written.load(Relaxed));
        let mut files = copied?;
        files.extend(made?);
        let since = system::wall_clock().duration_since(UNIX_EPOCH);
        Ok(Meta {
            schema: self.options.schema,
            timestamp: since.map_or(1, |time| time.as_secs() as i64),
            sequence: live.sequence,
            app_metadata: how.app_metadata.to_vec(),
            files,
            excluded,
        })
    }

    /// Lists what is to be copied.
    fn wanted(&self, from: &dyn Fs, live: &LiveFiles) -> Result<Vec<Wanted>> {
        let shares = self.options.share_table_files;
        let mut wanted = Vec::new();
        let mut add = |path: PathBuf, size, crc| {
            let name = name_of(&path)?;
            wanted.push(match shares {
                true => Wanted::Shared(Sharable {
                    path,
                    name,
                    size,
                    crc,
                }),
                false => Wanted::Private(path, name, size),
            });
            Ok::<(), Error>(())
        };
        for table in &live.tables {
            match from.file_size(&table.path) {
                // Databases from LevelDB's time name their tables .ldb.
                Err(e) if e.is_missing_file() => {
                    let older = table.older_path();
                    let size = from.file_size(&older)?;
                    add(older, size, table.crc)?;
                }
                size => add(table.path.clone(), size?, table.crc)?,
            }
        }
        for blobs in &live.blobs {
            add(blobs.clone(), from.file_size(blobs)?, None)?;
        }
        if self.options.backup_log_files {
            for (log, len) in &live.logs {
                wanted.push(Wanted::Private(log.clone(), name_of(log)?, *len));
            }
        }
        if let Some((path, name)) = live.options(from)? {
            let size = from.file_size(&path)?;
            wanted.push(Wanted::Private(path, name, size));
        }
        Ok(wanted)
    }

    /// Makes the file CURRENT, and describes it and the manifest, which is there.
    fn make_entrance(
        &self,
        id: u32,
        manifest: u64,
        private: &Path,
        copier: &Copier<'_>,
    ) -> Result<[MetaFile; 2]> {
        let path = filename::manifest(private, manifest);
        let name = name_of(&path)?;
        let size = self.fs.file_size(&path)?;
        let checksum = || copier.checksum(&*self.fs, &path, size);
        let read = caught(Guarded::Job, checksum)?; // it tells of progress
        let current = format!("{name}\n");
        let to = filename::current(private);
        let written = copier.write(&*self.fs, &to, current.as_bytes())?;
        let described = |name: &str, crc, size| described(names::private(id, name), crc, size);
        Ok([
            described(&name, read.crc, read.size),
            described(&name_of(&to)?, written.crc, written.size),
        ])
    }

    /// Makes the names of the copied files durable, and then the backup (steps 3 and 4).
    fn install(&self, id: u32, meta: &Meta) -> Result<()> {
        self.stop.check()?;
        let dir = &self.options.dir;
        let is_synced = self.options.sync;
        let mut names_synced = is_synced;
        planted!(BackupNamesNotSynced => names_synced = false);
        if names_synced {
            if let Some(folder) = self.options.shared_folder() {
                self.fs.sync_dir(&dir.join(folder))?;
            }
            let private = names::private_dir(dir, id);
            self.fs.sync_dir(&private)?;
            sync_parent(&*self.fs, &private)?;
        }
        let temporary = names::meta_temporary(dir, id);
        let mut file = self.fs.create(&temporary)?;
        file.append(meta.encode().as_bytes())?;
        if is_synced {
            file.sync()?;
        }
        drop(file);
        self.fs.rename(&temporary, &names::meta(dir, id))?;
        if is_synced {
            self.fs.sync_dir(&dir.join(names::META))?;
        }
        Ok(())
    }

    /// Deletes what there is of a backup that failed because of `why`.
    fn abandon(&mut self, id: u32, why: &Error) {
        let path = names::meta(&self.options.dir, id);
        match self.fs.remove(&path) {
            Ok(()) => {}
            Err(e) if e.is_missing_file() => {}
            Err(_) => {
                // It is there, and may or may not stay: its files must not be deleted.
                self.catalog.add_damaged(id, why.clone(), None);
                return;
            }
        }
        // The error that matters is known. What is left is deleted before the next backup.
        let _ = self.sweep();
    }
}

/// The name of a file of a database.
fn name_of(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    let bad = || Error::invalid("a file whose name is not text").in_file(path, None);
    name.map(str::to_owned).ok_or_else(bad)
}
