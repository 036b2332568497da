//! The hash functions of filters and of data blocks.
//!
//! The 64-bit one is the preview version of XXH3 ("XXPH3", seed 0, default secret) that RocksDB
//! froze into its filter formats. It differs from the final XXH3 for every length of input, so no
//! current library offers it.

const P32_1: u64 = 0x9e37_79b1;
const P32_2: u64 = 0x85eb_ca77;
const P32_3: u64 = 0xc2b2_ae3d;
const P64_1: u64 = 0x9e37_79b1_85eb_ca87;
const P64_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P64_3: u64 = 0x1656_67b1_9e37_79f9;
const P64_4: u64 = 0x85eb_ca77_c2b2_ae63;
const P64_5: u64 = 0x27d4_eb2f_1656_67c5;

#[rustfmt::skip]
const SECRET: [u8; 192] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

/// Little-endian `u64` at `at`; callers keep `at + 8` within `d`.
#[inline(always)]
fn d8(d: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(d[at..at + 8].try_into().expect("8 bytes"))
}

#[inline(always)]
fn d4(d: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(
        d[at..at + 4].try_into().expect("4 bytes"),
    ))
}

#[inline(always)]
fn s8(at: usize) -> u64 {
    d8(&SECRET, at)
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let p = u128::from(a) * u128::from(b);
    p as u64 ^ (p >> 64) as u64
}

#[inline(always)]
fn avalanche(mut h: u64) -> u64 {
    h ^= h >> 37;
    h = h.wrapping_mul(P64_3);
    h ^ (h >> 32)
}

#[inline(always)]
fn mix(data: &[u8], at: usize, secret: usize) -> u64 {
    fold(d8(data, at) ^ s8(secret), d8(data, at + 8) ^ s8(secret + 8))
}

/// The hash of `data`.
#[inline]
pub(crate) fn hash64(data: &[u8]) -> u64 {
    match data.len() {
        0..=16 => short(data),
        17..=128 => medium(data),
        129..=240 => upper_medium(data),
        _ => long(data),
    }
}

#[inline(always)]
fn short(d: &[u8]) -> u64 {
    let n = d.len();
    match n {
        9.. => {
            let lo = d8(d, 0) ^ s8(0);
            let hi = d8(d, n - 8) ^ s8(8);
            let sum = (n as u64).wrapping_add(lo).wrapping_add(hi);
            avalanche(sum.wrapping_add(fold(lo, hi)))
        }
        4..=8 => {
            let k = (d4(d, 0) | d4(d, n - 4) << 32) ^ s8(0);
            let m = (n as u64).wrapping_add((k ^ (k >> 51)).wrapping_mul(P32_1));
            avalanche((m ^ (m >> 47)).wrapping_mul(P64_2))
        }
        1..=3 => {
            let c = u64::from(d[0])
                | u64::from(d[n >> 1]) << 8
                | u64::from(d[n - 1]) << 16
                | (n as u64) << 24;
            avalanche((c ^ d4(&SECRET, 0)).wrapping_mul(P64_1))
        }
        0 => fold(s8(0), P64_2),
    }
}

#[inline]
fn medium(d: &[u8]) -> u64 {
    let n = d.len();
    let mut a = (n as u64).wrapping_mul(P64_1);
    let mut add = |at: usize, secret: usize| a = a.wrapping_add(mix(d, at, secret));
    if n > 32 {
        if n > 64 {
            if n > 96 {
                add(48, 96);
                add(n - 64, 112);
            }
            add(32, 64);
            add(n - 48, 80);
        }
        add(16, 32);
        add(n - 32, 48);
    }
    add(0, 0);
    add(n - 16, 16);
    avalanche(a)
}

fn upper_medium(d: &[u8]) -> u64 {
    let n = d.len();
    let mut a = (n as u64).wrapping_mul(P64_1);
    for i in 0..8 {
        a = a.wrapping_add(mix(d, 16 * i, 16 * i));
    }
    a = avalanche(a);
    for i in 8..n / 16 {
        a = a.wrapping_add(mix(d, 16 * i, 16 * (i - 8) + 3));
    }
    avalanche(a.wrapping_add(mix(d, n - 16, 119)))
}

