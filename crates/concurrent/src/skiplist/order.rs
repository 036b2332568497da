//! How keys compare.

use std::cmp::Ordering;
use std::sync::Arc;

/// The order of a list's keys: user key bytes, then the 8-byte tag.
///
/// It must be a total order over `(user_key, tag)` and must not panic. With an order that
/// is not total, entries may not be found, but memory is not at risk.
pub trait KeyOrder: Send + Sync + 'static {
    /// Compares two entries, each a user key and a tag.
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering;

    /// Whether two user keys count as one key, even if their bytes differ.
    #[inline]
    fn same_key(&self, a: &[u8], b: &[u8]) -> bool {
        self.compare((a, 0), (b, 0)).is_eq()
    }

    /// A number that never decreases as user keys ascend, so that it can be compared
    /// before whole keys are. Always returning 0 is correct, but useless.
    fn digest(&self, _user_key: &[u8]) -> u64 {
        0
    }
}

impl<O: KeyOrder> KeyOrder for Arc<O> {
    #[inline]
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
        (**self).compare(a, b)
    }
    #[inline]
    fn same_key(&self, a: &[u8], b: &[u8]) -> bool {
        (**self).same_key(a, b)
    }
    #[inline]
    fn digest(&self, user_key: &[u8]) -> u64 {
        (**self).digest(user_key)
    }
}

/// The bytewise order of user keys, with greater tags first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bytewise;

impl KeyOrder for Bytewise {
    /// Most keys differ in their first eight bytes. These are compared as one number,
    /// without a call of `memcmp`.
    #[inline(always)]
    fn compare(&self, a: (&[u8], u64), b: (&[u8], u64)) -> Ordering {
        if let (Some(x), Some(y)) = (a.0.first_chunk(), b.0.first_chunk()) {
            let (x, y) = (u64::from_be_bytes(*x), u64::from_be_bytes(*y));
            if x != y {
                return x.cmp(&y);
            }
        }
        a.0.cmp(b.0).then_with(|| b.1.cmp(&a.1))
    }

    #[inline(always)]
    fn same_key(&self, a: &[u8], b: &[u8]) -> bool {
        a == b
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn bytewise_is_the_order_of_slices_then_of_descending_tags() {
        let keys: [&[u8]; 9] = [
            b"",
            b"\0",
            b"\0\0\0\0\0\0\0\0",
            b"\0\0\0\0\0\0\0\0\0",
            b"abcdefg",
            b"abcdefgh",
            b"abcdefgh\0",
            b"abcdefgi",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ];
        for a in keys {
            for b in keys {
                for (s, t) in [(1, 1), (1, 2), (2, 1), (0, u64::MAX)] {
                    let expected = a.cmp(b).then(t.cmp(&s));
                    assert_eq!(Bytewise.compare((a, s), (b, t)), expected, "{a:?} {b:?}");
                }
            }
        }
    }
}
