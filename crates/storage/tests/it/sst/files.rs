//! Files in memory, and tables built into them.

use bytes::Bytes;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use whitewater_storage::cache::BlockCache;
use whitewater_storage::fs::{RandomAccessFile, WritableFile};
use whitewater_storage::internal_iterator::InternalIterator;
use whitewater_storage::key::{InternalComparator, ParsedKey, parse_internal_key};
use whitewater_storage::rangedel::RangeTombstone;
use whitewater_storage::sst::{
    Table, TableBuilder, TableBuilderOptions, TableReadOptions, TableReaderOptions,
};
use whitewater_storage::{Error, Result};

/// Internal key and value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// A file to write. The test that made it shares its bytes.
#[derive(Debug, Clone, Default)]
pub struct Sink {
    pub bytes: Arc<Mutex<Vec<u8>>>,
    pub synced: Arc<Mutex<usize>>,
}

impl WritableFile for Sink {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.bytes.lock().unwrap().extend_from_slice(data);
        Ok(())
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> Result<()> {
        *self.synced.lock().unwrap() = self.bytes.lock().unwrap().len();
        Ok(())
    }
    fn len(&self) -> u64 {
        self.bytes.lock().unwrap().len() as u64
    }
}

/// A file to read.
#[derive(Debug)]
pub struct Source {
    pub bytes: Bytes,
    pub path: PathBuf,
    /// Offset and length of every read, in order.
    pub reads: Mutex<Vec<(u64, usize)>>,
}

impl RandomAccessFile for Source {
    fn read_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        self.reads.lock().unwrap().push((offset, len));
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        match start.checked_add(len) {
            Some(end) if end <= self.bytes.len() => Ok(self.bytes.slice(start..end)),
            _ => Err(Error::corruption_in(&self.path, offset, "short read")),
        }
    }
    fn len(&self) -> Result<u64> {
        Ok(self.bytes.len() as u64)
    }
    fn path(&self) -> &Path {
        &self.path
    }
}

pub fn source(bytes: impl Into<Bytes>) -> Arc<Source> {
    Arc::new(Source {
        bytes: bytes.into(),
        path: PathBuf::from("/db/000042.sst"),
        reads: Mutex::default(),
    })
}

pub fn reader_options(comparator: &InternalComparator) -> TableReaderOptions {
    TableReaderOptions {
        comparator: comparator.clone(),
        file_number: 42,
        ..TableReaderOptions::default()
    }
}

pub fn open(bytes: impl Into<Bytes>) -> Result<Arc<Table>> {
    let file = source(bytes);
    let size = file.bytes.len() as u64;
    Table::open(file, size, reader_options(&InternalComparator::default())).map(Arc::new)
}

/// The same with a block cache, and with the file to look at.
pub fn open_cached(bytes: Vec<u8>, cache: &BlockCache) -> (Arc<Table>, Arc<Source>) {
    let file = source(bytes);
    let size = file.bytes.len() as u64;
    let mut options = reader_options(&InternalComparator::default());
    options.block_cache = Some(cache.clone());
    let table = Table::open(file.clone(), size, options).expect("opens");
    (Arc::new(table), file)
}

/// Builds a table of sorted `entries`.
pub fn build(
    options: TableBuilderOptions,
    entries: &[Entry],
    tombstones: &[RangeTombstone],
) -> Vec<u8> {
    let sink = Sink::default();
    let mut b = TableBuilder::new(options, Box::new(sink.clone())).expect("starts");
    for (k, v) in entries {
        b.add(k, v).expect("ascending");
    }
    for t in tombstones {
        b.add_range_tombstone(t).expect("fits");
    }
    assert_eq!(b.num_entries(), entries.len() as u64);
    let estimate = b.file_size();
    let (properties, size) = b.finish().expect("finishes");
    let bytes = sink.bytes.lock().unwrap().clone();
    assert_eq!(size, bytes.len() as u64);
    assert_eq!(*sink.synced.lock().unwrap(), bytes.len());
    let off = estimate.abs_diff(size);
    assert!(off <= size / 2 + 16 * 1024, "{estimate} for {size}");
    assert_eq!(
        properties.num_entries,
        (entries.len() + tombstones.len()) as u64
    );
    bytes
}

/// All entries, front to back.
pub fn collect(iter: &mut dyn InternalIterator) -> Result<Vec<Entry>> {
    let mut out = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        out.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status()?;
    Ok(out)
}

/// All entries, back to front, put in order.
pub fn collect_backward(iter: &mut dyn InternalIterator) -> Result<Vec<Entry>> {
    let mut out = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        out.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev();
    }
    iter.status()?;
    out.reverse();
    Ok(out)
}

/// What `Table::get` visits, at most `most` entries.
pub fn get(table: &Table, lookup: &[u8], most: usize) -> Result<Vec<Entry>> {
    let mut out = Vec::new();
    table.get(lookup, TableReadOptions::default(), &mut |k, v| {
        out.push((rebuild(k), v.to_vec()));
        Ok(out.len() < most)
    })?;
    Ok(out)
}

pub fn rebuild(k: ParsedKey<'_>) -> Vec<u8> {
    whitewater_storage::key::internal_key(k.user_key, k.seq, k.ty)
}

/// The user key of an internal key that is known to be whole.
pub fn user(key: &[u8]) -> &[u8] {
    parse_internal_key(key).expect("whole").user_key
}
