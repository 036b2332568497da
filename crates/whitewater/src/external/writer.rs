//! Makes tables outside a database, to be ingested by one.
//!
//! Every entry has the sequence number 0. The properties say that the table is external, so the
//! database that ingests it may give all entries another number.

use crate::options::CfOptions;
use crate::panics::{Guarded, caught};
use crate::session_id::new_session_id;
use crate::stats::{Statistics, table_events};
use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::fs::Fs;
use whitewater_storage::key::{InternalComparator, UserComparator, ValueType, internal_key};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{TableBuilder, TableBuilderOptions};
use whitewater_storage::{Error, ErrorKind, Result};

use crate::clock::unix_seconds;
use crate::entry::check_lengths;

/// RocksDB's id for "no column family known".
const UNKNOWN_FAMILY: u32 = i32::MAX as u32;

/// The name of the database that made the table, as recorded in the properties.
const MAKER: &str = "SST Writer";

/// A table that is being written.
pub(crate) struct ExternalTable {
    fs: Arc<dyn Fs>,
    path: PathBuf,
    comparator: UserComparator,
    /// `None` after the table was finished or has failed.
    builder: Option<TableBuilder>,
    /// The user key of the last point.
    last: Option<Vec<u8>>,
    entries: u64,
    size: u64,
}

