//! Logs that recovery no longer needs, kept for readers of [`updates`](super::updates).
//!
//! With a time to live or a size limit, an obsolete log is moved to the directory `archive`
//! beside the logs instead of being deleted. It is deleted there when it is too old or when
//! there are too many, by RocksDB's rules, including its rounding. Recovery never looks
//! there, and nothing depends on what is there; a failure is only logged.
//!
//! Invariant A1: an archived log holds only what is part of the database. Records that
//! recovery dropped are cut off before the log is moved, because their numbers are used
//! again. Logs that a resumption replaced hold failed writes, and are not archived.

use super::Engine;
use crate::write::wal::Link;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use whitewater_storage::batch;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::{Fs, SequentialFile};
use whitewater_storage::wal::{LogReader, ReadOutcome};
use whitewater_storage::{Error, Result};

/// The shortest time between two looks at the archive, in seconds.
const PURGE_INTERVAL: u64 = 600;

/// When the archive was last looked at, in seconds since 1970. Written and read by threads
/// that may look, with compare-exchange, so that only one of them does (relaxed). Publishes
/// nothing.
#[derive(Debug, Default)]
pub(crate) struct LastPurge(AtomicU64);

impl LastPurge {
    /// Whether to look now, because the last look was at least `interval` seconds ago.
    fn is_due(&self, now: u64, interval: u64) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        let due = last.saturating_add(interval) <= now;
        let swap = |last| {
            self.0
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
        };
        due && swap(last).is_ok()
    }
}

/// Moves the log `number` to the archive directory, which exists.
pub(super) fn archive_log(fs: &dyn Fs, wal_dir: &Path, number: u64) -> Result<()> {
    let archive = filename::archive(wal_dir);
    fs.rename(
        &filename::wal(wal_dir, number),
        &filename::wal(&archive, number),
    )
}

/// Moves the first `len` bytes of the log `number` to the archive (A1).
pub(super) fn archive_part(fs: &dyn Fs, wal_dir: &Path, number: u64, len: u64) -> Result<()> {
    let (from, archive) = (filename::wal(wal_dir, number), filename::archive(wal_dir));
    if len > 0 {
        let mut source = Reading(fs.open_sequential(&from)?).take(len);
        let temp = filename::temp(&archive, number);
        let mut copy = fs.create(&temp)?;
        let mut buf = [0; 8192];
        loop {
            let read = source.read(&mut buf);
            match read.map_err(|e| Error::io("copy a log", &from, &e))? {
                0 => break,
                n => copy.append(&buf[..n])?,
            }
        }
        copy.sync()?;
        fs.rename(&temp, &filename::wal(&archive, number))?;
        // Synced before the only other copy is removed.
        fs.sync_dir(&archive)?;
    }
    fs.remove(&from)
}

/// The largest number of a log in `wal_dir` that a later log, perhaps in the archive, names
/// as replaced ([`Link`]); 0 if there is none. Writes that failed in it, or in logs before
/// it, are nowhere in the database.
pub(super) fn replaced_up_to(fs: &dyn Fs, wal_dir: &Path) -> Result<u64> {
    let live = logs_in(fs, wal_dir)?;
    let Some(&first) = live.first() else {
        return Ok(0);
    };
    let mut archived = logs_in(fs, &filename::archive(wal_dir))?;
    archived.retain(|number| *number > first);
    let mut replaced = 0;
    for (dir, logs) in [(wal_dir, live), (&filename::archive(wal_dir), archived)] {
        for number in logs {
            let file = fs.open_sequential(&filename::wal(dir, number))?;
            let mut record = Vec::new();
            let read = LogReader::new(file, number).read_record(&mut record)?;
            if matches!(read, ReadOutcome::Record) && batch::check_logged(&record).is_ok() {
                let link = Link::decode(&record).filter(|link| link.size == 0);
                replaced = replaced.max(link.map_or(0, |link| link.log_number));
            }
        }
    }
    Ok(replaced)
}

struct Reading(Box<dyn SequentialFile>);

impl Read for Reading {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buf).map_err(std::io::Error::other)
    }
}

