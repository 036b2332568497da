//! The blob index, which a table holds instead of a value.

use crate::coding::{get_varint64, put_varint64};
use crate::error::{Error, Result};

/// First byte of an index: a value with an expiration time, in place.
const INLINED_TTL: u8 = 0;
/// First byte of an index: a value in a blob file.
const BLOB: u8 = 1;
/// First byte of an index: a value in a blob file, with an expiration time.
const BLOB_TTL: u8 = 2;

/// The location of a value in a blob file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobPlace {
    /// Number of the blob file; not 0.
    pub file: u64,
    /// The offset of the value in the file.
    pub offset: u64,
    /// The stored size of the value in bytes.
    pub size: u64,
    /// The stored compression type of the value.
    pub compression: u8,
}

/// A decoded blob index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobIndex {
    /// A value in a blob file.
    At(BlobPlace),
    /// A value with an expiration time, in place or in a file.
    Expires,
}

impl BlobIndex {
    /// Decodes an index, which is all of `src`.
    ///
    /// # Errors
    /// `Corruption` for bytes that are not an index; `NotSupported` for a value in the table's own
    /// file (number 0).
    pub fn decode(src: &[u8]) -> Result<BlobIndex> {
        let bad = |what: &str| Error::corruption(format_args!("blob index: {what}"));
        let (kind, mut rest) = src.split_first().ok_or_else(|| bad("empty"))?;
        match *kind {
            INLINED_TTL | BLOB_TTL => return Ok(BlobIndex::Expires),
            BLOB => {}
            kind => return Err(bad(&format!("unknown kind {kind}"))),
        }
        let mut number = |what| get_varint64(&mut rest).ok_or_else(|| bad(what));
        let (file, offset) = (number("bad file number")?, number("bad offset")?);
        let size = number("bad size")?;
        let [compression] = *rest else {
            return Err(bad("bad compression type"));
        };
        if file == 0 {
            return Err(Error::not_supported("a blob in the file of its own table"));
        }
        Ok(BlobIndex::At(BlobPlace {
            file,
            offset,
            size,
            compression,
        }))
    }

    /// The location that the index `src` points to.
    ///
    /// # Errors
    /// As [`BlobIndex::decode`], and `NotSupported` for a value with an
    /// expiration time.
    pub fn place(src: &[u8]) -> Result<BlobPlace> {
        match BlobIndex::decode(src)? {
            BlobIndex::At(place) => Ok(place),
            BlobIndex::Expires => Err(Error::not_supported("a blob with an expiration time")),
        }
    }
}

impl BlobPlace {
    /// Appends the index of this location to `dst`.
    pub fn encode(&self, dst: &mut Vec<u8>) {
        dst.push(BLOB);
        put_varint64(dst, self.file);
        put_varint64(dst, self.offset);
        put_varint64(dst, self.size);
        dst.push(self.compression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn places_survive_being_written() {
        for number in [1, 127, 128, u64::from(u32::MAX), u64::MAX] {
            let place = BlobPlace {
                file: number,
                offset: number,
                size: number,
                compression: 4,
            };
            let mut bytes = Vec::new();
            place.encode(&mut bytes);
            assert_eq!(BlobIndex::place(&bytes), Ok(place));
            for len in 0..bytes.len() {
                let e = BlobIndex::decode(&bytes[..len]).unwrap_err();
                assert_eq!(e.kind(), ErrorKind::Corruption, "{len}");
            }
            bytes.push(0);
            assert!(BlobIndex::decode(&bytes).is_err());
        }
    }

    #[test]
    fn what_is_not_read_is_named() {
        let refused = |bytes: &[u8]| {
            let e = BlobIndex::place(bytes).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::NotSupported);
            e.to_string()
        };
        assert!(refused(&[0, 5, b'v']).contains("expiration"));
        assert!(refused(&[2, 5, 1, 1, 1, 0]).contains("expiration"));
        assert!(refused(&[1, 0, 1, 1, 0]).contains("file of its own table"));
        let e = BlobIndex::decode(&[9]).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corruption);
    }
}
