//! Tables and blob files that backups share.

use super::Backups;
use super::copy::Copier;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use whitewater_storage::backup::{MetaFile, names};
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::Fs;
use whitewater_storage::sst::TableProperties;
use whitewater_storage::{Error, Result, planted};

/// A table or blob file of a database.
pub(super) struct Sharable {
    pub path: PathBuf,
    pub name: String,
    /// In bytes.
    pub size: u64,
    /// Its CRC-32C, if the database knows it.
    pub crc: Option<u32>,
}

impl Backups {
    /// Brings a file into the folder of shared files, if it is not there. `known` are the files
    /// of all backups, by their paths.
    ///
    /// # Errors
    /// Errors of the file systems; `Corruption` if the file does not have the checksum that the
    /// database or a backup knows.
    pub(super) fn share(
        &self,
        from: &dyn Fs,
        file: &Sharable,
        known: &HashMap<&str, &MetaFile>,
        copier: &Copier<'_>,
    ) -> Result<MetaFile> {
        let (path, mut crc) = self.shared_path(from, file, copier)?;
        let to = self.options.dir.join(&path);
        if let Some(known) = known.get(path.as_str()) {
            if let (Some(crc), Some(known)) = (crc, known.crc) {
                check_crc(crc, known, &file.path)?;
            }
            crc = crc.or(known.crc);
            // What somebody deleted or cut short is copied again.
            let mut is_there = matches!(self.fs.file_size(&to), Ok(size) if size == file.size);
            planted!(SharedFileNotLookedAt => is_there = true);
            if is_there {
                let crc = match crc {
                    Some(crc) => crc,
                    None => copier.checksum(&*self.fs, &to, file.size)?.crc,
                };
                return Ok(described(path, crc, file.size));
            }
        }
        let temporary = self.options.dir.join(names::temporary(&path));
        let copied = copier.copy((from, &file.path), file.size, (&*self.fs, &temporary))?;
        if let Some(crc) = crc {
            check_crc(copied.crc, crc, &file.path)?;
        }
        self.fs.rename(&temporary, &to)?;
        Ok(described(path, copied.crc, file.size))
    }

    /// The path that a shared file gets, and its checksum if that is known by then.
    pub(super) fn shared_path(
        &self,
        from: &dyn Fs,
        file: &Sharable,
        copier: &Copier<'_>,
    ) -> Result<(String, Option<u32>)> {
        if !self.options.share_files_with_checksum {
            return Ok((names::shared(&file.name), file.crc));
        }
        let naming = self.options.naming;
        let is_table = matches!(filename::parse(&file.name), Some(FileType::Table(_)));
        if naming.by_session && is_table {
            let size = naming.with_size.then_some(file.size);
            if let Some(path) = session_path(from, &file.path, &file.name, file.size, size)? {
                return Ok((path, file.crc));
            }
        }
        let crc = match file.crc {
            Some(crc) => crc,
            None => copier.checksum(from, &file.path, file.size)?.crc,
        };
        let path = names::of_checksum(&file.name, crc, file.size);
        let path = path.ok_or_else(|| Error::corruption(format!("no suffix: {}", file.name)))?;
        Ok((path, Some(crc)))
    }
}

/// The shared path of the table `file`, whose name in the database is `name`, by the session that
/// wrote it; `None` if it does not say which.
///
/// # Errors
/// Errors of reading the table.
pub(super) fn session_path(
    fs: &dyn Fs,
    file: &Path,
    name: &str,
    len: u64,
    size: Option<u64>,
) -> Result<Option<String>> {
    let properties = TableProperties::read(fs.open_random(file)?, len)?;
    let session = properties.session_id();
    Ok(session.and_then(|session| names::of_session(name, session, size)))
}

/// A file of a backup.
pub(super) fn described(path: String, crc: u32, size: u64) -> MetaFile {
    MetaFile {
        path,
        crc: Some(crc),
        size: Some(size),
    }
}

/// Compares the checksum `found` with the `expected` one.
///
/// # Errors
/// `Corruption` naming the file.
pub(super) fn check_crc(found: u32, expected: u32, file: &Path) -> Result<()> {
    if found != expected {
        let what = format!("the file's checksum is {found}, {expected} was expected");
        return Err(Error::corruption(what).in_file(file, None));
    }
    Ok(())
}
