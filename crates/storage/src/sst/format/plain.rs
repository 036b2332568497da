//! The entries of plain tables: keys in one of two encodings, then values with their lengths.
//!
//! A key in the encoding *plain* is a length, unless all keys have the same one, and the key. In
//! the encoding *prefix* each length has two more bits for what follows: a whole key, the length of
//! a prefix to take from the key before, or the rest of a key behind that prefix. The tag follows
//! the user key, or a single byte instead, if the tag is that of a value with sequence number 0.

use crate::coding::{get_varint32, put_varint32};
use crate::error::{Error, Result};
use crate::key::{TAG_SIZE, ValueType, pack_tag, tag, user_key};
use crate::sst::format::properties::{TableProperties, name};
use std::ops::Range;

/// The property that says how keys are encoded.
pub(crate) const ENCODING_TYPE: &str = "rocksdb.plain.table.encoding.type";
/// The property for the version of the Bloom filter in the file.
pub(crate) const BLOOM_VERSION: &str = "rocksdb.plain.table.bloom.version";
/// The property for the number of cache lines of the Bloom filter in the file.
pub(crate) const BLOOM_BLOCKS: &str = "rocksdb.plain.table.bloom.numblocks";

/// The name of the index in the metaindex.
pub(crate) const META_PLAIN_INDEX: &[u8] = b"PlainTableIndexBlock";
/// The name of the Bloom filter in the metaindex.
pub(crate) const META_PLAIN_BLOOM: &[u8] = b"kBloomBlock";

/// The largest plain table in bytes: its index has offsets of 31 bits.
pub(crate) const MAX_PLAIN_TABLE: u64 = (1 << 31) - 1;

/// In place of a tag: a value with sequence number 0.
const ZERO_TAG: u8 = 0xff;

/// The largest length that a byte of the encoding *prefix* has room for. It says that a varint with
/// the rest follows.
const INLINE_LIMIT: u32 = 0x3f;

const FULL_KEY: u8 = 0;
const PREFIX_FROM_PREVIOUS: u8 = 1;
const KEY_SUFFIX: u8 = 2;

/// How the keys of a plain table are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PlainEncoding {
    /// Each key is stored whole.
    #[default]
    Plain,
    /// Prefixes that a key shares with the key before it are stored once.
    Prefix,
}

/// What it takes to decode the keys of a plain table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlainCoding {
    pub(crate) encoding: PlainEncoding,
    /// The length of all user keys; 0 if it varies.
    pub(crate) user_key_len: u32,
}

impl PlainCoding {
    /// The coding that a table's properties tell.
    ///
    /// # Errors
    /// `Corruption` for bad properties; `NotSupported` for an unknown encoding.
    pub(crate) fn of(properties: &TableProperties) -> Result<Self> {
        let encoding = match properties.fixed32(ENCODING_TYPE)?.unwrap_or(0) {
            0 => PlainEncoding::Plain,
            1 => PlainEncoding::Prefix,
            other => {
                return Err(Error::not_supported(format_args!(
                    "plain table with encoding type {other}"
                )));
            }
        };
        let user_key_len = properties.number(name::FIXED_KEY_LENGTH)?;
        let user_key_len = u32::try_from(user_key_len)
            .map_err(|_| Error::corruption(format_args!("user keys of {user_key_len} bytes")))?;
        Ok(PlainCoding {
            encoding,
            user_key_len,
        })
    }
}

/// The outcome of decoding an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// The decoder holds the key. The entry has `len` bytes, with the value at `value`.
    Entry { len: usize, value: Range<usize> },
    /// The entry has at least this many bytes, and the input has fewer.
    Needs(usize),
}

/// Where the parts of an entry are.
struct Parts {
    /// How many bytes of the key before it begins with.
    shared: usize,
    /// The prefix length that is in force after the entry.
    prefix_len: Option<usize>,
    suffix: Range<usize>,
    tag: u64,
}

/// Why an entry is not decoded.
enum Stop {
    Needs(usize),
    Bad(&'static str),
}

/// Decodes the entries of a plain table one after the other.
#[derive(Debug, Clone)]
pub(crate) struct PlainDecoder {
    coding: PlainCoding,
    /// The internal key of the last entry.
    key: Vec<u8>,
    /// How many of its first bytes the next key may share.
    prefix_len: Option<usize>,
}

impl PlainDecoder {
    /// A decoder that begins where `prefix` is in force; at an entry with a whole key if it is
    /// `None`.
    pub(crate) fn new(coding: PlainCoding, prefix: Option<&[u8]>) -> Self {
        let mut key = prefix.unwrap_or_default().to_vec();
        let prefix_len = prefix.map(<[u8]>::len);
        key.extend_from_slice(&[0; TAG_SIZE]);
        PlainDecoder {
            coding,
            key,
            prefix_len,
        }
    }

