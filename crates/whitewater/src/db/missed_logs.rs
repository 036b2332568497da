//! Logs that are not where an opening looks for them.
//!
//! Recovery reads the logs in the present `wal_dir` alone, as in RocksDB. With a
//! wrong one it would find none, go on, and let the next correct opening delete
//! what it has not replayed. So an opening also looks where the logs may be
//! instead: in the database's own directory, and in the directory that the newest
//! options file names.
//!
//! * L1: an opening fails if a log there has a write that the manifest needs and
//!   that is not in the present directory.
//! * L2: one that finds no log at all where the manifest needs some goes on, for
//!   a copy may have come without. It records their numbers as missed (T1 of
//!   `version::tracked`) and leaves the numbers that say which logs are needed. It
//!   does so before it begins a log, and in one step with the tables of what it
//!   replays, so that no crash leaves half of that.
//! * L3: old logs in a directory that was not the one of the last opening, or that
//!   has none of those that are needed, are not deleted unless this opening has
//!   replayed them. They go to its directory `lost`.
//!
//! A checkpoint has no IDENTITY at first, and its options file may name the
//! directory of the original, whose logs are not its own: that is not looked at.

use super::options_file;
use crate::write::wal::Link;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use whitewater_storage::fs::Fs;
use whitewater_storage::wal::{LogReader, ReadOutcome};
use whitewater_storage::{Error, Result, batch, filename};

/// Where files go that are no part of the database and may be worth keeping.
const LOST: &str = "lost";

/// File numbers that are passed over when logs were missed, so that no file gets that
/// of a log which the manifest does not know of yet.
pub(super) const MARGIN: u64 = 1 << 16;

/// Where logs of a database may be.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    fs: &'a dyn Fs,
    dir: &'a Path,
    /// Where this opening looks for them.
    wal_dir: &'a Path,
    /// Where the last opening looked; none if that is not known.
    last: Option<PathBuf>,
    /// Whether `dir` is a copy that was not opened yet.
    copy: bool,
}

/// What there is of the logs that the manifest needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logs {
    /// Some are in the present directory, or others are elsewhere and empty.
    Found,
    /// There are none.
    Missed,
}

impl<'a> Places<'a> {
    /// To be called before an IDENTITY or an options file is written.
    ///
    /// # Errors
    /// Those of the file system.
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

    /// Whether the last opening is not known to have looked in the same directory.
    pub fn have_changed(&self) -> bool {
        self.last.as_deref() != Some(self.wal_dir)
    }

    /// Looks for logs from number `first` on (L1).
    ///
    /// # Errors
    /// `InvalidArgument` naming the logs that are elsewhere, and where; those of
    /// the file system.
    pub fn check(&self, first: u64) -> Result<Logs> {
        let here: BTreeSet<u64> = self.logs(self.wal_dir, first)?.collect();
        let last = self.last.as_deref();
        let last = last.filter(|_| here.is_empty() && !self.copy);
        let mut found = !here.is_empty();
        for place in [Some(self.dir), last.filter(|last| *last != self.dir)] {
            let Some(place) = place.filter(|place| *place != self.wal_dir) else {
                continue;
            };
            let mut astray = Vec::new();
            for number in self.logs(place, first)?.filter(|n| !here.contains(n)) {
                if has_writes(self.fs, &filename::wal(place, number), number)? {
                    astray.push(format!("{number:06}.log"))
                } else {
                    found = true
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

/// Whether log `number` at `path` has a record that is more than a note about
/// logs. What cannot be read may be one.
pub(super) fn has_writes(fs: &dyn Fs, path: &Path, number: u64) -> Result<bool> {
    let mut reader = LogReader::new(fs.open_sequential(path)?, number);
    let mut record = Vec::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(ReadOutcome::Record) => {
                if batch::check_logged(&record).is_err() || Link::decode(&record).is_none() {
                    return Ok(true);
                }
            }
            Ok(ReadOutcome::Eof | ReadOutcome::TornTail { .. }) => return Ok(false),
            Ok(ReadOutcome::Corrupt(_)) => return Ok(true),
            Err(e) => return Err(e),
        }
    }
}

/// Moves the file at `path` to the directory `lost` beside it, under another name
/// if there is one of its name. Returns where it is.
///
/// # Errors
/// Those of the file system.
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
