//! Checkpoints: another database with what this one holds at a moment.
//!
//! A checkpoint has the [live files](super::live_files). Tables are linked, or copied if they
//! cannot be linked. Logs are copied up to the noted end, because they may be recycled.
//! Everything is made under a temporary name and made durable, and is then renamed.

use super::Engine;
use super::ingest::copy;
use super::options_file;
use crate::stats::Ticker;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::fs::{Fs, read_file};
use whitewater_storage::manifest::set_current;
use whitewater_storage::{Error, Result};

/// The number of bytes of a log that are copied at a time.
const CHUNK: usize = 256 << 10;

impl Engine {
    /// Makes a checkpoint in `target`, which must not exist. Memtables are
    /// flushed first if the logs have `log_size_for_flush` bytes or more.
    ///
    /// # Errors
    /// `InvalidArgument` when `target` exists; `IOError` when its parent does not, as in
    /// RocksDB; errors of the file system. Nothing is at `target` then, unless the last
    /// sync failed.
    pub fn create_checkpoint(
        self: &Arc<Self>,
        target: &Path,
        log_size_for_flush: u64,
    ) -> Result<()> {
        if self.files.fs.exists(target)? {
            return Err(Error::invalid(format_args!(
                "Directory exists: {}",
                target.display()
            )));
        }
        let staging = staging_of(target)
            .ok_or_else(|| Error::invalid("invalid checkpoint directory name"))?;
        check_parent(&*self.files.fs, &staging)?;
        let made = self.keeping_files(log_size_for_flush, || {
            self.fill_checkpoint(&staging, target)
        });
        if made.is_err() {
            // The error that matters is known. The next attempt removes what is left.
            let _ = clear(&*self.files.fs, &staging);
        }
        made?;
        self.info_log
            .write(&format!("Created checkpoint {}", target.display()));
        Ok(())
    }

    fn fill_checkpoint(&self, staging: &Path, target: &Path) -> Result<()> {
        let fs = &*self.files.fs;
        // Remove what a crash may have left.
        clear(fs, staging)?;
        fs.create_dir_all(staging)?;
        let live = self.live_files(fs, staging, true)?;
        for table in &live.tables {
            let copied = match bring(fs, &table.path, staging) {
                // Databases from LevelDB's time name their tables .ldb.
                Err(e) if e.is_missing_file() => bring(fs, &table.older_path(), staging)?,
                done => done?,
            };
            self.count_copied(copied);
        }
        for blobs in &live.blobs {
            self.count_copied(bring(fs, blobs, staging)?);
        }
        for (log, len) in &live.logs {
            let Some(name) = log.file_name() else {
                continue;
            };
            copy_part(fs, log, &staging.join(name), *len)?;
            self.count_copied(*len);
        }
        if let Some((path, name)) = live.options(fs)? {
            let copied = self.bring_options(&path, &staging.join(name))?;
            self.count_copied(copied);
        }
        set_current(fs, staging, live.manifest)?;
        fs.sync_dir(staging)?;
        fs.rename(staging, target)?;
        match target.parent() {
            Some(parent) => fs.sync_dir(parent),
            None => Ok(()),
        }
    }

    /// Copies an options file without the directory of logs. The copy's logs are beside its
    /// tables; the logs in the original's directory belong to the original, and only it may
    /// read and delete them. Returns how many bytes were copied.
    fn bring_options(&self, from: &Path, to: &Path) -> Result<u64> {
        let fs = &*self.files.fs;
        if self.options.wal_dir.is_none() {
            return copy(fs, from, to);
        }
        let text = read_file(fs, from, options_file::MAX_BYTES)?;
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let is_own = |line: &&[u8]| !line.trim_ascii_start().starts_with(b"wal_dir=");
        let own = lines.filter(is_own).collect::<Vec<_>>().concat();
        let mut file = fs.create(to)?;
        file.append(&own)?;
        file.sync()?;
        Ok(own.len() as u64)
    }

    /// Counts bytes that were read and written for a checkpoint.
    pub(super) fn count_copied(&self, bytes: u64) {
        self.tick(Ticker::CheckpointReadBytes, bytes);
        self.tick(Ticker::CheckpointWriteBytes, bytes);
    }
}

/// The name of a directory while it is being made.
pub(super) fn staging_of(target: &Path) -> Option<PathBuf> {
    let mut name = target.file_name()?.to_os_string();
    name.push(".tmp");
    Some(target.with_file_name(name))
}

/// Refuses to make a directory in a parent that does not exist.
pub(super) fn check_parent(fs: &dyn Fs, path: &Path) -> Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    match parent {
        Some(parent) if !fs.exists(parent)? => {
            let missing = io::Error::new(io::ErrorKind::NotFound, "No such file or directory");
            Err(Error::io("creating a directory", path, &missing))
        }
        _ => Ok(()),
    }
}

/// Removes the directory of an earlier attempt, if there is one.
pub(super) fn clear(fs: &dyn Fs, staging: &Path) -> Result<()> {
    if !fs.exists(staging)? {
        return Ok(());
    }
    for name in fs.list(staging)? {
        fs.remove(&staging.join(name))?;
    }
    fs.remove_dir(staging)
}

/// Links the table or blob file at `path` into `dir`, or copies it if that fails. Returns
/// how many bytes were copied.
pub(super) fn bring(fs: &dyn Fs, path: &Path, dir: &Path) -> Result<u64> {
    let Some(name) = path.file_name() else {
        return Err(Error::invalid("a file without a name"));
    };
    let to = dir.join(name);
    match fs.link(path, &to) {
        Ok(()) => Ok(0),
        Err(_) => copy(fs, path, &to),
    }
}

/// Copies the first `len` bytes of a log, and syncs the copy.
fn copy_part(fs: &dyn Fs, from: &Path, to: &Path, len: u64) -> Result<()> {
    let mut copy = fs.create(to)?;
    let source = fs.open_random(from)?;
    let mut at = 0;
    while at < len {
        let n = (len - at).min(CHUNK as u64) as usize;
        copy.append(&source.read_at(at, n)?)?;
        at += n as u64;
    }
    copy.sync()
}
