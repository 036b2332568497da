//! Building blocks: entries with shared prefixes, restart points, footer.

use crate::coding::{common_prefix, put_varint32};
use crate::error::{Error, Result};
use crate::key::user_key;
use crate::sst::format::block::{HASH_INDEX_FLAG, MAX_BLOCK, MAX_RESTARTS};
use crate::sst::format::data_block_hash_index::HashTableBuilder;

/// Collects the entries of one block. [`BlockBuilder::reset`] prepares it for the next block.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    buf: Vec<u8>,
    restarts: Vec<u32>,
    interval: usize,
    /// Entries since the last restart point.
    since_restart: usize,
    last_key: Vec<u8>,
    entries: usize,
    /// The hash table, if blocks get one; their keys must be internal keys.
    hash: Option<HashTableBuilder>,
}

impl BlockBuilder {
    /// A builder with a restart point every `interval` entries; 0 counts as 1.
    pub(crate) fn new(interval: usize) -> Self {
        BlockBuilder {
            buf: Vec::new(),
            restarts: vec![0],
            interval: interval.max(1),
            since_restart: 0,
            last_key: Vec::new(),
            entries: 0,
            hash: None,
        }
    }

    /// The same builder, which adds a hash table with `util_ratio` keys per bucket to blocks that
    /// are small enough. Keys must be internal keys.
    pub(crate) fn hashed(mut self, util_ratio: Option<f64>) -> Self {
        self.hash = util_ratio.map(HashTableBuilder::new);
        self
    }

    /// Whether no entry was added since the start or the last reset.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// The key added last.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// How many bytes [`BlockBuilder::finish`] would return now.
    pub(crate) fn len(&self) -> usize {
        let hash = self.hash.as_ref().map_or(0, HashTableBuilder::len);
        self.buf.len() + 4 * self.restarts.len() + 4 + hash
    }

    /// By how many bytes an entry makes the block grow, at most.
    pub(crate) fn grown_by(&self, key: &[u8], value: &[u8]) -> usize {
        key.len() + value.len() + 3 * 5 + 4
    }

    /// Appends an entry with its value's length.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        let shared = self.start_entry(key);
        let suffix = &key[shared..];
        put_varint32(&mut self.buf, shared as u32);
        put_varint32(&mut self.buf, suffix.len() as u32);
        put_varint32(&mut self.buf, value.len() as u32);
        self.buf.extend_from_slice(suffix);
        self.buf.extend_from_slice(value);
        if let Some(hash) = &mut self.hash {
            hash.add(user_key(key), self.restarts.len() - 1);
        }
        self.finish_entry(shared, key);
    }

    /// Appends an entry whose value encodes its own length: `full` if the key shares nothing with
    /// the key before it, else `delta`. Without a `delta` it shares nothing.
    pub(crate) fn add_delta(&mut self, key: &[u8], full: &[u8], delta: Option<&[u8]>) {
        let (shared, value) = match (self.start_entry(key), delta) {
            (0, _) | (_, None) => (0, full),
            (shared, Some(delta)) => (shared, delta),
        };
        let suffix = &key[shared..];
        put_varint32(&mut self.buf, shared as u32);
        put_varint32(&mut self.buf, suffix.len() as u32);
        self.buf.extend_from_slice(suffix);
        self.buf.extend_from_slice(value);
        self.finish_entry(shared, key);
    }

    /// Makes the next entry a restart point.
    pub(crate) fn restart(&mut self) {
        self.since_restart = self.interval;
    }

    /// Adds a restart point if one is due. Returns the length of the prefix to share.
    fn start_entry(&mut self, key: &[u8]) -> usize {
        if self.since_restart >= self.interval {
            self.restarts.push(self.buf.len() as u32);
            self.since_restart = 0;
        }
        if self.since_restart == 0 {
            0
        } else {
            common_prefix(&self.last_key, key)
        }
    }

    fn finish_entry(&mut self, shared: usize, key: &[u8]) {
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
        self.since_restart += 1;
        self.entries += 1;
    }

    /// The block's payload, if it has at most `max` bytes. `max` is [`MAX_BLOCK`] or less.
    ///
    /// # Errors
    /// `InvalidArgument` for a block that is larger or has too many restart points: it could not
    /// be read. The message calls it `what`.
    pub(crate) fn finish_within(&mut self, max: usize, what: &str) -> Result<&[u8]> {
        let (len, restarts) = (self.len(), self.restarts.len());
        if len > max.min(MAX_BLOCK) || restarts > MAX_RESTARTS {
            return Err(Error::invalid(format_args!(
                "{what} of a table would be a block of {len} bytes and {restarts} restart points, \
                 the most are {max} and {MAX_RESTARTS}"
            )));
        }
        Ok(self.finish())
    }

    /// The block's payload.
    pub(crate) fn finish(&mut self) -> &[u8] {
        for r in &self.restarts {
            self.buf.extend_from_slice(&r.to_le_bytes());
        }
        let mut footer = self.restarts.len() as u32;
        if let Some(hash) = &mut self.hash
            && hash.finish(&mut self.buf)
        {
            footer |= HASH_INDEX_FLAG;
        }
        self.buf.extend_from_slice(&footer.to_le_bytes());
        &self.buf
    }

    /// Starts the next block; buffers are kept.
    pub(crate) fn reset(&mut self) {
        self.buf.clear();
        self.restarts.clear();
        self.restarts.push(0);
        self.since_restart = 0;
        self.last_key.clear();
        self.entries = 0;
        if let Some(hash) = &mut self.hash {
            hash.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_block_has_one_restart() {
        let mut b = BlockBuilder::new(16);
        assert!(b.is_empty());
        assert_eq!(b.len(), 8);
        assert_eq!(b.finish(), [0, 0, 0, 0, 1, 0, 0, 0]);
    }
}
