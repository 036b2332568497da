//! The data of an open cuckoo table.
//!
//! The buckets of a cuckoo table are in the order of hashes. When it is opened, all keys are read
//! once and sorted, and the numbers of the buckets are kept in the order of their keys, 4 bytes for
//! each. A *part* is some KiB of buckets that follow each other in that order. Reading a part
//! collects its buckets into a data block, so that cursors, cache, look-ups and everything else
//! work as with other tables. The hash functions are not needed for that; `verify` checks that
//! RocksDB would find each key by them.

use crate::error::{Error, Result};
use crate::key::{InternalComparator, TAG_SIZE, ValueType, append_internal_key, tag};
use crate::sst::format::block::{Block, MAX_BLOCK};
use crate::sst::format::block_builder::BlockBuilder;
use crate::sst::format::cuckoo::CuckooLayout;
use crate::sst::format::handle::{BlockHandle, TRAILER_LEN};
use crate::sst::read::block_file::BlockFile;
use crate::sst::read::readahead::ReadAhead;
use bytes::Bytes;

/// The size of the buckets of a part, in bytes, unless a single bucket is larger.
const PART_SIZE: usize = 4 << 10;

/// The number of entries between two restart points of a block.
const RESTART_INTERVAL: usize = 16;

/// About how many bytes are read at a time when a table is opened.
const SCAN_READ: usize = 1 << 20;

/// The largest range of the file, in bytes, that is read at once because a part lies within it.
const MAX_SPAN: u64 = 64 << 10;

/// What it takes to read a part.
#[derive(Debug)]
pub(crate) struct CuckooData {
    layout: CuckooLayout,
    /// The numbers of the used buckets, in the order of their keys.
    sorted: Vec<u32>,
    /// The number of buckets of a part; the last part may have fewer.
    per_part: usize,
}

impl CuckooData {
    /// Reads all buckets, sorts them, and makes the index of the parts. Its entries are internal
    /// keys, each the last one of a part, and handles.
    ///
    /// # Errors
    /// `Corruption` naming file and offset for damaged data; errors of reading the file.
    pub(crate) fn scan(
        file: &BlockFile,
        layout: CuckooLayout,
        comparator: &InternalComparator,
    ) -> Result<(CuckooData, Block)> {
        let (mut keys, mut sorted) = (Vec::new(), Vec::new());
        for_each_bucket(file, &layout, |number, bucket| {
            let key = internal_key(&layout, bucket)?;
            keys.extend_from_slice(&key);
            sorted.push((number, sorted.len()));
            Ok(())
        })?;
        let len = keys.len().checked_div(sorted.len()).unwrap_or(0);
        let key_of = |at: usize| &keys[at * len..][..len];
        sorted.sort_unstable_by(|a, b| comparator.compare(key_of(a.1), key_of(b.1)));
        let per_part = (PART_SIZE / layout.bucket_len().max(1)).max(1);
        let mut index = BlockBuilder::new(1);
        for (part, numbers) in sorted.chunks(per_part).enumerate() {
            let Some(last) = numbers.last() else {
                continue;
            };
            let bytes = (numbers.len() * layout.bucket_len()) as u64;
            let handle = BlockHandle {
                offset: (part * per_part) as u64 * layout.bucket_len() as u64,
                size: bytes.saturating_sub(TRAILER_LEN as u64),
            };
            let mut value = Vec::new();
            handle.encode(&mut value);
            index.add(key_of(last.1), &value);
        }
        let index = Bytes::copy_from_slice(index.finish_within(MAX_BLOCK, "the index")?);
        let data = CuckooData {
            sorted: sorted.into_iter().map(|(number, _)| number).collect(),
            per_part,
            layout,
        };
        Ok((data, Block::new(index)?))
    }

