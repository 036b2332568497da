//! Checksums of blocks and log records.

/// Block checksum. The discriminants are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

/// CRC-32C, masked as RocksDB stores it.
pub fn mask_crc(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}
