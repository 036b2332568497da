//! Creating column families with the tables of exported ones.

use super::families::created;
use super::{DBCommon, DBInner, MultiThreaded, SingleThreaded, ThreadMode};
use crate::api::column_family::{ColumnFamily, ColumnFamilyHandle};
use crate::api::options::Options;
use crate::external::exported::ExportImportFilesMetaData;
use whitewater_storage::Error;

/// How exported tables come into a database.
#[derive(Debug, Clone, Default)]
pub struct ImportColumnFamilyOptions {
    move_files: bool,
}

impl ImportColumnFamilyOptions {
    /// The defaults: tables are copied.
    pub fn new() -> Self {
        Self::default()
    }

    /// Links the tables into the database and removes their original names afterwards, instead of
    /// copying them. Tables that cannot be linked, from another file system say, are copied, and
    /// their original names removed just the same.
    ///
    /// **Option `move_files`**: default `false`.
    pub fn set_move_files(&mut self, move_files: bool) {
        self.move_files = move_files;
    }
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    fn import(
        &self,
        name: &str,
        options: &Options,
        import_options: &ImportColumnFamilyOptions,
        exports: &[&ExportImportFilesMetaData],
    ) -> Result<ColumnFamilyHandle, Error> {
        let (options, moves) = (options.cf_options()?, import_options.move_files);
        let cf = self.engine().import_cf(name, options, moves, exports)?;
        Ok(created(self, cf))
    }
}

impl<D: DBInner> DBCommon<SingleThreaded, D> {
    /// Creates the column family `name` with the tables of an exported one, which
    /// [`export_column_family`](crate::checkpoint::Checkpoint::export_column_family) of this or
    /// another database has made, or RocksDB. The data is there, with its levels and sequence
    /// numbers, without being written again.
    ///
    /// After a power cut it is there with all of its tables, or not at all; once this has returned,
    /// it is there. Writers wait for the moment in which the tables are recorded.
    ///
    /// # Errors
    /// `InvalidArgument` when the column family exists, `options` have another comparator than the
    /// export or are out of range, or `metadata` has no tables or makes no sense; `NotSupported`
    /// for user-defined timestamps and for tables with values in blob files; `Corruption` for a
    /// damaged table; `IOError`. Nothing has changed then.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::checkpoint::Checkpoint;
    /// use whitewater::{DBWithThreadMode, ImportColumnFamilyOptions, Options, SingleThreaded};
    ///
    /// type Db = DBWithThreadMode<SingleThreaded>;
    /// let mut options = Options::default();
    /// options.create_if_missing(true);
    /// options.create_missing_column_families(true);
    /// let here = Db::open_cf(&options, dir.path().join("here"), ["users"])?;
    /// let users = here.cf_handle("users").expect("created when the database was opened");
    /// here.put_cf(users, "7", "ada")?;
    /// let export = dir.path().join("export");
    /// let metadata = Checkpoint::new(&here)?.export_column_family(users, &export)?;
    ///
    /// let mut there = Db::open(&options, dir.path().join("there"))?;
    /// let mut moving = ImportColumnFamilyOptions::new();
    /// moving.set_move_files(true);
    /// there.create_column_family_with_import(&options, "people", &moving, &metadata)?;
    /// let people = there.cf_handle("people").expect("created above");
    /// assert_eq!(there.get_cf(people, "7")?, Some(b"ada".to_vec()));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn create_column_family_with_import<N: AsRef<str>>(
        &mut self,
        options: &Options,
        name: N,
        import_options: &ImportColumnFamilyOptions,
        metadata: &ExportImportFilesMetaData,
    ) -> Result<(), Error> {
        self.create_column_family_with_imports(options, name, import_options, &[metadata])
    }

    /// [`create_column_family_with_import`](Self::create_column_family_with_import) of several
    /// exports, of which no two have ranges of keys in common.
    ///
    /// # Errors
    /// As for one; `InvalidArgument` when the ranges of two exports overlap.
    pub fn create_column_family_with_imports<N: AsRef<str>>(
        &mut self,
        options: &Options,
        name: N,
        import_options: &ImportColumnFamilyOptions,
        metadata: &[&ExportImportFilesMetaData],
    ) -> Result<(), Error> {
        let name = name.as_ref();
        let handle = self.import(name, options, import_options, metadata)?;
        let cfs = &mut self.cfs.cfs;
        cfs.insert(name.to_owned(), ColumnFamily { handle });
        Ok(())
    }
}

impl<D: DBInner> DBCommon<MultiThreaded, D> {
    /// Creates the column family `name` with the tables of an exported one, as
    /// [the single-threaded form](DBCommon::<SingleThreaded, D>::create_column_family_with_import)
    /// does.
    ///
    /// # Errors
    /// The same.
    pub fn create_column_family_with_import<N: AsRef<str>>(
        &self,
        options: &Options,
        name: N,
        import_options: &ImportColumnFamilyOptions,
        metadata: &ExportImportFilesMetaData,
    ) -> Result<(), Error> {
        self.create_column_family_with_imports(options, name, import_options, &[metadata])
    }

    /// [`create_column_family_with_import`](Self::create_column_family_with_import) of several
    /// exports, of which no two have ranges of keys in common.
    ///
    /// # Errors
    /// As for one; `InvalidArgument` when the ranges of two exports overlap.
    pub fn create_column_family_with_imports<N: AsRef<str>>(
        &self,
        options: &Options,
        name: N,
        import_options: &ImportColumnFamilyOptions,
        metadata: &[&ExportImportFilesMetaData],
    ) -> Result<(), Error> {
        let name = name.as_ref();
        // Held over the creation, so that a second creator that sees no handle
        // does not come between.
        let mut cfs = self.cfs.cfs.write();
        let handle = self.import(name, options, import_options, metadata)?;
        cfs.insert(name.to_owned(), MultiThreaded::share(handle));
        Ok(())
    }
}
