//! Writing `OPTIONS-<number>`: the current options, for RocksDB's tools and
//! [`Options::load_latest`](crate::Options::load_latest).
//!
//! A new file is written when the database is opened, when column families are created or
//! dropped, and when options change. It has all options that hold at that moment
//! (`options::file` has the format). The two newest files stay, as in RocksDB, and all of
//! them while file deletions are disabled.
//!
//! Invariant P1: the newest file has every column family that the manifest has, whenever
//! the process dies. A column family is in the file before it is added to the manifest, and
//! stays there until it was dropped from the manifest.
//! [`Options::load_latest`](crate::Options::load_latest) skips column families that are in
//! the file and not in the manifest.
//!
//! The data does not depend on the file: a failure is written to the info log and the
//! database continues, unless its directory could not be synced.

use super::Engine;
use super::failure::Source;
use super::files::Files;
use crate::options::CfOptions;
use crate::options::file::{print, read};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::{Fs, read_file, write_file_atomically};
use whitewater_storage::{Error, ErrorKind, Result};

/// The size limit of an options file, in bytes: far more than thousands of column families
/// need.
pub(super) const MAX_BYTES: u64 = 256 << 20;

/// The number of options files that are kept, including the new one.
const KEPT: usize = 2;

/// Column families that are about to be created, by name. Every options file that is
/// written meanwhile has them (P1).
type Coming = BTreeMap<String, Arc<CfOptions>>;

/// The options files of a database. The lock is held while one is written, and taken
/// outside the database mutex.
#[derive(Debug, Default)]
pub(super) struct OptionsFiles(Mutex<Coming>);

impl OptionsFiles {
    /// Notes that the column families `names` were created.
    pub fn families_arrived(&self, names: &[String]) {
        let mut coming = self.0.lock();
        for name in names {
            coming.remove(name);
        }
    }
}

impl Engine {
    /// Writes an options file with the current options.
    pub(crate) fn write_options_file(&self) {
        self.write_options_with(|_| ());
    }

    /// Writes an options file that also has `families`, which are about to be created.
    pub(super) fn announce_families(&self, families: Vec<(String, Arc<CfOptions>)>) {
        self.write_options_with(|coming| coming.extend(families));
    }

    /// Writes an options file without the column families `names`, because they are not
    /// created after all.
    pub(super) fn withdraw_families(&self, names: &[String]) {
        self.write_options_with(|coming| {
            for name in names {
                coming.remove(name);
            }
        });
    }

    fn write_options_with(&self, change: impl FnOnce(&mut Coming)) {
        // The last thread to get the lock finds the newest options.
        let mut one_at_a_time = self.files.options_files.0.lock();
        change(&mut one_at_a_time);
        if let Err(e) = self.try_write_options_file(&one_at_a_time) {
            self.info_log
                .warn(&format!("writing the options file failed: {e}"));
            // If the directory's sync failed, it is not tried again, and names of other
            // files may be lost with it. It is better to report that now than at the next
            // flush.
            if let Err(e) = self.files.sync_dir() {
                self.report(Source::Manifest, &e, "writing the options file");
            }
        }
    }

    fn try_write_options_file(&self, coming: &Coming) -> Result<()> {
        let (db, families) = {
            let state = self.state.lock();
            let cfs = state.cfs.values();
            let families = cfs.map(|cf| (cf.data.clone(), cf.options().clone()));
            (state.options.clone(), families.collect::<Vec<_>>())
        };
        let named = families.iter().map(|(cf, o)| (cf.name.as_str(), &**o));
        let new = coming.iter().map(|(name, o)| (name.as_str(), &**o));
        let new = new.filter(|(name, _)| !families.iter().any(|(cf, _)| cf.name == *name));
        let named = named.chain(new);
        let text = print(&db, named);
        self.files.write_options(&text)
    }
}

impl Files {
    /// Writes the next options file, and deletes the oldest ones.
    fn write_options(&self, text: &str) -> Result<()> {
        let old = numbers(&*self.fs, &self.dir)?;
        if let Some(&newest) = old.last() {
            self.versions.mark_file_number_used(newest);
        }
        let number = self.versions.new_file_number();
        let path = filename::options(&self.dir, number);
        let temporary = filename::temp(&self.dir, number);
        write_file_atomically(&*self.fs, &temporary, &path, text.as_bytes())?;
        // While deletions are disabled, the files may be about to be copied. The next file
        // that is written counts again.
        let disabled = self.deletions.disabled();
        let excess = match *disabled {
            0 => (old.len() + 1).saturating_sub(KEPT),
            _ => 0,
        };
        for &number in &old[..excess] {
            self.fs.remove(&filename::options(&self.dir, number))?;
        }
        Ok(())
    }
}

/// The numbers of the options files in `dir`, ascending.
fn numbers(fs: &dyn Fs, dir: &Path) -> Result<Vec<u64>> {
    let names = fs.list(dir)?;
    let mut numbers: Vec<u64> = names
        .iter()
        .filter_map(|name| match filename::parse(name) {
            Some(FileType::Options(n)) => Some(n),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Reads the newest options file of the database in `dir`; returns it with its path.
///
/// # Errors
/// `NotFound` when there is none, `InvalidArgument` naming the file when it is not an
/// options file, `IOError` when it cannot be read.
pub(crate) fn load_latest(fs: &dyn Fs, dir: &Path) -> Result<(PathBuf, read::Parsed)> {
    let newest = numbers(fs, dir)?.pop().ok_or_else(|| {
        Error::new(
            ErrorKind::NotFound,
            format_args!("no options file in {}", dir.display()),
        )
    })?;
    let path = filename::options(dir, newest);
    let bytes = read_file(fs, &path, MAX_BYTES)?;
    let in_file = |e: Error| e.in_file(&path, None);
    let text = String::from_utf8(bytes).map_err(|_| in_file(Error::invalid("not text")))?;
    let parsed = read::parse(&text).map_err(in_file)?;
    Ok((path, parsed))
}
