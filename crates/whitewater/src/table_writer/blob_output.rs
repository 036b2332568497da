//! Puts large values into blob files, next to the tables that a job writes.
//!
//! A job has blob files of its own: a value goes into the open one, which ends when it has reached
//! its size. The blob files of a job are synced when they end, before the manifest names them, and
//! removed if the job fails.
//!
//! With `prepopulate_blob_cache`, a flush puts the values into the blob cache, too, under a cache
//! id that the file will get when it is first read. What it has cached for a job that fails is
//! never asked for, and is evicted.

use super::output_files::{Output, OutputFiles};
use crate::options::CfOptions;
use crate::options::blobs::PrepopulateBlobCache;
use crate::stats::{Histogram, Statistics, Ticker, time};
use bytes::Bytes;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::blob::BlobFileWriter;
use whitewater_storage::blob::format::{FOOTER_LEN, HEADER_LEN, RECORD_HEADER_LEN};
use whitewater_storage::cache::{BlockCache, Priority};
use whitewater_storage::file_checksum::{CRC32C, Digest};
use whitewater_storage::manifest::BlobFileMetaData;
use whitewater_storage::sst::{CompressionType, Compressor};

/// Whether a job that writes to `level` puts values into blob files.
pub(super) fn is_wanted(options: &CfOptions, level: usize) -> bool {
    let first = usize::try_from(options.blob_file_starting_level).unwrap_or(0);
    options.enable_blob_files && level >= first
}

/// The blob files that a job has written, and the one that it is writing.
pub(super) struct BlobOutput<'a> {
    files: OutputFiles<'a>,
    /// The smallest value that goes into a blob file. Bytes.
    min_size: u64,
    /// The size at which a file ends. Bytes.
    file_size: u64,
    compression: CompressionType,
    compressor: Compressor,
    /// The blob cache, if it gets all values.
    warm: Option<BlockCache>,
    open: Option<Open>,
    finished: Vec<BlobFileMetaData>,
    /// The numbers of all files created that are not to be kept yet.
    created: Vec<u64>,
}

struct Open {
    writer: BlobFileWriter,
    /// The checksum of the file, if one is kept.
    digest: Option<Arc<Digest>>,
    /// The file's number in the blob cache, if that gets its values.
    cache_id: Option<u64>,
}

impl<'a> BlobOutput<'a> {
    /// Writes into blob files what `options` ask for.
    ///
    /// # Errors
    /// `NotSupported` for a compression that is not built in.
    pub fn new(files: OutputFiles<'a>, options: &CfOptions) -> Result<Self> {
        let compression = options.blob_compression_type;
        let warms = files.is_live_flush()
            && options.prepopulate_blob_cache == PrepopulateBlobCache::FlushOnly;
        Ok(BlobOutput {
            files,
            min_size: options.min_blob_size,
            file_size: options.blob_file_size,
            compression,
            compressor: Compressor::new(compression, &options.blob_compression_opts, None)?,
            warm: options.blob_cache.clone().filter(|_| warms),
            open: None,
            finished: Vec::new(),
            created: Vec::new(),
        })
    }

    /// Puts the value of `user_key` into a blob file and returns its blob index. `None` if the
    /// value stays in the table: it is too small, or larger than a codec takes.
    ///
    /// # Errors
    /// Those of compressing and writing.
    pub fn add(&mut self, user_key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        let compresses = self.compression != CompressionType::None;
        if value.is_empty()
            || (value.len() as u64) < self.min_size
            || compresses && value.len() > Compressor::MOST
        {
            return Ok(None);
        }
        if self.open.is_none() {
            self.open = Some(self.begin()?);
        }
        let Some(open) = &mut self.open else {
            unreachable!("opened above");
        };
        let statistics = self.files.ctx.db.statistics.as_deref();
        let timer = statistics.filter(|_| compresses);
        let timer = time(timer, Histogram::BlobDbCompressionMicros);
        let stored = self.compressor.compress_whatever(value)?;
        drop(timer);
        let place = open.writer.add(user_key, stored)?;
        if let Some(statistics) = statistics {
            let bytes = RECORD_HEADER_LEN + (user_key.len() + stored.len()) as u64;
            statistics.add(Ticker::BlobDbBlobFileBytesWritten, bytes);
        }
        if let (Some(cache), Some(id)) = (&self.warm, open.cache_id) {
            let cached = Bytes::copy_from_slice(value);
            let outcome = cache.insert(id, place.offset, cached, Priority::Low);
            note_cached(statistics, value.len(), outcome.is_ok());
        }
        if open.writer.size() >= self.file_size {
            self.end()?;
        }
        let mut index = Vec::new();
        place.encode(&mut index);
        Ok(Some(index))
    }

    /// Ends the open file.
    ///
    /// # Errors
    /// Those of writing it and of its sync.
    pub fn end(&mut self) -> Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let mut meta = open.writer.finish()?;
        if let Some(statistics) = &self.files.ctx.db.statistics {
            statistics.add(Ticker::BlobDbBlobFileBytesWritten, FOOTER_LEN);
            statistics.add(Ticker::BlobDbBlobFileSynced, 1);
        }
        if let (Some(cache), Some(id)) = (&self.warm, open.cache_id) {
            cache.expect((self.files.ctx.session_id.into(), meta.number), id);
        }
        if let Some(digest) = open.digest {
            meta.checksum = digest.sum();
            meta.checksum_method = CRC32C.to_vec();
        }
        self.finished.push(meta);
        Ok(())
    }

    /// Returns the finished files, and keeps them.
    pub fn keep(mut self) -> Vec<BlobFileMetaData> {
        self.created.clear();
        std::mem::take(&mut self.finished)
    }

    fn begin(&mut self) -> Result<Open> {
        let ctx = self.files.ctx;
        let number = ctx.versions.new_file_number();
        self.created.push(number);
        let Output { file, digest } = self.files.create_blob_file(number)?;
        let writer = BlobFileWriter::new(file, number, ctx.cf_id, self.compression)?;
        if let Some(statistics) = &ctx.db.statistics {
            statistics.add(Ticker::BlobDbBlobFileBytesWritten, HEADER_LEN);
        }
        Ok(Open {
            writer,
            digest,
            cache_id: self.warm.as_ref().map(BlockCache::new_id),
        })
    }
}

/// Counts a value of `len` bytes that the blob cache was given, and took if `taken`.
fn note_cached(statistics: Option<&Statistics>, len: usize, taken: bool) {
    let Some(statistics) = statistics else {
        return;
    };
    if taken {
        statistics.add(Ticker::BlobDbCacheAdd, 1);
        statistics.add(Ticker::BlobDbCacheBytesWrite, len as u64);
    } else {
        statistics.add(Ticker::BlobDbCacheAddFailures, 1);
    }
}

impl Drop for BlobOutput<'_> {
    /// Removes what is not kept, also after panics of user code. A file that cannot be removed is
    /// found as an orphan at the next open.
    fn drop(&mut self) {
        self.open = None;
        for number in &self.created {
            self.files.remove_blob_file(*number);
        }
    }
}
