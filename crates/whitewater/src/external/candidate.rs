//! The conditions that a table must meet before it can be ingested, and what is known of it
//! afterwards.
//!
//! A table is accepted if it says that it was made to be ingested: it has the property for its
//! version, and its entries have the sequence number 0. Like RocksDB, this module checks the
//! latter for the first and the last entry.

use crate::table_writer::{exclusive_end, tail_size};
use crate::version::range::KeyRange;
use crate::version::range_of;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whitewater_storage::fs::Fs;
use whitewater_storage::key::{
    InternalComparator, MAX_SEQUENCE, SequenceNumber, ValueType, internal_key, parse_internal_key,
    user_key,
};
use whitewater_storage::sst::{External, Table, TableReadOptions, TableReaderOptions};
use whitewater_storage::{Error, Result};

/// A table that can be ingested.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub path: PathBuf,
    /// The size of the table. Bytes.
    pub size: u64,
    /// The size of what follows the data. Bytes.
    pub tail_size: u64,
    pub num_entries: u64,
    /// The checksum to record in the manifest; empty for none.
    pub file_checksum: Vec<u8>,
    /// Whether its entries can be given a sequence number.
    pub renumbers: bool,
    smallest: Boundary,
    largest: Boundary,
    /// The smallest and the largest internal key with the sequence number 0.
    bounds: (Vec<u8>, Vec<u8>),
}

/// The beginning or the end of a table.
#[derive(Debug, Clone)]
struct Boundary {
    user_key: Vec<u8>,
    ty: ValueType,
    /// Whether this is the end of a range deletion, which does not include its user key.
    exclusive: bool,
}

impl Boundary {
    fn point(key: &[u8]) -> Result<Boundary> {
        let key = parse_internal_key(key)?;
        if key.seq != 0 {
            return Err(Error::corruption(format_args!(
                "External file has a key with sequence number {}, not 0",
                key.seq
            )));
        }
        Ok(Boundary {
            user_key: key.user_key.to_vec(),
            ty: key.ty,
            exclusive: false,
        })
    }

    /// The internal key if the table's sequence number is `seq`.
    fn at(&self, seq: SequenceNumber) -> Vec<u8> {
        let seq = if self.exclusive { MAX_SEQUENCE } else { seq };
        internal_key(&self.user_key, seq, self.ty)
    }
}

impl Candidate {
    /// Opens the table at `path` and checks it.
    ///
    /// # Errors
    /// `InvalidArgument` for a table that was not made to be ingested, has another comparator, or
    /// is empty; `Corruption` naming the file.
    pub fn open(fs: &dyn Fs, path: &Path, comparator: &InternalComparator) -> Result<Self> {
        let file = fs.open_random(path)?;
        let size = file.len()?;
        let options = TableReaderOptions {
            comparator: comparator.clone(),
            ..TableReaderOptions::default()
        };
        let in_file = |e: Error| match e.file() {
            Some(_) => e,
            None => e.in_file(path, None),
        };
        let table = Arc::new(Table::open(file, size, options).map_err(in_file)?);
        let renumbers = match table.properties().external().map_err(in_file)? {
            External::Numbered(0) => true,
            External::Unnumbered => false,
            External::No => {
                return Err(in_file(Error::invalid(
                    "External file version not found: the table was not made to be ingested",
                )));
            }
            External::Numbered(number) => {
                return Err(in_file(Error::invalid(format_args!(
                    "the table was ingested before, with sequence number {number}"
                ))));
            }
        };
        let (smallest, largest) = boundaries(&table, comparator).map_err(in_file)?;
        Ok(Candidate {
            path: path.to_path_buf(),
            size,
            tail_size: tail_size(table.properties(), size),
            num_entries: table.properties().num_entries,
            file_checksum: Vec::new(),
            renumbers,
            bounds: (smallest.at(0), largest.at(0)),
            smallest,
            largest,
        })
    }

    /// The table's smallest and largest internal keys if its entries have the sequence number
    /// `seq`.
    pub fn bounds(&self, seq: SequenceNumber) -> (Vec<u8>, Vec<u8>) {
        (self.smallest.at(seq), self.largest.at(seq))
    }

    /// The user keys that the table may hold or delete.
    pub fn range(&self) -> KeyRange<'_> {
        range_of(&self.bounds.0, &self.bounds.1)
    }
}

/// The beginning and the end of `table`, range deletions included.
fn boundaries(table: &Arc<Table>, comparator: &InternalComparator) -> Result<(Boundary, Boundary)> {
    let mut entries = table.iter(TableReadOptions {
        fill_cache: false,
        ..TableReadOptions::default()
    });
    let mut hull: Option<(Boundary, Boundary)> = None;
    entries.seek_to_first();
    if entries.valid() {
        let first = Boundary::point(entries.key())?;
        entries.seek_to_last();
        if entries.valid() {
            hull = Some((first, Boundary::point(entries.key())?));
        }
    }
    entries.status()?;
    for tombstone in table.range_tombstones() {
        if tombstone.seq != 0 {
            return Err(Error::corruption(format_args!(
                "External file has a range deletion with sequence number {}, not 0",
                tombstone.seq
            )));
        }
        let boundary = |user_key: &[u8], exclusive| Boundary {
            user_key: user_key.to_vec(),
            ty: ValueType::RangeDeletion,
            exclusive,
        };
        let end = exclusive_end(&comparator.user, tombstone);
        let (start, end) = (
            boundary(&tombstone.start, false),
            boundary(user_key(&end), true),
        );
        let less = |a: &Boundary, b: &Boundary| comparator.compare(&a.at(0), &b.at(0)).is_lt();
        hull = Some(match hull {
            None => (start, end),
            Some((first, last)) => (
                if less(&start, &first) { start } else { first },
                if less(&last, &end) { end } else { last },
            ),
        });
    }
    hull.ok_or_else(|| Error::invalid("File contains no entries"))
}
