//! Where references to values in blob files lead.

use bytes::Bytes;
use whitewater_storage::blob::BlobIndex;
use whitewater_storage::{Error, Result};

/// Where references to blobs lead.
pub(crate) trait Blobs: Send + Sync {
    /// The value of `user_key` that the blob index `index` refers to.
    ///
    /// # Errors
    /// `Corruption` for a reference that leads nowhere and for damaged blobs;
    /// `NotSupported` for kinds of blobs that are not read; those of reading.
    fn read(&self, user_key: &[u8], index: &[u8]) -> Result<Bytes>;
}

/// The blob files of no version.
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
