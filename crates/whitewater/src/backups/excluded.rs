//! Files that a backup leaves out, because the application knows that they are elsewhere.
//!
//! Only shared files can be left out. Their paths say what they hold: by the session that wrote
//! them, or by their checksum.

use super::copy::Copier;
use super::create::Wanted;
use super::restore::Restored;
use super::shared::Sharable;
use super::{Backups, restore};
use crate::panics::{Guarded, caught};
use std::path::Path;
use whitewater_storage::backup::Meta;
use whitewater_storage::fs::Fs;
use whitewater_storage::{Error, Result};

/// A shared file that a backup may leave out; RocksDB's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaybeExcludeBackupFile {
    /// Its path in the directory of backups.
    pub relative_file: String,
    /// Whether the backup leaves it out. `false` until the callback says otherwise.
    pub exclude_decision: bool,
}

/// Decides which files a backup leaves out.
pub(crate) type ExcludeFiles = dyn Fn(&mut [MaybeExcludeBackupFile]) + Send + Sync;

impl Backups {
    /// Takes out of `wanted` what `decide` does not want; returns the paths of that.
    ///
    /// # Errors
    /// `Aborted` if `decide` panics; errors of reading a table.
    pub(super) fn exclude(
        &self,
        from: &dyn Fs,
        wanted: &mut Vec<Wanted>,
        decide: &ExcludeFiles,
        copier: &Copier<'_>,
    ) -> Result<Vec<String>> {
        let path = |file: &Sharable| Ok(self.shared_path(from, file, copier)?.0);
        let shared = wanted.iter().filter_map(|file| match file {
            Wanted::Shared(file) => Some(path(file)),
            Wanted::Private(..) => None,
        });
        let offer = |relative_file| MaybeExcludeBackupFile {
            relative_file,
            exclude_decision: false,
        };
        let mut files: Vec<_> = shared.map(|path| path.map(offer)).collect::<Result<_>>()?;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        // It may change the list itself.
        let asked = files.clone();
        caught(Guarded::Job, || {
            decide(&mut files);
            Ok(())
        })?;
        let decided = asked.into_iter().zip(files);
        let decisions: Vec<(String, bool)> = decided
            .map(|(asked, answer)| (asked.relative_file, answer.exclude_decision))
            .collect();
        let mut left_out = decisions.iter().map(|(_, out)| *out);
        wanted.retain(|file| match file {
            Wanted::Shared(_) => !left_out.next().unwrap_or(false),
            Wanted::Private(..) => true,
        });
        let out = decisions.into_iter().filter(|(_, out)| *out);
        Ok(out.map(|(path, _)| path).collect())
    }

    /// Finds what the backup leaves out among the files of other backups of this directory and of
    /// `others`.
    ///
    /// # Errors
    /// `InvalidArgument` naming a file that none of them has.
    pub(super) fn find_excluded<'a>(
        &'a self,
        meta: &'a Meta,
        others: &[&'a Backups],
        db_dir: &Path,
    ) -> Result<Vec<Restored<'a>>> {
        let places: Vec<&'a Backups> = others.iter().copied().chain([self]).collect();
        let known: Vec<_> = places.iter().map(|place| place.catalog.files()).collect();
        let find = |path: &String| {
            let mut found = places.iter().zip(&known);
            let found = found.find_map(|(place, known)| {
                let file = *known.get(path.as_str())?;
                place.has(file).then_some((*place, file))
            });
            let (place, file) = found.ok_or_else(|| {
                Error::invalid(format_args!(
                    "Excluded file {path} not found in any of {} backup directories!",
                    places.len()
                ))
            })?;
            restore::placed(place, file, db_dir, db_dir)
        };
        meta.excluded.iter().map(find).collect()
    }
}
