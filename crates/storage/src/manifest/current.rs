//! `CURRENT`: the file that names the current manifest.
//!
//! It holds the manifest's file name and a newline, and is only replaced as a whole, by a rename.

use crate::error::{Error, Result};
use crate::filename::{self, FileType};
use crate::fs::{Fs, read_file, write_file_atomically};
use std::path::{Path, PathBuf};

/// The largest valid size of `CURRENT` in bytes.
const MAX_LEN: u64 = 64;

/// The path of the current manifest in the database directory `dir`. Does not check that the file
/// exists.
///
/// # Errors
/// [`Error::is_missing_file`] if there is no `CURRENT`; `Corruption` naming `CURRENT` if it does
/// not hold a manifest's name and a newline.
pub fn read_current(fs: &dyn Fs, dir: &Path) -> Result<PathBuf> {
    let path = filename::current(dir);
    let content = read_file(fs, &path, MAX_LEN)?;
    let bad = |what: &str| Error::corruption_in(&path, 0, what);
    let Some(name) = content.strip_suffix(b"\n") else {
        return Err(bad("CURRENT does not end with a newline"));
    };
    let name = std::str::from_utf8(name).unwrap_or_default();
    match filename::parse(name) {
        Some(FileType::Manifest(_)) => Ok(dir.join(name)),
        _ => Err(bad("CURRENT does not name a manifest")),
    }
}

/// Makes the manifest `manifest_number` the current one in `dir`, durably. The manifest itself must
/// be synced before.
///
/// # Errors
/// Errors of the file system, after which it is unknown which manifest is current.
pub fn set_current(fs: &dyn Fs, dir: &Path, manifest_number: u64) -> Result<()> {
    let content = format!("MANIFEST-{manifest_number:06}\n");
    let tmp = filename::temp(dir, manifest_number);
    write_file_atomically(fs, &tmp, &filename::current(dir), content.as_bytes())
}
