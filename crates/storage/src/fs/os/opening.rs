//! Opening paths that may not be files, and finding holes in files.

use super::platform::{name_of_special, without_waiting};
use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::path::Path;

/// Opens the file at `path` for reading.
///
/// # Errors
/// Errors of the system; `InvalidInput` saying what is at `path`, if it is not a file.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    let file = without_waiting(OpenOptions::new().read(true)).open(path)?;
    check_is_file(&file)?;
    Ok(file)
}

/// Checks that `file` is a regular file.
///
/// # Errors
/// `InvalidInput` saying what it is, if it is not a file.
pub(super) fn check_is_file(file: &File) -> io::Result<()> {
    let ty = file.metadata()?.file_type();
    if ty.is_file() {
        return Ok(());
    }
    let text = format!("this is {}, not a file", name_of(ty));
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

fn name_of(ty: FileType) -> &'static str {
    if ty.is_dir() {
        "a directory"
    } else {
        name_of_special(ty)
    }
}

/// The first offset from `at` on where `file` may hold something other than zeros, as far as the
/// file system knows; the end of the file if there is none.
#[cfg(target_os = "linux")]
pub(super) fn data_from(file: &File, at: u64) -> u64 {
    let position = rustix::fs::tell(file);
    let data = match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(data) => data,
        // The rest of the file is a hole.
        Err(rustix::io::Errno::NXIO) => file.metadata().map_or(at, |meta| meta.len()),
        Err(_) => at,
    };
    // Restores the position for later reads.
    match position.map(|was| rustix::fs::seek(file, rustix::fs::SeekFrom::Start(was))) {
        Ok(Ok(_)) => data.max(at),
        _ => at,
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn data_from(_: &File, at: u64) -> u64 {
    at
}
