//! `CURRENT`: the file that names the manifest in force.
//!
//! It holds the manifest's file name and a newline, and is only ever replaced
//! as a whole, by a rename.

use crate::error::{Error, Result};
use crate::filename::{self, FileType};
use crate::fs::{Fs, read_file, write_file_atomically};
use std::path::{Path, PathBuf};

/// No name that could stand in `CURRENT` is longer, in bytes.
const MAX_LEN: u64 = 64;

/// The path of the manifest in force in the database directory `dir`. Whether
/// that file exists is not checked.
///
/// # Errors
/// [`Error::is_missing_file`] when there is no `CURRENT`; `Corruption` naming
/// `CURRENT` when it does not hold a manifest's name and a newline.
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

/// Makes the manifest `manifest_number` the one in force in `dir`, durably.
/// The manifest itself must be synced already.
///
/// # Errors
/// Those of the file system; which manifest is in force is then unknown.
pub fn set_current(fs: &dyn Fs, dir: &Path, manifest_number: u64) -> Result<()> {
    let content = format!("MANIFEST-{manifest_number:06}\n");
    let tmp = filename::temp(dir, manifest_number);
    write_file_atomically(fs, &tmp, &filename::current(dir), content.as_bytes())
}
