//! Ranges of keys as bounds of an iterator.

use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

/// A range that gives an inclusive lower and an exclusive upper bound; see
/// [`ReadOptions::set_iterate_range`](crate::ReadOptions::set_iterate_range).
pub trait IterateBounds {
    /// The lower and the upper bound; `None` where the range is open.
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>);
}

impl IterateBounds for RangeFull {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (None, None)
    }
}

impl<K: Into<Vec<u8>>> IterateBounds for Range<K> {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (Some(self.start.into()), Some(self.end.into()))
    }
}

impl<K: Into<Vec<u8>>> IterateBounds for RangeFrom<K> {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (Some(self.start.into()), None)
    }
}

impl<K: Into<Vec<u8>>> IterateBounds for RangeTo<K> {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (None, Some(self.end.into()))
    }
}

/// All keys that begin with a prefix, under the byte-wise order.
///
/// ```
/// use whitewater::{IterateBounds, PrefixRange};
///
/// let (lower, upper) = PrefixRange("ab").into_bounds();
/// assert_eq!(lower.as_deref(), Some(&b"ab"[..]));
/// assert_eq!(upper.as_deref(), Some(&b"ac"[..]));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PrefixRange<K>(
    /// The prefix; an empty one means all keys.
    pub K,
);

impl<K: Into<Vec<u8>>> IterateBounds for PrefixRange<K> {
    fn into_bounds(self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let prefix = self.0.into();
        if prefix.is_empty() {
            return (None, None);
        }
        let after = first_key_after(&prefix);
        (Some(prefix), after)
    }
}

/// The first key after all keys that begin with `prefix`; `None` when `prefix`
/// is all 0xff and nothing follows.
fn first_key_after(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut key = prefix[..=last].to_vec();
    key[last] += 1;
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(range: impl IterateBounds) -> (Option<String>, Option<String>) {
        let show = |k: Vec<u8>| k.escape_ascii().to_string();
        let (lower, upper) = range.into_bounds();
        (lower.map(show), upper.map(show))
    }

    #[test]
    fn ranges_become_bounds() {
        let some = |k: &str| Some(k.to_owned());
        assert_eq!(bounds(..), (None, None));
        assert_eq!(bounds("a".."c"), (some("a"), some("c")));
        assert_eq!(bounds("a"..), (some("a"), None));
        assert_eq!(bounds(.."c"), (None, some("c")));
        assert_eq!(bounds(PrefixRange("")), (None, None));
        assert_eq!(bounds(PrefixRange("ab")), (some("ab"), some("ac")));
        assert_eq!(
            bounds(PrefixRange(&b"a\xff\xff"[..])),
            (some("a\\xff\\xff"), some("b"))
        );
        assert_eq!(bounds(PrefixRange(&b"\xff"[..])), (some("\\xff"), None));
    }
}
