//! Checksums of blocks and of log records.
//!
//! Block checksums cover the payload and the byte of the compression type after it. From format
//! version 6 on, a value derived from the file and the block's offset is added (see [`context`]),
//! so that a block read from the wrong position does not pass.

use twox_hash::{XxHash3_64, XxHash32, XxHash64};

/// Block checksum. The discriminants are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum ChecksumType {
    /// Not checked.
    NoChecksum = 0,
    /// Masked CRC-32C.
    CRC32c = 1,
    /// XXH32.
    XXHash = 2,
    /// Low half of XXH64.
    XXHash64 = 3,
    /// Low half of XXH3, last byte mixed in.
    #[default]
    XXH3 = 4,
}

impl ChecksumType {
    /// The type stored as `b`, or `None` for an unknown one.
    pub fn from_u8(b: u8) -> Option<Self> {
        Some(match b {
            0 => ChecksumType::NoChecksum,
            1 => ChecksumType::CRC32c,
            2 => ChecksumType::XXHash,
            3 => ChecksumType::XXHash64,
            4 => ChecksumType::XXH3,
            _ => return None,
        })
    }
}

/// Multiplies the last byte of an XXH3 block checksum.
const LAST_BYTE_FACTOR: u32 = 0x6b90_83d9;

/// CRC-32C, masked as RocksDB stores it.
pub fn mask_crc(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The CRC-32C that [`mask_crc`] turned into `masked`.
pub fn unmask_crc(masked: u32) -> u32 {
    masked.wrapping_sub(0xa282_ead8).rotate_left(15)
}

/// The masked CRC-32C of `data`.
pub fn masked_crc32c(data: &[u8]) -> u32 {
    mask_crc(crc32c::crc32c(data))
}

/// The checksum of `data`. If `data` is a block, its last byte is the compression type.
pub fn checksum(ty: ChecksumType, data: &[u8]) -> u32 {
    match data.split_last() {
        Some((&last, head)) => block_checksum(ty, head, last),
        None => match ty {
            ChecksumType::NoChecksum | ChecksumType::XXH3 => 0,
            ChecksumType::CRC32c => masked_crc32c(&[]),
            ChecksumType::XXHash => XxHash32::oneshot(0, &[]),
            ChecksumType::XXHash64 => XxHash64::oneshot(0, &[]) as u32,
        },
    }
}

/// The checksum of the bytes `payload` followed by `last`, which need not be adjacent in memory.
pub fn block_checksum(ty: ChecksumType, payload: &[u8], last: u8) -> u32 {
    use std::hash::Hasher;
    match ty {
        ChecksumType::NoChecksum => 0,
        ChecksumType::CRC32c => mask_crc(crc32c::crc32c_append(crc32c::crc32c(payload), &[last])),
        ChecksumType::XXHash => {
            let mut h = XxHash32::with_seed(0);
            h.write(payload);
            h.write(&[last]);
            h.finish_32()
        }
        ChecksumType::XXHash64 => {
            let mut h = XxHash64::with_seed(0);
            h.write(payload);
            h.write(&[last]);
            h.finish() as u32
        }
        ChecksumType::XXH3 => {
            XxHash3_64::oneshot(payload) as u32 ^ u32::from(last).wrapping_mul(LAST_BYTE_FACTOR)
        }
    }
}

/// The value that format versions 6 and up add to the checksum of the block at `offset`, in a file
/// whose footer has `base`; 0 if `base` is 0.
pub fn context(base: u32, offset: u64) -> u32 {
    if base == 0 {
        return 0;
    }
    base ^ (offset as u32).wrapping_add((offset >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_masks_and_unmasks() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(masked_crc32c(b"123456789"), 0xc78a_b0e5);
        assert_eq!(unmask_crc(0xc78a_b0e5), 0xe306_9283);
    }

    #[test]
    fn xxh3_mixes_the_last_byte_in() {
        assert_eq!(block_checksum(ChecksumType::XXH3, b"abc", 0), 0x892f_3950);
        assert_eq!(block_checksum(ChecksumType::XXH3, b"abc", 7), 0x79dc_a3bf);
        assert_eq!(checksum(ChecksumType::XXH3, b"abc\x07"), 0x79dc_a3bf);
        assert_eq!(checksum(ChecksumType::XXH3, b""), 0);
    }

    #[test]
    fn published_vectors_of_the_other_types() {
        // XXH32 and XXH64 of "abc" with seed 0.
        assert_eq!(checksum(ChecksumType::XXHash, b"abc"), 0x32d1_53ff);
        assert_eq!(checksum(ChecksumType::XXHash64, b"abc"), 0xad77_0999);
        assert_eq!(checksum(ChecksumType::NoChecksum, b"abc"), 0);
        assert_eq!(checksum(ChecksumType::CRC32c, b"123456789"), 0xc78a_b0e5);
    }

    #[test]
    fn context_depends_on_base_and_offset() {
        assert_eq!(context(0, 77), 0);
        assert_eq!(context(5, 0), 5);
        assert_eq!(context(5, (3 << 32) | 4), 5 ^ 7);
    }

    #[test]
    fn types_round_trip() {
        for b in 0..=4 {
            assert_eq!(ChecksumType::from_u8(b).map(|t| t as u8), Some(b));
        }
        assert_eq!(ChecksumType::from_u8(5), None);
    }
}