    /// The internal key of the last entry.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Whether another decoder could begin with the entry that starts with the byte `first`, and
    /// with which prefix.
    pub(crate) fn resumes_at(&self, first: u8) -> Option<Option<&[u8]>> {
        if self.coding.encoding == PlainEncoding::Plain || first >> 6 == FULL_KEY {
            return Some(None);
        }
        match self.prefix_len {
            Some(len) if first >> 6 == KEY_SUFFIX => Some(Some(&self.key[..len])),
            _ => None,
        }
    }

    /// Decodes the entry at the beginning of `input`.
    ///
    /// # Errors
    /// `Corruption` if there is none.
    pub(crate) fn next(&mut self, input: &[u8]) -> Result<Decoded> {
        match self.decode(input) {
            Ok(decoded) => Ok(decoded),
            Err(Stop::Needs(len)) => Ok(Decoded::Needs(len)),
            Err(Stop::Bad(what)) => Err(Error::corruption(what)),
        }
    }

    fn decode(&mut self, input: &[u8]) -> Result<Decoded, Stop> {
        let mut at = 0;
        let parts = match self.coding.encoding {
            PlainEncoding::Plain => self.plain_key(input, &mut at)?,
            PlainEncoding::Prefix => self.prefixed_key(input, &mut at)?,
        };
        let len = varint(input, &mut at)? as usize;
        let value = take(input, &mut at, len)?;
        self.key.truncate(parts.shared);
        self.key.extend_from_slice(&input[parts.suffix]);
        self.key.extend_from_slice(&parts.tag.to_le_bytes());
        self.prefix_len = parts.prefix_len;
        Ok(Decoded::Entry { len: at, value })
    }

    fn plain_key(&self, input: &[u8], at: &mut usize) -> Result<Parts, Stop> {
        let len = match self.coding.user_key_len {
            0 => varint(input, at)?,
            len => len,
        };
        let (suffix, tag) = key_and_tag(input, at, len)?;
        Ok(Parts {
            shared: 0,
            prefix_len: None,
            suffix,
            tag,
        })
    }

    fn prefixed_key(&self, input: &[u8], at: &mut usize) -> Result<Parts, Stop> {
        let (mut ty, mut len) = typed_len(input, at)?;
        let mut prefix_len = self.prefix_len;
        if ty == PREFIX_FROM_PREVIOUS {
            let len_before = user_key(&self.key).len();
            if len as usize > len_before {
                return Err(Stop::Bad("prefix longer than the key before it"));
            }
            prefix_len = Some(len as usize);
            (ty, len) = typed_len(input, at)?;
        } else if ty == FULL_KEY {
            prefix_len = None;
        }
        let shared = match (ty, prefix_len) {
            (FULL_KEY, None) => 0,
            (KEY_SUFFIX, Some(len)) => len,
            (KEY_SUFFIX, None) => return Err(Stop::Bad("key suffix without a prefix")),
            _ => return Err(Stop::Bad("bad type of key in a plain table")),
        };
        let (suffix, tag) = key_and_tag(input, at, len)?;
        Ok(Parts {
            shared,
            prefix_len,
            suffix,
            tag,
        })
    }
}

fn take(input: &[u8], at: &mut usize, len: usize) -> Result<Range<usize>, Stop> {
    let start = *at;
    let end = start.checked_add(len).ok_or(Stop::Bad("entry too long"))?;
    if end > input.len() {
        return Err(Stop::Needs(end));
    }
    *at = end;
    Ok(start..end)
}

fn varint(input: &[u8], at: &mut usize) -> Result<u32, Stop> {
    /// The longest encoding of 32 bits.
    const MOST: usize = 5;
    let mut rest = &input[*at..];
    let before = rest.len();
    match get_varint32(&mut rest) {
        Some(value) => {
            *at += before - rest.len();
            Ok(value)
        }
        None if before < MOST => Err(Stop::Needs(input.len() + 1)),
        None => Err(Stop::Bad("bad length in a plain table")),
    }
}

/// The type and the length at the beginning of a key in the encoding *prefix*.
fn typed_len(input: &[u8], at: &mut usize) -> Result<(u8, u32), Stop> {
    let first = input[take(input, at, 1)?][0];
    let len = u32::from(first) & INLINE_LIMIT;
    if len < INLINE_LIMIT {
        return Ok((first >> 6, len));
    }
    let more = varint(input, at)?;
    let len = len.checked_add(more).ok_or(Stop::Bad("key too long"))?;
    Ok((first >> 6, len))
}

/// The range of `len` bytes of a user key, and the tag behind it.
fn key_and_tag(input: &[u8], at: &mut usize, len: u32) -> Result<(Range<usize>, u64), Stop> {
    let key = take(input, at, len as usize)?;
    let first = take(input, at, 1)?.start;
    if input[first] == ZERO_TAG {
        return Ok((key, pack_tag(0, ValueType::Value as u8)));
    }
    *at = first;
    let tag = tag(&input[take(input, at, TAG_SIZE)?]);
    match ValueType::from_u8(tag as u8) {
        Some(ValueType::RangeDeletion) => Err(Stop::Bad("range tombstone among the points")),
        Some(_) => Ok((key, tag)),
        None => Err(Stop::Bad("unknown value type in a plain table")),
    }
}

/// Encodes the entries of a plain table.
#[derive(Debug)]
pub(crate) struct PlainEncoder {
    coding: PlainCoding,
    /// Whole keys are stored after this many keys with the same prefix.
    whole_key_interval: u64,
    prefix: Vec<u8>,
    /// Keys with `prefix` since the last one that was stored whole, that one included.
    run: u64,
}

impl PlainEncoder {
    /// An encoder that stores a whole key for every `index_sparseness` keys at least; 0 counts
    /// as 1.
    pub(crate) fn new(coding: PlainCoding, index_sparseness: u64) -> Self {
        PlainEncoder {
            coding,
            whole_key_interval: index_sparseness.max(1),
            prefix: Vec::new(),
            run: 0,
        }
    }

