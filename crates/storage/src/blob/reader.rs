//! Reads values from a blob file.

use super::BlobPlace;
use super::format::{
    BlobFooter, BlobHeader, FOOTER_LEN, HEADER_LEN, RECORD_HEADER_LEN, RecordHeader,
};
use crate::error::{Error, Result};
use crate::fs::RandomAccessFile;
use crate::sst::decompress_value;
use bytes::Bytes;
use std::sync::Arc;

/// The largest value in bytes: lengths of entries have 32 bits.
const MAX_VALUE: u64 = u32::MAX as u64;

/// An open blob file. None of its content is kept in memory.
#[derive(Debug)]
pub struct BlobFileReader {
    file: Arc<dyn RandomAccessFile>,
    header: BlobHeader,
    /// Where the records end and the footer begins.
    end: u64,
}

impl BlobFileReader {
    /// Opens a complete blob file: header and footer are checked.
    ///
    /// # Errors
    /// Those of the file; `Corruption` and `NotSupported` naming file and
    /// offset.
    pub fn open(file: Arc<dyn RandomAccessFile>) -> Result<BlobFileReader> {
        let len = file.len()?;
        let Some(end) = len.checked_sub(FOOTER_LEN).filter(|&e| e >= HEADER_LEN) else {
            return Err(Error::corruption_in(
                file.path(),
                len,
                format_args!("blob file of {len} bytes"),
            ));
        };
        let header = BlobHeader::decode(&file.read_at(0, HEADER_LEN as usize)?)
            .map_err(|e| e.in_file(file.path(), Some(0)))?;
        BlobFooter::decode(&file.read_at(end, FOOTER_LEN as usize)?)
            .map_err(|e| e.in_file(file.path(), Some(end)))?;
        Ok(BlobFileReader { file, header, end })
    }

    /// The column family that the file belongs to.
    pub fn column_family(&self) -> u32 {
        self.header.column_family
    }

    /// The number of records, from the footer, and their bytes.
    ///
    /// # Errors
    /// As [`BlobFileReader::open`].
    pub fn totals(&self) -> Result<(u64, u64)> {
        let footer = BlobFooter::decode(&self.file.read_at(self.end, FOOTER_LEN as usize)?)
            .map_err(|e| e.in_file(self.file.path(), Some(self.end)))?;
        Ok((footer.count, self.end - HEADER_LEN))
    }

    /// The value of `user_key` at `place`. Reads and checks the whole record: its header, that it
    /// belongs to this key, and the checksum of key and value.
    ///
    /// # Errors
    /// Those of the file; `Corruption` and `NotSupported` naming file and
    /// offset.
    pub fn get(&self, user_key: &[u8], place: &BlobPlace) -> Result<Bytes> {
        let stored = self.stored(user_key, place, |at, len| self.read_at(at, len))?;
        self.value(place, stored)
    }

    /// Reads `len` bytes at offset `at`.
    ///
    /// # Errors
    /// Those of the file.
    pub fn read_at(&self, at: u64, len: usize) -> Result<Bytes> {
        self.file.read_at(at, len)
    }

    /// Where the records end. Bytes from the beginning of the file.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The value `stored` at `place`, decompressed.
    ///
    /// # Errors
    /// `Corruption` and `NotSupported` naming file and offset.
    pub fn value(&self, place: &BlobPlace, stored: Bytes) -> Result<Bytes> {
        match place.compression {
            0 => Ok(stored),
            ty => decompress_value(ty, &stored)
                .map(Bytes::from)
                .map_err(|e| e.in_file(self.file.path(), Some(place.offset))),
        }
    }

    /// The value of `user_key` at `place` as it is stored, from a record that is checked as by
    /// [`BlobFileReader::get`]. `read` reads a number of bytes at an offset of this file.
    ///
    /// # Errors
    /// Those of `read`; `Corruption` and `NotSupported` naming file and offset.
    pub fn stored(
        &self,
        user_key: &[u8],
        place: &BlobPlace,
        read: impl FnOnce(u64, usize) -> Result<Bytes>,
    ) -> Result<Bytes> {
        let key_len = user_key.len() as u64;
        let at = |what: &str| Error::corruption_in(self.file.path(), place.offset, what);
        let before = RECORD_HEADER_LEN + key_len;
        let start = (place.offset.checked_sub(before)).filter(|&start| start >= HEADER_LEN);
        let start = start.ok_or_else(|| at("a blob before the first record"))?;
        let end = place.offset.checked_add(place.size);
        // Bounds the allocation by the size of the file.
        if end.is_none_or(|end| end > self.end) || place.size > MAX_VALUE {
            return Err(at("a blob behind the last record"));
        }
        let record = read(start, (before + place.size) as usize)?;
        if record.len() as u64 != before + place.size {
            return Err(at("the file ends within a blob"));
        }
        let header = RecordHeader::decode(&record[..RECORD_HEADER_LEN as usize])
            .map_err(|e| e.in_file(self.file.path(), Some(start)))?;
        let key = &record[RECORD_HEADER_LEN as usize..before as usize];
        if header.key_len != key_len || header.value_len != place.size || key != user_key {
            return Err(at("a blob of another key or size"));
        }
        let value = record.slice(before as usize..);
        if !header.fits(key, &value) {
            return Err(at("a blob's checksum does not fit"));
        }
        Ok(value)
    }
}
