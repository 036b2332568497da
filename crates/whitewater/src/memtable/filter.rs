//! The Bloom filter over a memtable's keys, by RocksDB's rules.
//!
//! It takes `memtable_prefix_bloom_size_ratio` of the write buffer. With
//! `memtable_whole_key_filtering` it holds whole keys, with a prefix extractor the
//! prefixes of keys that have one. A point look-up asks for the whole key if the filter
//! holds those, else for the prefix, and skips the representation on a "no". An iterator
//! that stays within a prefix does the same when it seeks ([`Filtered`]).
//!
//! Invariants:
//! * F1: the bits of an entry are set before the entry is inserted, and so before its
//!   sequence number is published. A reader at a published number therefore finds them:
//!   see the ordering of [`DynamicBloom`].
//! * F2: range tombstones are not in it, and are searched before it is asked.
//! * F3: entries of every other type are in it: a deletion or a merge operand hides older
//!   entries, and must not be skipped.

use crate::options::CfOptions;
use crate::options::prefix::PrefixExtractor;
use crate::perf_context::{self, PerfMetric};
use smallvec::SmallVec;
use std::sync::Arc;
use twox_hash::XxHash3_64;
use whitewater_concurrent::dynamic_bloom::DynamicBloom;
use whitewater_storage::Result;
use whitewater_storage::internal_iterator::{BoxedIterator, InternalIterator, KeyCursor};
use whitewater_storage::key::user_key;

/// Keys whose blocks of the filter are prefetched before the first is written.
const AT_ONCE: usize = 64;

/// Makes the hashes of prefixes differ from those of whole keys.
const PREFIX_SEED: u64 = 0x7072_6566_6978;

/// The filter of a memtable.
#[derive(Debug)]
pub(super) struct KeyFilter {
    bloom: DynamicBloom,
    whole_key: bool,
    prefix: Option<PrefixExtractor>,
    /// Bytes at the end of user keys that are not hashed.
    timestamp_size: usize,
}

impl KeyFilter {
    /// The filter that `options` ask for, if they ask for one.
    pub fn new(options: &CfOptions) -> Option<Arc<Self>> {
        let share = options.memtable_prefix_bloom_size_ratio;
        let bytes = (options.write_buffer_size as f64 * share) as usize;
        let whole_key = options.memtable_whole_key_filtering;
        let prefix = options.prefix_extractor.clone();
        if bytes == 0 || !(whole_key || prefix.is_some()) {
            return None;
        }
        Some(Arc::new(KeyFilter {
            bloom: DynamicBloom::new(bytes),
            whole_key,
            prefix,
            timestamp_size: options.comparator.timestamp_size(),
        }))
    }

    /// Bytes of memory it takes.
    pub fn memory_bytes(&self) -> usize {
        self.bloom.memory_bytes()
    }

    /// Whether it holds the prefixes of `extractor`.
    pub fn has_prefixes_of(&self, extractor: &PrefixExtractor) -> bool {
        self.prefix
            .as_ref()
            .is_some_and(|own| own.is_like(extractor))
    }