    /// The part at `handle` as a data block.
    ///
    /// # Errors
    /// `Corruption` naming file and offset; errors of reading the file.
    pub(crate) fn load(&self, file: &BlockFile, handle: BlockHandle) -> Result<Bytes> {
        let len = self.layout.bucket_len();
        let first = handle.offset / len.max(1) as u64;
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        let last = first.saturating_add(self.per_part).min(self.sorted.len());
        let Some(numbers) = self.sorted.get(first..last) else {
            return Err(file.blame(Error::corruption("no such part"), handle));
        };
        let (low, high) = (numbers.iter().min(), numbers.iter().max());
        let (low, high) = (low.copied().unwrap_or(0), high.copied().unwrap_or(0));
        let span = u64::from(high - low + 1) * len as u64;
        let near = if span <= MAX_SPAN {
            Some(read(file, u64::from(low) * len as u64, span as usize)?)
        } else {
            None
        };
        let mut block = BlockBuilder::new(RESTART_INTERVAL);
        for &number in numbers {
            let bucket = match &near {
                Some(near) => near.slice((number - low) as usize * len..).slice(..len),
                None => read(file, u64::from(number) * len as u64, len)?,
            };
            let key = internal_key(&self.layout, &bucket).map_err(|e| file.blame(e, handle))?;
            // The bucket of a deletion has some value, too.
            let value = match tag(&key) as u8 {
                ty if ty == ValueType::Deletion as u8 => &[],
                _ => &bucket[self.layout.key_len..],
            };
            block.add(&key, value);
        }
        Ok(Bytes::copy_from_slice(block.finish()))
    }

    /// Checks that each key is in a bucket where its hashes lead to.
    ///
    /// # Errors
    /// `Corruption` naming file and offset of a bucket; errors of reading the file.
    pub(crate) fn verify_hashes(&self, file: &BlockFile) -> Result<()> {
        let layout = &self.layout;
        for_each_bucket(file, layout, |number, bucket| {
            let user_key = layout.user_key(bucket);
            let found = (0..layout.hash_functions)
                .filter_map(|function| layout.hash.bucket(user_key, function))
                .any(|first| {
                    (first..first + u64::from(layout.block_size)).contains(&number.into())
                });
            if found {
                return Ok(());
            }
            Err(Error::corruption(
                "a key's hashes do not lead to its bucket",
            ))
        })
    }

    /// Bytes of memory held, without the struct itself.
    pub(crate) fn memory_usage(&self) -> usize {
        self.sorted.capacity() * size_of::<u32>() + self.layout.empty_key.capacity()
    }
}

/// Calls `visit` with number and bytes of each used bucket, in the order of the file.
fn for_each_bucket(
    file: &BlockFile,
    layout: &CuckooLayout,
    mut visit: impl FnMut(u32, &[u8]) -> Result<()>,
) -> Result<()> {
    let len = layout.bucket_len() as u64;
    let per_read = (SCAN_READ as u64 / len.max(1)).max(1);
    let mut number = 0;
    while number < layout.buckets {
        let count = per_read.min(layout.buckets - number);
        let bytes = read(file, number * len, (count * len) as usize)?;
        for bucket in bytes.chunks_exact(layout.bucket_len()) {
            if bucket[..layout.key_len] != layout.empty_key[..] {
                let at = BlockHandle {
                    offset: number * len,
                    size: len,
                };
                visit(number as u32, bucket).map_err(|e| file.blame(e, at))?;
            }
            number += 1;
        }
    }
    Ok(())
}

fn read(file: &BlockFile, offset: u64, len: usize) -> Result<Bytes> {
    let size = len as u64;
    file.read_bare(BlockHandle { offset, size }, &mut ReadAhead::default())
}

/// The internal key of a bucket.
fn internal_key(layout: &CuckooLayout, bucket: &[u8]) -> Result<Vec<u8>> {
    let key = &bucket[..layout.key_len];
    if layout.is_last_level {
        let mut whole = Vec::with_capacity(key.len() + TAG_SIZE);
        append_internal_key(&mut whole, key, 0, ValueType::Value as u8);
        return Ok(whole);
    }
    match ValueType::from_u8(tag(key) as u8) {
        Some(ValueType::Value | ValueType::Deletion) => Ok(key.to_vec()),
        _ => Err(Error::corruption("bad value type in a cuckoo table")),
    }
}
