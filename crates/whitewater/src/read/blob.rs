//! Values that are stored in blob files.
//!
//! A version names the blob files that its tables refer to. Code that reads tables of a version
//! passes its [`Blobs`] along, so that a reference is followed only when its value is needed.
//!
//! A column family may have a blob cache. It has values as users see them, by their file's number
//! in the cache and their offset. [`ReadAhead`] is for jobs, which read most of a file.

use crate::entry::blobs::Blobs;
use crate::options::read::BlobReads;
use crate::stats::{Histogram, Ticker, time};
use crate::version::Version;
use crate::version::blobs::BlobFile;
use crate::version::table_cache::TableCache;
use bytes::Bytes;
use std::collections::HashMap;
use whitewater_concurrent::system::Mutex;
use whitewater_storage::blob::{BlobFileReader, BlobIndex, BlobPlace};
use whitewater_storage::cache::Priority;
use whitewater_storage::{Error, Result};

/// The blob files of a version that the caller keeps alive.
pub(crate) struct BorrowedBlobs<'a> {
    pub version: &'a Version,
    pub tables: &'a TableCache,
    pub reads: BlobReads,
    /// Reads ahead in the files, if there is one.
    pub ahead: Option<&'a ReadAhead>,
}

impl Blobs for BorrowedBlobs<'_> {
    fn read(&self, user_key: &[u8], index: &[u8]) -> Result<Bytes> {
        let place = BlobIndex::place(index)?;
        let Some(known) = self.version.blobs.get(place.file) else {
            return Err(Error::corruption(format_args!(
                "a value is in blob file #{}, which the manifest does not name",
                place.file
            )));
        };
        let file = &*known.file;
        let Some(cache) = &self.version.open_with.blob_cache else {
            return self.read_file(file, user_key, &place);
        };
        let id = file.id_in(cache, self.tables.session());
        if let Some(value) = cache.get(id, place.offset) {
            self.tick(Ticker::BlobDbCacheHit, 1);
            self.tick(Ticker::BlobDbCacheBytesRead, value.len() as u64);
            return Ok(value);
        }
        self.tick(Ticker::BlobDbCacheMiss, 1);
        let value = self.read_file(file, user_key, &place)?;
        if !self.reads.fill_cache {
            return Ok(value);
        }
        // Where the limit is strict, a value that finds no room is passed on all the same.
        match cache.insert(id, place.offset, value.clone(), Priority::Low) {
            Ok(cached) => {
                self.tick(Ticker::BlobDbCacheAdd, 1);
                self.tick(Ticker::BlobDbCacheBytesWrite, cached.len() as u64);
                Ok(cached)
            }
            Err(_) => {
                self.tick(Ticker::BlobDbCacheAddFailures, 1);
                Ok(value)
            }
        }
    }
}

impl BorrowedBlobs<'_> {
    fn read_file(&self, file: &BlobFile, user_key: &[u8], place: &BlobPlace) -> Result<Bytes> {
        self.reads.limits.run(|| {
            let reader = self.tables.open_blob(file)?;
            let stored = reader.stored(user_key, place, |at, len| {
                self.fetch(&reader, place, at, len)
            })?;
            let statistics = self.tables.statistics().filter(|_| place.compression != 0);
            let _timer = time(statistics, Histogram::BlobDbDecompressionMicros);
            reader.value(place, stored)
        })
    }

    /// Reads `len` bytes at offset `at` of the file of `place`.
    fn fetch(
        &self,
        reader: &BlobFileReader,
        place: &BlobPlace,
        at: u64,
        len: usize,
    ) -> Result<Bytes> {
        let read = |at, len: usize| {
            let _timer = time(
                self.tables.statistics(),
                Histogram::BlobDbBlobFileReadMicros,
            );
            let bytes = reader.read_at(at, len)?;
            self.tick(Ticker::BlobDbBlobFileBytesRead, len as u64);
            Ok(bytes)
        };
        match self.ahead {
            None => read(at, len),
            Some(ahead) => ahead.read(place.file, (at, len), reader.end(), read),
        }
    }

    fn tick(&self, ticker: Ticker, n: u64) {
        if let Some(statistics) = self.tables.statistics() {
            statistics.add(ticker, n);
        }
    }
}

/// Reads blob files for a job, whose values are about in order, in larger pieces than single
/// values. Keeps the last piece of each file.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    /// The least size of a piece. Bytes; 0 reads single values and keeps nothing.
    size: usize,
    state: Mutex<Pieces>,
}

#[derive(Debug, Default)]
struct Pieces {
    /// The offset and the bytes of the last piece, by file number.
    last: HashMap<u64, (u64, Bytes)>,
    /// The size of what was asked for. Bytes.
    asked: u64,
}

impl ReadAhead {
    /// Reads pieces of `size` bytes.
    pub fn new(size: u64) -> Self {
        ReadAhead {
            size: usize::try_from(size).unwrap_or(usize::MAX),
            state: Mutex::default(),
        }
    }

    /// The size of the records that were asked for. Bytes.
    pub fn asked(&self) -> u64 {
        self.state.lock().asked
    }

    /// The bytes at `place`, an offset and a length, of file `number`, whose records end at `end`.
    ///
    /// # Errors
    /// Those of `read`.
    fn read(
        &self,
        number: u64,
        place: (u64, usize),
        end: u64,
        read: impl FnOnce(u64, usize) -> Result<Bytes>,
    ) -> Result<Bytes> {
        let (at, len) = place;
        let part = |start: u64, piece: &Bytes| {
            let from = usize::try_from(at.checked_sub(start)?).ok()?;
            let to = from.checked_add(len)?;
            (to <= piece.len()).then(|| piece.slice(from..to))
        };
        {
            let mut state = self.state.lock();
            state.asked = state.asked.saturating_add(len as u64);
            let last = state.last.get(&number);
            if let Some(found) = last.and_then(|(start, piece)| part(*start, piece)) {
                return Ok(found);
            }
        }
        let rest = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
        let piece = read(at, len.max(self.size.min(rest)))?;
        let found = part(at, &piece).unwrap_or_else(|| piece.clone());
        if self.size > 0 {
            self.state.lock().last.insert(number, (at, piece));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_read_once_and_end_with_the_records() {
        let file: Vec<u8> = (0..100).collect();
        let ahead = ReadAhead::new(30);
        let reads = std::cell::RefCell::new(Vec::new());
        let get = |at: u64, len: usize| {
            let read = |at: u64, len: usize| {
                reads.borrow_mut().push((at, len));
                Ok(Bytes::copy_from_slice(
                    &file[at as usize..at as usize + len],
                ))
            };
            let found = ahead.read(7, (at, len), 90, read).expect("is there");
            assert_eq!(found, file[at as usize..at as usize + len]);
        };
        for (at, len) in [
            (10, 5),
            (15, 25),
            (39, 2),
            (20, 4),
            (20, 40),
            (80, 5),
            (85, 5),
        ] {
            get(at, len);
        }
        let expected = [(10, 30), (39, 30), (20, 30), (20, 40), (80, 10)];
        assert_eq!(*reads.borrow(), expected);
        assert_eq!(ahead.asked(), 5 + 25 + 2 + 4 + 40 + 5 + 5);
    }
}
