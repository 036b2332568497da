//! Unix systems.

#[cfg(target_os = "linux")]
use rustix::fs::{Advice, FallocateFlags};
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The error code of a failing device.
pub(in crate::fs) const DEVICE_ERROR: i32 = Errno::IO.raw_os_error();

/// The error code of a full device.
pub(in crate::fs) const DISK_FULL: i32 = Errno::NOSPC.raw_os_error();

/// The flag of [`without_waiting`], for callers that set other flags, too.
pub(in crate::fs::os) const NONBLOCK: i32 = OFlags::NONBLOCK.bits() as i32;

/// Identifies a file, whatever path it is opened by: its device and inode.
pub(in crate::fs::os) type FileId = (u64, u64);

/// The identity of the file that `meta` describes.
pub(in crate::fs::os) fn file_id(meta: &Metadata) -> Option<FileId> {
    Some((meta.dev(), meta.ino()))
}

/// The number of names of the file that `meta` describes.
pub(in crate::fs::os) fn num_links(meta: &Metadata) -> Option<u64> {
    Some(meta.nlink())
}

/// The bytes that an unprivileged process may still write to the file system of `dir`.
pub(in crate::fs::os) fn free_space(dir: &Path) -> io::Result<Option<u64>> {
    let fs = rustix::fs::statvfs(dir)?;
    Ok(Some(fs.f_bavail.saturating_mul(fs.f_frsize)))
}

/// Makes `options` open a FIFO or a device without waiting, or fail. Regular files are not
/// affected.
pub(in crate::fs::os) fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(NONBLOCK)
}

/// What `ty` is, if it is neither a file nor a directory.
pub(in crate::fs::os) fn name_of_special(ty: FileType) -> &'static str {
    if ty.is_fifo() {
        "a FIFO"
    } else if ty.is_char_device() || ty.is_block_device() {
        "a device"
    } else {
        "something else"
    }
}

/// Reads some bytes at `offset`.
pub(in crate::fs::os) fn read_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buf, offset)
}

/// Reads some bytes at `offset` into the spare capacity of `buf`.
pub(in crate::fs::os) fn read_spare(
    file: &File,
    buf: &mut Vec<u8>,
    offset: u64,
) -> io::Result<usize> {
    Ok(rustix::io::pread(
        file,
        rustix::buffer::spare_capacity(buf),
        offset,
    )?)
}

/// Writes some of `data` at `offset`.
pub(in crate::fs::os) fn write_at(file: &File, data: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(data, offset)
}

/// Writes all of `data` at `offset`.
pub(in crate::fs::os) fn write_all_at(file: &File, data: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(data, offset)
}

/// Allocates space for a range and extends the file to its end; false if the system cannot.
#[cfg(target_os = "linux")]
pub(in crate::fs::os) fn allocate(file: &File, from: u64, to: u64) -> io::Result<bool> {
    loop {
        return match rustix::fs::fallocate(file, FallocateFlags::empty(), from, to - from) {
            Ok(()) => Ok(true),
            Err(Errno::INTR) => continue,
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
            Err(e) => Err(e.into()),
        };
    }
}

/// Allocates space for a range; false: not used outside Linux.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "other systems can fail")]
pub(in crate::fs::os) fn allocate(_: &File, _: u64, _: u64) -> io::Result<bool> {
    Ok(false)
}

/// Allocates space for a range without extending the file: a hint, because files work without it
/// on other file systems and on full disks.
#[cfg(target_os = "linux")]
pub(in crate::fs::os) fn preallocate(file: &File, from: u64, to: u64) {
    let _ = rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, from, to - from);
}

/// Asks the system to write back a range, without waiting. On Linux, the advice that pages are not
/// needed begins to write them back.
#[cfg(target_os = "linux")]
pub(in crate::fs::os) fn start_writeback(file: &File, from: u64, to: u64) {
    advise(file, from, to.saturating_sub(from), Advice::DontNeed);
}

/// Asks the system to read a range ahead.
#[cfg(target_os = "linux")]
pub(in crate::fs::os) fn prefetch(file: &File, offset: u64, len: u64) {
    advise(file, offset, len, Advice::WillNeed);
}

/// Tells the system to read nothing ahead unasked.
#[cfg(target_os = "linux")]
pub(in crate::fs::os) fn advise_random(file: &File) {
    let _ = rustix::fs::fadvise(file, 0, None, Advice::Random);
}

/// Does nothing.
#[cfg(not(target_os = "linux"))]
pub(in crate::fs::os) fn advise_random(_: &File) {}

#[cfg(target_os = "linux")]
fn advise(file: &File, offset: u64, len: u64, advice: Advice) {
    if let Some(len) = NonZeroU64::new(len) {
        let _ = rustix::fs::fadvise(file, offset, Some(len), advice);
    }
}

/// Does nothing.
#[cfg(not(target_os = "linux"))]
pub(in crate::fs::os) fn preallocate(_: &File, _: u64, _: u64) {}

/// Does nothing.
#[cfg(not(target_os = "linux"))]
pub(in crate::fs::os) fn start_writeback(_: &File, _: u64, _: u64) {}

/// Asks the system to read a range ahead (`F_RDADVISE`).
#[cfg(target_vendor = "apple")]
pub(in crate::fs::os) fn prefetch(file: &File, offset: u64, len: u64) {
    let _ = rustix::fs::fcntl_rdadvise(file, offset, len);
}

/// Does nothing.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(in crate::fs::os) fn prefetch(_: &File, _: u64, _: u64) {}

/// Makes the names in the directory `path` durable.
pub(in crate::fs::os) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Opens the directory `path`, so that it can be synced without its path.
pub(in crate::fs::os) fn open_dir(path: &Path) -> io::Result<Option<File>> {
    File::open(path).map(Some)
}

/// Opens and locks the file at `path`, creating it if necessary. Closing the file unlocks it.
pub(in crate::fs::os) fn open_locked(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}
