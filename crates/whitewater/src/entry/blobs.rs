//! Following references to values in blob files.

use bytes::Bytes;
use whitewater_storage::blob::BlobIndex;
use whitewater_storage::{Error, Result};

/// Reads the blobs that references point to.
pub(crate) trait Blobs: Send + Sync {
    /// Reads the value of `user_key` that the blob index `index` refers to.
    ///
    /// # Errors
    /// `Corruption` for a dangling reference and for damaged blobs; `NotSupported` for kinds of
    /// blobs that are not supported; errors of reading.
    fn read(&self, user_key: &[u8], index: &[u8]) -> Result<Bytes>;
}

/// No blob files at all.
pub(crate) struct NoBlobs;

impl Blobs for NoBlobs {
    fn read(&self, _: &[u8], index: &[u8]) -> Result<Bytes> {
        let place = BlobIndex::place(index)?;
        Err(Error::corruption(format_args!(
            "a value is in blob file #{}, where no blob file is known",
            place.file
        )))
    }
}