    /// Adds keys (F1: before they are inserted).
    pub fn add<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>) {
        let mut keys = keys.into_iter();
        let mut hashes = SmallVec::<[u64; 2 * AT_ONCE]>::new();
        loop {
            hashes.clear();
            let mut at_end = true;
            for key in keys.by_ref().take(AT_ONCE) {
                at_end = false;
                if self.whole_key {
                    hashes.push(self.hash_of(key));
                }
                hashes.extend(self.prefix_hash(key));
            }
            // Keys without prefixes have no hash.
            if at_end {
                return;
            }
            if hashes.len() > 2 {
                hashes.iter().for_each(|hash| self.bloom.prefetch(*hash));
            }
            hashes.iter().for_each(|hash| self.bloom.add(*hash));
        }
    }

    /// A question about `user_key`. Prefetches what [`Question::may_contain`] reads.
    pub fn about(&self, user_key: &[u8]) -> Question<'_> {
        let hash = if self.whole_key {
            Some(self.hash_of(user_key))
        } else {
            self.prefix_hash(user_key)
        };
        if let Some(hash) = hash {
            self.bloom.prefetch(hash);
        }
        Question {
            bloom: &self.bloom,
            hash,
        }
    }

    /// Whether the memtable may hold points with the prefix of `user_key`; true if the key
    /// has no prefix.
    pub fn may_contain_prefix_of(&self, user_key: &[u8]) -> bool {
        self.prefix_hash(user_key)
            .is_none_or(|hash| ask(&self.bloom, hash))
    }

    fn hash_of(&self, user_key: &[u8]) -> u64 {
        key_hash(&user_key[..user_key.len().saturating_sub(self.timestamp_size)])
    }

    fn prefix_hash(&self, user_key: &[u8]) -> Option<u64> {
        let prefix = self.prefix.as_ref()?.prefix(user_key)?;
        Some(XxHash3_64::oneshot_with_seed(PREFIX_SEED, prefix))
    }
}

/// A question to a filter about one key.
pub(super) struct Question<'a> {
    bloom: &'a DynamicBloom,
    /// `None` for a key that the filter does not cover.
    hash: Option<u64>,
}

impl Question<'_> {
    /// Whether the memtable may hold points of the key.
    pub fn may_contain(&self) -> bool {
        self.hash.is_none_or(|hash| ask(self.bloom, hash))
    }
}

/// The filter's answer, counted for the thread's perf context.
fn ask(bloom: &DynamicBloom, hash: u64) -> bool {
    let may_contain = bloom.may_contain(hash);
    let metric = if may_contain {
        PerfMetric::BloomMemtableHitCount
    } else {
        PerfMetric::BloomMemtableMissCount
    };
    perf_context::count(metric, 1);
    may_contain
}

fn key_hash(user_key: &[u8]) -> u64 {
    XxHash3_64::oneshot(user_key)
}

/// A memtable's cursor. While its user stays within a prefix, it is past the end after a
/// seek to a prefix that the memtable does not hold.
pub(super) struct Filtered {
    inner: BoxedIterator,
    filter: Arc<KeyFilter>,
    /// The user stays within the prefix of the key it seeks.
    keeps_to_prefix: bool,
    /// The last seek was skipped, and the position of `inner` means nothing.
    nothing: bool,
}

impl Filtered {
    pub fn new(inner: BoxedIterator, filter: Arc<KeyFilter>) -> Self {
        Filtered {
            inner,
            filter,
            keeps_to_prefix: false,
            nothing: false,
        }
    }

    /// Whether a seek to `target` can be skipped.
    fn leave_out(&mut self, target: &[u8]) -> bool {
        self.nothing = self.keeps_to_prefix && !self.filter.may_contain_prefix_of(user_key(target));
        self.nothing
    }
}

impl InternalIterator for Filtered {
    fn valid(&self) -> bool {
        !self.nothing && self.inner.valid()
    }
    fn seek_to_first(&mut self) {
        self.nothing = false;
        self.inner.seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.nothing = false;
        self.inner.seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        if !self.leave_out(target) {
            self.inner.seek(target);
        }
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        if !self.leave_out(target) {
            self.inner.seek_for_prev(target);
        }
    }
    fn next(&mut self) {
        self.inner.next();
    }
    fn prev(&mut self) {
        self.inner.prev();
    }
    fn key(&self) -> &[u8] {
        self.inner.key()
    }
    fn value(&self) -> &[u8] {
        self.inner.value()
    }
    fn status(&self) -> Result<()> {
        if self.nothing {
            return Ok(());
        }
        self.inner.status()
    }
    fn keep_to_prefix(&mut self, on: bool) {
        self.keeps_to_prefix = on;
        self.inner.keep_to_prefix(on);
    }
    fn by_key(&mut self) -> Option<&mut dyn KeyCursor> {
        if self.nothing {
            return None;
        }
        self.inner.by_key()
    }
}
