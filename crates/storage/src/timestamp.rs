//! The comparator of bytewise keys with a timestamp of 64 bits.
//!
//! User keys end with the timestamp, a little-endian `u64`. Keys ascend; of the versions of one
//! key, the newest comes first. RocksDB has this comparator under the same name.

use crate::key::Comparator;
use std::cmp::Ordering;

/// Bytes of a timestamp.
const SIZE: usize = size_of::<u64>();

/// Orders bytewise keys that end with a `u64` timestamp.
#[derive(Debug, Clone, Copy, Default)]
pub struct BytewiseWithU64Timestamp;

/// Splits a key into key and timestamp. A damaged key may be too short for one.
fn split(key: &[u8]) -> (&[u8], u64) {
    match key.split_last_chunk::<SIZE>() {
        Some((key, time)) => (key, u64::from_le_bytes(*time)),
        None => (key, 0),
    }
}

impl Comparator for BytewiseWithU64Timestamp {
    fn name(&self) -> &str {
        "leveldb.BytewiseComparator.u64ts"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let ((a, time_a), (b, time_b)) = (split(a), split(b));
        a.cmp(b).then_with(|| time_b.cmp(&time_a))
    }

    fn timestamp_size(&self) -> usize {
        SIZE
    }

    fn compare_timestamps(&self, a: &[u8], b: &[u8]) -> Ordering {
        split(a).1.cmp(&split(b).1)
    }

    fn compare_without_timestamps(
        &self,
        a: &[u8],
        a_has_timestamp: bool,
        b: &[u8],
        b_has_timestamp: bool,
    ) -> Ordering {
        let key = |key, has| if has { split(key).0 } else { key };
        key(a, a_has_timestamp).cmp(key(b, b_has_timestamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::UserComparator;
    use std::sync::Arc;

    fn version(key: &str, time: u64) -> Vec<u8> {
        [key.as_bytes(), &time.to_le_bytes()].concat()
    }

    #[test]
    fn newer_versions_come_first() {
        let c = UserComparator::Custom(Arc::new(BytewiseWithU64Timestamp));
        let sorted = [
            c.first_version(b"a"),
            version("a", 256),
            version("a", 255),
            c.last_version(b"a"),
            version("ab", 300),
            version("b", 1),
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(c.compare(a, b), i.cmp(&j));
            }
        }
        assert_eq!(c.compare_keys(&sorted[0], &sorted[3]), Ordering::Equal);
        assert_eq!(c.compare_keys(&sorted[3], &sorted[4]), Ordering::Less);
        assert_eq!(c.compare_to_bound(&sorted[1], b"a"), Ordering::Equal);
        assert_eq!(c.compare_to_bound(&sorted[5], b"a"), Ordering::Greater);
        assert_eq!(c.without_timestamp(&sorted[4]), b"ab");
        assert_eq!(c.without_timestamp(b"short"), b"");
    }
}
