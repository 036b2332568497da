//! The layout of cuckoo tables: a hash table of buckets, each a key and a value of fixed lengths.
//!
//! A table in which all sequence numbers are 0 has user keys in its buckets, and all of its entries
//! are values. Otherwise the keys are internal keys. Unused buckets hold a key that is not in the
//! table. The properties have all of this, and what it takes to compute hashes.

use crate::error::{Error, Result};
use crate::key::TAG_SIZE;
use crate::sst::format::properties::{TableProperties, name};

/// Names of the properties of cuckoo tables.
pub(crate) mod property {
    pub(crate) const BLOCK_SIZE: &str = "rocksdb.cuckoo.hash.cuckooblocksize";
    pub(crate) const EMPTY_KEY: &str = "rocksdb.cuckoo.bucket.empty.key";
    pub(crate) const HASH_FUNCTIONS: &str = "rocksdb.cuckoo.hash.num";
    pub(crate) const IDENTITY_FIRST: &str = "rocksdb.cuckoo.hash.identityfirst";
    pub(crate) const IS_LAST_LEVEL: &str = "rocksdb.cuckoo.file.islastlevel";
    pub(crate) const MODULE_HASH: &str = "rocksdb.cuckoo.hash.usemodule";
    pub(crate) const TABLE_SIZE: &str = "rocksdb.cuckoo.hash.size";
    pub(crate) const USER_KEY_LEN: &str = "rocksdb.cuckoo.hash.userkeylength";
    pub(crate) const VALUE_LEN: &str = "rocksdb.cuckoo.value.length";
}

/// Each hash function has this times its number as its seed.
const SEED_MULTIPLIER: u32 = 816_922_183;

/// The bytes of a key that are its hash, if the first hash function is the identity.
pub(crate) const IDENTITY_LEN: usize = 8;

/// The hash functions of a cuckoo table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CuckooHash {
    /// The number of buckets that keys are hashed to.
    pub(crate) table_size: u64,
    /// The first [`IDENTITY_LEN`] bytes of a key are its first hash.
    pub(crate) identity_first: bool,
    /// Hashes are reduced by division. Otherwise the table size is a power of two.
    pub(crate) module: bool,
}

impl CuckooHash {
    /// The bucket of `user_key` by the hash function `number`; `None` for a table without buckets
    /// and for a key that is too short.
    pub(crate) fn bucket(&self, user_key: &[u8], number: u32) -> Option<u64> {
        let hash = if number == 0 && self.identity_first {
            u64::from_le_bytes(*user_key.first_chunk::<IDENTITY_LEN>()?)
        } else {
            murmur64(user_key, SEED_MULTIPLIER.wrapping_mul(number))
        };
        if self.module {
            hash.checked_rem(self.table_size)
        } else {
            Some(hash & self.table_size.checked_sub(1)?)
        }
    }
}

/// MurmurHash64A, RocksDB's hash function for these tables.
fn murmur64(data: &[u8], seed: u32) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const R: u32 = 47;
    let mut hash = u64::from(seed) ^ (data.len() as u64).wrapping_mul(M);
    let (chunks, rest) = data.as_chunks::<8>();
    for chunk in chunks {
        let mut k = u64::from_le_bytes(*chunk).wrapping_mul(M);
        k ^= k >> R;
        hash = (hash ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !rest.is_empty() {
        for (at, &byte) in rest.iter().enumerate() {
            hash ^= u64::from(byte) << (8 * at);
        }
        hash = hash.wrapping_mul(M);
    }
    hash = (hash ^ (hash >> R)).wrapping_mul(M);
    hash ^ (hash >> R)
}

/// The layout of a cuckoo table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CuckooLayout {
    /// The length of the keys in buckets, user keys or internal keys.
    pub(crate) key_len: usize,
    pub(crate) value_len: usize,
    /// Buckets have user keys, and all entries are values with sequence number 0.
    pub(crate) is_last_level: bool,
    /// The key of unused buckets.
    pub(crate) empty_key: Vec<u8>,
    pub(crate) hash: CuckooHash,
    /// The number of hash functions.
    pub(crate) hash_functions: u32,
    /// How many buckets, from the one that a key is hashed to on, may have the key.
    pub(crate) block_size: u32,
    /// The number of buckets.
    pub(crate) buckets: u64,
}

