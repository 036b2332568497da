//! The files that hold what the database holds at a moment, for checkpoints and backups.
//!
//! At that moment nothing switches, ingests, or changes column families. The tables of all
//! column families and the ends of the logs are noted. A new manifest is written that has
//! these tables and no history. Whoever copies the files keeps them from being deleted
//! meanwhile.

use super::Engine;
use crate::listener::FlushReason;
use crate::sync_points::Point;
use crate::version::{TableFile, Version};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::Fs;
use whitewater_storage::key::SequenceNumber;
use whitewater_storage::planted;
use whitewater_storage::{Error, Result, file_checksum};

/// The live files of one moment, but for the manifest, which was made for them.
pub(crate) struct LiveFiles {
    /// The number of the manifest that was written.
    pub manifest: u64,
    pub tables: Vec<LiveTable>,
    pub blobs: Vec<PathBuf>,
    /// Each log, oldest first, and how many of its bytes count.
    pub logs: Vec<(PathBuf, u64)>,
    /// The largest sequence number that the logs may have.
    pub sequence: SequenceNumber,
    dir: PathBuf,
}

/// A table of [`LiveFiles`].
pub(crate) struct LiveTable {
    pub path: PathBuf,
    /// The CRC-32C of the file, if the manifest has it.
    pub crc: Option<u32>,
    /// What the manifest says of it.
    pub file: Arc<TableFile>,
}

impl LiveTable {
    /// Where the table is in a database from LevelDB's time.
    pub fn older_path(&self) -> PathBuf {
        self.path.with_extension("ldb")
    }
}

impl LiveFiles {
    /// The path and the name of the newest options file, if there is one.
    ///
    /// # Errors
    /// Errors of reading the directory.
    pub fn options(&self, fs: &dyn Fs) -> Result<Option<(PathBuf, String)>> {
        let names = fs.list(&self.dir)?.into_iter();
        let numbered = names.filter_map(|name| match filename::parse(&name) {
            Some(FileType::Options(number)) => Some((number, name)),
            _ => None,
        });
        let newest = numbered.max().map(|(_, name)| name);
        Ok(newest.map(|name| (self.dir.join(&name), name)))
    }
}

/// No file is deleted while it lives. It ends after a panic of user code, too, such as the call
/// that tells of progress.
struct KeepingFiles<'a>(&'a Arc<Engine>);

impl<'a> KeepingFiles<'a> {
    fn begin(engine: &'a Arc<Engine>) -> Self {
        engine.disable_file_deletions();
        KeepingFiles(engine)
    }
}

impl Drop for KeepingFiles<'_> {
    fn drop(&mut self) {
        self.0.enable_file_deletions();
    }
}

impl Engine {
    /// The file system of the database.
    pub(crate) fn fs(&self) -> &Arc<dyn Fs> {
        &self.files.fs
    }

    /// Runs `copy` while no file is deleted. Memtables are flushed first if the logs have
    /// `log_size_for_flush` bytes or more.
    ///
    /// # Errors
    /// Errors of the flush and of `copy`.
    pub(crate) fn keeping_files<T>(
        self: &Arc<Self>,
        log_size_for_flush: u64,
        copy: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        // As in RocksDB, a locked log is copied instead, unless there are writes that it lacks.
        let may_flush = !self.wal_is_locked() || self.commit.has_unlogged();
        if may_flush && self.commit.log_bytes() >= log_size_for_flush {
            self.flush_all(FlushReason::GetLiveFiles, true)?;
        }
        let _keeping = KeepingFiles::begin(self);
        copy()
    }

    /// Refuses versions with files outside the database's directory, as RocksDB does. A copy of
    /// them that is opened with the same paths would take the original's files for its own.
    fn check_one_dir(&self, versions: &[Arc<Version>]) -> Result<()> {
        let dir = &*self.files.dir;
        let mut tables = versions.iter().flat_map(|v| v.levels.iter().flatten());
        let mut blobs = versions.iter().flat_map(|v| v.blobs.iter());
        if tables.any(|file| file.dir() != dir) || blobs.any(|blobs| blobs.file.dir() != dir) {
            return Err(Error::not_supported(
                "db_paths / cf_paths not supported for Checkpoint nor BackupEngine",
            ));
        }
        Ok(())
    }

    /// Lists the files of this moment, and writes their manifest into the directory `dir` of
    /// `fs`. File deletions are disabled. Without `has_logs`, the manifest asks for no log.
    ///
    /// # Errors
    /// Errors of the file system; the failure that stopped the database; `NotSupported` for files
    /// outside the database's directory.
    pub(crate) fn live_files(&self, fs: &dyn Fs, dir: &Path, has_logs: bool) -> Result<LiveFiles> {
        self.live_files_with(has_logs, |least| {
            let (manifest, versions) = self.files.versions.write_copy(fs, dir, least)?;
            self.check_one_dir(&versions)?;
            Ok((manifest, versions))
        })
    }

    /// [`live_files`](Self::live_files) with a manifest from `manifest`, which is told the first
    /// log that it may ask for. It returns the manifest's number and the versions in it.
    pub(super) fn live_files_with(
        &self,
        has_logs: bool,
        manifest: impl FnOnce(u64) -> Result<(u64, Vec<Arc<Version>>)>,
    ) -> Result<LiveFiles> {
        // Held to the end: between a failure of the log and a resumption there is a switch,
        // and after it a log that can be flushed although the end of the log before never
        // got to its file.
        let _no_switch = self.commit.generations.switching_though_locked();
        Self::check_healthy(&self.lock_state())?;
        let generation = self.commit.generations.load();
        let visible = self.commit.publication.visible();
        self.options.hook.hit(Point::Copying, visible);
        // Read before the manifest is copied: the copy may then need fewer logs.
        let min = self.files.versions.min_log_number_to_keep();
        let least = if has_logs { min } else { u64::MAX };
        let (manifest, versions) = manifest(least)?;
        // Read after the versions: their tables may go by decisions that are in the log (X4).
        let end = generation.end_so_far().ok_or_else(Self::shutdown_error)?;
        let mut logs = self.commit.wal.older();
        let current = generation.wal.log_number();
        logs.push((current, end.offset));
        planted!(CheckpointWithoutLog => logs.pop());
        logs.retain(|(number, _)| *number >= min);
        let has_sections = self.commit.sections.oldest_log().is_some();
        let is_empty = end.offset == generation.start() && !has_sections;
        if is_empty && logs[..] == [(current, end.offset)] {
            // The log holds nothing but the link to the log before, which the copy does not
            // have. Prepared sections that were logged again would be in it, too.
            logs[0].1 = 0;
        }
        drop(generation);
        // After this, everything up to the logs' ends is in their files.
        self.commit
            .publication
            .wait_passed(end.last)
            .map_err(|_| self.first_error())?;
        self.flush_wal(false)?;
        let tables = versions.iter().flat_map(|v| v.levels.iter().flatten());
        let tables = tables.map(|file| LiveTable {
            path: file.path(),
            crc: file_checksum::crc_of(&file.meta),
            file: file.clone(),
        });
        let blobs = versions.iter().flat_map(|v| v.blobs.iter());
        let log_path = |number| filename::wal(self.commit.wal.dir(), number);
        Ok(LiveFiles {
            manifest,
            tables: tables.collect(),
            blobs: blobs.map(|blobs| blobs.file.path()).collect(),
            logs: logs
                .into_iter()
                .map(|(number, len)| (log_path(number), len))
                .collect(),
            sequence: end.last,
            dir: self.files.dir.clone(),
        })
    }
}
