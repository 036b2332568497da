//! Comparing the files of a backup with what its metadata say.

use super::Backups;
use super::copy::{Copier, for_all};
use super::shared::check_crc;
use whitewater_storage::backup::{Meta, MetaFile};
use whitewater_storage::{Error, ErrorKind, Result};

impl Backups {
    /// Checks that all files of a backup are there and have their sizes, and their checksums if
    /// these are to be computed.
    ///
    /// # Errors
    /// `NotFound` if there is no such backup, or if a file is missing; `Corruption` naming the
    /// file; errors of the file system.
    pub fn verify(&self, id: u32, with_checksum: bool) -> Result<()> {
        let meta = self.catalog.get(id)?;
        self.verify_sizes(meta)?;
        if !with_checksum {
            return Ok(());
        }
        let copier = Copier::new(self.stop.limit.as_ref(), false);
        let threads = self.options.max_background_operations;
        for_all(&meta.files, threads, |file| {
            self.verify_checksum(file, &copier)
        })?;
        Ok(())
    }

    /// Checks that all files are there and have their sizes.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub(super) fn verify_sizes(&self, meta: &Meta) -> Result<()> {
        for file in &meta.files {
            let path = self.options.dir.join(&file.path);
            let found = match self.fs.file_size(&path) {
                Err(e) if e.is_missing_file() => {
                    let what = format!("File missing: {}", path.display());
                    return Err(Error::new(ErrorKind::NotFound, what));
                }
                size => size?,
            };
            if file.size.is_some_and(|size| size != found) {
                let expected = file.size.unwrap_or_default();
                let what = format!("{found} bytes instead of {expected}");
                return Err(Error::corruption(what).in_file(&path, None));
            }
        }
        Ok(())
    }

    /// Whether a file is there and has its size.
    pub(super) fn has(&self, file: &MetaFile) -> bool {
        let path = self.options.dir.join(&file.path);
        let found = self.fs.file_size(&path);
        found.is_ok_and(|found| file.size.is_none_or(|size| size == found))
    }

    fn verify_checksum(&self, file: &MetaFile, copier: &Copier<'_>) -> Result<()> {
        let Some(crc) = file.crc else {
            return Ok(());
        };
        let path = self.options.dir.join(&file.path);
        let size = file.size.unwrap_or_default();
        let found = copier.checksum(&*self.fs, &path, size)?;
        check_crc(found.crc, crc, &path)
    }
}
