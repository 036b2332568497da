//! Filters: they tell whether a table may hold a key.
//!
//! [`FilterBuilder`] (`builder`) writes RocksDB's FastLocalBloom (`bloom`), Ribbon filters
//! (`ribbon`) and the Bloom filters before format version 5; [`Filter`] reads them. `policy` says
//! which filter a table gets, `prefix` what part of a key is its prefix. `plain_bloom` are the
//! filters of plain tables, `query` what a filter is asked for. Filters are hints: a filter that
//! is unknown or malformed answers "maybe".

mod bloom;
mod builder;
mod plain_bloom;
mod policy;
mod prefix;
mod query;
mod ribbon;

pub(crate) use builder::{FilterBuilder, FilterSpec};
pub(crate) use plain_bloom::{build as build_plain_bloom, plain_hash};
pub use policy::FilterPolicy;
pub use prefix::PrefixTransform;
pub use query::FilterQuery;

use crate::sst::format::hash64::hash32;
use bytes::Bytes;
use ribbon::Seeded;
use whitewater_concurrent::prefetch;

/// Bytes of the trailer after the filter's data.
const TRAILER_LEN: usize = 5;
/// Bytes of a cache line, the unit of a FastLocalBloom.
const LINE: usize = 64;
const LEGACY_SEED: u32 = 0xbc9f_1d34;
const PROBE_FACTOR: u32 = 0x9e37_79b9;

/// Offset of the cache line that `hash` falls into.
#[inline]
fn line_of(hash: u64, len: usize) -> usize {
    let lines = (len / LINE) as u64;
    (((hash & 0xffff_ffff) * lines) >> 32) as usize * LINE
}

/// A filter read from a file.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    data: Bytes,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Everything,
    Nothing,
    FastLocal { probes: u8 },
    Legacy { probes: u8, lines: u32, line: u32 },
    Ribbon { seed: u8, blocks: u32 },
    Plain(plain_bloom::Layout),
}

impl Filter {
    /// The filter stored as `block`.
    pub(crate) fn new(block: Bytes) -> Self {
        let Some((data, trailer)) = block.split_last_chunk::<TRAILER_LEN>() else {
            return Filter {
                data: Bytes::new(),
                kind: Kind::Nothing,
            };
        };
        let (len, t) = (data.len(), *trailer);
        let kind = if len == 0 {
            Kind::Nothing
        } else {
            match t[0] as i8 {
                1.. => legacy_kind(len, t),
                -1 => fast_local_kind(len, t),
                -2 => ribbon_kind(len, t),
                _ => Kind::Everything,
            }
        };
        Filter {
            data: block.slice(..len),
            kind,
        }
    }

    /// The filter `data` of a plain table, with this number of cache lines.
    pub(crate) fn of_plain_table(data: Bytes, lines: u32) -> Self {
        let layout = plain_bloom::Layout::of(data.len(), lines);
        Filter {
            data,
            kind: layout.map_or(Kind::Everything, Kind::Plain),
        }
    }

    /// Prefetches the memory that [`Filter::may_match`] reads for `query`. A hint.
    #[inline]
    pub(crate) fn prefetch(&self, query: &FilterQuery<'_>) {
        if let Kind::FastLocal { .. } = self.kind {
            let line = line_of(query.hash(), self.data.len());
            prefetch::for_reading(self.data[line..].as_ptr());
        }
    }