/// The numbers of the logs in `dir`, ascending; none if `dir` does not exist.
///
/// # Errors
/// Errors of the file system.
pub(super) fn logs_in(fs: &dyn Fs, dir: &Path) -> Result<Vec<u64>> {
    if !fs.exists(dir)? {
        return Ok(Vec::new());
    }
    let mut numbers: Vec<u64> = (fs.list(dir)?.iter())
        .filter_map(|name| match filename::parse(name) {
            Some(FileType::Wal(number)) => Some(number),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Removes the archive in `wal_dir`, except files that are not the database's.
pub(super) fn destroy(fs: &dyn Fs, wal_dir: &Path) -> Result<()> {
    let archive = filename::archive(wal_dir);
    if !fs.exists(&archive)? {
        return Ok(());
    }
    for name in fs.list(&archive)? {
        if matches!(
            filename::parse(&name),
            Some(FileType::Wal(_) | FileType::Temp(_))
        ) {
            fs.remove(&archive.join(name))?;
        }
    }
    if fs.list(&archive)?.is_empty() {
        fs.remove_dir(&archive)?;
    }
    Ok(())
}

impl Engine {
    /// Deletes archived logs that are too old or too many, if a look is due.
    pub(crate) fn purge_archive(&self) {
        let (ttl, limit) = (self.options.wal_ttl_seconds, self.options.wal_size_limit_mb);
        let interval = match ttl {
            0 => PURGE_INTERVAL,
            ttl => (ttl / 2).clamp(1, PURGE_INTERVAL),
        };
        let now = self.options.clock.now();
        if !self.options.archives_logs() || !self.files.last_purge.is_due(now, interval) {
            return;
        }
        let limit = limit.saturating_mul(1 << 20);
        match purge(
            &*self.files.fs,
            &filename::archive(self.commit.wal.dir()),
            now,
            ttl,
            limit,
        ) {
            Ok(0) => {}
            Ok(n) => self.info_log.write(&format!("Deleted {n} archived logs")),
            Err(e) => self
                .info_log
                .warn(&format!("deleting archived logs failed: {e}")),
        }
    }
}

/// Deletes logs in `archive` that are older than `ttl` seconds, empty ones, and the oldest
/// ones beyond the number that `limit` bytes would hold if all were as large as the largest
/// (0 means no limit, for both). Returns how many were deleted.
fn purge(fs: &dyn Fs, archive: &Path, now: u64, ttl: u64, limit: u64) -> Result<usize> {
    let mut deleted = 0;
    let mut sizes = BTreeMap::new();
    for number in logs_in(fs, archive)? {
        let path = filename::wal(archive, number);
        let old = ttl > 0 && now.saturating_sub(fs.modified(&path)?) > ttl;
        let size = fs.file_size(&path)?;
        if old || (limit > 0 && size == 0) {
            fs.remove(&path)?;
            deleted += 1;
        } else {
            sizes.insert(number, size);
        }
    }
    let largest = sizes.values().copied().max().unwrap_or(0);
    if limit > 0 && largest > 0 {
        let keep = usize::try_from(limit / largest).unwrap_or(usize::MAX);
        for number in sizes.keys().take(sizes.len().saturating_sub(keep)) {
            fs.remove(&filename::wal(archive, *number))?;
            deleted += 1;
        }
    }
    Ok(deleted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::fs::mem::MemFs;

    fn archive(sizes: &[(u64, usize)]) -> (MemFs, &'static Path) {
        let (fs, dir) = (MemFs::new(), Path::new("/archive"));
        fs.create_dir_all(dir).unwrap();
        for (number, size) in sizes {
            let mut file = fs.create(&filename::wal(dir, *number)).unwrap();
            file.append(&vec![1; *size]).unwrap();
        }
        (fs, dir)
    }

    #[test]
    fn logs_are_deleted_by_age() {
        let (fs, dir) = archive(&[(3, 10), (5, 10)]);
        let written = fs.modified(&filename::wal(dir, 5)).unwrap();
        assert_eq!(purge(&fs, dir, written + 100, 101, 0).unwrap(), 0);
        // If the clock was set back, nothing is old.
        assert_eq!(purge(&fs, dir, 5, 1, 0).unwrap(), 0);
        assert_eq!(purge(&fs, dir, written + 103, 101, 0).unwrap(), 2);
        assert_eq!(logs_in(&fs, dir).unwrap(), [0; 0]);
    }

    #[test]
    fn the_oldest_logs_are_deleted_by_size() {
        let (fs, dir) = archive(&[(9, 40), (11, 100), (10, 0), (12, 30)]);
        // Two of the largest size fit.
        assert_eq!(purge(&fs, dir, 0, 0, 250).unwrap(), 2);
        assert_eq!(logs_in(&fs, dir).unwrap(), [11, 12]);
        assert_eq!(purge(&fs, dir, 0, 0, 99).unwrap(), 2);
        assert_eq!(purge(&fs, Path::new("/none"), 0, 0, 99).unwrap(), 0);
    }

    #[test]
    fn the_archive_is_looked_at_in_intervals() {
        let last = LastPurge::default();
        assert!(last.is_due(1_000, 600), "the first time");
        assert!(!last.is_due(1_599, 600));
        assert!(last.is_due(1_600, 600));
        assert!(!last.is_due(10, 600), "the clock was set back");
    }

    #[test]
    fn a_part_of_a_log_is_archived() {
        let (fs, dir) = (MemFs::new(), Path::new("/db"));
        fs.create_dir_all(&filename::archive(dir)).unwrap();
        for number in [1, 2] {
            let mut file = fs.create(&filename::wal(dir, number)).unwrap();
            file.append(&[7; 20_000]).unwrap();
        }
        archive_part(&fs, dir, 1, 9_000).unwrap();
        archive_part(&fs, dir, 2, 0).unwrap();
        let archive = filename::archive(dir);
        assert_eq!(logs_in(&fs, &archive).unwrap(), [1]);
        assert_eq!(logs_in(&fs, dir).unwrap(), [0; 0]);
        assert_eq!(fs.file_size(&filename::wal(&archive, 1)).unwrap(), 9_000);
        destroy(&fs, dir).unwrap();
        assert!(!fs.exists(&archive).unwrap());
    }

    #[test]
    fn a_part_is_durable_before_the_log_goes() {
        let (fs, dir) = (MemFs::new(), Path::new("/db"));
        let archive = filename::archive(dir);
        fs.create_dir_all(&archive).unwrap();
        let mut file = fs.create(&filename::wal(dir, 1)).unwrap();
        file.append(&[7; 100]).unwrap();
        file.sync().unwrap();
        for dir in ["/", "/db", "/db/archive"] {
            fs.sync_dir(Path::new(dir)).unwrap();
        }
        archive_part(&fs, dir, 1, 90).unwrap();
        fs.sync_dir(dir).unwrap();
        let cut = fs.crash_clone(0.0, 1);
        assert_eq!(logs_in(&cut, &archive).unwrap(), [1]);
        assert_eq!(cut.file_size(&filename::wal(&archive, 1)).unwrap(), 90);
    }
}