impl ExternalTable {
    /// Starts a table at `path`. An existing file is replaced. Events of its blocks are counted in
    /// `statistics`.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn create(
        fs: &Arc<dyn Fs>,
        options: &CfOptions,
        statistics: Option<&Arc<Statistics>>,
        path: &Path,
    ) -> Result<Self> {
        let now = unix_seconds();
        let compression = options.external_compression();
        let table = TableBuilderOptions {
            format: options.table_factory,
            table: options.table.clone(),
            comparator: InternalComparator::new(options.comparator.clone()),
            compression: compression.ty,
            compression_options: compression.options,
            target_file_size: 0,
            column_family_id: UNKNOWN_FAMILY,
            column_family_name: String::new(),
            merge_operator: (options.merge_operator.as_ref())
                .map_or_else(String::new, |m| m.name().to_owned()),
            prefix_extractor: (options.prefix_extractor.as_ref()).map(|p| p.shared()),
            bloom_locality: options.bloom_locality,
            level: -1,
            skip_filters: false,
            creation_time: now,
            oldest_key_time: 0,
            file_creation_time: now,
            db_id: MAKER.to_owned(),
            session_id: new_session_id(),
            file_number: 1,
            external: true,
            events: table_events(statistics),
        };
        let file = fs.create(path)?;
        Ok(ExternalTable {
            fs: fs.clone(),
            path: path.to_path_buf(),
            comparator: options.comparator.clone(),
            builder: Some(TableBuilder::new(table, file)?),
            last: None,
            entries: 0,
            size: 0,
        })
    }

    /// Adds a point.
    ///
    /// # Errors
    /// `InvalidArgument` for a key that is not greater than the one before, and for an entry that
    /// does not fit into a table; errors of the file system.
    pub fn add(&mut self, ty: ValueType, key: &[u8], value: &[u8]) -> Result<()> {
        if self.comparator.timestamp_size() > 0 {
            return Err(Error::invalid("Timestamp size mismatch"));
        }
        self.add_entry(ty, key, value)
    }

    /// Adds a version of a key.
    ///
    /// # Errors
    /// The same as [`ExternalTable::add`]; `InvalidArgument` for a timestamp of the wrong size.
    pub fn add_version(
        &mut self,
        ty: ValueType,
        key: &[u8],
        time: &[u8],
        value: &[u8],
    ) -> Result<()> {
        if time.is_empty() || self.comparator.timestamp_size() != time.len() {
            return Err(Error::invalid("Timestamp size mismatch"));
        }
        self.add_entry(ty, &[key, time].concat(), value)
    }

    fn add_entry(&mut self, ty: ValueType, key: &[u8], value: &[u8]) -> Result<()> {
        self.catching(|table| table.try_add_entry(ty, key, value))
    }

    /// Runs an addition. If the user's code panics in it, the table is abandoned, because its
    /// contents are then unknown.
    fn catching(&mut self, adds: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let added = caught(Guarded::Comparator("an addition to a table"), || adds(self));
        if added
            .as_ref()
            .is_err_and(|e| e.kind() == ErrorKind::Aborted)
        {
            self.builder = None;
            // The error that matters is already known.
            let _ = self.fs.remove(&self.path);
        }
        added
    }

    fn try_add_entry(&mut self, ty: ValueType, key: &[u8], value: &[u8]) -> Result<()> {
        let builder = self.builder.as_mut().ok_or_else(not_open)?;
        let ascends = |last: &Vec<u8>| self.comparator.compare(last, key) == Ordering::Less;
        if !self.last.as_ref().is_none_or(ascends) {
            return Err(Error::invalid(
                "Keys must be added in strict ascending order.",
            ));
        }
        check_lengths(key, value)?;
        builder.add(&internal_key(key, 0, ty), value)?;
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        self.entries += 1;
        self.size = builder.file_size();
        Ok(())
    }

    /// Adds the deletion of `[begin, end)`. Deletions may come in any order, and do not hide
    /// entries of the table itself.
    ///
    /// # Errors
    /// `InvalidArgument` if `end` is before `begin`.
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        if self.comparator.timestamp_size() > 0 {
            return Err(Error::invalid("Timestamp size mismatch"));
        }
        self.catching(|table| table.try_delete_range(begin, end))
    }

    /// Adds the deletion of `[begin, end)` with a timestamp.
    ///
    /// # Errors
    /// The same as [`ExternalTable::delete_range`]; `InvalidArgument` for a timestamp of the wrong
    /// size.
    pub fn delete_versions(&mut self, begin: &[u8], end: &[u8], time: &[u8]) -> Result<()> {
        if time.is_empty() || self.comparator.timestamp_size() != time.len() {
            return Err(Error::invalid("Timestamp size mismatch"));
        }
        let stamped = |key: &[u8]| [key, time].concat();
        let (begin, end) = (stamped(begin), stamped(end));
        self.catching(|table| table.try_delete_range(&begin, &end))
    }

    fn try_delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        let builder = self.builder.as_mut().ok_or_else(not_open)?;
        match self.comparator.compare_keys(begin, end) {
            Ordering::Greater => {
                return Err(Error::invalid("end key comes before start key"));
            }
            Ordering::Equal => return Ok(()), // deletes nothing
            Ordering::Less => {}
        }
        check_lengths(begin, end)?;
        builder.add_range_tombstone(&RangeTombstone {
            start: begin.to_vec(),
            end: end.to_vec(),
            seq: 0,
        })?;
        self.entries += 1;
        self.size = builder.file_size();
        Ok(())
    }

    /// Completes the table and makes its content durable. Making its name durable is left to the
    /// caller. A table that fails is removed.
    ///
    /// # Errors
    /// `InvalidArgument` for a table without entries; errors of the file system.
    pub fn finish(&mut self) -> Result<()> {
        if self.builder.is_some() && self.entries == 0 {
            return Err(Error::invalid("Cannot create sst file with no entries"));
        }
        let builder = self.builder.take().ok_or_else(not_open)?;
        match builder.finish() {
            Ok((_, size)) => {
                self.size = size;
                Ok(())
            }
            Err(e) => {
                // The error that matters is already known.
                let _ = self.fs.remove(&self.path);
                Err(e)
            }
        }
    }

    /// The approximate number of bytes written so far; exact once the table is finished.
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// The error for a call without an open table.
pub(crate) fn not_open() -> Error {
    Error::invalid("File is not opened")
}
