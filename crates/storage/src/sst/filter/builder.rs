//! Collects the keys and prefixes of a table, and builds its filter, whole or in partitions.
//!
//! A partition holds the keys of some data blocks. Its key in the top block is the separator of the
//! last of these blocks, so that a lookup finds the partition as it finds the data block. Prefixes
//! need more care. A seek may land in one partition and find its first key in the next one or,
//! going backward, its last key in the previous one. So the prefixes of the keys on both sides of a
//! boundary are in both partitions.

use super::{FilterPolicy, LEGACY_SEED, PrefixTransform, bloom, ribbon};
use crate::sst::format::hash64::{hash32, hash64};
use std::sync::Arc;

/// The first format version whose hash is [`hash64`].
const NEW_BLOOM_VERSION: u32 = 5;

/// The format of a table's filter.
#[derive(Debug, Clone, Copy)]
enum FilterFormat {
    FastLocalBloom { millibits: u64 },
    LegacyBloom { bits: u64 },
    Ribbon { millibits: u64 },
}

/// A filter block to be written.
#[derive(Debug)]
pub(crate) struct FilterPart {
    /// The separator of the last data block it covers, an internal key. Empty for a filter of the
    /// whole table.
    pub(crate) separator: Vec<u8>,
    pub(crate) block: Vec<u8>,
}

/// The filter to build.
pub(crate) struct FilterSpec<'a> {
    pub(crate) policy: FilterPolicy,
    pub(crate) format_version: u32,
    /// The level that the table is for; -1 for a flush.
    pub(crate) level: i32,
    pub(crate) whole_keys: bool,
    pub(crate) prefixes: Option<&'a Arc<dyn PrefixTransform>>,
    /// Approximate bytes per partition; `None` for a filter in one block.
    pub(crate) partition: Option<usize>,
}

/// Collects the hashes of a table's keys and builds its filter.
#[derive(Debug)]
pub(crate) struct FilterBuilder {
    format: FilterFormat,
    whole_keys: bool,
    prefixes: Option<Arc<dyn PrefixTransform>>,
    partition: Option<usize>,
    hashes: Vec<u64>,
    /// The last entry added to `hashes`, to skip repetitions.
    last_key: Option<u64>,
    last_prefix: Option<Vec<u8>>,
    parts: Vec<FilterPart>,
    parts_len: usize,
    entries: u64,
}

impl FilterBuilder {
    /// `None` if the table gets no filter: too few bits, or nothing to add.
    pub(crate) fn new(spec: FilterSpec<'_>) -> Option<Self> {
        if !spec.whole_keys && spec.prefixes.is_none() {
            return None;
        }
        let millibits = spec.policy.millibits()?;
        let format = match spec.policy {
            FilterPolicy::Ribbon {
                bloom_before_level, ..
            } if spec.level >= bloom_before_level => FilterFormat::Ribbon { millibits },
            FilterPolicy::Bloom { .. } if spec.format_version < NEW_BLOOM_VERSION => {
                FilterFormat::LegacyBloom {
                    bits: (millibits + 500) / 1000,
                }
            }
            _ => FilterFormat::FastLocalBloom { millibits },
        };
        Some(FilterBuilder {
            format,
            whole_keys: spec.whole_keys,
            prefixes: spec.prefixes.cloned(),
            partition: spec.partition,
            hashes: Vec::new(),
            last_key: None,
            last_prefix: None,
            parts: Vec::new(),
            parts_len: 0,
            entries: 0,
        })
    }

    /// Adds a key and its prefix. Equal keys must be added one after the other.
    pub(crate) fn add(&mut self, user_key: &[u8]) {
        if let Some(prefix) = self.prefixes.as_ref().and_then(|p| p.prefix(user_key))
            && self.last_prefix.as_deref() != Some(prefix)
        {
            self.hashes.push(self.hash(prefix));
            let last = self.last_prefix.get_or_insert_default();
            last.clear();
            last.extend_from_slice(prefix);
        }
        if self.whole_keys {
            let hash = self.hash(user_key);
            if self.last_key != Some(hash) {
                self.hashes.push(hash);
                self.last_key = Some(hash);
            }
        }
    }

