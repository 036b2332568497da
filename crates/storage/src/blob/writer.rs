//! Writes a blob file.

use super::BlobPlace;
use super::format::{BlobFooter, BlobHeader, RECORD_HEADER_LEN, RecordHeader};
use crate::error::Result;
use crate::fs::WritableFile;
use crate::manifest::BlobFileMetaData;
use crate::planted;
use crate::sst::CompressionType;

/// A blob file that is being written: records of key and value, one after the other.
#[derive(Debug)]
pub struct BlobFileWriter {
    file: Box<dyn WritableFile>,
    number: u64,
    compression: CompressionType,
    count: u64,
    bytes: u64,
}

impl BlobFileWriter {
    /// Begins blob file `number`, with values of `column_family` that are compressed as
    /// `compression`. `file` should be buffered.
    ///
    /// # Errors
    /// Those of writing the header.
    pub fn new(
        mut file: Box<dyn WritableFile>,
        number: u64,
        column_family: u32,
        compression: CompressionType,
    ) -> Result<Self> {
        let header = BlobHeader {
            column_family,
            compression: compression as u8,
        };
        file.append(&header.encode())?;
        Ok(BlobFileWriter {
            file,
            number,
            compression,
            count: 0,
            bytes: 0,
        })
    }

    /// The file's number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The size of the file so far, without its footer. Bytes.
    pub fn size(&self) -> u64 {
        self.file.len()
    }

    /// Appends a record of `user_key` and its value, `stored` as the file's compression has it.
    /// Returns where the value is.
    ///
    /// # Errors
    /// Those of writing. The file is of no use then.
    pub fn add(&mut self, user_key: &[u8], stored: &[u8]) -> Result<BlobPlace> {
        let start = self.file.len();
        self.file
            .append(&RecordHeader::of(user_key, stored).encode())?;
        self.file.append(user_key)?;
        self.file.append(stored)?;
        self.count += 1;
        self.bytes += self.file.len() - start;
        Ok(BlobPlace {
            file: self.number,
            offset: start + RECORD_HEADER_LEN + user_key.len() as u64,
            size: stored.len() as u64,
            compression: self.compression as u8,
        })
    }

    /// Ends the file with a footer and syncs it. The directory is not synced. The result is what
    /// the manifest records, but for a checksum of the file.
    ///
    /// # Errors
    /// Those of writing and of the sync.
    pub fn finish(mut self) -> Result<BlobFileMetaData> {
        self.file
            .append(&BlobFooter { count: self.count }.encode())?;
        planted!(BlobFileNotSynced => {
            self.file.flush()?;
            return Ok(self.meta())
        });
        self.file.sync()?;
        Ok(self.meta())
    }

    fn meta(&self) -> BlobFileMetaData {
        BlobFileMetaData {
            number: self.number,
            count: self.count,
            bytes: self.bytes,
            ..BlobFileMetaData::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::BlobFileReader;
    use crate::blob::format::{FOOTER_LEN, HEADER_LEN};
    use crate::fs::Fs;
    use crate::fs::mem::MemFs;
    use crate::sst::{CompressionOptions, Compressor};
    use std::path::Path;

    /// Values that shrink, that do not, and an empty one.
    fn values() -> Vec<Vec<u8>> {
        let noise = |n: u32| (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8);
        vec![
            b"a".repeat(5000),
            noise(3).collect(),
            Vec::new(),
            noise(4000).collect(),
            b"short".to_vec(),
        ]
    }

    #[test]
    fn what_is_written_is_read_with_every_compression() {
        let built_in = |ty: &CompressionType| ty.missing_feature().is_none();
        for ty in CompressionType::ALL.into_iter().filter(built_in) {
            let fs = MemFs::new();
            let path = Path::new("/000007.blob");
            let mut writer =
                BlobFileWriter::new(fs.create(path).unwrap(), 7, 3, ty).expect("a header");
            let mut compressor = Compressor::new(ty, &CompressionOptions::default(), None).unwrap();
            let mut places = Vec::new();
            for (i, value) in values().iter().enumerate() {
                let key = format!("key{i}");
                let stored = compressor.compress_whatever(value).expect("is compressed");
                places.push((key.clone(), writer.add(key.as_bytes(), stored).unwrap()));
            }
            let size = writer.size();
            let meta = writer.finish().expect("a footer");
            assert_eq!(meta.bytes, size - HEADER_LEN);
            let file = fs.open_random(path).unwrap();
            assert_eq!(file.len().unwrap(), size + FOOTER_LEN);
            let reader = BlobFileReader::open(file).expect("complete");
            assert_eq!(reader.column_family(), 3);
            assert_eq!(reader.totals(), Ok((meta.count, meta.bytes)));
            for ((key, place), value) in places.iter().zip(values()) {
                assert_eq!(place.compression, ty as u8);
                let read = reader.get(key.as_bytes(), place).expect("can be read");
                assert_eq!(read, value, "{ty:?}");
                assert!(reader.get(b"other", place).is_err());
            }
        }
    }
}
