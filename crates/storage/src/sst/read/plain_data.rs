//! The data of an open plain table.
//!
//! A plain table is one run of entries. When it is opened, it is read once and divided into *parts*
//! of some KiB, each of whole entries, and an index of the parts is made in memory. Reading a part
//! turns it into a data block. So cursors, cache, look-ups and everything else work as with other
//! tables, in both directions and over all prefixes. The index and the Bloom filter that RocksDB
//! can store in the file are for look-ups of one prefix only, and are not needed.
//!
//! Invariants:
//! * I1: parts are adjacent, begin at offset 0 and end at `data_end`.
//! * I2: the keys of the index together take no more bytes than the data, and a block about as many
//!   bytes as its part, however long the prefixes are that keys share.

use crate::error::{Error, Result};
use crate::key::{InternalComparator, TAG_SIZE};
use crate::sst::format::block::{Block, MAX_BLOCK};
use crate::sst::format::block_builder::BlockBuilder;
use crate::sst::format::handle::{BlockHandle, TRAILER_LEN};
use crate::sst::format::plain::{Decoded, MAX_PLAIN_TABLE, PlainCoding, PlainDecoder};
use crate::sst::read::block_file::BlockFile;
use crate::sst::read::readahead::ReadAhead;
use bytes::Bytes;
use std::cmp::Ordering;

/// The size of a part at which it ends, in bytes.
const PART_SIZE: usize = 4 << 10;

/// How many bytes are read at a time when a table is opened.
const SCAN_READ: usize = 1 << 20;

/// The most entries between two restart points of a block.
const RESTART_INTERVAL: usize = 16;

/// Plain tables do not say which comparator they are sorted by.
const OUT_OF_ORDER: &str = "keys out of order, unless they are sorted by another comparator";

/// What it takes to read a part.
#[derive(Debug)]
pub(crate) struct PlainData {
    coding: PlainCoding,
    data_end: u64,
    /// The parts that begin with a key suffix, by offset, and the prefixes of these.
    prefixes: Vec<(u64, Box<[u8]>)>,
}

impl PlainData {
    /// Reads all of the data, which end at `data_end`, and makes the index of the parts. Its
    /// entries are internal keys, each the last one of a part, and handles.
    ///
    /// # Errors
    /// `Corruption` naming file and offset for data that are damaged or not in order;
    /// `NotSupported` for a table that is larger than RocksDB reads; errors of reading the file.
    pub(crate) fn scan(
        file: &BlockFile,
        coding: PlainCoding,
        data_end: u64,
        comparator: &InternalComparator,
    ) -> Result<(PlainData, Block)> {
        if data_end > MAX_PLAIN_TABLE {
            return Err(Error::not_supported("plain table of 2 GiB or more"));
        }
        let mut scan = Scan {
            data: PlainData {
                coding,
                data_end,
                prefixes: Vec::new(),
            },
            index: BlockBuilder::new(1),
            last_key: Vec::new(),
            part: 0,
        };
        let mut decoder = PlainDecoder::new(coding, None);
        let mut window = Window::default();
        let mut at = 0;
        while at < data_end {
            let start = at;
            let blame = |e: Error| e.in_file(file.file.path(), Some(start));
            let input = window.at(file, at, 1, data_end)?;
            scan.begin_entry(&decoder, at, input[0]);
            let mut decoded = decoder.next(input).map_err(blame)?;
            while let Decoded::Needs(len) = decoded {
                if len as u64 > data_end - at {
                    return Err(blame(Error::corruption("the last entry is cut off")));
                }
                let input = window.at(file, at, len, data_end)?;
                decoded = decoder.next(input).map_err(blame)?;
            }
            if let Decoded::Entry { len, .. } = decoded {
                at += len as u64;
            }
            let key = decoder.key();
            let last = &mut scan.last_key;
            if !last.is_empty() && comparator.compare(last, key) == Ordering::Greater {
                return Err(blame(Error::corruption(OUT_OF_ORDER)));
            }
            last.clear();
            last.extend_from_slice(key);
        }
        scan.end_part(data_end);
        let index = scan.index.finish_within(MAX_BLOCK, "the index")?;
        Ok((scan.data, Block::new(Bytes::copy_from_slice(index))?))
    }

