//! The order of a column family, for the structures.

use std::cmp::Ordering;
use whitewater_concurrent::skiplist::KeyOrder;
use whitewater_storage::key::UserComparator;

/// Orders user keys by the comparator, then tags descending.
#[derive(Debug)]
pub(super) struct UserOrder(pub UserComparator);

impl KeyOrder for UserOrder {
    #[inline]
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
        self.0.compare(a.0, b.0).then_with(|| b.1.cmp(&a.1))
    }

    #[inline]
    fn same_key(&self, a: &[u8], b: &[u8]) -> bool {
        match &self.0 {
            UserComparator::Custom(c) => c.compare(a, b).is_eq(),
            _ => a == b,
        }
    }

    #[inline]
    fn digest(&self, user_key: &[u8]) -> u64 {
        match &self.0 {
            UserComparator::Bytewise => first_bytes(user_key),
            UserComparator::ReverseBytewise => !first_bytes(user_key),
            UserComparator::Custom(_) => 0,
        }
    }
}

/// The first eight bytes, as a number in the same order. Missing bytes count as zeros.
#[inline]
fn first_bytes(user_key: &[u8]) -> u64 {
    if let Some(bytes) = user_key.first_chunk() {
        return u64::from_be_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    bytes[..user_key.len()].copy_from_slice(user_key);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_never_contradict_the_order() {
        let keys: [&[u8]; 9] = [
            b"",
            b"\0",
            b"a",
            b"a\0",
            b"abcdefg",
            b"abcdefgh",
            b"abcdefgha",
            b"\xff",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ];
        for comparator in [UserComparator::Bytewise, UserComparator::ReverseBytewise] {
            let order = UserOrder(comparator);
            for a in keys {
                for b in keys {
                    let by_digest = order.digest(a).cmp(&order.digest(b));
                    let by_key = order.compare((a, 0), (b, 0));
                    assert!(by_digest.is_eq() || by_digest == by_key, "{a:?} {b:?}");
                }
            }
        }
    }
}
