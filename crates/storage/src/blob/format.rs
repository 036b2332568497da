//! The fixed parts of a blob file: header, record headers, footer.
//!
//! All numbers are little-endian; checksums are masked CRC-32C.

use crate::checksum::{mask_crc, masked_crc32c};
use crate::coding::{get_fixed32, get_fixed64, put_fixed32, put_fixed64};
use crate::error::{Error, Result};

/// First bytes of header and footer.
const MAGIC: u32 = 2_395_959;
const VERSION: u32 = 1;
/// The header's flag for values with expiration times.
const HAS_TTL: u8 = 1;

/// Bytes of the header.
pub const HEADER_LEN: u64 = 30;
/// Bytes before a record's key.
pub const RECORD_HEADER_LEN: u64 = 32;
/// Bytes of the footer, which a file has once it is complete.
pub const FOOTER_LEN: u64 = 32;

/// Bytes of a whole record; `None` when no file can hold it.
pub fn record_len(key: u64, value: u64) -> Option<u64> {
    RECORD_HEADER_LEN.checked_add(key)?.checked_add(value)
}

/// The header of a blob file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobHeader {
    /// The column family its values belong to.
    pub column_family: u32,
    /// The stored compression type of the values.
    pub compression: u8,
}

impl BlobHeader {
    /// Decodes a header.
    ///
    /// # Errors
    /// `Corruption` for bytes that are not a header; `NotSupported` for a newer version, and for
    /// values with expiration times.
    pub fn decode(mut src: &[u8]) -> Result<BlobHeader> {
        let bad = || Error::corruption("bad header of a blob file");
        if src.len() as u64 != HEADER_LEN {
            return Err(bad());
        }
        let src = &mut src;
        let magic = get_fixed32(src).ok_or_else(bad)?;
        let version = get_fixed32(src).ok_or_else(bad)?;
        let column_family = get_fixed32(src).ok_or_else(bad)?;
        if magic != MAGIC {
            return Err(bad());
        }
        if version != VERSION {
            return Err(Error::not_supported(format_args!(
                "blob file of version {version}"
            )));
        }
        let [flags, compression, ..] = **src else {
            return Err(bad());
        };
        if flags & HAS_TTL != 0 {
            return Err(Error::not_supported("blob file with expiration times"));
        }
        Ok(BlobHeader {
            column_family,
            compression,
        })
    }

    /// The header's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut dst = Vec::with_capacity(HEADER_LEN as usize);
        put_fixed32(&mut dst, MAGIC);
        put_fixed32(&mut dst, VERSION);
        put_fixed32(&mut dst, self.column_family);
        dst.extend_from_slice(&[0, self.compression]);
        put_fixed64(&mut dst, 0);
        put_fixed64(&mut dst, 0);
        dst
    }
}

/// The header of a record, which precedes a key and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    /// Bytes of the key.
    pub key_len: u64,
    /// Stored bytes of the value.
    pub value_len: u64,
    /// When the value expires, in Unix seconds; 0 for never.
    pub expiration: u64,
    /// Checksum of key and value, masked.
    pub checksum: u32,
}

impl RecordHeader {
    /// The header of a record of `key` and the stored `value`.
    pub fn of(key: &[u8], value: &[u8]) -> RecordHeader {
        RecordHeader {
            key_len: key.len() as u64,
            value_len: value.len() as u64,
            expiration: 0,
            checksum: body_checksum(key, value),
        }
    }

    /// Decodes a record's header.
    ///
    /// # Errors
    /// `Corruption` if its checksum does not match; `NotSupported` for an expiration time.
    pub fn decode(src: &[u8]) -> Result<RecordHeader> {
        let bad = || Error::corruption("bad header of a blob");
        let (sizes, mut sums) = src.split_at_checked(24).ok_or_else(bad)?;
        let stored = get_fixed32(&mut sums).ok_or_else(bad)?;
        let checksum = get_fixed32(&mut sums).ok_or_else(bad)?;
        if !sums.is_empty() || stored != masked_crc32c(sizes) {
            return Err(bad());
        }
        let mut sizes = sizes;
        let mut number = || get_fixed64(&mut sizes).ok_or_else(bad);
        let header = RecordHeader {
            key_len: number()?,
            value_len: number()?,
            expiration: number()?,
            checksum,
        };
        if header.expiration != 0 {
            return Err(Error::not_supported("a blob with an expiration time"));
        }
        Ok(header)
    }

