//! Ribbon filters (RocksDB's Standard128). They are about 30 % smaller than Bloom filters of the
//! same accuracy, and take several times the work to build.
//!
//! A key stands for an equation over GF(2): 128 coefficients from its start slot on, the first of
//! which is 1, and up to 32 result bits. The filter is a solution of all equations; an absent key
//! fits it only by chance. Building a filter is Gaussian elimination on a band matrix
//! ([`Banding`]), whose rows are then solved from the last to the first. Some seeds lead to
//! equations that contradict each other; then another seed is tried.
//!
//! Layout, sizes, seeds and the values of free slots are RocksDB's, so that the same keys give the
//! same bytes.

use super::TRAILER_LEN;
use super::bloom;

/// The number of coefficients of an equation, and of slots of a block.
const BLOCK: usize = 128;
/// Bytes of a segment: one result bit of every slot of a block.
const SEGMENT: usize = 16;
/// The most keys of a Ribbon filter. For more, RocksDB builds a Bloom filter.
const MAX_KEYS: usize = 950_000_000;
/// Below this many slots, a Bloom filter is built if it is smaller.
const SMALL_SLOTS: u32 = 1024;
/// The first trailer byte of a Ribbon filter.
const MARKER: u8 = 0xfe;

/// How many keys fit into 2^8, 2^9 ... 2^17 slots such that one seed in twenty
/// fails. RocksDB's measurements.
const FITTING: [f64; 10] = [
    248.851, 499.532, 1001.26, 2003.97, 4005.59, 8000.39, 15966.6, 31828.1, 63447.3, 126_506.0,
];
/// The exponents of the first and the last element of [`FITTING`].
const FIRST_POW: u32 = 8;
const LAST_POW: u32 = 17;
/// How much each doubling of the slots adds to the slots per key.
const GROWTH: f64 = 0.0038;

/// The hash of a key under a seed, mixed for equations.
#[derive(Clone, Copy)]
pub(crate) struct Seeded(u64);

impl Seeded {
    #[inline]
    pub(crate) fn new(hash: u64, seed: u8) -> Self {
        let x = u64::from(seed).wrapping_mul(0xc782_19a2_3eea_dd03);
        let raw = (x ^ ((x & 0xf0f0_f0f0_f0f0_f0f0) >> 4)) as u32;
        Seeded((hash ^ u64::from(raw)).wrapping_mul(0x6193_d459_236a_3a0d))
    }

    /// The first slot of the equation, among those of `blocks` blocks.
    #[inline]
    pub(crate) fn start(self, blocks: u32) -> usize {
        let starts = u64::from(blocks) * BLOCK as u64 - (BLOCK as u64 - 1);
        ((u128::from(self.0) * u128::from(starts)) >> 64) as usize
    }

    /// Coefficients and result bits.
    #[inline]
    pub(crate) fn equation(self) -> (u128, u32) {
        let a = self.0.wrapping_mul(0xc28f_8282_2b65_0bed);
        let low = a ^ 0xc367_844a_6e52_731d;
        let coefficients = (u128::from(a) << 64 | u128::from(low)) | 1;
        (coefficients, a.swap_bytes() as u32)
    }
}

/// The dimensions of the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    blocks: u32,
    segments: usize,
}

impl Shape {
    /// Bytes of the block that is written.
    fn len(self) -> usize {
        self.segments * SEGMENT + TRAILER_LEN
    }
}

/// The filter block for `hashes`, of which no two adjacent ones are equal, with the accuracy of a
/// Bloom filter of `millibits` thousandths of a bit per key. `None` if a Bloom filter should be
/// built instead: for few keys, for very many, or if no seed works.
pub(crate) fn ribbon(hashes: &[u64], millibits: u64) -> Option<Vec<u8>> {
    let first = *hashes.first()?;
    let shape = shape(hashes.len(), millibits, (first >> 32) as u32)?;
    let begin = first as u8;
    let (seed, banding) = (0..=255u8)
        .map(|i| begin.wrapping_add(i))
        .find_map(|seed| Some((seed, Banding::new(hashes, seed, shape.blocks)?)))?;
    let mut out = vec![0; shape.len()];
    banding.solve(shape, &mut out);
    let [b0, b1, b2, _] = shape.blocks.to_le_bytes();
    let at = out.len() - TRAILER_LEN;
    out[at..].copy_from_slice(&[MARKER, seed, b0, b1, b2]);
    Some(out)
}

/// Approximate size in bytes of the block for this many keys.
pub(crate) fn estimated_len(keys: usize, millibits: u64) -> usize {
    match shape(keys, millibits, 0) {
        Some(shape) => shape.len(),
        None => bloom::fast_local_len(keys, millibits),
    }
}

