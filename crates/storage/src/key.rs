//! Internal keys, value types and key order.
//!
//! An internal key is the user key followed by a little-endian `u64` tag,
//! `sequence << 8 | type`. Internal keys order by user key ascending (by the
//! column family's comparator), then by tag descending, so that the newest
//! version of a key comes first.

use crate::coding::first_bytes;
use crate::error::{Error, Result};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::sync::Arc;

/// The position of a write in the order of all writes. Only the low 56 bits are used.
pub type SequenceNumber = u64;

/// The largest sequence number.
pub const MAX_SEQUENCE: SequenceNumber = (1 << 56) - 1;

/// The largest sequence number with which a database can be opened, so that there is always a next
/// number. Only damage leads to larger ones.
pub const MAX_SEQUENCE_AT_OPEN: SequenceNumber = MAX_SEQUENCE / 2;

/// The number of bytes that a tag adds to a user key.
pub const TAG_SIZE: usize = 8;

/// The type in the tag of a seek target: no smaller than any stored type, so
/// the target sorts before every entry of its key and sequence.
pub const SEEK_TYPE: u8 = 0x18;

/// The type of an entry of a memtable or table. The discriminants are on disk and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ValueType {
    /// A tombstone for one key.
    Deletion = 0x00,
    /// A plain value.
    Value = 0x01,
    /// An operand for the merge operator.
    Merge = 0x02,
    /// A tombstone that cancels exactly one earlier put.
    SingleDeletion = 0x07,
    /// A tombstone for a range; the value is the exclusive end key.
    RangeDeletion = 0x0f,
    /// A reference into a blob file.
    BlobIndex = 0x11,
    /// A tombstone that carries a user timestamp.
    DeletionWithTimestamp = 0x14,
    /// A wide-column entity.
    WideColumnEntity = 0x16,
    /// A value with a preferred sequence number (TimedPut).
    ValuePreferredSeqno = 0x18,
}

impl ValueType {
    /// The type stored as `b`, or `None` for one that never occurs in a memtable or table.
    pub fn from_u8(b: u8) -> Option<Self> {
        Some(match b {
            0x00 => ValueType::Deletion,
            0x01 => ValueType::Value,
            0x02 => ValueType::Merge,
            0x07 => ValueType::SingleDeletion,
            0x0f => ValueType::RangeDeletion,
            0x11 => ValueType::BlobIndex,
            0x14 => ValueType::DeletionWithTimestamp,
            0x16 => ValueType::WideColumnEntity,
            0x18 => ValueType::ValuePreferredSeqno,
            _ => return None,
        })
    }
}

/// The tag of an internal key.
#[inline]
pub const fn pack_tag(seq: SequenceNumber, ty: u8) -> u64 {
    (seq << 8) | ty as u64
}

/// Appends the internal key of `user_key` at `seq`.
pub fn append_internal_key(dst: &mut Vec<u8>, user_key: &[u8], seq: SequenceNumber, ty: u8) {
    dst.extend_from_slice(user_key);
    dst.extend_from_slice(&pack_tag(seq, ty).to_le_bytes());
}

/// The internal key of `user_key` at `seq`.
pub fn internal_key(user_key: &[u8], seq: SequenceNumber, ty: ValueType) -> Vec<u8> {
    let mut k = Vec::with_capacity(user_key.len() + TAG_SIZE);
    append_internal_key(&mut k, user_key, seq, ty as u8);
    k
}

/// The internal key that sorts before every version of `user_key` visible at
/// `seq`.
pub fn seek_key(user_key: &[u8], seq: SequenceNumber) -> Vec<u8> {
    let mut k = Vec::with_capacity(user_key.len() + TAG_SIZE);
    append_internal_key(&mut k, user_key, seq, SEEK_TYPE);
    k
}

/// [`seek_key`] for a single look-up: allocates for long keys only.
#[inline]
pub fn lookup_key(user_key: &[u8], seq: SequenceNumber) -> SmallVec<[u8; 64]> {
    const ON_STACK: usize = 64;
    let (tag_at, len) = (user_key.len(), user_key.len() + TAG_SIZE);
    if len > ON_STACK {
        return seek_key(user_key, seq).into();
    }
    let mut key = [0; ON_STACK];
    key[..tag_at].copy_from_slice(user_key);
    key[tag_at..len].copy_from_slice(&pack_tag(seq, SEEK_TYPE).to_le_bytes());
    SmallVec::from_buf_and_len(key, len)
}

