//! The directories of tables and blob files, where options name others than the database's own
//! (`db_paths`, `cf_paths`).
//!
//! * P1: a directory is made, and stays open, before the first file is created in it.
//! * P2: a directory is synced before the manifest names a file in it: the first path after a
//!   flush, an ingestion and a recovery, and the path of the output after a compaction.
//! * P3: files that no version names are deleted from all directories of the column families that
//!   are opened. Those of a column family that was dropped before the opening are not known.

use super::Engine;
use crate::options::CfOptions;
use crate::options::paths::DbPath;
use crate::sst_file_manager::files::{TrackedFs, remove_trash};
use crate::sst_file_manager::trash::is_trash;
use crate::version::paths::DataPaths;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::filename::{self, FileType};
use whitewater_storage::fs::Fs;
use whitewater_storage::fs::names::NamesFs;
use whitewater_storage::planted;
use whitewater_storage::{Error, Result};

/// The directories of all column families that were open since the opening, besides the
/// database's own. The lock is a leaf.
#[derive(Debug, Default)]
pub(crate) struct DataDirs {
    /// Keeps directories open. `None` if nothing is written.
    names: Option<Arc<NamesFs>>,
    /// Told of each directory, if a manager of files wants to know.
    tracked: Option<Arc<TrackedFs>>,
    known: Mutex<BTreeSet<PathBuf>>,
}

impl DataDirs {
    /// No directories yet; `names` is the file system of the database, and `tracked` the one above
    /// it that tells a manager of files.
    pub fn new(names: Arc<NamesFs>, tracked: Option<Arc<TrackedFs>>) -> Self {
        DataDirs {
            names: Some(names),
            tracked,
            known: Mutex::default(),
        }
    }

    /// Makes the directories `paths` of the database in `dir`, unless they exist (upholds P1).
    ///
    /// # Errors
    /// Those of the file system; `InvalidArgument` for the directory of another database.
    pub fn prepare(&self, dir: &Path, paths: &[DbPath]) -> Result<()> {
        let Some(names) = &self.names else {
            return Ok(());
        };
        for DbPath { path, .. } in paths {
            if path == dir || self.knows(path) {
                continue;
            }
            check_not_taken(&**names, dir, path)?;
            names.create_dir_all(path)?;
            names.hold(path)?;
            self.known.lock().insert(path.clone());
            match &self.tracked {
                Some(tracked) => tracked.add_dir(path),
                None => remove_trash(&**names, path),
            }
        }
        Ok(())
    }

    /// Refuses files that belong to no database that exists: a new database would delete them. Its
    /// manifest may have been lost.
    ///
    /// # Errors
    /// `Corruption` naming a file; those of the file system.
    pub fn check_empty(&self) -> Result<()> {
        let Some(names) = &self.names else {
            return Ok(());
        };
        for dir in self.all() {
            for name in names.list(&dir)? {
                if is_data(&name) {
                    return Err(Error::corruption(
                        "there is no database, but a file of one is in db_paths or cf_paths; move \
                         it away to create a new database",
                    )
                    .in_file(&dir.join(name), None));
                }
            }
        }
        Ok(())
    }

    /// Whether `path` is one of the directories.
    pub fn knows(&self, path: &Path) -> bool {
        self.known.lock().contains(path)
    }

    /// The directories.
    pub fn all(&self) -> Vec<PathBuf> {
        self.known.lock().iter().cloned().collect()
    }
}

/// Whether `name` is that of a table or a blob file.
fn is_data(name: &str) -> bool {
    matches!(
        filename::parse(name),
        Some(FileType::Table(_) | FileType::Blob(_))
    )
}

/// Removes all tables, blob files and trash in the directory `path`, and the directory if nothing
/// else is in it.
///
/// # Errors
/// Those of the file system.
pub(super) fn destroy(fs: &dyn Fs, path: &Path) -> Result<()> {
    let names = match fs.list(path) {
        Err(e) if e.is_missing_file() => return Ok(()),
        names => names?,
    };
    let mut left = false;
    for name in names {
        if is_data(&name) || is_trash(Path::new(&name)) {
            fs.remove(&path.join(&name))?;
        } else {
            left = true;
        }
    }
    if left { Ok(()) } else { fs.remove_dir(path) }
}

/// Refuses a directory that has a database other than the one in `dir`: tables there that are not
/// known are deleted. Two names of one directory show the same identity.
fn check_not_taken(fs: &dyn Fs, dir: &Path, path: &Path) -> Result<()> {
    let identity = |dir| super::open::load_identity(fs, dir);
    if fs.exists(&filename::current(path))? && identity(path)? != identity(dir)? {
        return Err(Error::invalid(format_args!(
            "the path {} of tables is the directory of another database",
            path.display()
        )));
    }
    Ok(())
}

impl Engine {
    /// Makes the directories of a column family with these options, unless they exist.
    ///
    /// # Errors
    /// Those of [`DataDirs::prepare`], and what direct I/O may fail with.
    pub(super) fn prepare_dirs(&self, options: &CfOptions) -> Result<()> {
        let files = &self.files;
        files.data_dirs.prepare(&files.dir, &options.paths)?;
        for DbPath { path, .. } in &options.paths {
            super::direct_io::check(&*files.fs, path, &self.options)?;
            // No file there is overwritten.
            let names = files.fs.list(path)?.into_iter();
            let numbers = names.filter_map(|name| filename::parse(&name)?.number());
            if let Some(largest) = numbers.filter(|n| *n < filename::MAX_NUMBER_AT_OPEN).max() {
                files.versions.mark_file_number_used(largest);
            }
        }
        Ok(())
    }
}

/// Makes the names of files in these directories durable, each directory once (upholds P2).
///
/// # Errors
/// Those of the file system, of this sync or of the first one of that directory that failed.
pub(super) fn sync_all<'a>(
    fs: &dyn Fs,
    dirs: impl IntoIterator<Item = &'a Arc<Path>>,
) -> Result<()> {
    let dirs: BTreeSet<&Arc<Path>> = dirs.into_iter().collect();
    dirs.into_iter().try_for_each(|dir| fs.sync_dir(dir))
}

/// The directories that a job has written its files to: tables to the path with this id, and blob
/// files to the first one.
pub(super) fn written(paths: &DataPaths, path_id: u32, blobs: bool) -> Vec<&Arc<Path>> {
    let mut dirs = vec![paths.dir(path_id)];
    dirs.extend(blobs.then(|| paths.first()));
    planted!(OtherPathNotSynced => dirs = vec![paths.first()]);
    dirs
}