/// The dimensions for this many keys, unless a Bloom filter is better. `rounding` decides in which
/// direction sizes are rounded.
fn shape(keys: usize, millibits: u64, rounding: u32) -> Option<Shape> {
    if keys == 0 || keys > MAX_KEYS {
        return None;
    }
    let slots = num_slots(keys as u32)
        .next_multiple_of(BLOCK as u32)
        .max(2 * BLOCK as u32);
    let blocks = slots / BLOCK as u32;
    let shape = Shape {
        blocks,
        segments: num_segments(blocks, millibits, rounding),
    };
    let bloom_is_smaller =
        || slots < SMALL_SLOTS && bloom::fast_local_len(keys, millibits) < shape.len();
    (!bloom_is_smaller()).then_some(shape)
}

/// Slots for `keys` keys, interpolated between powers of two.
fn num_slots(keys: u32) -> u32 {
    let log2 = f64::from(keys).ln() * std::f64::consts::LOG2_E;
    let mut pow = (log2 + 0.5) as u32;
    if pow < FIRST_POW {
        return 2 * BLOCK as u32;
    }
    let keys = f64::from(keys);
    if keys < fitting(pow) {
        pow -= 1;
    }
    let (lower, upper) = (fitting(pow), fitting(pow + 1));
    let slots = (1u64 << pow) as f64;
    let portion = (keys - lower) / (upper - lower);
    (portion * slots + slots + 0.999_999_999) as u32
}

/// How many keys fit into 2^`pow` slots; 0 for too few.
fn fitting(pow: u32) -> f64 {
    if pow < FIRST_POW {
        return 0.0;
    }
    let slots = (1u64 << pow) as f64;
    match FITTING.get((pow - FIRST_POW) as usize) {
        Some(&keys) => keys,
        None => {
            let known = (1u64 << LAST_POW) as f64 / FITTING[FITTING.len() - 1];
            slots / (known + f64::from(pow - LAST_POW) * GROWTH)
        }
    }
}

/// The number of segments for the wanted accuracy. Where a whole number of bits would be too
/// accurate, the first blocks have one result bit fewer than the others.
fn num_segments(blocks: u32, millibits: u64, rounding: u32) -> usize {
    let bits_per_key = millibits as f64 / 1000.0;
    let one_in = 1.0 / bloom::false_positive_rate(bits_per_key, bloom::num_probes(millibits));
    let rate = 1.0 / one_in;
    if one_in.is_nan() || one_in <= 1.0 {
        return 1;
    }
    if one_in > f64::from(u32::MAX) {
        return blocks as usize * 32;
    }
    let lower = (one_in as u32).ilog2();
    let (lower_rate, upper_rate) = (0.5f64.powi(lower as i32), 0.5f64.powi(lower as i32 + 1));
    let portion = (rate - upper_rate) / (lower_rate - upper_rate);
    let bias = (f64::from(rounding) + 0.5) / 4_294_967_296.0;
    let starts = f64::from(blocks * BLOCK as u32 - (BLOCK as u32 - 1));
    let with_fewer = ((portion * starts + bias) / BLOCK as f64) as u32;
    (blocks * lower + (blocks - with_fewer.min(blocks))) as usize
}

/// The equations in echelon form: at most one begins at each slot.
struct Banding {
    /// The coefficients of the equation at each slot; 0 for a slot without one.
    coefficients: Vec<u128>,
    results: Vec<u32>,
}

impl Banding {
    /// The equations of `hashes` under `seed`; `None` if they contradict each other.
    fn new(hashes: &[u64], seed: u8, blocks: u32) -> Option<Self> {
        let slots = blocks as usize * BLOCK;
        let mut banding = Banding {
            coefficients: vec![0; slots],
            results: vec![0; slots],
        };
        for &hash in hashes {
            let hash = Seeded::new(hash, seed);
            let (coefficients, result) = hash.equation();
            if !banding.add(hash.start(blocks), coefficients, result) {
                return None;
            }
        }
        Some(banding)
    }

    /// Adds an equation whose first coefficient is 1.
    fn add(&mut self, mut slot: usize, mut coefficients: u128, mut result: u32) -> bool {
        loop {
            let other = self.coefficients[slot];
            if other == 0 {
                self.coefficients[slot] = coefficients;
                self.results[slot] = result;
                return true;
            }
            coefficients ^= other;
            result ^= self.results[slot];
            if coefficients == 0 {
                // The sum of other equations: fine if the result bits agree.
                return result == 0;
            }
            let zeros = coefficients.trailing_zeros();
            slot += zeros as usize;
            coefficients >>= zeros;
        }
    }

