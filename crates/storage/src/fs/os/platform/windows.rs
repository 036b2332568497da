//! Windows.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// The error code of a failing device (`ERROR_IO_DEVICE`).
pub(in crate::fs) const DEVICE_ERROR: i32 = 1117;

/// The error code of a full device (`ERROR_DISK_FULL`).
pub(in crate::fs) const DISK_FULL: i32 = 112;

/// The error code of a file that is open elsewhere (`ERROR_SHARING_VIOLATION`).
const SHARING_VIOLATION: i32 = 32;

/// Identifies a file, whatever path it is opened by. The standard library does not tell it.
pub(in crate::fs::os) type FileId = ();

/// The identity of the file that `meta` describes: unknown.
pub(in crate::fs::os) fn file_id(_: &Metadata) -> Option<FileId> {
    None
}

/// The number of names of the file that `meta` describes: unknown.
pub(in crate::fs::os) fn num_links(_: &Metadata) -> Option<u64> {
    None
}

/// The free space of the file system of `dir`: unknown.
pub(in crate::fs::os) fn free_space(_: &Path) -> io::Result<Option<u64>> {
    Ok(None)
}

/// Changes nothing: opening never waits.
pub(in crate::fs::os) fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// The name of something that is neither a file nor a directory.
pub(in crate::fs::os) fn name_of_special(_: FileType) -> &'static str {
    "something else"
}

/// Reads some bytes at `offset`.
pub(in crate::fs::os) fn read_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buf, offset)
}

/// Reads some bytes at `offset` into the spare capacity of `buf`.
pub(in crate::fs::os) fn read_spare(
    file: &File,
    buf: &mut Vec<u8>,
    offset: u64,
) -> io::Result<usize> {
    let len = buf.len();
    buf.resize(buf.capacity(), 0);
    let read = file.seek_read(&mut buf[len..], offset);
    buf.truncate(len + read.as_ref().map_or(0, |n| *n));
    read
}

/// Writes some of `data` at `offset`.
pub(in crate::fs::os) fn write_at(file: &File, data: &[u8], offset: u64) -> io::Result<usize> {
    file.seek_write(data, offset)
}

/// Writes all of `data` at `offset`.
pub(in crate::fs::os) fn write_all_at(
    file: &File,
    mut data: &[u8],
    mut offset: u64,
) -> io::Result<()> {
    while !data.is_empty() {
        match file.seek_write(data, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                data = &data[n..];
                offset += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Allocates space for a range; false, because the standard library has no call for it.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
pub(in crate::fs::os) fn allocate(_: &File, _: u64, _: u64) -> io::Result<bool> {
    Ok(false)
}

/// Does nothing.
pub(in crate::fs::os) fn preallocate(_: &File, _: u64, _: u64) {}

/// Does nothing.
pub(in crate::fs::os) fn start_writeback(_: &File, _: u64, _: u64) {}

/// Does nothing.
pub(in crate::fs::os) fn prefetch(_: &File, _: u64, _: u64) {}

/// Does nothing.
pub(in crate::fs::os) fn advise_random(_: &File) {}

/// Does nothing, as in RocksDB: NTFS logs changes of directories by itself, and there is no call to
/// flush a directory.
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
pub(in crate::fs::os) fn sync_dir(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Opens nothing: see [`sync_dir`].
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
pub(in crate::fs::os) fn open_dir(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Opens the file at `path` exclusively, as RocksDB does, creating it if necessary. Closing the
/// file unlocks it.
pub(in crate::fs::os) fn open_locked(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.share_mode(0).open(path).map_err(|e| {
        if e.raw_os_error() == Some(SHARING_VIOLATION) {
            io::Error::new(io::ErrorKind::WouldBlock, e)
        } else {
            e
        }
    })
}
