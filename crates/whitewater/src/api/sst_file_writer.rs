//! Making tables outside a database.

use super::options::Options;
use crate::entry::columns::{WideColumn, encode_columns};
use crate::external::writer::{ExternalTable, not_open};
use std::path::Path;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::Error;
use whitewater_storage::key::ValueType;

/// Makes a table file outside a database, for
/// [`ingest_external_file`](crate::DBCommon::ingest_external_file).
///
/// Keys are added in ascending order, each once. What of the options counts is
/// the comparator, the table's layout, the compression, and
/// [`Options::set_fs`]; the database that takes the file in must have the same
/// comparator.
///
/// ```
/// use whitewater::{DB, Options, SstFileWriter};
///
/// # fn main() -> Result<(), whitewater::Error> {
/// # let dir = tempfile::tempdir().unwrap();
/// let opts = Options::default();
/// let file = dir.path().join("rivers.sst");
/// let mut writer = SstFileWriter::create(&opts);
/// writer.open(&file)?;
/// writer.put("danube", "2850 km")?;
/// writer.put("volga", "3530 km")?;
/// writer.finish()?;
///
/// let db = DB::open_default(dir.path().join("db"))?;
/// db.ingest_external_file(vec![file])?;
/// assert_eq!(db.get("volga")?.as_deref(), Some(&b"3530 km"[..]));
/// # Ok(())
/// # }
/// ```
pub struct SstFileWriter<'a> {
    options: &'a Options,
    table: Mutex<Option<ExternalTable>>,
}

impl std::fmt::Debug for SstFileWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SstFileWriter")
            .field("file_size", &self.file_size())
            .finish_non_exhaustive()
    }
}

impl<'a> SstFileWriter<'a> {
    /// A writer with these options, which [`open`](Self::open) checks.
    pub fn create(opts: &'a Options) -> Self {
        SstFileWriter {
            options: opts,
            table: Mutex::new(None),
        }
    }

    /// Starts a file at `path`. A file that is there is replaced, and one that
    /// was started before and not finished is left as it is.
    ///
    /// # Errors
    /// `InvalidArgument` or `NotSupported` for options that cannot be honoured;
    /// `IOError` when the file cannot be created.
    pub fn open<P: AsRef<Path>>(&'a self, path: P) -> Result<(), Error> {
        let family = self.options.cf_options()?;
        let db = self.options.db_options()?;
        let statistics = db.statistics.as_ref();
        let table = ExternalTable::create(&db.fs, &family, statistics, path.as_ref())?;
        *self.table.lock() = Some(table);
        Ok(())
    }

