//! Checkpoints: another database with what this one holds at a moment.
//!
//! At that moment nothing switches, ingests, or changes column families. The tables of all
//! column families and the end of the log are noted. Tables are linked, or copied if they
//! cannot be linked. A new manifest is written that has these tables and no history. Logs
//! are copied up to the noted end, because they may be recycled. Everything is made under a
//! temporary name and made durable, and is then renamed.

use super::Engine;
use super::ingest::copy;
use super::options_file;
use crate::stats::Ticker;
use crate::version::Version;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::{Fs, read_file};
use whitewater_storage::manifest::set_current;
use whitewater_storage::planted;
use whitewater_storage::{Error, Result};

/// The number of bytes of a log that are copied at a time.
const CHUNK: usize = 256 << 10;

/// What a checkpoint is made of.
struct Moment {
    manifest: u64,
    versions: Vec<Arc<Version>>,
    /// Number and length of each log, oldest first.
    logs: Vec<(u64, u64)>,
}

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
        let staging = staging_of(target)?;
        check_parent(&*self.files.fs, &staging)?;
        if self.commit.log_bytes() >= log_size_for_flush {
            self.flush_all(true)?;
        }
        self.disable_file_deletions();
        let made = self.fill_checkpoint(&staging, target);
        self.enable_file_deletions();
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
        let moment = self.moment(staging)?;
        for file in moment
            .versions
            .iter()
            .flat_map(|v| v.levels.iter().flatten())
        {
            let path = self.files.table_path(file.meta.number);
            let copied = match bring(fs, &path, staging) {
                // Databases from LevelDB's time name their tables .ldb.
                Err(e) if e.is_missing_file() => bring(fs, &path.with_extension("ldb"), staging)?,
                done => done?,
            };
            self.count_copied(copied);
        }
        for blobs in moment.versions.iter().flat_map(|v| v.blobs.iter()) {
            let path = self.files.blob_path(blobs.file.meta.number);
            self.count_copied(bring(fs, &path, staging)?);
        }
        for &(number, len) in &moment.logs {
            let to = filename::wal(staging, number);
            copy_part(fs, &filename::wal(self.commit.wal.dir(), number), &to, len)?;
            self.count_copied(len);
        }
        if let Some(options) = newest_options(fs, &self.files.dir)? {
            let copied =
                self.bring_options(&self.files.dir.join(&options), &staging.join(&options))?;
            self.count_copied(copied);
        }
        set_current(fs, staging, moment.manifest)?;
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
    fn count_copied(&self, bytes: u64) {
        self.tick(Ticker::CheckpointReadBytes, bytes);
        self.tick(Ticker::CheckpointWriteBytes, bytes);
    }

    /// Lists the files of one moment, and writes the manifest of that moment into
    /// `staging`.
    fn moment(&self, staging: &Path) -> Result<Moment> {
        // Held to the end: between a failure of the log and a resumption there is a switch,
        // and after it a log that can be flushed although the end of the log before never
        // got to its file.
        let _no_switch = self.commit.generations.switching();
        Self::check_healthy(&self.lock_state())?;
        let generation = self.commit.generations.load();
        // Read before the manifest is copied: the copy may then need fewer logs.
        let min = self.files.versions.min_log_number_to_keep();
        let (manifest, versions) = self.files.versions.write_copy(staging, min)?;
        // Read after the versions: their tables may go by decisions that are in the log (X4).
        let end = generation.end().ok_or_else(Self::shutdown_error)?;
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
        Ok(Moment {
            manifest,
            versions,
            logs,
        })
    }
}

/// The name of a checkpoint while it is being made.
fn staging_of(target: &Path) -> Result<PathBuf> {
    let Some(name) = target.file_name() else {
        return Err(Error::invalid("invalid checkpoint directory name"));
    };
    let mut name = name.to_os_string();
    name.push(".tmp");
    Ok(target.with_file_name(name))
}

/// Refuses to make a directory in a parent that does not exist.
fn check_parent(fs: &dyn Fs, path: &Path) -> Result<()> {
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
fn clear(fs: &dyn Fs, staging: &Path) -> Result<()> {
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
fn bring(fs: &dyn Fs, path: &Path, dir: &Path) -> Result<u64> {
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

/// The name of the newest options file in `dir`, if there is one.
fn newest_options(fs: &dyn Fs, dir: &Path) -> Result<Option<String>> {
    let names = fs.list(dir)?.into_iter();
    let numbered = names.filter_map(|name| match filename::parse(&name) {
        Some(FileType::Options(number)) => Some((number, name)),
        _ => None,
    });
    Ok(numbered.max().map(|(_, name)| name))
}
