//! Bringing in tables that were made outside.

use super::{DBCommon, DBInner, ThreadMode};
use crate::api::column_family::AsColumnFamilyRef;
use crate::api::options::IngestExternalFileOptions;
use crate::column_family::ColumnFamilyData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::Error;

/// Bringing in tables that were made outside.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// Brings the tables at `paths`, made by an
    /// [`SstFileWriter`](crate::SstFileWriter) or RocksDB's, into the default
    /// column family, all at once: as one write would that has all their
    /// entries, where a later table counts as later than those before it. It is
    /// durable when the call returns. Writers wait meanwhile, readers do not.
    ///
    /// # Errors
    /// `InvalidArgument` for no tables, tables that were not made to be
    /// ingested or by another comparator, and where the options rule out what
    /// it takes; `Corruption` for a damaged one; `IOError`. The database is as
    /// it was then.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use whitewater::{DB, Options, SstFileWriter};
    ///
    /// let options = Options::default();
    /// let file = dir.path().join("rivers.sst");
    /// let mut writer = SstFileWriter::create(&options);
    /// writer.open(&file)?;
    /// writer.put("danube", "2850 km")?;
    /// writer.finish()?;
    ///
    /// let db = DB::open_default(dir.path().join("db"))?;
    /// db.put("danube", "unknown")?;
    /// db.ingest_external_file(vec![file])?; // counts as later than that
    /// assert_eq!(db.get("danube")?.as_deref(), Some(&b"2850 km"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn ingest_external_file<P: AsRef<Path>>(&self, paths: Vec<P>) -> Result<(), Error> {
        self.ingest_external_file_opts(&IngestExternalFileOptions::default(), paths)
    }

    /// [`ingest_external_file`](Self::ingest_external_file) with options.
    ///
    /// # Errors
    /// As [`ingest_external_file`](Self::ingest_external_file).
    pub fn ingest_external_file_opts<P: AsRef<Path>>(
        &self,
        opts: &IngestExternalFileOptions,
        paths: Vec<P>,
    ) -> Result<(), Error> {
        self.ingest(self.engine().default_cf(), opts, paths)
    }

    /// [`ingest_external_file`](Self::ingest_external_file) into `cf`.
    ///
    /// # Errors
    /// As [`ingest_external_file`](Self::ingest_external_file).
    pub fn ingest_external_file_cf<P: AsRef<Path>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        paths: Vec<P>,
    ) -> Result<(), Error> {
        self.ingest_external_file_cf_opts(cf, &IngestExternalFileOptions::default(), paths)
    }

    /// [`ingest_external_file_cf`](Self::ingest_external_file_cf) with options.
    ///
    /// # Errors
    /// As [`ingest_external_file`](Self::ingest_external_file).
    pub fn ingest_external_file_cf_opts<P: AsRef<Path>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        opts: &IngestExternalFileOptions,
        paths: Vec<P>,
    ) -> Result<(), Error> {
        self.ingest(cf.inner().data(), opts, paths)
    }

    fn ingest<P: AsRef<Path>>(
        &self,
        cf: &Arc<ColumnFamilyData>,
        opts: &IngestExternalFileOptions,
        paths: Vec<P>,
    ) -> Result<(), Error> {
        let paths: Vec<PathBuf> = paths.iter().map(|p| p.as_ref().to_path_buf()).collect();
        self.engine().ingest(cf, &paths, opts.spec)
    }
}