    #[inline]
    fn hash(&self, entry: &[u8]) -> u64 {
        match self.format {
            FilterFormat::LegacyBloom { .. } => u64::from(hash32(entry, LEGACY_SEED)),
            _ => hash64(entry),
        }
    }

    /// Records that a data block with this separator has ended and the next one begins with the
    /// key `next`. A partition may end here.
    pub(crate) fn end_block(&mut self, separator: &[u8], next: &[u8]) {
        if self.partition.is_none_or(|size| self.part_len() < size) {
            return;
        }
        if let Some(prefix) = self.prefixes.as_ref().and_then(|p| p.prefix(next))
            && self.last_prefix.as_deref() != Some(prefix)
        {
            self.hashes.push(self.hash(prefix));
        }
        self.cut(separator);
        self.last_key = None;
        if let Some(prefix) = self.last_prefix.take() {
            self.hashes.push(self.hash(&prefix));
            self.last_prefix = Some(prefix);
        }
    }

    fn cut(&mut self, separator: &[u8]) {
        let block = self.format.build(&self.hashes);
        self.parts_len += block.len();
        self.entries += self.hashes.len() as u64;
        self.hashes.clear();
        self.parts.push(FilterPart {
            separator: separator.to_vec(),
            block,
        });
    }

    /// Bytes of the partition being filled if it ended now.
    fn part_len(&self) -> usize {
        if self.hashes.is_empty() {
            return 0;
        }
        self.format.estimated_len(self.hashes.len())
    }

    /// Approximate bytes of all filter blocks if they were finished now.
    pub(crate) fn estimated_len(&self) -> usize {
        self.parts_len + self.part_len()
    }

    /// Whether the filter is partitioned.
    pub(crate) fn is_partitioned(&self) -> bool {
        self.partition.is_some()
    }

    /// The filter blocks, and how many entries they hold together. `last` is the separator of the
    /// table's last data block. Without entries there are no blocks.
    pub(crate) fn finish(mut self, last: &[u8]) -> (Vec<FilterPart>, u64) {
        if !self.hashes.is_empty() {
            self.cut(last);
        }
        (self.parts, self.entries)
    }
}

impl FilterFormat {
    fn build(self, hashes: &[u64]) -> Vec<u8> {
        match self {
            FilterFormat::FastLocalBloom { millibits } => bloom::fast_local(hashes, millibits),
            FilterFormat::LegacyBloom { bits } => bloom::legacy(hashes, bits),
            FilterFormat::Ribbon { millibits } => ribbon::ribbon(hashes, millibits)
                .unwrap_or_else(|| bloom::fast_local(hashes, millibits)),
        }
    }

    fn estimated_len(self, keys: usize) -> usize {
        match self {
            FilterFormat::FastLocalBloom { millibits } => bloom::fast_local_len(keys, millibits),
            FilterFormat::LegacyBloom { bits } => bloom::legacy_len(keys, bits),
            FilterFormat::Ribbon { millibits } => ribbon::estimated_len(keys, millibits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Filter;
    use super::*;

    #[derive(Debug)]
    struct First(usize);

    impl PrefixTransform for First {
        fn name(&self) -> String {
            format!("First.{}", self.0)
        }
        fn prefix<'a>(&self, user_key: &'a [u8]) -> Option<&'a [u8]> {
            user_key.get(..self.0)
        }
    }

    fn bloom(bits_per_key: f64) -> FilterPolicy {
        FilterPolicy::Bloom { bits_per_key }
    }

    fn spec(policy: FilterPolicy) -> FilterSpec<'static> {
        FilterSpec {
            policy,
            format_version: 5,
            level: 1,
            whole_keys: true,
            prefixes: None,
            partition: None,
        }
    }

    fn key(i: u32) -> Vec<u8> {
        format!("key{i:08}").into_bytes()
    }

    fn one(b: FilterBuilder) -> Filter {
        let (mut parts, _) = b.finish(b"");
        assert_eq!(parts.len(), 1);
        Filter::new(parts.remove(0).block.into())
    }