/// The user key of an internal key, or all of `ikey` when it is shorter than
/// a tag (such a key never gets past [`parse_internal_key`]).
#[inline]
pub fn user_key(ikey: &[u8]) -> &[u8] {
    &ikey[..ikey.len().saturating_sub(TAG_SIZE)]
}

/// The tag of an internal key; 0 when `ikey` is shorter than a tag.
#[inline]
pub fn tag(ikey: &[u8]) -> u64 {
    crate::coding::last_u64(ikey).unwrap_or(0)
}

/// The sequence number of an internal key.
#[inline]
pub fn sequence(ikey: &[u8]) -> SequenceNumber {
    tag(ikey) >> 8
}

/// A decoded internal key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedKey<'a> {
    /// The user key.
    pub user_key: &'a [u8],
    /// The sequence number.
    pub seq: SequenceNumber,
    /// The type of the entry.
    pub ty: ValueType,
}

/// Decodes an internal key.
///
/// # Errors
/// `Corruption` if it is shorter than a tag or its type is unknown.
#[inline]
pub fn parse_internal_key(ikey: &[u8]) -> Result<ParsedKey<'_>> {
    let Some((user_key, tag)) = ikey.split_last_chunk::<TAG_SIZE>() else {
        return Err(Error::corruption(format_args!(
            "internal key of {} bytes",
            ikey.len()
        )));
    };
    let tag = u64::from_le_bytes(*tag);
    let Some(ty) = ValueType::from_u8(tag as u8) else {
        return Err(Error::corruption(format_args!(
            "value type {:#04x}",
            tag as u8
        )));
    };
    Ok(ParsedKey {
        user_key,
        seq: tag >> 8,
        ty,
    })
}

/// A total order of user keys.
///
/// Two keys that compare equal are the same key. The order must not change
/// while data sorted by it exists; the name is stored and checked at open.
pub trait Comparator: Send + Sync + 'static {
    /// The name stored in the manifest and in tables.
    fn name(&self) -> &str;

    /// Orders two user keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// May shorten `start` to any key in `[start, limit)`.
    fn shorten_separator(&self, _start: &mut Vec<u8>, _limit: &[u8]) {}

    /// The size in bytes of the timestamp at the end of every user key; 0 for none. Keys that
    /// differ only in their timestamps are versions of one key, and the newest comes first.
    fn timestamp_size(&self) -> usize {
        0
    }

    /// Orders two timestamps, older ones first.
    fn compare_timestamps(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }

    /// Orders two user keys without their timestamps. Each may have one or not.
    fn compare_without_timestamps(
        &self,
        a: &[u8],
        _a_has_timestamp: bool,
        b: &[u8],
        _b_has_timestamp: bool,
    ) -> Ordering {
        self.compare(a, b)
    }
}

/// The comparator of a column family. The two built-in orders are variants, so that hot loops
/// compare without a virtual call.
#[derive(Clone, Default)]
pub enum UserComparator {
    /// Orders keys by unsigned bytes; a prefix comes first.
    #[default]
    Bytewise,
    /// The reverse of `Bytewise`.
    ReverseBytewise,
    /// An order supplied by the user.
    Custom(Arc<dyn Comparator>),
}

impl UserComparator {
    /// The name stored in the manifest and in tables.
    pub fn name(&self) -> &str {
        match self {
            UserComparator::Bytewise => "leveldb.BytewiseComparator",
            UserComparator::ReverseBytewise => "rocksdb.ReverseBytewiseComparator",
            UserComparator::Custom(c) => c.name(),
        }
    }

    /// Whether it is the default order, that of the keys' bytes.
    #[inline]
    pub fn is_bytewise(&self) -> bool {
        matches!(self, UserComparator::Bytewise)
    }

    /// Whether it is a built-in order. In these, only equal bytes are equal keys.
    #[inline]
    pub fn is_builtin(&self) -> bool {
        !matches!(self, UserComparator::Custom(_))
    }

