//! Deleting backups, and the files that no backup has.

use super::Backups;
use super::catalog::Catalog;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use whitewater_storage::backup::names;
use whitewater_storage::{Error, Result, planted};

impl Backups {
    /// Deletes a backup, whether or not it is damaged.
    ///
    /// # Errors
    /// `NotFound`; errors of the file system. Unless the first step failed, the backup is gone
    /// then, and what is left of it is deleted with the next change.
    pub fn delete(&mut self, id: u32) -> Result<()> {
        self.refresh()?;
        if !self.catalog.is_known(id) {
            // The same error as for every other use of such a number.
            self.catalog.get(id)?;
        }
        self.delete_metadata(id)?;
        self.sweep()
    }

    /// Begins a change with what is in the directory now.
    pub(super) fn refresh(&mut self) -> Result<()> {
        self.check_writable()?;
        self.catalog.refresh(&*self.fs, &self.options.dir)
    }

    /// Deletes the oldest backups until `keep` are left, not counting damaged ones.
    ///
    /// # Errors
    /// As [`delete`](Self::delete).
    pub fn purge(&mut self, keep: usize) -> Result<()> {
        self.refresh()?;
        let valid = self.catalog.valid();
        let too_many = valid.len().saturating_sub(keep);
        let old: Vec<u32> = valid.keys().copied().take(too_many).collect();
        let deleted = old.into_iter().try_for_each(|id| self.delete_metadata(id));
        let swept = self.sweep();
        deleted.and(swept)
    }

    /// Deletes everything.
    pub(super) fn destroy(&mut self) -> Result<()> {
        let meta = self.options.dir.join(names::META);
        for name in self.fs.list(&meta)? {
            if names::backup_id(&name).is_some() {
                self.fs.remove(&meta.join(name))?;
            }
        }
        self.catalog = Catalog::default();
        self.sweep()
    }

    fn delete_metadata(&mut self, id: u32) -> Result<()> {
        self.may_have_garbage = true;
        planted!(BackupFilesDeletedFirst => {
            self.delete_folder(&names::private_dir(&self.options.dir, id))?;
        });
        match self.fs.remove(&names::meta(&self.options.dir, id)) {
            Err(e) if !e.is_missing_file() => return Err(e),
            _ => self.catalog.remove(id),
        }
        Ok(())
    }

    /// Deletes files that no backup has: of backups that were deleted, or that were being made
    /// when the process ended. Those that damaged backups name are kept; so are all shared files
    /// as long as the metadata of a backup cannot be read.
    ///
    /// # Errors
    /// The first error of the file system. What could be deleted is deleted even then.
    pub fn collect(&mut self) -> Result<()> {
        self.refresh()?;
        self.sweep()
    }

    /// [`collect`](Self::collect) if the catalog is that of the directory.
    pub(super) fn sweep(&mut self) -> Result<()> {
        self.may_have_garbage = true;
        let dir = self.options.dir.clone();
        let mut is_synced = self.options.sync;
        planted!(BackupDeletionNotSynced => is_synced = false);
        if is_synced {
            // B2: it may be metadata that were deleted a moment ago which named a file.
            self.fs.sync_dir(&dir.join(names::META))?;
        }
        let mut first = None;
        let mut note = |outcome: Result<()>| {
            if let Err(e) = outcome {
                first.get_or_insert(e);
            }
        };
        let named = self.catalog.named();
        for folder in [names::META, names::SHARED, names::SHARED_CHECKSUM] {
            note(self.collect_files(&dir.join(folder), folder, named.as_ref()));
        }
        note(self.collect_private(&dir.join(names::PRIVATE)));
        match first {
            Some(e) => Err(e),
            None => {
                self.may_have_garbage = false;
                Ok(())
            }
        }
    }

    /// Deletes temporary files of a folder, and in folders of shared files those that are not in
    /// `named`, if it is known which ones are.
    fn collect_files(
        &self,
        path: &Path,
        folder: &str,
        named: Option<&HashSet<&str>>,
    ) -> Result<()> {
        if !self.fs.exists(path)? {
            return Ok(());
        }
        let is_garbage = |name: &str| {
            if folder == names::META || names::is_temporary(name) {
                return names::is_temporary(name);
            }
            named.is_some_and(|named| !named.contains(format!("{folder}/{name}").as_str()))
        };
        let garbage = self.fs.list(path)?.into_iter();
        self.delete_files(
            garbage
                .filter(|name| is_garbage(name))
                .map(|n| path.join(n)),
        )
    }

    /// Deletes the folders of backups that do not exist.
    fn collect_private(&self, path: &Path) -> Result<()> {
        let mut outcome = Ok(());
        for name in self.fs.list(path)? {
            let id = names::backup_id(name.trim_end_matches(".tmp"));
            // Old versions of RocksDB made a folder under a temporary name.
            let is_garbage =
                names::is_temporary(&name) || id.is_some_and(|id| !self.catalog.is_known(id));
            if id.is_some() && is_garbage {
                outcome = outcome.and(self.delete_folder(&path.join(name)));
            }
        }
        outcome
    }

    fn delete_folder(&self, path: &Path) -> Result<()> {
        let files = self.fs.list(path)?.into_iter();
        self.delete_files(files.map(|name| path.join(name)))?;
        self.fs.remove_dir(path)
    }

    /// Deletes as many of `files` as possible.
    fn delete_files(&self, files: impl Iterator<Item = PathBuf>) -> Result<()> {
        let failed = files.filter_map(|file| self.fs.remove(&file).err());
        let failed: Vec<Error> = failed.filter(|e| !e.is_missing_file()).collect();
        failed.into_iter().next().map_or(Ok(()), Err)
    }
}