    /// The header's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut dst = Vec::with_capacity(RECORD_HEADER_LEN as usize);
        put_fixed64(&mut dst, self.key_len);
        put_fixed64(&mut dst, self.value_len);
        put_fixed64(&mut dst, self.expiration);
        let sum = masked_crc32c(&dst);
        put_fixed32(&mut dst, sum);
        put_fixed32(&mut dst, self.checksum);
        dst
    }

    /// Whether `key` and the stored `value` belong to this record.
    pub fn fits(&self, key: &[u8], value: &[u8]) -> bool {
        self.key_len == key.len() as u64
            && self.value_len == value.len() as u64
            && self.checksum == body_checksum(key, value)
    }
}

fn body_checksum(key: &[u8], value: &[u8]) -> u32 {
    mask_crc(crc32c::crc32c_append(crc32c::crc32c(key), value))
}

/// The footer of a complete blob file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobFooter {
    /// Records in the file.
    pub count: u64,
}

impl BlobFooter {
    /// Decodes a footer.
    ///
    /// # Errors
    /// `Corruption` for bytes that are not a footer, or if its checksum does not match.
    pub fn decode(src: &[u8]) -> Result<BlobFooter> {
        let bad = || Error::corruption("bad footer of a blob file");
        if src.len() as u64 != FOOTER_LEN {
            return Err(bad());
        }
        let (body, mut sum) = src.split_at(28);
        let mut rest = body;
        let magic = get_fixed32(&mut rest).ok_or_else(bad)?;
        let count = get_fixed64(&mut rest).ok_or_else(bad)?;
        if magic != MAGIC || get_fixed32(&mut sum) != Some(masked_crc32c(body)) {
            return Err(bad());
        }
        Ok(BlobFooter { count })
    }

    /// The footer's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut dst = Vec::with_capacity(FOOTER_LEN as usize);
        put_fixed32(&mut dst, MAGIC);
        put_fixed64(&mut dst, self.count);
        put_fixed64(&mut dst, 0);
        put_fixed64(&mut dst, 0);
        let sum = masked_crc32c(&dst);
        put_fixed32(&mut dst, sum);
        dst
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn fixed_parts_survive_being_written() {
        let header = BlobHeader {
            column_family: 7,
            compression: 4,
        };
        assert_eq!(header.encode().len() as u64, HEADER_LEN);
        assert_eq!(BlobHeader::decode(&header.encode()), Ok(header));
        let record = RecordHeader::of(b"key", b"value");
        assert_eq!(record.encode().len() as u64, RECORD_HEADER_LEN);
        assert_eq!(RecordHeader::decode(&record.encode()), Ok(record));
        assert!(record.fits(b"key", b"value") && !record.fits(b"key", b"valuf"));
        assert!(!record.fits(b"keyv", b"alue"));
        let footer = BlobFooter { count: 99 };
        assert_eq!(footer.encode().len() as u64, FOOTER_LEN);
        assert_eq!(BlobFooter::decode(&footer.encode()), Ok(footer));
    }

    #[test]
    fn every_flipped_bit_is_noticed_where_there_is_a_checksum() {
        let record = RecordHeader::of(b"key", b"value").encode();
        let footer = BlobFooter { count: 99 }.encode();
        for at in 0..32 * 8 {
            let flip = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                bytes[at / 8] ^= 1 << (at % 8);
                bytes
            };
            assert!(BlobFooter::decode(&flip(&footer)).is_err(), "{at}");
            // The last four bytes are the checksum of key and value.
            let fits = RecordHeader::decode(&flip(&record)).is_ok_and(|r| r.fits(b"key", b"value"));
            assert!(!fits, "{at}");
        }
    }

    #[test]
    fn what_is_not_read_is_named() {
        let header = BlobHeader {
            column_family: 7,
            compression: 4,
        };
        let kind = |at: usize, byte: u8| {
            let mut bytes = header.encode();
            bytes[at] = byte;
            BlobHeader::decode(&bytes).unwrap_err().kind()
        };
        assert_eq!(kind(0, 0), ErrorKind::Corruption);
        assert_eq!(kind(4, 2), ErrorKind::NotSupported);
        assert_eq!(kind(12, 1), ErrorKind::NotSupported);
        let expires = RecordHeader {
            expiration: 1,
            ..RecordHeader::of(b"k", b"v")
        };
        let e = RecordHeader::decode(&expires.encode()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotSupported);
        assert_eq!(record_len(3, 5), Some(40));
        assert_eq!(record_len(u64::MAX, 0), None);
    }
}
