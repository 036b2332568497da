//! Checksums of single entries, which go with them from where they are made to
//! where they are stored.
//!
//! What an entry is differs on its way: in a batch it has a column family, in a
//! memtable a number. So a checksum is made of parts, one for the key and value
//! and one for each of the others, that are put in and taken out: whoever hands
//! an entry on changes the parts that change and leaves the rest, and so need
//! not trust the bytes in hand. Damage done on the way, whenever that was,
//! shows where the checksum is compared at last.
//!
//! Parts are XXH3 hashes with seeds of their own, combined by exclusive or.

use crate::key::ValueType;
use twox_hash::XxHash3_64;

/// What parts are made for, as seeds.
mod seeds {
    pub const KEY: u64 = 0x4b45_5900;
    pub const TYPE: u64 = 0x5459_5045;
    pub const FAMILY: u64 = 0x4641_4d49;
    pub const TAG: u64 = 0x5441_4700;
}

/// The checksum of a key and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvSum(u64);

impl KvSum {
    /// Of these bytes.
    #[inline]
    pub fn of(key: &[u8], value: &[u8]) -> Self {
        let seed = XxHash3_64::oneshot_with_seed(seeds::KEY, key);
        KvSum(XxHash3_64::oneshot_with_seed(seed, value))
    }

    /// Of an operation of type `ty` on the column family `cf`, as batches keep
    /// it.
    #[inline]
    pub fn in_batch(self, cf: u32, ty: ValueType) -> u64 {
        self.0 ^ part(seeds::FAMILY, cf.into()) ^ part(seeds::TYPE, ty as u64)
    }

    /// What `sum` was [made](Self::in_batch) of.
    #[inline]
    pub fn from_batch(sum: u64, cf: u32, ty: ValueType) -> Self {
        KvSum(KvSum(sum).in_batch(cf, ty))
    }

    /// Of an entry with `tag`, its sequence number and type, as memtables keep
    /// it.
    #[inline]
    pub fn in_memtable(self, tag: u64) -> u64 {
        self.0 ^ part(seeds::TAG, tag)
    }
}

#[inline]
fn part(seed: u64, value: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(seed, &value.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::pack_tag;

    #[test]
    fn what_is_handed_on_is_what_was_made() {
        let made = KvSum::of(b"key", b"value");
        let sum = made.in_batch(7, ValueType::Merge);
        assert_eq!(KvSum::from_batch(sum, 7, ValueType::Merge), made);
    }

    #[test]
    fn every_part_counts() {
        let (cf, ty) = (3, ValueType::Value);
        let sum = KvSum::of(b"key", b"value").in_batch(cf, ty);
        assert_ne!(KvSum::of(b"kex", b"value").in_batch(cf, ty), sum);
        assert_ne!(KvSum::of(b"key", b"valuf").in_batch(cf, ty), sum);
        // A byte that moves over from the one to the other.
        assert_ne!(KvSum::of(b"keyv", b"alue").in_batch(cf, ty), sum);
        assert_ne!(KvSum::of(b"value", b"key").in_batch(cf, ty), sum);
        for other in 0..16 {
            let told = KvSum::from_batch(sum, other, ty);
            assert_eq!(told == KvSum::of(b"key", b"value"), other == cf);
        }
        let told = KvSum::from_batch(sum, cf, ValueType::Merge);
        assert_ne!(told, KvSum::of(b"key", b"value"));
        let tags = (0..64).map(|seq| KvSum::of(b"k", b"").in_memtable(pack_tag(seq, 1)) as u8);
        let mut low: Vec<u8> = tags.collect();
        low.dedup();
        assert!(low.len() > 32, "one byte of it tells most numbers apart");
    }
}
