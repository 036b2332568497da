//! Writing `OPTIONS-<number>`: what the options are, for RocksDB's tools and
//! [`Options::load_latest`](crate::Options::load_latest).
//!
//! A new file is written when the database is opened, when column families come
//! and go, and when options change. It has all that holds at that moment
//! (`options::file` has the format). The two newest files stay, as in RocksDB,
//! and all while file deletions are disabled.
//!
//! Invariant P1: the newest file has every column family that the manifest has,
//! whenever the process dies. A family is in the file before it is added to the
//! manifest, and stays there until it was dropped from it. What the file has and
//! the manifest has not, [`Options::load_latest`](crate::Options::load_latest)
//! passes over.
//!
//! The data does not depend on it: a failure goes to LOG and the database goes
//! on, unless its directory could not be synced.

use super::Engine;
use super::failure::Source;
use crate::options::CfOptions;
use crate::options::file::{print, read};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::{Fs, read_file, write_file_atomically};
use whitewater_storage::{Error, ErrorKind, Result};

/// Far more than there is for thousands of column families.
pub(super) const MAX_BYTES: u64 = 256 << 20;

/// Options files kept, the new one included.
const KEPT: usize = 2;

/// Column families that are about to be created, by name: they belong into options
/// files (P1), whoever writes one meanwhile.
pub(crate) type Coming = BTreeMap<String, Arc<CfOptions>>;

impl Engine {
    /// Writes an options file with the options at present.
    pub(crate) fn write_options_file(&self) {
        self.write_options_with(|_| ());
    }

    /// Writes one that also has `families`, which are about to be created.
    pub(super) fn announce_families(&self, families: Vec<(String, Arc<CfOptions>)>) {
        self.write_options_with(|coming| coming.extend(families));
    }

    /// Whether the column family `name` is in the options file before it is there.
    pub(super) fn is_announced(&self, name: &str) -> bool {
        self.options_files.lock().contains_key(name)
    }

    /// The column family `name` was created.
    pub(super) fn family_arrived(&self, name: &str) {
        self.options_files.lock().remove(name);
    }

    /// The column family `name` is not created after all.
    pub(super) fn withdraw_family(&self, name: &str) {
        self.write_options_with(|coming| drop(coming.remove(name)));
    }

    fn write_options_with(&self, change: impl FnOnce(&mut Coming)) {
        // Whoever comes last finds the newest options.
        let mut one_at_a_time = self.options_files.lock();
        change(&mut one_at_a_time);
        if let Err(e) = self.try_write_options_file(&one_at_a_time) {
            self.info_log
                .warn(&format!("writing the options file failed: {e}"));
            // If it was the directory's sync: that is not tried again, and names
            // of other files may be lost with it. Better told now than by the
            // next flush.
            if let Err(e) = self.fs.sync_dir(&self.dir) {
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
        let old = numbers(&*self.fs, &self.dir)?;
        if let Some(&newest) = old.last() {
            self.versions.mark_file_number_used(newest);
        }
        let number = self.versions.new_file_number();
        let path = filename::options(&self.dir, number);
        let temporary = filename::temp(&self.dir, number);
        write_file_atomically(&*self.fs, &temporary, &path, text.as_bytes())?;
        // Somebody may be about to copy them; the next one written counts again.
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

/// Reads the newest options file of the database in `dir`; with its path.
///
/// # Errors
/// `NotFound` when there is none, `InvalidArgument` naming the file when it is
/// not one, `IOError` when it cannot be read.
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
