//! Builds Bloom filters: FastLocalBloom, and the format before format version 5.

use super::{LINE, PROBE_FACTOR, TRAILER_LEN, line_of};

/// The largest Bloom filter of the old format, in bits: its arithmetic has 32 bits.
const MAX_LEGACY_BITS: u64 = 0xffff_0000;

/// Bytes of the filter of `keys` keys with `millibits` thousandths of a bit per key.
pub(crate) fn fast_local_len(keys: usize, millibits: u64) -> usize {
    data_len(keys, millibits) + TRAILER_LEN
}

fn data_len(keys: usize, millibits: u64) -> usize {
    let bits = keys as u64 * millibits;
    let lines = bits.div_ceil(8000 * LINE as u64).max(1);
    // Lines are addressed by 32-bit offsets.
    lines.min(u64::from(u32::MAX) / LINE as u64) as usize * LINE
}

/// A FastLocalBloom filter block.
pub(crate) fn fast_local(hashes: &[u64], millibits: u64) -> Vec<u8> {
    let len = data_len(hashes.len(), millibits);
    let probes = num_probes(millibits);
    let mut out = vec![0u8; len + TRAILER_LEN];
    let (data, trailer) = out.split_at_mut(len);
    for &h in hashes {
        let line = line_of(h, len);
        set_probes(&mut data[line..line + LINE], h, probes);
    }
    trailer.copy_from_slice(&[0xff, 0, probes, 0, 0]);
    out
}

/// The number of probes that gives the fewest false positives for this many thousandths of a bit
/// per key.
pub(crate) fn num_probes(millibits: u64) -> u8 {
    const UP_TO: [u64; 12] = [
        2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501,
    ];
    match UP_TO.iter().position(|&limit| millibits <= limit) {
        Some(i) => i as u8 + 1,
        None if millibits > 50_000 => 24,
        None => ((millibits - 1) / 2000 - 1) as u8,
    }
}

/// The share of absent keys that a FastLocalBloom lets through, as RocksDB
/// estimates it: the mean of a line that holds one standard deviation more
/// keys than the average and of one that holds that many fewer.
pub(crate) fn false_positive_rate(bits_per_key: f64, probes: u8) -> f64 {
    let line_bits = (LINE * 8) as f64;
    let keys = line_bits / bits_per_key;
    let deviation = keys.sqrt();
    let of_line = |keys: f64| {
        let probes = f64::from(probes);
        (1.0 - (-probes / (line_bits / keys)).exp()).powf(probes)
    };
    (of_line(keys + deviation) + of_line(keys - deviation)) / 2.0
}

fn set_probes(line: &mut [u8], hash: u64, probes: u8) {
    let mut h = (hash >> 32) as u32;
    for _ in 0..probes {
        let bit = (h >> 23) as usize;
        line[bit / 8] |= 1 << (bit % 8);
        h = h.wrapping_mul(PROBE_FACTOR);
    }
}

/// Bytes of the filter in the old format.
pub(crate) fn legacy_len(keys: usize, bits_per_key: u64) -> usize {
    legacy_lines(keys, bits_per_key) * LINE + TRAILER_LEN
}

/// An odd number of lines, so that it has no divisor in common with the
/// hashes' pattern.
fn legacy_lines(keys: usize, bits_per_key: u64) -> usize {
    let bits = (keys as u64 * bits_per_key).min(MAX_LEGACY_BITS);
    bits.div_ceil(8 * LINE as u64) as usize | 1
}

/// A Bloom filter block of format versions before 5; `hashes` are of 32 bits.
pub(crate) fn legacy(hashes: &[u64], bits_per_key: u64) -> Vec<u8> {
    let lines = legacy_lines(hashes.len(), bits_per_key);
    let probes = ((bits_per_key as f64 * 0.69) as u8).clamp(1, 30);
    let mut out = vec![0u8; lines * LINE + TRAILER_LEN];
    for &h in hashes {
        let mut h = h as u32;
        let delta = h.rotate_right(17);
        let base = (h % lines as u32) as usize * LINE;
        for _ in 0..probes {
            let bit = (h % (LINE as u32 * 8)) as usize;
            out[base + bit / 8] |= 1 << (bit % 8);
            h = h.wrapping_add(delta);
        }
    }
    let trailer = lines * LINE;
    out[trailer] = probes;
    out[trailer + 1..].copy_from_slice(&(lines as u32).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_follow_the_bits() {
        let probes = [1000, 9900, 10_000, 22_001, 25_501, 25_502, 50_000, 50_001].map(num_probes);
        assert_eq!(probes, [1, 6, 6, 11, 12, 11, 23, 24]);
    }

    #[test]
    fn layout_is_that_of_ten_bits_per_key() {
        let hashes: Vec<u64> = (0..1000u64).map(|i| i << 40 | i).collect();
        let block = fast_local(&hashes, 10_000);
        assert_eq!(block.len(), fast_local_len(1000, 10_000));
        assert_eq!(block.len(), 1280 + 5); // 1250 bytes, rounded up to lines
        assert_eq!(block[1280..], [0xff, 0, 6, 0, 0]);
    }

    #[test]
    fn old_filters_have_an_odd_number_of_lines() {
        for keys in [1, 100, 1000] {
            let block = legacy(&vec![7; keys], 10);
            assert_eq!(block.len(), legacy_len(keys, 10));
            let lines = (block.len() - 5) / 64;
            assert_eq!(lines % 2, 1);
            assert_eq!(block[lines * 64], 6);
            assert_eq!(block[lines * 64 + 1..], (lines as u32).to_le_bytes());
        }
    }

    #[test]
    fn ten_bits_let_one_key_in_a_hundred_through() {
        let rate = false_positive_rate(10.0, 6);
        assert!((0.009..0.0105).contains(&rate), "{rate}");
    }
}
