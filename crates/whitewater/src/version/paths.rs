//! The directories of a column family's tables and blob files.
//!
//! The manifest has the id of a table's path, its position in the list of paths. Blob files are
//! in the first path.

use crate::options::paths::DbPath;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::filename;
use whitewater_storage::manifest::FileMetaData;

/// The paths of a column family, at least one. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct DataPaths(Arc<[DataPath]>);

#[derive(Debug)]
struct DataPath {
    dir: Arc<Path>,
    /// Bytes.
    target_size: u64,
}

impl DataPaths {
    /// These paths, or only `dir`, the database's directory, if there are none.
    pub fn new(paths: &[DbPath], dir: &Path) -> Self {
        if paths.is_empty() {
            let only = DataPath {
                dir: Arc::from(dir),
                target_size: u64::MAX,
            };
            return DataPaths(Arc::from([only]));
        }
        let path = |p: &DbPath| DataPath {
            dir: Arc::from(p.path.as_path()),
            target_size: p.target_size,
        };
        DataPaths(paths.iter().map(path).collect())
    }

    /// The number of paths.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The id of the last path.
    pub fn last_id(&self) -> u32 {
        self.0.len() as u32 - 1
    }

    /// The directory with this id. As in RocksDB, it is the last one if there is none with this id:
    /// the files of several paths may have been moved into one.
    pub fn dir(&self, path_id: u32) -> &Arc<Path> {
        let id = path_id.min(self.last_id());
        &self.0[id as usize].dir
    }

    /// The directory of blob files, of flushed tables and of ingested tables.
    pub fn first(&self) -> &Arc<Path> {
        self.dir(0)
    }

    /// The directories, in the order of their ids.
    pub fn dirs(&self) -> impl Iterator<Item = &Arc<Path>> {
        self.0.iter().map(|path| &path.dir)
    }

    /// The target size of the path with this id, which must exist. Bytes.
    pub fn target_size(&self, path_id: u32) -> u64 {
        self.0[path_id as usize].target_size
    }

    /// The path of the table `meta`.
    pub fn table(&self, meta: &FileMetaData) -> PathBuf {
        filename::table(self.dir(meta.path_id), meta.number)
    }

    /// The path of blob file `number`.
    pub fn blob(&self, number: u64) -> PathBuf {
        filename::blob(self.first(), number)
    }
}

impl Default for DataPaths {
    /// The working directory, for versions that open no files.
    fn default() -> Self {
        DataPaths::new(&[], Path::new(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_the_ids_of_their_paths() {
        let path = |path: &str| DbPath {
            path: path.into(),
            target_size: 7,
        };
        let table = |number, path_id| FileMetaData {
            number,
            path_id,
            ..FileMetaData::default()
        };
        let two = DataPaths::new(&[path("/a"), path("/b")], Path::new("/db"));
        assert_eq!((two.count(), two.last_id(), two.target_size(1)), (2, 1, 7));
        assert_eq!(two.table(&table(5, 0)), Path::new("/a/000005.sst"));
        assert_eq!(two.table(&table(5, 1)), Path::new("/b/000005.sst"));
        assert_eq!(two.table(&table(5, 3)), Path::new("/b/000005.sst"));
        assert_eq!(two.blob(6), Path::new("/a/000006.blob"));
        let one = DataPaths::new(&[], Path::new("/db"));
        assert_eq!(one.table(&table(5, 2)), Path::new("/db/000005.sst"));
        assert_eq!(one.target_size(0), u64::MAX);
    }
}