    #[test]
    fn bloom_has_no_false_negatives_and_few_false_positives() {
        for version in [2, 5] {
            for (bits, limit) in [(10.0, 0.02), (16.0, 0.008), (3.0, 0.30)] {
                let mut spec = spec(bloom(bits));
                spec.format_version = version;
                let mut b = FilterBuilder::new(spec).expect("enough bits");
                for i in 0..10_000 {
                    b.add(&key(i));
                    b.add(&key(i));
                }
                let want = b.estimated_len();
                let (parts, entries) = b.finish(b"");
                assert_eq!(entries, 10_000);
                assert_eq!(parts[0].block.len(), want);
                let f = Filter::new(parts[0].block.clone().into());
                assert!((0..10_000).all(|i| f.may_hold(&key(i))));
                let wrong = (10_000..30_000).filter(|&i| f.may_hold(&key(i))).count();
                assert!(
                    (wrong as f64) < 20_000.0 * limit,
                    "{wrong} at {bits} in {version}"
                );
            }
        }
    }

    #[test]
    fn levels_choose_between_bloom_and_ribbon() {
        let marker = |bloom_before_level, level| {
            let mut spec = spec(FilterPolicy::Ribbon {
                bloom_equivalent_bits_per_key: 10.0,
                bloom_before_level,
            });
            spec.level = level;
            let mut b = FilterBuilder::new(spec).expect("enough bits");
            (0..5000).for_each(|i| b.add(&key(i)));
            let (parts, _) = b.finish(b"");
            parts[0].block[parts[0].block.len() - 5]
        };
        assert_eq!(marker(0, -1), 0xff);
        assert_eq!(marker(0, 0), 0xfe);
        assert_eq!(marker(-1, -1), 0xfe);
        assert_eq!(marker(3, 2), 0xff);
        assert_eq!(marker(3, 3), 0xfe);
    }

    #[test]
    fn prefixes_go_in_beside_whole_keys_or_instead() {
        let first: Arc<dyn PrefixTransform> = Arc::new(First(4));
        for whole_keys in [true, false] {
            let mut spec = spec(bloom(20.0));
            spec.whole_keys = whole_keys;
            spec.prefixes = Some(&first);
            let mut b = FilterBuilder::new(spec).expect("something to add");
            for k in ["abc", "abcd1", "abcd2", "bcde1"] {
                b.add(k.as_bytes());
            }
            let f = one(b);
            assert!(f.may_hold(b"abcd") && f.may_hold(b"bcde"));
            assert_eq!(f.may_hold(b"abcd2"), whole_keys);
            assert_eq!(f.may_hold(b"abc"), whole_keys); // out of domain
            assert!(!f.may_hold(b"cdef"));
        }
        let mut nothing = spec(bloom(10.0));
        nothing.whole_keys = false;
        assert!(FilterBuilder::new(nothing).is_none());
    }

    #[test]
    fn prefixes_at_a_cut_are_on_both_sides() {
        let first: Arc<dyn PrefixTransform> = Arc::new(First(2));
        let mut spec = spec(bloom(20.0));
        spec.whole_keys = false;
        spec.prefixes = Some(&first);
        spec.partition = Some(1);
        let mut b = FilterBuilder::new(spec).expect("something to add");
        b.add(b"aa1");
        b.add(b"bb1");
        b.end_block(b"bx", b"cc1");
        b.add(b"cc1");
        b.add(b"dd1");
        let (parts, entries) = b.finish(b"dz");
        assert_eq!(entries, 6);
        let separators: Vec<&[u8]> = parts.iter().map(|p| &p.separator[..]).collect();
        assert_eq!(separators, [&b"bx"[..], b"dz"]);
        let filter = |i: usize| Filter::new(parts[i].block.clone().into());
        let found = |i| ["aa", "bb", "cc", "dd"].map(|p| filter(i).may_hold(p.as_bytes()));
        assert_eq!(found(0), [true, true, true, false]);
        assert_eq!(found(1), [false, true, true, true]);
    }
}
