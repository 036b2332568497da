//! Logs that are not where an opening looks for them.
//!
//! Recovery reads the logs in the current `wal_dir` only, as in RocksDB. With a wrong
//! `wal_dir` it would find none and go on, and the next correct opening would delete what
//! was never replayed. So an opening also looks where the logs may be instead: in the
//! database's own directory, and in the directory that the newest options file names.
//!
//! * L1: an opening fails if a log in one of these directories has a write that the
//!   manifest needs and that is not in the current directory. Of a log that no column family
//!   needs, that is a prepared section.
//! * L2: an opening that finds no log at all where the manifest needs some goes on, because
//!   a copy may have been made without them. It records their numbers as missed (T1 of
//!   `version::tracked`) and leaves the numbers that say which logs are needed. It does so
//!   before it begins a log, and in one step with the tables of what it replays, so that no
//!   crash leaves half of that.
//! * L3: old logs in a directory that was not the one of the last opening, or that has none
//!   of the logs that are needed, are not deleted unless this opening has replayed them.
//!   They are moved to that directory's subdirectory `lost`.
//!
//! A checkpoint has no IDENTITY at first, and its options file may name the log directory
//! of the original, whose logs do not belong to the checkpoint: that directory is not
//! looked at.

use super::options_file;
use crate::version::set::NeededLogs;
use crate::write::wal::Link;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use whitewater_storage::batch::{self, Op};
use whitewater_storage::fs::Fs;
use whitewater_storage::wal::{LogReader, ReadOutcome};
use whitewater_storage::{Error, Result, filename};

/// The directory for files that are not part of the database and may be worth keeping.
const LOST: &str = "lost";

/// The number of file numbers that are skipped when logs were missed, so that no file gets
/// the number of a log that the manifest does not know yet.
pub(super) const MARGIN: u64 = 1 << 16;

/// The directories in which the logs of a database may be.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    fs: &'a dyn Fs,
    dir: &'a Path,
    /// The directory in which this opening looks for logs.
    wal_dir: &'a Path,
    /// The directory in which the last opening looked; `None` if that is not known.
    last: Option<PathBuf>,
    /// Whether `dir` is a copy that has not been opened yet.
    copy: bool,
}

/// Which of the logs that the manifest needs exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logs {
    /// Some are in the current directory, or some are elsewhere and have no writes.
    Found,
    /// None exist.
    Missed,
}

impl<'a> Places<'a> {
    /// Finds the directories. Called before an IDENTITY or an options file is written.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn find(fs: &'a dyn Fs, dir: &'a Path, wal_dir: &'a Path) -> Result<Self> {
        let last = options_file::load_latest(fs, dir).ok().map(|(_, options)| {
            let lines = options.db.into_iter();
            let mut named = lines.filter(|(name, value)| name == "wal_dir" && !value.is_empty());
            named
                .next_back()
                .map_or(dir.into(), |(_, value)| value.into())
        });
        Ok(Places {
            fs,
            dir,
            wal_dir,
            last,
            copy: !fs.exists(&filename::identity(dir))?,
        })
    }

    /// Whether the last opening looked in another directory, or that is not known.
    pub fn have_changed(&self) -> bool {
        self.last.as_deref() != Some(self.wal_dir)
    }

    /// Looks for the logs that are needed (L1).
    ///
    /// # Errors
    /// `InvalidArgument` naming the logs that are elsewhere, and where they are; errors of
    /// the file system.
    pub fn check(&self, needed: NeededLogs) -> Result<Logs> {
        let NeededLogs { first, kept } = needed;
        let here: BTreeSet<u64> = self.logs(self.wal_dir, kept)?.collect();
        let last = self.last.as_deref();
        let last = last.filter(|_| here.is_empty() && !self.copy);
        let mut found = here.iter().any(|number| *number >= first);
        for place in [Some(self.dir), last.filter(|last| *last != self.dir)] {
            let Some(place) = place.filter(|place| *place != self.wal_dir) else {
                continue;
            };
            let mut astray = Vec::new();
            for number in self.logs(place, kept)?.filter(|n| !here.contains(n)) {
                let counts = if number < first { is_section } else { is_write };
                if has_record(self.fs, &filename::wal(place, number), number, counts)? {
                    astray.push(format!("{number:06}.log"))
                } else {
                    found |= number >= first;
                }
            }
            if !astray.is_empty() {
                return Err(self.refusal(place, &astray.join(", "), here.is_empty()));
            }
        }
        if found {
            Ok(Logs::Found)
        } else {
            Ok(Logs::Missed)
        }
    }

    fn logs(&self, place: &Path, first: u64) -> Result<impl Iterator<Item = u64>> {
        let logs = super::archive::logs_in(self.fs, place)?;
        Ok(logs.into_iter().filter(move |number| *number >= first))
    }

    fn refusal(&self, place: &Path, logs: &str, none_here: bool) -> Error {
        let (place, wal_dir) = (place.display(), self.wal_dir.display());
        if none_here {
            Error::invalid(format_args!(
                "{place} has logs with writes that are in no table yet: {logs}. This opening \
                 looks for logs in {wal_dir}: set wal_dir to {place}, or move these logs"
            ))
        } else {
            Error::invalid(format_args!(
                "{place} has logs with writes that are in no table yet: {logs}. This opening \
                 looks for logs in {wal_dir}, which has others: openings with another wal_dir have \
                 written them. Move those away that are not to be replayed"
            ))
        }
    }
}

/// Whether log `number` at `path` has a record other than a link to another log. A log that
/// cannot be read counts as having one.
pub(super) fn has_writes(fs: &dyn Fs, path: &Path, number: u64) -> Result<bool> {
    has_record(fs, path, number, is_write)
}

fn is_write(record: &[u8]) -> bool {
    batch::check_logged(record).is_err() || Link::decode(record).is_none()
}

/// Whether a record has a prepared section, or may have one.
fn is_section(record: &[u8]) -> bool {
    let mut ops = batch::ops(record);
    ops.any(|op| op.map_or(true, |op| matches!(op, Op::BeginPrepare(_))))
}

/// Whether log `number` at `path` has a record for which `counts`, or one that cannot be read.
fn has_record(fs: &dyn Fs, path: &Path, number: u64, counts: fn(&[u8]) -> bool) -> Result<bool> {
    let mut reader = LogReader::new(fs.open_sequential(path)?, number);
    let mut record = Vec::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(ReadOutcome::Record) if counts(&record) => return Ok(true),
            Ok(ReadOutcome::Record) => {}
            Ok(ReadOutcome::Eof | ReadOutcome::TornTail { .. }) => return Ok(false),
            Ok(ReadOutcome::Corrupt(_)) => return Ok(true),
            Err(e) => return Err(e),
        }
    }
}

/// Moves the file at `path` to the directory `lost` beside it, under another name if its
/// name is taken there. Returns the new path.
///
/// # Errors
/// Errors of the file system.
pub(super) fn move_to_lost(fs: &dyn Fs, path: &Path) -> Result<PathBuf> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::invalid("a file without a name"));
    };
    let (lost, name) = (dir.join(LOST), name.to_string_lossy());
    fs.create_dir_all(&lost)?;
    let mut to = lost.join(&*name);
    let mut copies = 0;
    while fs.exists(&to)? {
        copies += 1;
        to = lost.join(format!("{name}.{copies}"));
    }
    fs.rename(path, &to)?;
    Ok(to)
}