    /// Orders two user keys.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            UserComparator::Bytewise => a.cmp(b),
            other => other.compare_otherwise(a, b),
        }
    }

    /// The first 16 bytes of a user key as a number. Of two keys with different heads, the one with
    /// the smaller head comes first; nothing follows from equal ones. An order of the user's has
    /// one head for all keys.
    #[inline(always)]
    pub fn head(&self, user_key: &[u8]) -> u128 {
        match self {
            UserComparator::Bytewise => u128::from_be_bytes(first_bytes(user_key)),
            UserComparator::ReverseBytewise => !u128::from_be_bytes(first_bytes(user_key)),
            UserComparator::Custom(_) => 0,
        }
    }

    // Not inlined, so that a loop that compares has room for the default order.
    #[inline(never)]
    fn compare_otherwise(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            UserComparator::Bytewise => a.cmp(b),
            UserComparator::ReverseBytewise => b.cmp(a),
            UserComparator::Custom(c) => c.compare(a, b),
        }
    }

    /// Bytes of the timestamp that every user key ends with; 0 for none.
    #[inline]
    pub fn timestamp_size(&self) -> usize {
        match self {
            UserComparator::Custom(c) => c.timestamp_size(),
            _ => 0,
        }
    }

    /// Orders two timestamps, older ones first.
    pub fn compare_timestamps(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            UserComparator::Custom(c) => c.compare_timestamps(a, b),
            _ => a.cmp(b),
        }
    }

    /// Orders two user keys without their timestamps, if they have any. Versions of one key are
    /// equal.
    #[inline]
    pub fn compare_keys(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            UserComparator::Custom(c) if c.timestamp_size() > 0 => {
                c.compare_without_timestamps(a, true, b, true)
            }
            _ => self.compare(a, b),
        }
    }

    /// Orders a stored user key and one that has no timestamp, such as a bound.
    #[inline]
    pub fn compare_to_bound(&self, stored: &[u8], bound: &[u8]) -> Ordering {
        match self {
            UserComparator::Custom(c) if c.timestamp_size() > 0 => {
                c.compare_without_timestamps(stored, true, bound, false)
            }
            _ => self.compare(stored, bound),
        }
    }

    /// Orders two user keys that have no timestamps, even if stored keys have them.
    #[inline]
    pub fn compare_bounds(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            UserComparator::Custom(c) if c.timestamp_size() > 0 => {
                c.compare_without_timestamps(a, false, b, false)
            }
            _ => self.compare(a, b),
        }
    }

    /// A stored user key without its timestamp. It is empty if the key is too short to have one,
    /// which happens only in damaged files.
    #[inline]
    pub fn without_timestamp<'k>(&self, stored: &'k [u8]) -> &'k [u8] {
        &stored[..stored.len().saturating_sub(self.timestamp_size())]
    }

    /// The timestamp of a stored user key; empty if keys have none.
    #[inline]
    pub fn timestamp<'k>(&self, stored: &'k [u8]) -> &'k [u8] {
        &stored[self.without_timestamp(stored).len()..]
    }

    /// The stored user key `of` with the timestamp of `at` in place of its own. Without
    /// timestamps, `of` itself.
    pub fn with_timestamp_of(&self, of: &[u8], at: &[u8]) -> Vec<u8> {
        [self.without_timestamp(of), self.timestamp(at)].concat()
    }

    /// The position where the versions of `key`, which has no timestamp, begin: `key` with the
    /// newest possible timestamp, as in RocksDB.
    pub fn first_version(&self, key: &[u8]) -> Vec<u8> {
        let mut version = key.to_vec();
        version.resize(key.len() + self.timestamp_size(), 0xff);
        version
    }

    /// The position where the versions of `key` end: `key` with the oldest timestamp.
    pub fn last_version(&self, key: &[u8]) -> Vec<u8> {
        let mut version = key.to_vec();
        version.resize(key.len() + self.timestamp_size(), 0);
        version
    }

    /// May shorten `start` to any key in `[start, limit)`.
    pub fn shorten_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        match self {
            UserComparator::Bytewise => shorten_bytewise(start, limit),
            UserComparator::ReverseBytewise => {}
            UserComparator::Custom(c) => c.shorten_separator(start, limit),
        }
    }
}