impl CuckooLayout {
    /// The layout that a table's properties tell.
    ///
    /// # Errors
    /// `Corruption` for properties that are missing, bad, or contradict each other.
    pub(crate) fn of(properties: &TableProperties) -> Result<Self> {
        let key_len = properties.number(name::FIXED_KEY_LENGTH)?;
        let hash = CuckooHash {
            table_size: number(properties, property::TABLE_SIZE)?,
            identity_first: flag(properties, property::IDENTITY_FIRST)?,
            module: flag(properties, property::MODULE_HASH)?,
        };
        let (is_last_level, value_len) = (
            flag(properties, property::IS_LAST_LEVEL)?,
            number(properties, property::VALUE_LEN)?,
        );
        let block_size = small(properties, property::BLOCK_SIZE)?;
        let user_key_len = u64::from(small(properties, property::USER_KEY_LEN)?);
        let mut layout = CuckooLayout {
            key_len: usize::try_from(key_len).map_err(|_| bad(name::FIXED_KEY_LENGTH))?,
            value_len: u32::try_from(value_len).map_err(|_| bad(property::VALUE_LEN))? as usize,
            is_last_level,
            empty_key: value(properties, property::EMPTY_KEY)?.to_vec(),
            hash,
            hash_functions: small(properties, property::HASH_FUNCTIONS)?,
            block_size,
            buckets: 0,
        };
        if properties.num_entries == 0 {
            // RocksDB writes no buckets then, and no lengths.
            return Ok(layout);
        }
        let tag = if is_last_level { 0 } else { TAG_SIZE as u64 };
        if Some(key_len) != user_key_len.checked_add(tag) || layout.bucket_len() == 0 {
            return Err(bad(name::FIXED_KEY_LENGTH));
        }
        if layout.empty_key.len() != layout.key_len {
            return Err(bad(property::EMPTY_KEY));
        }
        let last_block = u64::from(block_size.max(1)) - 1;
        let buckets = hash.table_size.checked_add(last_block);
        let bytes = buckets.and_then(|n| n.checked_mul(layout.bucket_len() as u64));
        match buckets {
            Some(n) if bytes == Some(properties.data_size) && n <= u64::from(u32::MAX) => {
                layout.buckets = n;
            }
            _ => return Err(bad(property::TABLE_SIZE)),
        }
        Ok(layout)
    }

    /// The size of a bucket in bytes.
    pub(crate) fn bucket_len(&self) -> usize {
        self.key_len + self.value_len
    }

    /// The user key of a bucket.
    pub(crate) fn user_key<'a>(&self, bucket: &'a [u8]) -> &'a [u8] {
        let tag = if self.is_last_level { 0 } else { TAG_SIZE };
        &bucket[..self.key_len.saturating_sub(tag)]
    }
}

fn bad(name: &str) -> Error {
    Error::corruption(format_args!("bad table property {name}"))
}

fn value<'a>(properties: &'a TableProperties, name: &str) -> Result<&'a [u8]> {
    match properties.raw.get(name) {
        Some(value) => Ok(value),
        None => Err(Error::corruption(format_args!(
            "cuckoo table without the property {name}"
        ))),
    }
}

/// A property of four bytes, or of eight.
fn number(properties: &TableProperties, name: &str) -> Result<u64> {
    let value = value(properties, name)?;
    match (value.try_into(), value.try_into()) {
        (Ok(bytes), _) => Ok(u64::from_le_bytes(bytes)),
        (_, Ok(bytes)) => Ok(u64::from(u32::from_le_bytes(bytes))),
        _ => Err(bad(name)),
    }
}

fn small(properties: &TableProperties, name: &str) -> Result<u32> {
    u32::try_from(number(properties, name)?).map_err(|_| bad(name))
}

fn flag(properties: &TableProperties, name: &str) -> Result<bool> {
    match value(properties, name)? {
        [byte] => Ok(*byte != 0),
        _ => Err(bad(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of MurmurHash64A from its reference implementation.
    #[test]
    fn hashes_are_murmurs() {
        assert_eq!(murmur64(b"", 0), 0);
        assert_eq!(murmur64(b"hello", 0), 0x1e68_d17c_457b_f117);
        let hash = CuckooHash {
            table_size: 1 << 20,
            identity_first: true,
            module: false,
        };
        assert_eq!(hash.bucket(b"\x07\0\x30\0\0\0\0\0tail", 0), Some(7));
        assert_eq!(hash.bucket(b"short", 0), None);
        let module = CuckooHash {
            table_size: 1000,
            module: true,
            ..hash
        };
        assert_eq!(module.bucket(b"\xe8\x03\0\0\0\0\0\0", 0), Some(0));
        let none = CuckooHash {
            table_size: 0,
            ..module
        };
        assert_eq!(none.bucket(b"\xe8\x03\0\0\0\0\0\0", 1), None);
    }
}
