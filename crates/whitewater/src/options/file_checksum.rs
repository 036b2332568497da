//! Which checksums of whole tables are kept in the manifest.

use super::text::OptionText;
use std::path::Path;
use std::sync::Arc;
use whitewater_storage::Result;
use whitewater_storage::file_checksum::{self, CRC32C, Digest};
use whitewater_storage::fs::Fs;
use whitewater_storage::manifest::FileMetaData;

/// The checksum of a whole table file that is kept in the manifest, to find files
/// that were damaged or exchanged; see
/// [`Options::set_file_checksum`](crate::Options::set_file_checksum).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum FileChecksum {
    /// New tables get no checksum.
    #[default]
    None,
    /// CRC-32C, as made by RocksDB's `FileChecksumGenCrc32cFactory`.
    Crc32c,
}

impl FileChecksum {
    /// The digest that computes a new file's checksum, if the file is to have one.
    pub(crate) fn digest(self) -> Option<Arc<Digest>> {
        (self == FileChecksum::Crc32c).then(Arc::default)
    }

    /// The checksum of an existing file; empty if it is to have none.
    ///
    /// # Errors
    /// Errors of reading the file.
    pub(crate) fn of(self, fs: &dyn Fs, path: &Path) -> Result<Vec<u8>> {
        match self {
            FileChecksum::None => Ok(Vec::new()),
            FileChecksum::Crc32c => file_checksum::of(fs, path),
        }
    }
}

/// Notes `sum`, if it is one.
pub(crate) fn note(sum: Vec<u8>, meta: &mut FileMetaData) {
    if !sum.is_empty() {
        meta.file_checksum = sum;
        meta.file_checksum_func_name = CRC32C.to_vec();
    }
}

impl OptionText for FileChecksum {
    fn print(&self) -> String {
        match self {
            FileChecksum::None => "nullptr",
            FileChecksum::Crc32c => "FileChecksumGenCrc32cFactory",
        }
        .to_owned()
    }
    fn parse(text: &str) -> Option<Self> {
        match text {
            "nullptr" => Some(FileChecksum::None),
            "FileChecksumGenCrc32cFactory" => Some(FileChecksum::Crc32c),
            _ => None,
        }
    }
}