    /// The part at `handle` as a data block.
    ///
    /// # Errors
    /// `Corruption` naming file and offset; errors of reading the file.
    pub(crate) fn load(
        &self,
        file: &BlockFile,
        handle: BlockHandle,
        readahead: &mut ReadAhead,
    ) -> Result<Bytes> {
        let bytes = file.read_bare(self.range(handle), readahead)?;
        let prefix = self.prefixes.binary_search_by_key(&handle.offset, |p| p.0);
        let prefix = prefix.ok().map(|at| &self.prefixes[at].1[..]);
        let mut decoder = PlainDecoder::new(self.coding, prefix);
        let mut block = BlockBuilder::new(usize::MAX);
        let (mut rest, mut entries, mut restart) = (&bytes[..], 0, 0);
        while !rest.is_empty() {
            let len = match decoder.next(rest).map_err(|e| file.blame(e, handle))? {
                Decoded::Entry { len, value } => {
                    // A restart point repeats the prefix of its key (I2).
                    if entries >= RESTART_INTERVAL && block.len() - restart >= decoder.key().len() {
                        block.restart();
                        (entries, restart) = (0, block.len());
                    }
                    block.add(decoder.key(), &rest[value]);
                    entries += 1;
                    len
                }
                Decoded::Needs(_) => {
                    return Err(file.blame(Error::corruption("an entry is cut off"), handle));
                }
            };
            rest = &rest[len..];
        }
        Ok(Bytes::copy_from_slice(block.finish()))
    }

    /// The range of the file of the part at `handle`.
    fn range(&self, handle: BlockHandle) -> BlockHandle {
        let whole = handle.size.saturating_add(TRAILER_LEN as u64);
        BlockHandle {
            offset: handle.offset,
            size: whole.min(self.data_end.saturating_sub(handle.offset)),
        }
    }

    /// Bytes of memory held, without the struct itself.
    pub(crate) fn memory_usage(&self) -> usize {
        let each = |(_, prefix): &(u64, Box<[u8]>)| prefix.len() + 24;
        self.prefixes.iter().map(each).sum()
    }
}

/// The handle of the part from `start` to `end`: that of a block with the last bytes of the part as
/// its trailer, so that adjacent parts have the handles of adjacent blocks.
fn handle(start: u64, end: u64) -> BlockHandle {
    BlockHandle {
        offset: start,
        size: (end - start).saturating_sub(TRAILER_LEN as u64),
    }
}

/// Divides the data into parts.
struct Scan {
    data: PlainData,
    index: BlockBuilder,
    /// The last internal key that was read; empty at the beginning.
    last_key: Vec<u8>,
    /// Where the current part begins.
    part: u64,
}

impl Scan {
    /// Ends the part before the entry at `at`, which starts with the byte `first`, if it is due.
    fn begin_entry(&mut self, decoder: &PlainDecoder, at: u64, first: u8) {
        let len = (at - self.part) as usize;
        if len < PART_SIZE || len < self.last_key.len() {
            return;
        }
        let Some(prefix) = decoder.resumes_at(first) else {
            return;
        };
        self.end_part(at);
        if let Some(prefix) = prefix {
            self.data.prefixes.push((at, prefix.into()));
        }
    }

    fn end_part(&mut self, at: u64) {
        if self.last_key.len() >= TAG_SIZE {
            let mut value = Vec::new();
            handle(self.part, at).encode(&mut value);
            self.index.add(&self.last_key, &value);
        }
        self.part = at;
    }
}

/// The bytes that a scan has read and not used yet.
#[derive(Default)]
struct Window {
    bytes: Bytes,
    offset: u64,
}

impl Window {
    /// The bytes from `at` on, `len` or more of them. There are as many before `end`.
    fn at(&mut self, file: &BlockFile, at: u64, len: usize, end: u64) -> Result<&[u8]> {
        let skip = (at - self.offset) as usize;
        if self.bytes.len() < skip + len {
            let most = (end - at) as usize;
            let whole = BlockHandle {
                offset: at,
                size: len.max(SCAN_READ).min(most) as u64,
            };
            self.bytes = file.read_bare(whole, &mut ReadAhead::default())?;
            self.offset = at;
            return Ok(&self.bytes);
        }
        Ok(&self.bytes[skip..])
    }
}