    /// Whether the key of `query` may have been added.
    #[inline]
    pub(crate) fn may_match(&self, query: &FilterQuery<'_>) -> bool {
        let key = query.key();
        match self.kind {
            Kind::FastLocal { probes } => {
                let h = query.hash();
                let line = line_of(h, self.data.len());
                probe_line(&self.data[line..line + LINE], h, probes)
            }
            Kind::Everything => true,
            Kind::Nothing => false,
            Kind::Legacy {
                probes,
                lines,
                line,
            } => probe_legacy(&self.data, hash32(key, LEGACY_SEED), probes, lines, line),
            Kind::Ribbon { seed, blocks } => probe_ribbon(&self.data, query.hash(), seed, blocks),
            Kind::Plain(layout) => plain_bloom::may_match(layout, &self.data, plain_hash(key)),
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory_usage(&self) -> usize {
        self.data.len() + TRAILER_LEN
    }
}

#[cfg(test)]
impl Filter {
    /// Whether `key` may have been added.
    fn may_hold(&self, key: &[u8]) -> bool {
        self.may_match(&FilterQuery::new(key))
    }
}

fn fast_local_kind(len: usize, t: [u8; TRAILER_LEN]) -> Kind {
    let probes = t[2] & 0x1f;
    let known = t[1] == 0 && t[2] >> 5 == 0 && (1..=30).contains(&probes);
    if known && len.is_multiple_of(LINE) {
        Kind::FastLocal { probes }
    } else {
        Kind::Everything
    }
}

fn legacy_kind(len: usize, t: [u8; TRAILER_LEN]) -> Kind {
    let lines = u32::from_le_bytes([t[1], t[2], t[3], t[4]]);
    let line = (len as u64).checked_div(u64::from(lines)).unwrap_or(0);
    let exact = line * u64::from(lines) == len as u64;
    if exact && line.is_power_of_two() && line <= 4096 {
        Kind::Legacy {
            probes: t[0],
            lines,
            line: line as u32,
        }
    } else {
        Kind::Everything
    }
}

fn ribbon_kind(len: usize, t: [u8; TRAILER_LEN]) -> Kind {
    let blocks = u32::from_le_bytes([t[2], t[3], t[4], 0]);
    let segments = len / 16;
    let up = segments.div_ceil(blocks.max(1) as usize);
    let enough = blocks >= 2 && segments >= blocks as usize && up <= 32;
    if enough && len.is_multiple_of(16) {
        Kind::Ribbon { seed: t[1], blocks }
    } else {
        Kind::Everything
    }
}

#[inline]
fn probe_line(line: &[u8], hash: u64, probes: u8) -> bool {
    let Ok(line) = <&[u8; LINE]>::try_from(line) else {
        return true;
    };
    let mut h = (hash >> 32) as u32;
    for _ in 0..probes {
        let bit = (h >> 23) as usize;
        if line[bit / 8] & (1 << (bit % 8)) == 0 {
            return false;
        }
        h = h.wrapping_mul(PROBE_FACTOR);
    }
    true
}

fn probe_legacy(data: &[u8], mut h: u32, probes: u8, lines: u32, line: u32) -> bool {
    let delta = h.rotate_right(17);
    let base = (h % lines) as usize * line as usize;
    for _ in 0..probes {
        let bit = (h & (line * 8 - 1)) as usize;
        let byte = data.get(base + bit / 8).copied().unwrap_or(0xff);
        if byte & (1 << (bit % 8)) == 0 {
            return false;
        }
        h = h.wrapping_add(delta);
    }
    true
}

/// Queries a Ribbon filter: the parity of the key's coefficients with each column of the solution
/// must give the key's expected bits.
fn probe_ribbon(data: &[u8], hash: u64, seed: u8, blocks: u32) -> bool {
    let hash = Seeded::new(hash, seed);
    let start = hash.start(blocks);
    let (coefficients, expected) = hash.equation();
    let (blocks, segments) = (blocks as usize, data.len() / 16);
    let upper = segments.div_ceil(blocks);
    let first_upper = upper * blocks - segments;
    let (block, shift) = (start / 128, start % 128);
    let segment = block * upper - block.min(first_upper);
    let columns = upper - usize::from(block < first_upper);
    let read = |segment: usize| -> Option<u128> {
        let bytes = data.get(segment * 16..segment * 16 + 16)?;
        Some(u128::from_le_bytes(bytes.try_into().ok()?))
    };
    for i in 0..columns {
        let Some(s) = read(segment + i) else {
            return true;
        };
        let mut bits = s & (coefficients << shift);
        if shift > 0 {
            let Some(s) = read(segment + columns + i) else {
                return true;
            };
            bits ^= s & (coefficients >> (128 - shift));
        }
        if bits.count_ones() & 1 != expected >> i & 1 {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_blocks_answer_maybe() {
        let f = |b: &[u8]| Filter::new(Bytes::copy_from_slice(b)).may_hold(b"k");
        assert!(!f(b""));
        assert!(!f(&[0xff, 0, 6, 0, 0]));
        assert!(f(&[0; 10]));
        assert!(f(&[[0u8; 10].as_slice(), &[0xff, 0, 6, 0, 0]].concat()));
        assert!(f(&[[0u8; 64].as_slice(), &[0xff, 1, 6, 0, 0]].concat()));
        assert!(f(&[[0u8; 64].as_slice(), &[0xfe, 1, 1, 0, 0]].concat()));
        assert!(f(&[[0u8; 64].as_slice(), &[6, 0, 0, 0, 0]].concat()));
        assert!(f(&[[0u8; 64].as_slice(), &[0xf0, 0, 6, 0, 0]].concat()));
        assert!(!f(&[[0u8; 64].as_slice(), &[0xff, 0, 6, 0, 0]].concat()));
    }
}
