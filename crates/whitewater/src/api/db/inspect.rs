//! Properties and files.

use super::{DBCommon, DBInner, ThreadMode};
use crate::api::c_str::CStrLike;
use crate::api::column_family::AsColumnFamilyRef;
use crate::column_family::ColumnFamilyData;
use crate::db::inspect::LiveTable;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use whitewater_storage::{Error, ErrorKind};

/// A range of keys: `start_key` belongs to it, `end_key` does not.
#[derive(Debug, Clone, Copy)]
pub struct Range<'a> {
    start_key: &'a [u8],
    end_key: &'a [u8],
}

impl<'a> Range<'a> {
    /// The keys from `start_key` to before `end_key`, which must not be less.
    pub fn new(start_key: &'a [u8], end_key: &'a [u8]) -> Range<'a> {
        Range { start_key, end_key }
    }

    pub(super) fn bounds(&self) -> (&'a [u8], &'a [u8]) {
        (self.start_key, self.end_key)
    }
}

/// What a column family's files amount to.
#[derive(Debug, Clone)]
pub struct ColumnFamilyMetaData {
    /// Bytes of all its table files.
    pub size: u64,
    /// Its name.
    pub name: String,
    /// Number of its table files.
    pub file_count: usize,
}

/// A table file in use.
#[derive(Debug, Clone)]
pub struct LiveFile {
    /// The column family it belongs to.
    pub column_family_name: String,
    /// Its name within its directory, with a leading slash.
    pub name: String,
    /// The directory it is in.
    ///
    /// Not in the `rocksdb` crate.
    pub db_path: PathBuf,
    /// Its size in bytes.
    pub size: usize,
    /// Its level.
    pub level: i32,
    /// Its smallest user key.
    pub start_key: Option<Vec<u8>>,
    /// Its greatest user key.
    pub end_key: Option<Vec<u8>>,
    /// Entries in it, deletions included.
    pub num_entries: u64,
    /// Deletions in it.
    pub num_deletions: u64,
}

impl From<LiveTable> for LiveFile {
    fn from(table: LiveTable) -> Self {
        LiveFile {
            column_family_name: table.column_family_name,
            name: table.name,
            db_path: table.dir,
            size: table.size,
            level: table.level,
            start_key: table.start_key,
            end_key: table.end_key,
            num_entries: table.num_entries,
            num_deletions: table.num_deletions,
        }
    }
}

pub(in crate::api) fn property_name(name: impl CStrLike) -> Result<String, Error> {
    let bad = |e: &dyn std::fmt::Display| {
        Error::invalid(format_args!(
            "Failed to convert property name to CString: {e}"
        ))
    };
    let name = name.bake().map_err(|e| bad(&e))?;
    let name = name.to_str().map_err(|e| bad(&e))?;
    Ok(name.to_owned())
}

