//! Finding a byte among those of a small node.
//!
//! The bytes are in atomic words, the first one in the lowest byte. With SSE2 sixteen
//! bytes are compared at once; elsewhere the eight bytes of a word.

/// A mask of the `count` lowest bits.
#[inline(always)]
fn low_bits(count: usize) -> u64 {
    debug_assert!(count < 64);
    (1 << count) - 1
}

/// The index of `byte` among the first `count` (at most 4) bytes of a word.
#[inline(always)]
pub(super) fn find_in_4(word: u32, byte: u8, count: usize) -> Option<usize> {
    let different = u64::from(word ^ (u32::from(byte) * 0x0101_0101));
    // The lowest zero byte gets its top bit set; bits above it may be wrong.
    let zeros = different.wrapping_sub(0x0101_0101) & !different & 0x8080_8080;
    let found = zeros & low_bits(8 * count);
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}

/// The index of `byte` among the first `count` (at most 16) bytes of two
/// words.
#[inline(always)]
pub(super) fn find_in_16(words: [u64; 2], byte: u8, count: usize) -> Option<usize> {
    let found = u64::from(equal_mask(words, byte)) & low_bits(count);
    (found != 0).then(|| found.trailing_zeros() as usize)
}

/// As [`find_in_16`], for at most 48 bytes of six words.
#[inline(always)]
pub(super) fn find_in_48(words: [u64; 6], byte: u8, count: usize) -> Option<usize> {
    let [a, b, c, d, e, f] = words;
    let low = u64::from(equal_mask([a, b], byte));
    let middle = u64::from(equal_mask([c, d], byte));
    let high = u64::from(equal_mask([e, f], byte));
    let found = (low | middle << 16 | high << 32) & low_bits(count);
    (found != 0).then(|| found.trailing_zeros() as usize)
}

/// Bit `i` says whether byte `i` equals `byte`.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
#[inline(always)]
fn equal_mask(words: [u64; 2], byte: u8) -> u16 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};

    #[target_feature(enable = "sse2")]
    #[inline]
    fn compare(words: [u64; 2], byte: u8) -> u16 {
        let all = _mm_set_epi64x(words[1] as i64, words[0] as i64);
        let equal = _mm_cmpeq_epi8(all, _mm_set1_epi8(byte as i8));
        _mm_movemask_epi8(equal) as u16
    }

    // SAFETY: the whole program is compiled for processors with SSE2.
    unsafe { compare(words, byte) }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2", not(miri))))]
#[inline(always)]
fn equal_mask(words: [u64; 2], byte: u8) -> u16 {
    portable_mask(words[0], byte) | portable_mask(words[1], byte) << 8
}

/// As `equal_mask`, for one word and without vector instructions.
#[cfg(any(
    all(test, not(any(loom, shuttle))),
    not(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))
))]
#[inline(always)]
fn portable_mask(word: u64, byte: u8) -> u16 {
    const SEVEN: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let different = word ^ (u64::from(byte) * 0x0101_0101_0101_0101);
    // No carry crosses a byte, so this is exact: a byte's top bit is set
    // where the byte is zero.
    let zeros = !(((different & SEVEN) + SEVEN) | different | SEVEN);
    // Gathers the eight top bits in the highest byte.
    ((zeros >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u16
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Words with repeated, adjacent and extreme bytes.
    fn words() -> Vec<[u64; 2]> {
        let mut seed = 1u64;
        let mut all = vec![[0; 2], [u64::MAX; 2], [0x0100_0100_ff00_8001, 0x7f80]];
        for _ in 0..200 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let few = (seed >> 20) & 0x0303_0303_8383_ffff;
            all.push([seed, few]);
        }
        all
    }

    #[test]
    fn masks_agree_with_a_loop() {
        for words in words() {
            let bytes = words.map(u64::to_le_bytes).concat();
            for byte in 0..=255u8 {
                let expected = (0..16).filter(|&i| bytes[i] == byte);
                let expected = expected.fold(0u16, |mask, i| mask | 1 << i);
                assert_eq!(equal_mask(words, byte), expected);
                let portable = portable_mask(words[0], byte) | portable_mask(words[1], byte) << 8;
                assert_eq!(portable, expected);
            }
        }
    }

    #[test]
    fn the_first_match_among_those_counted_is_found() {
        for words in words() {
            let bytes = words.map(u64::to_le_bytes).concat();
            for byte in 0..=255u8 {
                for count in 0..=16 {
                    let expected = bytes[..count].iter().position(|&b| b == byte);
                    assert_eq!(find_in_16(words, byte, count), expected);
                    if count <= 4 {
                        assert_eq!(find_in_4(words[0] as u32, byte, count), expected);
                    }
                    let six = [0, 0, words[0], words[1], 0, 0];
                    let zero = (byte == 0).then_some(0);
                    let expected = zero.or(expected.map(|i| i + 16));
                    assert_eq!(find_in_48(six, byte, 16 + count), expected);
                }
            }
        }
    }
}
