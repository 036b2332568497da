//! Filters: whether a table may hold a key.
//!
//! [`BloomBuilder`] writes RocksDB's FastLocalBloom; [`Filter`] reads that
//! one, Ribbon filters and the Bloom filters of format versions before 5.
//! Filters are hints: whatever is unknown or malformed answers "maybe".

use super::hash64::{hash32, hash64};
use bytes::Bytes;

/// Bytes after the filter's data.
const TRAILER_LEN: usize = 5;
/// Bytes of a cache line, the unit of a FastLocalBloom.
const LINE: usize = 64;
const LEGACY_SEED: u32 = 0xbc9f_1d34;
const PROBE_FACTOR: u32 = 0x9e37_79b9;

/// Collects the hashes of a table's keys and lays out its filter.
#[derive(Debug)]
pub(crate) struct BloomBuilder {
    hashes: Vec<u64>,
    millibits: u64,
}

impl BloomBuilder {
    /// A builder of filters with `bits_per_key` bits per key, or `None` when
    /// that is too few for a filter. More than 100 counts as 100.
    pub(crate) fn new(bits_per_key: f64) -> Option<Self> {
        if bits_per_key.is_nan() || bits_per_key < 0.5 {
            return None;
        }
        Some(BloomBuilder {
            hashes: Vec::new(),
            millibits: (bits_per_key.clamp(1.0, 100.0) * 1000.0).round() as u64,
        })
    }

    /// Adds a key; equal keys stand next to each other.
    pub(crate) fn add(&mut self, key: &[u8]) {
        let h = hash64(key);
        if self.hashes.last() != Some(&h) {
            self.hashes.push(h);
        }
    }

    /// Number of distinct keys added.
    pub(crate) fn num_keys(&self) -> usize {
        self.hashes.len()
    }

    /// Bytes that [`BloomBuilder::finish`] would return now.
    pub(crate) fn estimated_len(&self) -> usize {
        self.data_len() + TRAILER_LEN
    }

    fn data_len(&self) -> usize {
        let bits = self.hashes.len() as u64 * self.millibits;
        let lines = bits.div_ceil(8000 * LINE as u64).max(1);
        // Line numbers are computed with 32-bit offsets in mind.
        lines.min(u64::from(u32::MAX) / LINE as u64) as usize * LINE
    }

    /// The filter block.
    pub(crate) fn finish(self) -> Vec<u8> {
        let len = self.data_len();
        let probes = num_probes(self.millibits);
        let mut out = vec![0u8; len + TRAILER_LEN];
        let (data, trailer) = out.split_at_mut(len);
        for &h in &self.hashes {
            let line = line_of(h, len);
            set_probes(&mut data[line..line + LINE], h, probes);
        }
        trailer.copy_from_slice(&[0xff, 0, probes, 0, 0]);
        out
    }
}

/// Probes that give the fewest false positives for this many thousandths of a
/// bit per key.
fn num_probes(millibits: u64) -> u8 {
    const UP_TO: [u64; 12] = [
        2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501,
    ];
    match UP_TO.iter().position(|&limit| millibits <= limit) {
        Some(i) => i as u8 + 1,
        None if millibits > 50_000 => 24,
        None => ((millibits - 1) / 2000 - 1) as u8,
    }
}

/// Offset of the cache line that `hash` falls into.
#[inline]
fn line_of(hash: u64, len: usize) -> usize {
    let lines = (len / LINE) as u64;
    (((hash & 0xffff_ffff) * lines) >> 32) as usize * LINE
}

fn set_probes(line: &mut [u8], hash: u64, probes: u8) {
    let mut h = (hash >> 32) as u32;
    for _ in 0..probes {
        let bit = (h >> 23) as usize;
        line[bit / 8] |= 1 << (bit % 8);
        h = h.wrapping_mul(PROBE_FACTOR);
    }
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

    /// Whether `key` may have been added.
    #[inline]
    pub(crate) fn may_match(&self, key: &[u8]) -> bool {
        match self.kind {
            Kind::FastLocal { probes } => {
                let h = hash64(key);
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
            Kind::Ribbon { seed, blocks } => probe_ribbon(&self.data, hash64(key), seed, blocks),
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory_usage(&self) -> usize {
        self.data.len() + TRAILER_LEN
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

/// The columns of a ribbon's solution, as far as a query of one key reads
/// them: parity of the key's coefficients with each column must give the
/// key's expected bits.
fn probe_ribbon(data: &[u8], hash: u64, seed: u8, blocks: u32) -> bool {
    let x = u64::from(seed).wrapping_mul(0xc782_19a2_3eea_dd03);
    let raw = (x ^ ((x & 0xf0f0_f0f0_f0f0_f0f0) >> 4)) as u32;
    let h = (hash ^ u64::from(raw)).wrapping_mul(0x6193_d459_236a_3a0d);
    let starts = u64::from(blocks) * 128 - 127;
    let start = ((u128::from(h) * u128::from(starts)) >> 64) as usize;
    let (blocks, segments) = (blocks as usize, data.len() / 16);
    let upper = segments.div_ceil(blocks);
    let first_upper = upper * blocks - segments;
    let (block, shift) = (start / 128, start % 128);
    let segment = block * upper - block.min(first_upper);
    let columns = upper - usize::from(block < first_upper);

    let a = h.wrapping_mul(0xc28f_8282_2b65_0bed);
    let low = a ^ 0xc367_844a_6e52_731d;
    let coefficients = (u128::from(a) << 64 | u128::from(low)) | 1;
    let expected = a.swap_bytes() as u32;
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

    fn key(i: u32) -> Vec<u8> {
        format!("key{i:08}").into_bytes()
    }

    #[test]
    fn bloom_has_no_false_negatives_and_few_false_positives() {
        for (bits, limit) in [(10.0, 0.015), (16.0, 0.003), (3.0, 0.30)] {
            let mut b = BloomBuilder::new(bits).expect("enough bits");
            for i in 0..10_000 {
                b.add(&key(i));
                b.add(&key(i));
            }
            assert_eq!(b.num_keys(), 10_000);
            let want = b.estimated_len();
            let block = b.finish();
            assert_eq!(block.len(), want);
            let f = Filter::new(block.into());
            assert!((0..10_000).all(|i| f.may_match(&key(i))));
            let wrong = (10_000..30_000).filter(|&i| f.may_match(&key(i))).count();
            assert!((wrong as f64) < 20_000.0 * limit, "{wrong} at {bits}");
        }
    }

    #[test]
    fn layout_is_that_of_ten_bits_per_key() {
        let mut b = BloomBuilder::new(10.0).expect("enough bits");
        (0..1000).for_each(|i| b.add(&key(i)));
        let block = b.finish();
        assert_eq!(block.len(), 1280 + 5); // 1250 bytes, rounded up to lines
        assert_eq!(block[1280..], [0xff, 0, 6, 0, 0]);
        assert!(BloomBuilder::new(0.4).is_none());
        assert!(BloomBuilder::new(f64::NAN).is_none());
    }

    #[test]
    fn probes_follow_the_bits() {
        let probes = [1000, 9900, 10_000, 22_001, 25_501, 25_502, 50_000, 50_001].map(num_probes);
        assert_eq!(probes, [1, 6, 6, 11, 12, 11, 23, 24]);
    }

    #[test]
    fn odd_blocks_answer_maybe() {
        let f = |b: &[u8]| Filter::new(Bytes::copy_from_slice(b)).may_match(b"k");
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