/// Properties and files.
impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// The value of the property `name` (see [`properties`](crate::properties))
    /// for the default column family; `None` for one that does not exist.
    ///
    /// ```
    /// use whitewater::{DB, properties};
    ///
    /// # fn main() -> Result<(), whitewater::Error> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path();
    /// let db = DB::open_default(path)?;
    /// assert_eq!(db.property_int_value(properties::NUM_SNAPSHOTS)?, Some(0));
    /// assert_eq!(db.property_value("rocksdb.no-such-property")?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` when the name has a NUL byte inside.
    pub fn property_value(&self, name: impl CStrLike) -> Result<Option<String>, Error> {
        let engine = self.engine();
        Ok(engine.property(engine.default_cf(), &property_name(name)?))
    }

    /// [`property_value`](Self::property_value) for `cf`.
    ///
    /// # Errors
    /// As [`property_value`](Self::property_value).
    pub fn property_value_cf(
        &self,
        cf: &impl AsColumnFamilyRef,
        name: impl CStrLike,
    ) -> Result<Option<String>, Error> {
        let cf = cf.inner().data();
        Ok(self.engine().property(cf, &property_name(name)?))
    }

    /// Hands the figures of the database to the recorder of the `metrics` facade:
    /// tickers and histograms, when statistics are on
    /// ([`enable_statistics`](crate::Options::enable_statistics)), or how long a
    /// sample of calls took, and numeric properties of the database and its column
    /// families. What is handed over are sums since the statistics began, or the
    /// database was opened, so it does not matter how often, or who else does.
    /// Names and labels are in `docs/observability.md`. Not in the `rocksdb`
    /// crate.
    ///
    /// Reads and adds up all counters: something to do every few seconds. See
    /// [`set_metrics_publish_period_sec`](crate::Options::set_metrics_publish_period_sec)
    /// to have it done.
    #[cfg(feature = "metrics")]
    pub fn publish_metrics(&self) {
        self.engine().publish_metrics();
    }

    /// The value of a numeric property for the default column family; `None`
    /// for one that does not exist.
    ///
    /// # Errors
    /// As [`property_value`](Self::property_value), and when the property is a
    /// text.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// use whitewater::properties;
    ///
    /// db.put("river", "blue")?;
    /// let entries = db.property_int_value(properties::NUM_ENTRIES_ACTIVE_MEM_TABLE)?;
    /// assert_eq!(entries, Some(1));
    /// assert_eq!(db.property_int_value("no such property")?, None);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn property_int_value(&self, name: impl CStrLike) -> Result<Option<u64>, Error> {
        self.property_int(self.engine().default_cf(), name)
    }

    /// [`property_int_value`](Self::property_int_value) for `cf`.
    ///
    /// # Errors
    /// As [`property_int_value`](Self::property_int_value).
    pub fn property_int_value_cf(
        &self,
        cf: &impl AsColumnFamilyRef,
        name: impl CStrLike,
    ) -> Result<Option<u64>, Error> {
        self.property_int(cf.inner().data(), name)
    }

    fn property_int(
        &self,
        cf: &Arc<ColumnFamilyData>,
        name: impl CStrLike,
    ) -> Result<Option<u64>, Error> {
        let name = property_name(name)?;
        if let Some(value) = self.engine().property_int(cf, &name) {
            return Ok(Some(value));
        }
        let Some(text) = self.engine().property(cf, &name) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|e| {
            Error::new(
                ErrorKind::Unknown,
                format_args!("Failed to convert property value {text} to int: {e}"),
            )
        })
    }

    /// The values of the property `name` that is a map, such as
    /// `rocksdb.cf-write-stall-stats`, for the default column family; `None`
    /// for others. Not in the `rocksdb` crate; RocksDB's `GetMapProperty`.
    ///
    /// # Errors
    /// As [`property_value`](Self::property_value).
    pub fn property_map_value(
        &self,
        name: impl CStrLike,
    ) -> Result<Option<BTreeMap<String, String>>, Error> {
        let engine = self.engine();
        Ok(engine.property_map(engine.default_cf(), &property_name(name)?))
    }

    /// [`property_map_value`](Self::property_map_value) for `cf`.
    ///
    /// # Errors
    /// As [`property_value`](Self::property_value).
    pub fn property_map_value_cf(
        &self,
        cf: &impl AsColumnFamilyRef,
        name: impl CStrLike,
    ) -> Result<Option<BTreeMap<String, String>>, Error> {
        let cf = cf.inner().data();
        Ok(self.engine().property_map(cf, &property_name(name)?))
    }

    /// The sequence number of the last write.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// let before = db.latest_sequence_number();
    /// db.put("river", "blue")?;
    /// assert_eq!(db.latest_sequence_number(), before + 1);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn latest_sequence_number(&self) -> u64 {
        self.engine().latest_sequence_number()
    }

    /// What the files of the default column family amount to.
    pub fn get_column_family_metadata(&self) -> ColumnFamilyMetaData {
        self.metadata(self.engine().default_cf())
    }

    /// What the files of `cf` amount to.
    pub fn get_column_family_metadata_cf(
        &self,
        cf: &impl AsColumnFamilyRef,
    ) -> ColumnFamilyMetaData {
        self.metadata(cf.inner().data())
    }

    fn metadata(&self, cf: &ColumnFamilyData) -> ColumnFamilyMetaData {
        let view = cf.pin_owned();
        let files = view.version.levels.iter().flatten();
        ColumnFamilyMetaData {
            size: files.clone().map(|file| file.meta.size).sum(),
            name: cf.name.clone(),
            file_count: files.count(),
        }
    }

    /// The table files in use, of all column families.
    ///
    /// # Errors
    /// When they cannot be listed.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = whitewater::DB::open_default(dir.path())?;
    /// db.put("river", "blue")?;
    /// db.put("stream", "white")?;
    /// db.flush()?;
    /// let files = db.live_files()?;
    /// assert_eq!(files[0].num_entries, 2);
    /// assert_eq!(files[0].start_key.as_deref(), Some(&b"river"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn live_files(&self) -> Result<Vec<LiveFile>, Error> {
        let tables = self.engine().live_tables()?;
        Ok(tables.into_iter().map(LiveFile::from).collect())
    }

    /// The database's unique id, as the file `IDENTITY` has it.
    ///
    /// # Errors
    /// None so far.
    pub fn get_db_identity(&self) -> Result<Vec<u8>, Error> {
        Ok(self.engine().identity().into_bytes())
    }
}