impl std::fmt::Debug for UserComparator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// RocksDB's byte-wise shortening: the result is at most as long as `start`.
fn shorten_bytewise(start: &mut Vec<u8>, limit: &[u8]) {
    let min = start.len().min(limit.len());
    let Some(diff) = (0..min).find(|&i| start[i] != limit[i]) else {
        return; // one is a prefix of the other
    };
    let (s, l) = (start[diff], limit[diff]);
    if s >= l {
        return;
    }
    if diff < limit.len() - 1 || s + 1 < l {
        start[diff] += 1;
        start.truncate(diff + 1);
    } else {
        // The incremented byte would equal the end of `limit`: keep it, and increment the first
        // later byte that can be incremented.
        if let Some(i) = (diff + 1..start.len()).find(|&i| start[i] != 0xff) {
            start[i] += 1;
            start.truncate(i + 1);
        }
    }
}

/// Orders internal keys.
#[derive(Debug, Clone, Default)]
pub struct InternalComparator {
    /// The order of the user keys.
    pub user: UserComparator,
}

impl InternalComparator {
    /// An internal order over `user`.
    pub fn new(user: UserComparator) -> Self {
        InternalComparator { user }
    }

    /// Orders two internal keys: user key ascending, tag descending.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.user
            .compare(user_key(a), user_key(b))
            .then_with(|| tag(b).cmp(&tag(a)))
    }

    /// Orders two user keys.
    #[inline]
    pub fn compare_user(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.user.compare(a, b)
    }

    /// Shortens `start` (an internal key) to an internal key in
    /// `[start, limit)`, for index blocks.
    pub fn shorten_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        let (user_start, user_limit) = (user_key(start), user_key(limit));
        let mut short = user_start.to_vec();
        self.user.shorten_separator(&mut short, user_limit);
        if short.len() < user_start.len() && self.user.compare(user_start, &short) == Ordering::Less
        {
            append_internal_key(&mut short, &[], MAX_SEQUENCE, SEEK_TYPE);
            *start = short;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_versions_come_first() {
        let c = InternalComparator::default();
        let a5 = internal_key(b"a", 5, ValueType::Value);
        let a9 = internal_key(b"a", 9, ValueType::Deletion);
        let ab = internal_key(b"ab", 1, ValueType::Value);
        assert_eq!(c.compare(&a9, &a5), Ordering::Less);
        assert_eq!(c.compare(&a5, &ab), Ordering::Less);
        assert_eq!(c.compare(&seek_key(b"a", 5), &a5), Ordering::Less);
        assert_eq!(c.compare(&seek_key(b"a", 5), &a9), Ordering::Greater);
    }

    #[test]
    fn a_look_up_seeks_what_a_seek_does() {
        let long = [b'k'; 100];
        for len in 0..long.len() {
            let key = &long[..len];
            assert_eq!(lookup_key(key, 7)[..], seek_key(key, 7), "{len} bytes");
        }
    }

    #[test]
    fn separators_stay_between_their_neighbours() {
        let c = InternalComparator::default();
        for (start, limit) in [
            (&b"abcdef"[..], &b"abzz"[..]),
            (b"abc1xyz", b"abc2"),
            (b"abc1\xff\xffz", b"abc2"),
            (b"abc", b"abcd"),
            (b"", b"a"),
            (b"\xff\xff", b"\xff\xff\xff"),
        ] {
            let s = internal_key(start, 7, ValueType::Value);
            let l = internal_key(limit, 7, ValueType::Value);
            let mut short = s.clone();
            c.shorten_separator(&mut short, &l);
            assert!(short.len() <= s.len());
            assert_ne!(c.compare(&short, &s), Ordering::Less);
            assert_eq!(c.compare(&short, &l), Ordering::Less);
        }
    }

    #[test]
    fn bad_internal_keys_are_errors() {
        assert!(parse_internal_key(b"short").is_err());
        let mut k = b"key".to_vec();
        append_internal_key(&mut k, b"", 3, 0x55);
        assert!(parse_internal_key(&k).is_err());
    }
}