fn long(d: &[u8]) -> u64 {
    let n = d.len();
    let mut acc = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1];
    for (j, stripe) in d.chunks_exact(64).enumerate() {
        accumulate(&mut acc, stripe, 8 * (j % 16));
        if j % 16 == 15 {
            scramble(&mut acc);
        }
    }
    if !n.is_multiple_of(64) {
        accumulate(&mut acc, &d[n - 64..], 121);
    }
    let mut r = (n as u64).wrapping_mul(P64_1);
    for i in 0..4 {
        r = r.wrapping_add(fold(
            acc[2 * i] ^ s8(11 + 16 * i),
            acc[2 * i + 1] ^ s8(19 + 16 * i),
        ));
    }
    avalanche(r)
}

fn accumulate(acc: &mut [u64; 8], stripe: &[u8], secret: usize) {
    for (i, a) in acc.iter_mut().enumerate() {
        let v = d8(stripe, 8 * i);
        let k = v ^ s8(secret + 8 * i);
        *a = a
            .wrapping_add(v)
            .wrapping_add((k & 0xffff_ffff).wrapping_mul(k >> 32));
    }
}

fn scramble(acc: &mut [u64; 8]) {
    for (i, a) in acc.iter_mut().enumerate() {
        *a = ((*a ^ (*a >> 47)) ^ s8(128 + 8 * i)).wrapping_mul(P32_1);
    }
}

/// The 32-bit hash of filters before format version 5, and of the hash tables of data blocks.
pub(crate) fn hash32(data: &[u8], seed: u32) -> u32 {
    const M: u32 = 0xc6a4_a793;
    let mut h = seed ^ (data.len() as u32).wrapping_mul(M);
    let mut words = data.chunks_exact(4);
    for w in &mut words {
        h = h.wrapping_add(d4(w, 0) as u32).wrapping_mul(M);
        h ^= h >> 16;
    }
    let tail = words.remainder();
    if !tail.is_empty() {
        for (i, &b) in tail.iter().enumerate() {
            // The format treats the byte as signed.
            h = h.wrapping_add((i32::from(b as i8) << (8 * i)) as u32);
        }
        h = h.wrapping_mul(M);
        h ^= h >> 24;
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash64_matches_known_vectors() {
        let data: Vec<u8> = (0..2049usize).map(|i| (7 * i + 3) as u8).collect();
        for (n, want) in [
            (0, 0x5342_c301_0fe1_dd04u64),
            (1, 0x81b7_8b21_c2ce_4f18),
            (3, 0x6731_a716_813e_e5f1),
            (4, 0x3a5a_fd96_7aca_f5c3),
            (8, 0xbcb5_6b6f_8d4b_12da),
            (9, 0x0378_7b4e_ec57_bf4b),
            (16, 0x8172_0cc0_702e_dd73),
            (17, 0x0b51_5520_f462_e96f),
            (32, 0x48f0_3961_87b5_6dd5),
            (33, 0xd020_587a_3c72_b988),
            (64, 0xc71b_2c5a_712e_7f61),
            (65, 0xd401_43de_1bea_dd46),
            (96, 0x0d71_e54f_4197_45c3),
            (97, 0x19e9_c187_1ecd_39dc),
            (128, 0x8ea7_6d83_8ce7_563f),
            (129, 0x3992_d120_c8c4_677a),
            (240, 0xdf41_bc5f_ea3a_61e8),
            (241, 0x91d1_0f06_82af_4ac3),
            (512, 0xf3bb_5147_9ec5_30a2),
            (1024, 0x7d54_b94e_0436_75ba),
            (1025, 0x90ac_daaa_aca6_75b0),
            (2049, 0x25ec_a92a_1585_cb40),
        ] {
            assert_eq!(hash64(&data[..n]), want, "{n} bytes");
        }
    }

    #[test]
    fn hash32_matches_known_vectors() {
        let data: Vec<u8> = (0..8u8).map(|i| 252 - 7 * i).collect();
        for (n, seed, want) in [
            (0, 0xbc9f_1d34, 0xbc9f_1d34u32),
            (1, 0xbc9f_1d34, 0xc978_8050),
            (2, 0xbc9f_1d34, 0xbf5c_efb5),
            (3, 0xbc9f_1d34, 0x74de_4ddf),
            (4, 0xbc9f_1d34, 0xc184_a818),
            (5, 0xbc9f_1d34, 0x9562_ebbc),
            (8, 0xbc9f_1d34, 0x1a91_eabc),
            (0, 397, 0x18d),
            (1, 397, 0xfd8e_5613),
            (3, 397, 0x0d1b_ef9d),
            (5, 397, 0xac9b_8996),
            (8, 397, 0x6ad9_de73),
        ] {
            assert_eq!(hash32(&data[..n], seed), want, "{n} bytes, seed {seed:x}");
        }
    }
}