    /// Appends an entry. `prefix` is the prefix of the user key.
    pub(crate) fn encode(
        &mut self,
        internal_key: &[u8],
        prefix: &[u8],
        value: &[u8],
        out: &mut Vec<u8>,
    ) {
        let user = user_key(internal_key);
        let mut suffix = user;
        match self.coding.encoding {
            PlainEncoding::Plain if self.coding.user_key_len == 0 => {
                put_varint32(out, user.len() as u32);
            }
            PlainEncoding::Plain => {}
            PlainEncoding::Prefix => {
                let begins = self.run == 0
                    || self.prefix != prefix
                    || self.run.is_multiple_of(self.whole_key_interval);
                if begins {
                    self.run = 1;
                    self.prefix.clear();
                    self.prefix.extend_from_slice(prefix);
                    put_typed_len(out, FULL_KEY, user.len());
                } else {
                    self.run += 1;
                    if self.run == 2 {
                        put_typed_len(out, PREFIX_FROM_PREVIOUS, prefix.len());
                    }
                    suffix = &user[prefix.len()..];
                    put_typed_len(out, KEY_SUFFIX, suffix.len());
                }
            }
        }
        out.extend_from_slice(suffix);
        match tag(internal_key) {
            tag if tag == pack_tag(0, ValueType::Value as u8) => out.push(ZERO_TAG),
            tag => out.extend_from_slice(&tag.to_le_bytes()),
        }
        put_varint32(out, value.len() as u32);
        out.extend_from_slice(value);
    }
}

fn put_typed_len(out: &mut Vec<u8>, ty: u8, len: usize) {
    let len = len as u32;
    if len < INLINE_LIMIT {
        out.push(ty << 6 | len as u8);
    } else {
        out.push(ty << 6 | INLINE_LIMIT as u8);
        put_varint32(out, len - INLINE_LIMIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::internal_key;

    /// The internal key, the length of its prefix and the value of an entry.
    type Entry = (Vec<u8>, usize, Vec<u8>);

    fn entries() -> Vec<Entry> {
        let key = |user: &[u8], seq, ty| internal_key(user, seq, ty);
        vec![
            (key(b"", 5, ValueType::Value), 0, b"empty".to_vec()),
            (key(b"00000001", 3, ValueType::Value), 4, b"v".to_vec()),
            (key(b"000000021", 0, ValueType::Value), 4, vec![]),
            (key(b"00000002", 9, ValueType::Deletion), 4, vec![]),
            (key(b"0001100", 0, ValueType::Deletion), 5, vec![]),
            (key(b"00020001", 1 << 55, ValueType::Merge), 4, vec![7; 300]),
            (key(&[9; 63], 0, ValueType::Value), 62, vec![1]),
            (key(&[9; 200], 0, ValueType::Value), 62, vec![2]),
        ]
    }

    fn encoded(coding: PlainCoding, sparseness: u64, entries: &[Entry]) -> Vec<u8> {
        let mut encoder = PlainEncoder::new(coding, sparseness);
        let mut out = Vec::new();
        for (key, prefix_len, value) in entries {
            encoder.encode(key, &key[..*prefix_len], value, &mut out);
        }
        out
    }

    #[test]
    fn entries_round_trip_in_both_encodings_and_every_cut_asks_for_more() {
        for encoding in [PlainEncoding::Plain, PlainEncoding::Prefix] {
            for sparseness in [0, 1, 2, 16] {
                let coding = PlainCoding {
                    encoding,
                    user_key_len: 0,
                };
                let bytes = encoded(coding, sparseness, &entries());
                let mut decoder = PlainDecoder::new(coding, None);
                let mut at = 0;
                for (key, _, value) in entries() {
                    let mut cut = decoder.clone();
                    for end in at..bytes.len() {
                        match cut.next(&bytes[at..end]).expect("a part of an entry") {
                            Decoded::Needs(len) => assert!(len > end - at),
                            Decoded::Entry { len, .. } => {
                                assert_eq!(end - at, len);
                                break;
                            }
                        }
                    }
                    let decoded = decoder.next(&bytes[at..]).expect("an entry");
                    let Decoded::Entry { len, value: range } = decoded else {
                        panic!("{decoded:?}");
                    };
                    assert_eq!(decoder.key(), key);
                    assert_eq!(bytes[at..][range], value);
                    at += len;
                }
                assert_eq!(at, bytes.len());
            }
        }
    }

    /// The example of RocksDB's description of the format.
    #[test]
    fn prefixes_are_encoded_as_rocksdb_does() {
        let coding = PlainCoding {
            encoding: PlainEncoding::Prefix,
            user_key_len: 0,
        };
        let of = |user: &[u8], prefix| (internal_key(user, 0, ValueType::Value), prefix, vec![]);
        let entries = [
            of(b"00000001", 4),
            of(b"000000021", 4),
            of(b"00000002", 4),
            of(b"0001100", 5),
            of(b"00020001", 4),
        ];
        let expected = b"\x0800000001\xff\0\x44\x8500021\xff\0\x840002\xff\0\
            \x070001100\xff\0\x0800020001\xff\0";
        assert_eq!(encoded(coding, 16, &entries), expected);
        // With a sparseness of 2, every other key is whole.
        let expected = b"\x0800000001\xff\0\x44\x8500021\xff\0\x0800000002\xff\0\
            \x070001100\xff\0\x0800020001\xff\0";
        assert_eq!(encoded(coding, 2, &entries), expected);
    }

    #[test]
    fn keys_of_one_length_have_none() {
        let coding = PlainCoding {
            encoding: PlainEncoding::Plain,
            user_key_len: 2,
        };
        let key = internal_key(b"ab", 1, ValueType::Value);
        let bytes = encoded(coding, 16, &[(key.clone(), 0, b"v".to_vec())]);
        assert_eq!(bytes, b"ab\x01\x01\0\0\0\0\0\0\x01v");
        let mut decoder = PlainDecoder::new(coding, None);
        let decoded = decoder.next(&bytes);
        assert_eq!(
            decoded,
            Ok(Decoded::Entry {
                len: 12,
                value: 11..12
            })
        );
        assert_eq!(decoder.key(), key);
    }

    #[test]
    fn damaged_entries_are_refused() {
        let prefix = PlainCoding {
            encoding: PlainEncoding::Prefix,
            user_key_len: 0,
        };
        let plain = PlainCoding {
            encoding: PlainEncoding::Plain,
            user_key_len: 0,
        };
        for (coding, bytes) in [
            // A suffix without a prefix, a prefix of nothing, an unknown type of key.
            (prefix, &b"\x81a\xff\0"[..]),
            (prefix, b"\x41\x81a\xff\0"),
            (prefix, b"\xc1a\xff\0"),
            // A length of more than 32 bits, also together with what its byte holds.
            (plain, b"\xff\xff\xff\xff\xff\xff"),
            (prefix, b"\x3f\xff\xff\xff\xff\x0f"),
            // An unknown value type, a range tombstone.
            (plain, b"\x01a\x33\0\0\0\0\0\0\0\0"),
            (plain, b"\x01a\x0f\0\0\0\0\0\0\0\0"),
        ] {
            let refused = PlainDecoder::new(coding, None).next(bytes);
            assert!(refused.is_err(), "{bytes:?}: {refused:?}");
        }
    }
}
