//! What differs between operating systems below [`OsFs`](super::OsFs).
//!
//! * `unix`: Linux with all hints, and other Unix systems. On Apple's, `File::sync_data` and
//!   `File::sync_all` are `F_FULLFSYNC`, which also empties the cache of the drive.
//! * `windows`: positioned I/O by `ReadFile` and `WriteFile` with an offset, durability by
//!   `FlushFileBuffers`, locks by exclusive opening.
//!
//! Hints (`preallocate`, `start_writeback`, `prefetch`) do nothing where the system has no such
//! call.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(in crate::fs) use system::{DEVICE_ERROR, DISK_FULL};
pub(super) use system::{
    FileId, advise_random, allocate, file_id, free_space, name_of_special, num_links, open_dir,
    open_locked, preallocate, prefetch, read_at, read_spare, start_writeback, sync_dir,
    without_waiting, write_all_at, write_at,
};

#[cfg(target_os = "linux")]
pub(super) use unix::NONBLOCK;