    /// Writes the solution block by block; a block has one segment for each result bit.
    fn solve(&self, shape: Shape, out: &mut [u8]) {
        let blocks = shape.blocks as usize;
        let upper = shape.segments.div_ceil(blocks).min(32);
        let with_fewer = (upper * blocks).saturating_sub(shape.segments);
        // For each result bit, the solution of the slots after the current one; the nearest
        // slot is the lowest bit.
        let mut state = [0u128; 32];
        let mut segment = upper * blocks - with_fewer;
        for block in (0..blocks).rev() {
            let columns = upper - usize::from(block < with_fewer);
            for slot in (block * BLOCK..(block + 1) * BLOCK).rev() {
                let (coefficients, result) = (self.coefficients[slot], self.results[slot]);
                for (j, solved) in state[..columns].iter_mut().enumerate() {
                    let shifted = *solved << 1;
                    let parity = (shifted & coefficients).count_ones() & 1;
                    *solved = shifted | u128::from(parity ^ (result >> j & 1));
                }
            }
            segment -= columns;
            for (j, solved) in state[..columns].iter().enumerate() {
                let at = (segment + j) * SEGMENT;
                out[at..at + SEGMENT].copy_from_slice(&solved.to_le_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Filter;
    use super::*;
    use crate::sst::format::hash64::hash64;

    fn key(i: u32) -> Vec<u8> {
        format!("key{i:08}").into_bytes()
    }

    #[test]
    fn all_keys_are_found_and_few_others() {
        for (bits, n, limit) in [
            (10_000, 1_000, 0.015),
            (10_000, 30_000, 0.012),
            (16_500, 10_000, 0.002),
            (3_200, 10_000, 0.30),
        ] {
            let hashes: Vec<u64> = (0..n).map(|i| hash64(&key(i))).collect();
            let block = ribbon(&hashes, bits).expect("solvable");
            assert!(block.len() < bloom::fast_local_len(n as usize, bits));
            let filter = Filter::new(block.into());
            assert!((0..n).all(|i| filter.may_hold(&key(i))));
            let wrong = (n..n + 20_000)
                .filter(|&i| filter.may_hold(&key(i)))
                .count();
            assert!((wrong as f64) < 20_000.0 * limit, "{wrong} at {bits}");
        }
    }

    #[test]
    fn ten_bits_become_seven() {
        let bits = estimated_len(1_000_000, 10_000) as f64 * 8.0 / 1e6;
        assert!((6.5..7.3).contains(&bits), "{bits}");
    }

    #[test]
    fn few_keys_get_no_ribbon() {
        assert!(ribbon(&[], 10_000).is_none());
        assert!(ribbon(&[1, 2, 3], 10_000).is_none());
        assert_eq!(estimated_len(3, 10_000), bloom::fast_local_len(3, 10_000));
    }

    #[test]
    fn repeated_hashes_do_not_contradict() {
        let hashes: Vec<u64> = (0..2000).map(|i| hash64(&key(i % 1000))).collect();
        assert!(ribbon(&hashes, 10_000).is_some());
    }

    /// RocksDB's filter of a table, and the one built here of the same keys.
    #[test]
    fn rocksdb_builds_the_same_bytes() {
        use crate::fs::{Fs, os::OsFs};
        use crate::sst::{Table, TableReadOptions, TableReaderOptions};
        use std::sync::Arc;

        let dir = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../testdata/rocksdb/ribbon_firstkey_78"
        );
        let files = std::fs::read_dir(dir).expect("the fixture");
        let mut compared = 0;
        for path in files.map(|f| f.expect("readable").path()) {
            if path.extension().is_none_or(|e| e != "sst") {
                continue;
            }
            let file = OsFs.open_random(&path).expect("opens");
            let size = file.len().expect("known");
            let options = TableReaderOptions::default();
            // Some have compressions that cannot be read.
            let Ok(table) = Table::open(file, size, options).map(Arc::new) else {
                continue;
            };
            let name = &b"fullfilter.rocksdb.BuiltinBloomFilter"[..];
            let Some(&handle) = table.metaindex.get(name) else {
                continue;
            };
            let window = &mut Default::default();
            let (theirs, _) = table.file.read_raw(handle, true, window).expect("reads");
            if theirs[theirs.len() - TRAILER_LEN] != MARKER {
                continue;
            }
            let mut hashes = Vec::new();
            let mut it = table.iter(TableReadOptions::default());
            it.seek_to_first();
            while it.valid() {
                let hash = hash64(crate::key::user_key(it.key()));
                if hashes.last() != Some(&hash) {
                    hashes.push(hash);
                }
                it.next();
            }
            it.status().expect("whole");
            assert_eq!(ribbon(&hashes, 10_000).expect("solvable"), &theirs[..]);
            compared += 1;
        }
        assert!(compared > 0);
    }
}