    /// Completes the file and makes its content durable. The name of a new file
    /// survives a power cut once its directory was synced.
    ///
    /// # Errors
    /// `InvalidArgument` for a file without entries, or none that is open;
    /// `IOError` when it cannot be written, and then it is removed.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.table()?.finish()
    }

    /// Bytes of the file so far, about; exact once it is finished. 0 before
    /// the first entry.
    pub fn file_size(&self) -> u64 {
        self.table.lock().as_ref().map_or(0, ExternalTable::size)
    }

    /// Adds a key and its value.
    ///
    /// # Errors
    /// `InvalidArgument` when no file is open, when `key` is not greater than
    /// the one before, and when both together have 1 GiB or more; `IOError`
    /// when the file cannot be written.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("table.sst");
    /// use whitewater::{Options, SstFileWriter};
    ///
    /// let options = Options::default();
    /// let mut writer = SstFileWriter::create(&options);
    /// writer.open(&path)?;
    /// writer.put("a", "1")?;
    /// assert!(writer.put("a", "2").is_err()); // not in ascending order
    /// writer.finish()?;
    /// assert!(writer.file_size() > 0);
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn put<K, V>(&mut self, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.add(ValueType::Value, key.as_ref(), value.as_ref())
    }

    /// Adds a key and its columns: a wide-column entity, as
    /// [`put_entity`](crate::DBCommon::put_entity) writes it. Not in the `rocksdb` crate.
    ///
    /// # Errors
    /// As [`put`](Self::put), and `Corruption` for two columns of one name.
    ///
    /// # Examples
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("table.sst");
    /// use whitewater::{DB, Options, SstFileWriter};
    ///
    /// let options = Options::default();
    /// let mut writer = SstFileWriter::create(&options);
    /// writer.open(&path)?;
    /// writer.put_entity("7", [("name", "ada")])?;
    /// writer.finish()?;
    /// let db = DB::open_default(dir.path().join("db"))?;
    /// db.ingest_external_file(vec![&path])?;
    /// assert_eq!(db.get_entity("7")?.expect("ingested").get("name"), Some(&b"ada"[..]));
    /// # Ok::<(), whitewater::Error>(())
    /// ```
    pub fn put_entity<'c, K, I>(&mut self, key: K, columns: I) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        I: IntoIterator,
        I::Item: Into<WideColumn<'c>>,
    {
        let entity = encode_columns(columns)?;
        self.add(ValueType::WideColumnEntity, key.as_ref(), &entity)
    }

    /// Adds the version `ts` of a key. Versions of a key come newest first.
    ///
    /// # Errors
    /// As [`put`](Self::put), and `InvalidArgument` when the comparator has no
    /// timestamps, or of another size.
    pub fn put_with_ts<K, V, S>(&mut self, key: K, ts: S, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
        S: AsRef<[u8]>,
    {
        let table = self.table()?;
        table.add_version(ValueType::Value, key.as_ref(), ts.as_ref(), value.as_ref())
    }

    /// Adds the deletion of a key for readers at `ts` and later.
    ///
    /// # Errors
    /// As [`put_with_ts`](Self::put_with_ts).
    pub fn delete_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &mut self,
        key: K,
        ts: S,
    ) -> Result<(), Error> {
        let ty = ValueType::DeletionWithTimestamp;
        let table = self.table()?;
        table.add_version(ty, key.as_ref(), ts.as_ref(), &[])
    }

    /// Adds a merge operand for a key.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn merge<K, V>(&mut self, key: K, value: V) -> Result<(), Error>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        self.add(ValueType::Merge, key.as_ref(), value.as_ref())
    }

    /// Adds the deletion of a key.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn delete<K: AsRef<[u8]>>(&mut self, key: K) -> Result<(), Error> {
        self.add(ValueType::Deletion, key.as_ref(), &[])
    }

    /// Adds the deletion of the keys from `begin_key` to before `end_key` of
    /// the database that takes the file in; none of the file itself. In any
    /// order, beside the keys. Nothing is added where both are equal.
    ///
    /// # Errors
    /// `InvalidArgument` when no file is open or `end_key` is before
    /// `begin_key`.
    pub fn delete_range<K: AsRef<[u8]>>(&mut self, begin_key: K, end_key: K) -> Result<(), Error> {
        let table = self.table()?;
        table.delete_range(begin_key.as_ref(), end_key.as_ref())
    }

    /// Adds the deletion of the keys from `begin_key` to before `end_key` for readers at `ts` and
    /// later. As [`delete_range`](Self::delete_range) otherwise.
    ///
    /// # Errors
    /// As [`delete_range`](Self::delete_range), and `InvalidArgument` when the comparator has no
    /// timestamps, or of another size.
    pub fn delete_range_with_ts<K: AsRef<[u8]>, S: AsRef<[u8]>>(
        &mut self,
        begin_key: K,
        end_key: K,
        ts: S,
    ) -> Result<(), Error> {
        let table = self.table()?;
        table.delete_versions(begin_key.as_ref(), end_key.as_ref(), ts.as_ref())
    }

    fn add(&mut self, ty: ValueType, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.table()?.add(ty, key, value)
    }

    fn table(&mut self) -> Result<&mut ExternalTable, Error> {
        self.table.get_mut().as_mut().ok_or_else(not_open)
    }
}
