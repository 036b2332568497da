//! Checksums of single entries, which accompany them from the call that makes them to their
//! storage.
//!
//! An entry has different attributes on its way: in a batch it has a column family, in a memtable a
//! sequence number. So a checksum consists of parts, one for key and value and one for each
//! attribute, which can be added and removed. Code that passes an entry on exchanges the parts that
//! change and keeps the others, and so need not trust the bytes it has. Damage at any point on the
//! way shows when the checksum is finally compared.
//!
//! Each part is an XXH3 hash with its own seed; parts are combined by exclusive or.

use crate::key::ValueType;
use twox_hash::XxHash3_64;

/// The seeds of the parts.
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
    /// The checksum of this key and value.
    #[inline]
    pub fn of(key: &[u8], value: &[u8]) -> Self {
        let seed = XxHash3_64::oneshot_with_seed(seeds::KEY, key);
        KvSum(XxHash3_64::oneshot_with_seed(seed, value))
    }

    /// The checksum of an operation of type `ty` on the column family `cf`, as batches keep it.
    #[inline]
    pub fn in_batch(self, cf: u32, ty: ValueType) -> u64 {
        self.0 ^ part(seeds::FAMILY, cf.into()) ^ part(seeds::TYPE, ty as u64)
    }

    /// The checksum from which `sum` was [made](Self::in_batch).
    #[inline]
    pub fn from_batch(sum: u64, cf: u32, ty: ValueType) -> Self {
        KvSum(KvSum(sum).in_batch(cf, ty))
    }

    /// The checksum of an entry with this tag (sequence number and type), as memtables keep it.
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
