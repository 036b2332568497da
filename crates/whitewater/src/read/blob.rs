//! Values that are stored in blob files.
//!
//! A version names the blob files that its tables refer to. Code that reads tables of a version
//! passes its [`Blobs`] along, so that a reference is followed only when its value is needed.

use crate::entry::blobs::Blobs;
use crate::version::Version;
use crate::version::table_cache::TableCache;
use bytes::Bytes;
use std::sync::Arc;
use whitewater_storage::blob::BlobIndex;
use whitewater_storage::sst::ReadLimits;
use whitewater_storage::{Error, Result};

/// The blob files of a version that the caller keeps alive.
pub(crate) struct BorrowedBlobs<'a> {
    pub version: &'a Version,
    pub tables: &'a TableCache,
    /// Limits on the reads. Values are not cached in memory, so each one is read from a file.
    pub limits: ReadLimits,
}

impl Blobs for BorrowedBlobs<'_> {
    fn read(&self, user_key: &[u8], index: &[u8]) -> Result<Bytes> {
        let place = BlobIndex::place(index)?;
        let Some(known) = self.version.blobs.get(place.file) else {
            return Err(Error::corruption(format_args!(
                "a value is in blob file #{}, which the manifest does not name",
                place.file
            )));
        };
        let read = || self.tables.open_blob(&known.file)?.get(user_key, &place);
        self.limits.run(read)
    }
}

/// The blob files of a version that this value keeps alive.
pub(crate) struct OwnedBlobs {
    pub version: Arc<Version>,
    pub tables: Arc<TableCache>,
    pub limits: ReadLimits,
}

impl Blobs for OwnedBlobs {
    fn read(&self, user_key: &[u8], index: &[u8]) -> Result<Bytes> {
        let blobs = BorrowedBlobs {
            version: &self.version,
            tables: &self.tables,
            limits: self.limits,
        };
        blobs.read(user_key, index)
    }
}
