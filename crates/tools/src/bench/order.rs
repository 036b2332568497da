//! The key order of `--use_uint64_comparator`.

use std::cmp::Ordering;

/// RocksDB's name of this order.
pub const NAME: &str = "rocksdb.Uint64Comparator";

/// Compares keys of 8 bytes as numbers in the machine's byte order. Keys of other
/// sizes, which RocksDB does not allow, are padded with zeros or truncated to 8
/// bytes; if the numbers are equal, the keys are compared as bytes.
pub fn compare(one: &[u8], other: &[u8]) -> Ordering {
    number(one).cmp(&number(other)).then_with(|| one.cmp(other))
}

fn number(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let kept = key.len().min(8);
    bytes[..kept].copy_from_slice(&key[..kept]);
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbers() {
        let key = |number: u64| number.to_ne_bytes();
        assert_eq!(compare(&key(255), &key(256)), Ordering::Less);
        assert_eq!(compare(&key(7), &key(7)), Ordering::Equal);
        assert_eq!(compare(b"", &key(0)), Ordering::Less);
        let mut longer = key(7).to_vec();
        longer.push(0);
        assert_eq!(compare(&longer, &key(7)), Ordering::Greater);
        assert_eq!(compare(&longer, &key(8)), Ordering::Less);
    }
}
