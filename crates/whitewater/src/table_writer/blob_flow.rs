//! Counts the blobs that a compaction drops.
//!
//! For each blob file, what the input refers to and the output does not is garbage. This is
//! RocksDB's rule; RocksDB also checks that the sums are not larger than the files.

use std::collections::BTreeMap;
use whitewater_storage::Result;
use whitewater_storage::blob::{for_each_reference, format, may_refer};
use whitewater_storage::key;
use whitewater_storage::manifest::BlobGarbage;

/// The blobs that entries refer to: for each file, their number and the size of their records
/// in bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlobFlow(BTreeMap<u64, (u64, u64)>);

impl BlobFlow {
    /// Counts the blobs that an entry refers to, and returns the oldest of their files, or 0.
    ///
    /// # Errors
    /// `Corruption` and `NotSupported` for references that cannot be read.
    #[inline]
    pub fn see(&mut self, ikey: &[u8], stored: &[u8]) -> Result<u64> {
        if may_refer(key::tag(ikey) as u8) {
            self.count(ikey, stored)
        } else {
            Ok(0)
        }
    }

    #[cold]
    fn count(&mut self, ikey: &[u8], stored: &[u8]) -> Result<u64> {
        let mut oldest = u64::MAX;
        let key_len = key::user_key(ikey).len() as u64;
        for_each_reference(key::tag(ikey) as u8, stored, &mut |place| {
            let flow = self.0.entry(place.file).or_default();
            let bytes = format::record_len(key_len, place.size).unwrap_or(u64::MAX);
            *flow = (flow.0 + 1, flow.1.saturating_add(bytes));
            oldest = oldest.min(place.file);
        })?;
        Ok(if oldest == u64::MAX { 0 } else { oldest })
    }

    /// The blobs of file `number` that entries refer to: their number and the size of their records
    /// in bytes.
    pub fn of(&self, number: u64) -> (u64, u64) {
        self.0.get(&number).copied().unwrap_or_default()
    }

    /// The part of this that is not in `kept`. Files that are only in `kept` are new.
    pub fn garbage(&self, kept: &BlobFlow) -> Vec<BlobGarbage> {
        let dropped = self.0.iter().filter_map(|(&number, &(count, bytes))| {
            let (kept_count, kept_bytes) = kept.0.get(&number).copied().unwrap_or_default();
            (count > kept_count).then(|| BlobGarbage {
                number,
                count: count - kept_count,
                bytes: bytes.saturating_sub(kept_bytes),
                custom: Vec::new(),
            })
        });
        dropped.collect()
    }
}

/// Adds `more` to `sum`, file by file.
pub(crate) fn add_garbage(sum: &mut Vec<BlobGarbage>, more: Vec<BlobGarbage>) {
    for garbage in more {
        match sum.iter_mut().find(|g| g.number == garbage.number) {
            Some(known) => {
                known.count += garbage.count;
                known.bytes = known.bytes.saturating_add(garbage.bytes);
            }
            None => sum.push(garbage),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whitewater_storage::blob::BlobPlace;
    use whitewater_storage::key::{ValueType, internal_key};

    #[test]
    fn what_is_not_kept_is_garbage() {
        let entry = |file, size| {
            let place = BlobPlace {
                file,
                offset: 100,
                size,
                compression: 0,
            };
            let mut index = Vec::new();
            place.encode(&mut index);
            (internal_key(b"key", 5, ValueType::BlobIndex), index)
        };
        let flow = |entries: &[(u64, u64)]| {
            let mut flow = BlobFlow::default();
            for &(file, size) in entries {
                let (key, index) = entry(file, size);
                assert_eq!(flow.see(&key, &index), Ok(file));
            }
            flow
        };
        let read = flow(&[(7, 10), (7, 20), (8, 30), (9, 1)]);
        let kept = flow(&[(7, 10), (9, 1), (10, 5)]);
        let sums = |garbage: &[BlobGarbage]| -> Vec<(u64, u64, u64)> {
            (garbage.iter().map(|g| (g.number, g.count, g.bytes))).collect()
        };
        let mut sum = read.garbage(&kept);
        assert_eq!(sums(&sum), [(7, 1, 32 + 3 + 20), (8, 1, 32 + 3 + 30)]);
        add_garbage(&mut sum, flow(&[(8, 30), (11, 0)]).garbage(&kept));
        assert_eq!(sums(&sum), [(7, 1, 55), (8, 2, 130), (11, 1, 35)]);
        let plain = internal_key(b"key", 5, ValueType::Value);
        assert_eq!(BlobFlow::default().see(&plain, b"\x01\x07"), Ok(0));
        let bad = internal_key(b"key", 5, ValueType::BlobIndex);
        assert!(BlobFlow::default().see(&bad, b"\x01\x07").is_err());
    }
}
